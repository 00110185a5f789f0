//! The reference pictures that a decoder of H.264 holds, where not all have reached it.
//!
//! A B picture names pictures by their places in lists, which begin in picture order: the nearest before it first, and the
//! nearest after it (ITU-T H.264, 8.2.4.2.3). Behind a gap, what was kept from before it may be placed between the picture
//! and what it refers to, as the decoder has only the low bits of picture order counts (8.2.1.1): then the lists name other
//! pictures than they did, and what is decoded is wrong though nothing is missing.
//!
//! What is not in the slice headers is FFmpeg's (libavcodec 5.1: `h264_field_start`, `ff_h264_execute_ref_pic_marking`), as
//! it was seen to behave: frames that a gap in `frame_num` implies (8.2.5.2) take places among those that are held, and each
//! is placed one frame behind the one that was held last, as if that were shown once more; and where the numbers go back
//! to one that it holds already, it gives up that one. In a stream that may have no gaps, it gives up inferred frames also
//! by their numbers.

use std::cmp::Reverse;

pub use crate::picture_order::ReferenceMarks;
use crate::picture_order::{COUNTS_OF_A_FRAME, PictureOrder};

/// A frame that is marked as used for short-term reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    /// `None` of a frame inferred from a gap in `frame_num` ("non-existing", 8.2.5.2).
    frame: Option<u32>,
    frame_num: u32,
    /// The picture order count that the decoder has for it.
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
        let Some(ReferenceMarks { by_order: (first, second), .. }) = picture.marks else { return false };
        if (first, second) == (0, 0) {
            return false;
        }
        let held = self.with_gap_filled(picture);
        let is_used = |held: &&Held| held.frame.is_some_and(|frame| references.contains(&frame));
        // Each list begins with what it refers to, so that it is the same without the others.
        let expected = initial_lists(held.iter().filter(is_used), count);
        let found = initial_lists(held.iter(), count);
        let differs = |list: usize, frames: u8| {
            let entries = expected[list].len().min(frames.into());
            expected[list][..entries] != found[list][..entries]
        };
        differs(0, first) || differs(1, second)
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
            if let Some((number, turn)) = number.filter(|_| !marks.gaps_allowed) {
                self.give_up_inferred(number, turn, marks.max_frames);
            }
        }
        self.last = number.map(|(number, _)| number);
    }

    /// In a stream that may have no gaps, inferred frames are given up that are further behind a reference picture than
    /// frames are kept; of two such next to each other, the newer one with this picture.
    fn give_up_inferred(&mut self, number: u32, turn: u32, max_frames: u8) {
        let mut left = self.held.len();
        while left > 0 {
            left -= 1;
            let Held { frame, frame_num, .. } = self.held[left];
            if frame.is_none() && (number + turn - frame_num % turn) % turn > max_frames.into() {
                self.held.remove(left);
                left = left.saturating_sub(1);
            }
        }
    }

    /// What is held when the gap in `frame_num` before a picture has been filled.
    fn with_gap_filled(&self, picture: PictureOrder) -> Vec<Held> {
        let mut filled = self.clone();
        if let (Some((number, turn)), Some(marks)) = (number_of(picture), picture.marks) {
            for back in (1..=self.missing_before(picture).min(marks.max_frames.into())).rev() {
                // Behind all of them where there is none to be shown once more.
                let count = filled.held.last().map_or(i64::MAX, |last| last.count.saturating_add(COUNTS_OF_A_FRAME));
                filled.hold(Held { frame: None, frame_num: (number + turn - back) % turn, count }, marks);
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

/// The lists with which a B picture at this count begins (8.2.4.2.3), of frames that are held, in decode order.
fn initial_lists<'a>(held: impl Iterator<Item = &'a Held>, count: i64) -> [Vec<Held>; 2] {
    let (mut before, mut after): (Vec<Held>, Vec<Held>) = held.partition(|held| held.count <= count);
    // No two pictures have the same count, but behind a gap. Of those FFmpeg takes one alone: the older where they are before
    // the picture, and the newer where they are after it (`add_sorted`).
    before.sort_by_key(|held| Reverse(held.count));
    before.dedup_by_key(|held| held.count);
    after.reverse();
    after.sort_by_key(|held| held.count);
    after.dedup_by_key(|held| held.count);
    let mut lists = [[&before[..], &after[..]].concat(), [&after[..], &before[..]].concat()];
    if lists[1].len() > 1 && lists[0] == lists[1] {
        lists[1].swap(0, 1);
    }
    lists
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
