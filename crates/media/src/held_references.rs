//! The reference pictures that a decoder of H.264 holds, where not all have reached it.
//!
//! A B picture names pictures by their places in lists, which begin in picture order: the nearest before it first, and the
//! nearest after it (ITU-T H.264, 8.2.4.2.3). Behind a gap, what was kept from before it may be placed between the picture
//! and what it refers to, as the decoder has only the low bits of picture order counts (8.2.1.1): then the lists name other
//! pictures than they did, and what is decoded is wrong though nothing is missing.
//!
//! What is not in the slice headers is FFmpeg's (libavcodec 5.1: `h264_field_start`, `ff_h264_execute_ref_pic_marking`), as
//! it was seen to behave: frames that a gap in `frame_num` implies (8.2.5.2) take places among those that are held, and were
//! never seen to displace another one; and where the numbers go back to one that it holds already, it gives up that one.

use crate::picture_order::PictureOrder;

/// What the headers of a picture of H.264 say of the reference pictures that a decoder keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceMarks {
    /// Frames that are kept at most: `max_num_ref_frames`, at least one.
    pub max_frames: u8,
    /// Its reference picture lists have entries that their modifications (8.2.4.3) do not name.
    pub by_order: bool,
    /// Frames that it orders to be used for short-term reference no longer (8.2.5.4), by their `frame_num`: the lowest bit
    /// is the number before its own.
    pub unmarks: u32,
    /// `gaps_in_frame_num_value_allowed_flag`.
    pub gaps_allowed: bool,
    /// Frames that have to be held for its longest reference picture list to be full.
    pub listed: u8,
    /// Short-term reference frames that modifications of its lists name (8.2.4.3), as `unmarks` has them.
    pub named: u32,
}

/// A frame that is marked as used for short-term reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    /// `None` of a frame inferred from a gap in `frame_num` ("non-existing", 8.2.5.2).
    frame: Option<u32>,
    frame_num: u32,
    /// The picture order count that the decoder has for it; 0 of an inferred frame.
    count: i64,
}

/// Follows the short-term reference pictures that a decoder holds. Long-term ones stand behind all of them in every list.
///
/// Contract: [`take`](Self::take) every picture that reaches the decoder, in decode order.
#[derive(Clone, Debug, Default)]
pub struct HeldReferences {
    /// In decode order.
    held: Vec<Held>,
    /// `frame_num` of the last picture.
    last: Option<u32>,
}

impl HeldReferences {
    /// Whether the next picture, which is placed at this count and refers to these frames, finds another one before one of
    /// them in its lists.
    pub fn is_displaced(&self, picture: PictureOrder, count: i64, references: &[u32]) -> bool {
        if !picture.marks.is_some_and(|marks| marks.by_order) {
            return false;
        }
        let held = self.with_gap_filled(picture);
        let (used, others): (Vec<_>, Vec<_>) =
            held.iter().filter_map(|held| Some((held.frame?, held))).partition(|(frame, _)| references.contains(frame));
        // No two pictures have the same count, but behind a gap. Of those FFmpeg takes one: before the picture the older.
        let is_between = |other: &Held, used: &Held| match other.count <= count {
            true => used.count <= other.count,
            false => used.count > other.count,
        };
        others.iter().any(|(_, other)| used.iter().any(|(_, used)| is_between(other, used)))
    }

    /// Whether frames are inferred before the next picture, as numbers are missing.
    pub fn is_behind_gap(&self, picture: PictureOrder) -> bool {
        self.missing_before(picture) > 0
    }

    /// Whether the next picture lists a frame that is not there.
    pub fn lacks_listed(&self, picture: PictureOrder) -> bool {
        let (Some(marks), Some((number, turn))) = (picture.marks, number_of(picture)) else { return false };
        let held = self.with_gap_filled(picture);
        let numbers =
            held.iter().filter_map(|held| bit_of(number, held.frame_num, turn)).fold(0, |bits, bit| bits | bit);
        held.len() < marks.listed.into() || marks.named & !numbers != 0
    }

    /// Takes the next picture, which is placed at this count.
    pub fn take(&mut self, frame: u32, picture: PictureOrder, count: i64) {
        let Some(marks) = picture.marks else { return };
        self.held = self.with_gap_filled(picture);
        if picture.begins_sequence {
            self.held.clear();
        }
        let number = number_of(picture);
        if let Some((number, turn)) = number {
            let is_unmarked =
                |held: &Held| bit_of(number, held.frame_num, turn).is_some_and(|bit| marks.unmarks & bit != 0);
            // By the standard there is none with its number.
            let is_replaced = |held: &Held| picture.is_base && held.frame_num == number;
            self.held.retain(|held| !(is_unmarked(held) || is_replaced(held)));
        }
        if picture.is_base {
            let frame_num = number.map_or(0, |(number, _)| number);
            self.hold(Held { frame: Some(frame), frame_num, count }, marks);
        }
        self.last = number.map(|(number, _)| number);
    }

    /// What is held when the gap in `frame_num` before a picture has been filled.
    fn with_gap_filled(&self, picture: PictureOrder) -> Vec<Held> {
        let mut filled = self.clone();
        if let (Some((number, turn)), Some(marks)) = (number_of(picture), picture.marks) {
            for back in (1..=self.missing_before(picture).min(marks.max_frames.into())).rev() {
                filled.hold(Held { frame: None, frame_num: (number + turn - back) % turn, count: 0 }, marks);
            }
        }
        filled.held
    }

    /// How many numbers are missing before that of a picture.
    fn missing_before(&self, picture: PictureOrder) -> u32 {
        match (self.last, number_of(picture)) {
            (Some(last), Some((number, turn))) if !picture.begins_sequence => {
                ((number + turn - last % turn) % turn).saturating_sub(1)
            }
            _ => 0,
        }
    }

    /// By the sliding window (8.2.5.3).
    fn hold(&mut self, held: Held, marks: ReferenceMarks) {
        self.held.push(held);
        let surplus = self.held.len().saturating_sub(marks.max_frames.into());
        self.held.drain(..surplus);
    }
}

/// `frame_num`, and how many there are (`MaxFrameNum`).
fn number_of(picture: PictureOrder) -> Option<(u32, u32)> {
    let numbers = picture.numbers?;
    let number = if numbers.restarts { 0 } else { numbers.frame_num.into() };
    Some((number, 1 << numbers.frame_num_bits))
}

/// The bit of a `frame_num` before another one in [`ReferenceMarks::unmarks`]; `None` of one that is too far before it.
pub(crate) fn bit_of(number: u32, before: u32, turn: u32) -> Option<u32> {
    let distance = (number + turn - before % turn) % turn;
    1u32.checked_shl(distance.checked_sub(1)?)
}
