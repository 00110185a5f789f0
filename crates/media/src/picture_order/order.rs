//! The place of a picture in the order in which it is shown, and what a decoder derives of it.

use std::num::NonZeroU32;

use super::numbers::{PictureNumbers, Renumbering};

/// How much later a frame is shown than the one before it, in picture order counts: two fields (ITU-T H.264, 8.2.1).
pub const COUNTS_OF_A_FRAME: i64 = 2;

/// What the headers of a picture say of where it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureOrder {
    /// Its picture order count, in the coded video sequence that it belongs to.
    pub count: i64,
    /// How many counts the headers distinguish: `MaxPicOrderCntLsb`, or two for each `frame_num`. `None` where counts
    /// are derived from neither (`pic_order_cnt_type` 1).
    pub turn: Option<NonZeroU32>,
    /// The order is that of decoding: two counts for each `frame_num` (`pic_order_cnt_type` 2 of H.264).
    pub follows_frame_num: bool,
    /// The counts of the pictures after it are derived from its own: a reference picture of H.264, `prevTid0Pic` of
    /// H.265.
    pub is_base: bool,
    /// It begins a coded video sequence, and needs no other picture for its count.
    pub begins_sequence: bool,
    /// It [can be made](super::begin_sequence) to begin a coded video sequence: a CRA picture of H.265.
    pub can_begin_sequence: bool,
    /// The numbers in its slice headers that can be [changed](super::renumber), of H.264: not where the stream has other layers or
    /// views, or steps between picture order counts that differ, or where a longer slice has no room.
    pub numbers: Option<PictureNumbers>,
    /// By which rule a decoder shows it.
    pub output: OutputRule,
    /// What it says of the reference pictures that are kept. `None` of H.265, which lists them all with every picture.
    pub marks: Option<ReferenceMarks>,
}

/// What the headers of a picture of H.264 say of the reference pictures that a decoder keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceMarks {
    /// Frames that are kept at most: `max_num_ref_frames`, at least one.
    pub max_frames: u8,
    /// Frames in the two lists of its B slices, where those are not all named by modifications (8.2.4.3); 0 of others.
    pub by_order: (u8, u8),
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

/// By which rule a decoder brings pictures into display order, and what the headers say for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputRule {
    /// That of H.264.
    H264 {
        /// Frames that it holds back before it shows the first of them: `max_num_reorder_frames` (E.2.1); `None` where the
        /// stream does not state it.
        reordered: Option<u8>,
        /// Whether decoding can begin with it.
        entry: Entry,
    },
    /// That of H.265.
    H265 {
        /// Frames that it holds back: `sps_max_num_reorder_pics` of the highest sub-layer (7.4.3.2.1).
        reordered: u8,
        /// What it is where decoding begins.
        entry: Entry,
        /// Which pictures are kept with it for reference, as [`kept_distances`] has them.
        keeps: u64,
    },
}

impl OutputRule {
    /// What the picture is where decoding begins.
    pub fn entry(self) -> Entry {
        let (Self::H264 { entry, .. } | Self::H265 { entry, .. }) = self;
        entry
    }
}

/// What a picture is where decoding begins: behind a CRA or BLA picture of H.265 RASL pictures are skipped then (8.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An IDR picture.
    Closed,
    /// A CRA or BLA picture; of H.264 an I picture with a recovery point (D.2.8).
    Open,
    /// A RASL picture to which others may refer (`RASL_R`).
    SkippedReference,
    /// One to which none of its sub-layer refers (`RASL_N`).
    Skipped,
    /// Any other.
    Inside,
}

impl Entry {
    /// Decoding can begin with it.
    pub fn can_begin(self) -> bool {
        matches!(self, Self::Closed | Self::Open)
    }
}

/// The set of pictures at these distances in picture order count from another one (`DeltaPocS0`, `DeltaPocS1`), of at most
/// 32 either way: an encoder keeps none from further off but long-term ones, which are not in it.
pub(crate) fn kept_at(distances: impl Iterator<Item = i64>) -> u64 {
    let bit = |distance: i64| match distance {
        -32..=-1 => 1 << (-distance - 1),
        1..=32 => 1 << (distance + 31),
        _ => 0,
    };
    distances.fold(0, |set, distance| set | bit(distance))
}

/// The distances in picture order count of the pictures that are kept with one of H.265, short-term ones not more than 32
/// away.
pub fn kept_distances(keeps: u64) -> impl Iterator<Item = i64> {
    let distance = |bit: i64| if bit < 32 { -bit - 1 } else { bit - 31 };
    (0..64).filter(move |bit| keeps >> bit & 1 == 1).map(distance)
}

/// Where a decoder places a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The picture order count that it derives, in the coded video sequence.
    pub count: i64,
    /// It is that of its place among those that came before.
    pub is_in_place: bool,
}

impl PictureOrder {
    /// The same for a picture whose slice headers were [renumbered](super::renumber); one without numbers stays as it is.
    pub fn renumbered(self, by: Renumbering) -> Self {
        // The count of one that begins a sequence does not come from its header.
        let moved = match self.turn.filter(|_| !self.begins_sequence && self.numbers.is_some()) {
            None => 0,
            // Of whole turns nothing is to be seen.
            Some(_) if self.follows_frame_num => COUNTS_OF_A_FRAME * i64::from(by.frame_num),
            Some(_) => by.order,
        };
        let numbers = self.numbers.map(|numbers| numbers.renumbered(by));
        Self { count: self.count.saturating_add(moved), numbers, ..self }
    }

    /// The same for a picture that was made to begin a coded video sequence. Its count and those of the pictures after
    /// it all become smaller by the same, whole turns.
    pub fn beginning_sequence(self) -> Self {
        Self { begins_sequence: true, can_begin_sequence: false, ..self }
    }
}

/// Follows the picture order counts that a decoder derives from the pictures that reach it.
///
/// Contract: [`take`](Self::take) every picture that reaches the decoder, in decode order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedOrder {
    /// The last picture from which counts are derived: its own count, and what the decoder adds to counts since.
    base: Option<Base>,
    /// The largest count derived so far.
    latest: Option<i64>,
    /// The largest count derived before what the decoder adds was last changed.
    latest_before: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Base {
    count: i64,
    shift: i64,
}

impl ReceivedOrder {
    /// Takes the next picture. True when the decoder shows it in its place among those that came before.
    pub fn take(&mut self, picture: PictureOrder) -> bool {
        self.place(picture).is_in_place
    }

    /// Takes the next picture, and gives its place.
    pub fn place(&mut self, picture: PictureOrder) -> Placed {
        let Some(Base { count, shift }) = self.base.filter(|_| !picture.begins_sequence) else {
            *self = Self { latest: Some(picture.count), ..Self::default() };
            self.base = Some(Base { count: picture.count, shift: 0 });
            return Placed { count: picture.count, is_in_place: true };
        };
        let distance = picture.count - count;
        let derived = match picture.turn.map(|turn| i64::from(turn.get())) {
            None => distance,
            Some(turn) if picture.follows_frame_num => by_frame_num(count, picture.count, turn),
            Some(turn) => nearest(distance, turn),
        };
        let shift_now = shift + derived - distance;
        if shift_now != shift {
            self.latest_before = self.latest_before.max(self.latest);
        }
        let placed = picture.count + shift_now;
        // FFmpeg shows what has the place of the last picture, where it holds none back.
        let is_behind = |latest: i64| placed > latest || picture.follows_frame_num && placed == latest;
        let is_in_place = self.latest_before.is_none_or(is_behind);
        self.latest = self.latest.max(Some(placed));
        if picture.is_base {
            self.base = Some(Base { count: picture.count, shift: shift_now });
        }
        Placed { count: placed, is_in_place }
    }

    /// The count that a picture needs, in its own sequence, to be shown directly behind all that came. `None` before
    /// anything came.
    pub fn next_count(&self) -> Option<i64> {
        let latest = self.latest.max(self.latest_before)?;
        Some(latest.saturating_add(COUNTS_OF_A_FRAME).saturating_sub(self.base?.shift))
    }

    /// Whether the decoder would show the picture in its place if it came next.
    pub fn places(&self, picture: PictureOrder) -> bool {
        { *self }.take(picture)
    }
}

/// Low bits that distinguish so many counts, as the parameter sets have it: 65,536 at most, in either standard.
pub(crate) fn turn_of(counts: i64) -> Option<NonZeroU32> {
    u32::try_from(counts).ok().and_then(NonZeroU32::new)
}

/// The distance that a decoder takes `distance` for, of which it knows the remainder by `turn`: the one nearest to zero;
/// of half a turn, the later one (8-1 of H.265, 8-3 of H.264).
fn nearest(distance: i64, turn: i64) -> i64 {
    let later = distance.rem_euclid(turn);
    if later > turn / 2 { later - turn } else { later }
}

/// The distance that a decoder takes for that from count `base` to `count`, where two counts follow each `frame_num`. By
/// the standard each `frame_num` that is below the one before begins a turn (H.264, 8.2.1.3). FFmpeg, up to 5.1 at least,
/// forgets that where it fills a gap (8.2.5.2): the frame that it compares with is the one that it made up last.
fn by_frame_num(base: i64, count: i64, turn: i64) -> i64 {
    let max_frame_num = turn / COUNTS_OF_A_FRAME;
    let frame_num = |count: i64| (count + 1).div_euclid(2).rem_euclid(max_frame_num);
    let (before, now) = (frame_num(base), frame_num(count));
    let is_gap = now != before && now != (before + 1) % max_frame_num;
    let begins_turn = now < before && (!is_gap || now == 0);
    // Pictures that nothing refers to have odd counts.
    let frames = now - before + if begins_turn { max_frame_num } else { 0 };
    COUNTS_OF_A_FRAME * frames + base.rem_euclid(2) - count.rem_euclid(2)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn picture(count: i64) -> PictureOrder {
        let (turn, is_base) = (NonZeroU32::new(16), true);
        PictureOrder {
            count,
            turn,
            follows_frame_num: false,
            is_base,
            begins_sequence: count == 0,
            can_begin_sequence: false,
            numbers: None,
            output: OutputRule::H264 { reordered: Some(0), entry: Entry::Inside },
            marks: None,
        }
    }

    fn places(counts: &[i64]) -> Vec<bool> {
        let mut order = ReceivedOrder::default();
        counts.iter().map(|&count| order.take(picture(count))).collect()
    }

    #[test]
    fn pictures_that_are_kept_are_at_the_distances_given() {
        let distances = [-32, -5, -1, 1, 3, 32];
        assert_eq!(BTreeSet::from_iter(kept_distances(kept_at(distances.into_iter()))), BTreeSet::from(distances));
        assert_eq!(kept_at([-33, 0, 33].into_iter()), 0);
    }

    #[test]
    fn up_to_half_a_turn_may_be_missing() {
        assert_eq!(places(&[0, 4, 2, 10, 18]), [true; 5]);
        assert_eq!(places(&[0, 4, 13]), [true, true, false], "9 is more than half of 16: it is taken for -7");
    }

    #[test]
    fn after_a_longer_gap_pictures_are_in_place_again_when_they_have_caught_up() {
        // 13 to 19 are taken for -3 to 3, and 21 for 5, which comes after all that was shown.
        assert_eq!(places(&[0, 4, 13, 15, 19, 21, 40]), [true, true, false, false, false, true, true]);
        assert_eq!(places(&[0, 4, 21]), [true; 3], "17 is taken for 1");
        assert_eq!(places(&[0, 4, 13, 0, 4]), [true, true, false, true, true], "a sequence begins");
    }

    #[test]
    fn a_turn_of_frame_num_that_falls_into_a_gap_is_forgotten() {
        let places = |frames: &[i64]| {
            let mut order = ReceivedOrder::default();
            let by_frame_num = |frame: i64| PictureOrder { follows_frame_num: true, ..picture(2 * frame) };
            frames.iter().map(|&frame| order.take(by_frame_num(frame))).collect::<Vec<_>>()
        };
        // frame_num is 0 to 7.
        assert_eq!(places(&[0, 1, 5, 6, 7, 8, 9]), [true; 7], "a gap without a turn");
        assert_eq!(places(&[0, 5, 6, 8, 9]), [true; 5], "the gap ends where the turn begins");
        assert_eq!(places(&[0, 5, 7, 9, 10, 16, 17]), [true, true, true, false, false, true, true]);
        assert_eq!(places(&[0, 5, 8, 17]), [true; 4], "of a whole turn nothing is to be seen");
        assert_eq!([by_frame_num(14, 16, 16), by_frame_num(14, 15, 16), by_frame_num(15, 16, 16)], [2, 1, 1]);
    }

    #[test]
    fn what_is_no_base_moves_nothing() {
        let mut order = ReceivedOrder::default();
        assert!(order.take(picture(0)));
        assert!(!order.take(PictureOrder { is_base: false, ..picture(9) }));
        assert!(order.take(picture(4)));
    }

    #[test]
    fn distances_are_those_of_the_standards() {
        // PicOrderCntMsb goes up when the low bits fall by half a turn or more, and down when they rise by more.
        let all: Vec<i64> = (-9..=9).map(|distance| nearest(distance, 16)).collect();
        assert_eq!(all, [7, 8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, -7]);
    }
}
