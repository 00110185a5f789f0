//! Which frames can be decoded and are shown in their place: those that arrived whole, together with everything they
//! refer to and with enough of what gives a decoder their place in display order.

use framewire_media::held_references::HeldReferences;
use framewire_media::picture_order::{PictureOrder, Placed, ReceivedOrder};
use framewire_units::Timestamp;

use super::output_order::{OutputOrder, Picture};
use crate::record::FrameFacts;

/// What a decoder makes of one frame, before it is known whether it is shown in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    /// It is complete, and so is everything it refers to, directly or not.
    pub decodable: bool,
    /// The first frame in decode order that is missing of all those it refers to, directly or not.
    pub missing: Option<u32>,
    /// It refers to something that is not in the movie, directly or not, and lacks nothing else.
    pub not_in_movie: bool,
    /// When it, and everything it refers to, has arrived; `None` where it cannot be decoded.
    pub ready: Option<Timestamp>,
}

impl Decoded {
    /// Of what refers to nothing else, as packets of sound do: it can be decoded where it arrived.
    pub(super) fn by_itself(arrival: Option<Timestamp>) -> Self {
        Self { decodable: arrival.is_some(), missing: None, not_in_movie: false, ready: arrival }
    }
}

/// A frame that can be decoded, and that a decoder shows elsewhere or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Misplaced {
    pub frame: u32,
    /// The first of the frames whose loss led to that.
    pub missing: u32,
}

/// What a decoder makes of the frames that arrived whole, frame by frame.
#[derive(Debug, Default)]
pub(super) struct Decoding {
    /// Of the frames so far, what those that refer to them lack for it.
    past: Vec<Lack>,
    /// When each frame so far can be decoded, in nanoseconds; all ones where it cannot.
    ready: Vec<u64>,
    order: ReceivedOrder,
    held: HeldReferences,
    output: OutputOrder,
    /// The first frame lost since the order was last right.
    lost: Option<u32>,
    /// The same, when it was last lost.
    lost_last: Option<u32>,
    misplaced: Vec<Misplaced>,
}

/// What a frame lacks, directly or not, in few bytes: there is one for every frame of a movie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lack {
    /// The first frame that is missing; all ones where none is.
    missing: u32,
    /// The last frame that did harm, as [`Lack::harm`] has it; 0 where none did.
    last: u32,
}

/// No frame: a movie has fewer than half as many.
const NONE: u32 = u32::MAX;

/// Never: no run lasts so long.
const NEVER: u64 = u64::MAX;

impl Lack {
    const NOTHING: Self = Self { missing: NONE, last: 0 };

    /// A frame that did harm and why, in the order of frames: it is missing, or refers to something outside the movie.
    fn harm(frame: u32, is_missing: bool) -> u32 {
        2 * (frame + 1) + u32::from(is_missing)
    }

    /// Of a frame that is not there.
    fn missing(frame: u32) -> Self {
        Self { missing: frame, last: Self::harm(frame, true) }
    }

    /// Of a frame that refers to something that is not in the movie.
    fn outside(frame: u32) -> Self {
        Self { last: Self::harm(frame, false), ..Self::NOTHING }
    }

    fn add(&mut self, other: Self) {
        *self = Self { missing: self.missing.min(other.missing), last: self.last.max(other.last) };
    }

    /// What is left of it after a refresh that began with the frame `since`. Where the first did harm before that one and
    /// the last behind it, the last counts: those between them are not known one by one.
    fn after_refresh(self, since: u32) -> Self {
        let is_missing = self.last % 2 == 1;
        match self {
            Self { last, .. } if last < Self::harm(since, false) => Self::NOTHING,
            Self { missing, last } if missing < since && is_missing => Self::missing(last / 2 - 1),
            Self { missing, last } if missing < since => Self { missing: NONE, last },
            lack => lack,
        }
    }

    fn first_missing(self) -> Option<u32> {
        Some(self.missing).filter(|&missing| missing != NONE)
    }
}

impl Decoding {
    /// Takes the next frame in decode order: follows its references and the order in which a decoder shows what reaches it.
    /// A decoder works in decode order, so a reference that does not come before the frame itself cannot be one and is
    /// ignored. `begins_sequence`: it was made to begin a coded video sequence.
    pub(crate) fn take(&mut self, facts: &FrameFacts, arrival: Option<Timestamp>, begins_sequence: bool) -> Decoded {
        let (frame, complete) = (self.past.len() as u32, arrival.is_some());
        let picture = facts.picture_order;
        let picture = if begins_sequence { picture.map(PictureOrder::beginning_sequence) } else { picture };
        let mut lack = self.lacking(frame, facts);
        let placed = picture.filter(|_| complete).map(|picture| (picture, self.place(picture)));
        if lack == Lack::NOTHING
            && let Some((picture, placed)) = placed
            && self.held.is_displaced(picture, placed.count, &facts.references)
        {
            // Where nothing was lost a decoder is not thought to find anything else either.
            lack = self.lost_last.map_or(lack, Lack::missing);
        }
        let is_left_out = placed.is_some_and(|(picture, placed)| {
            self.output.leaves_out(picture.output, picture.begins_sequence, placed.count)
        });
        if is_left_out && lack == Lack::NOTHING {
            lack = self.lost_last.map_or(lack, Lack::missing);
        }
        let mut of_those_behind = lack;
        if !complete {
            of_those_behind.add(Lack::missing(frame));
        }
        self.past.push(of_those_behind);
        let decodable = complete && lack == Lack::NOTHING;
        match (picture, placed) {
            (_, Some(_)) if is_left_out => {}
            (_, Some((picture, placed))) => {
                self.show(facts, picture, placed, decodable);
                self.held.take(frame, picture, placed.count);
            }
            (Some(_), None) => self.lost = self.lost.or(Some(frame)),
            (None, None) => {}
        }
        let missing = lack.first_missing();
        let ready = arrival.filter(|_| decodable).map(|arrival| self.with_references(arrival, facts));
        self.ready.push(ready.map_or(NEVER, Timestamp::as_nanos));
        Decoded { decodable, missing, not_in_movie: missing.is_none() && lack != Lack::NOTHING, ready }
    }

    /// When a frame that arrived then, and the frames that it refers to, have arrived.
    fn with_references(&self, arrival: Timestamp, facts: &FrameFacts) -> Timestamp {
        let references = facts.references.iter().filter_map(|&reference| self.ready.get(reference as usize));
        let ready = references.copied().filter(|&ready| ready != NEVER).map(Timestamp::from_nanos);
        ready.fold(arrival, Timestamp::max)
    }

    /// The frames that can be decoded and are not shown in their places, ascending: no more come.
    pub(crate) fn misplaced(mut self) -> Vec<Misplaced> {
        self.lost_last = self.lost.or(self.lost_last);
        let left = self.output.finish();
        left.into_iter().for_each(|picture| self.note_misplaced(picture));
        self.misplaced.sort_unstable();
        self.misplaced
    }

    /// What a frame lacks, unless a refresh has made up for it.
    fn lacking(&self, frame: u32, facts: &FrameFacts) -> Lack {
        let mut lack = if facts.missing_reference { Lack::outside(frame) } else { Lack::NOTHING };
        let earlier = facts.references.iter().filter_map(|&reference| self.past.get(reference as usize));
        earlier.for_each(|&of_reference| lack.add(of_reference));
        // No picture before the refresh does harm to this one: nor to those that refer to it, for its sake.
        facts.recovers_from.map_or(lack, |since| lack.after_refresh(since))
    }

    /// Where the decoder places the latest frame, which arrived whole.
    fn place(&mut self, picture: PictureOrder) -> Placed {
        let placed = self.order.place(picture);
        let lost = self.lost;
        if lost.is_some() {
            self.lost_last = lost;
        }
        if placed.is_in_place && picture.is_base {
            self.lost = None;
        }
        placed
    }

    /// Takes the latest frame, which arrived whole, to its place among those that the decoder shows.
    fn show(&mut self, facts: &FrameFacts, picture: PictureOrder, placed: Placed, is_right: bool) {
        let output = Picture {
            frame: self.past.len() as u32 - 1,
            place: placed.count,
            begins_sequence: picture.begins_sequence,
            follows_made_up: self.held.is_behind_gap(picture) && picture.marks.is_some_and(|marks| !marks.gaps_allowed),
            lists_made_up: self.held.lacks_listed(picture),
            rule: picture.output,
            is_b: facts.kind == 'B',
            recovers: facts.recovers_from.is_some() || picture.output.entry().can_begin(),
            display: facts.display_index,
            is_right,
        };
        for picture in self.output.take(output) {
            self.note_misplaced(picture);
        }
    }

    /// Where nothing was lost a decoder is not thought to lose anything either.
    fn note_misplaced(&mut self, picture: Picture) {
        if let Some(missing) = self.lost_last.filter(|_| picture.is_right) {
            self.misplaced.push(Misplaced { frame: picture.frame, missing });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use framewire_media::held_references::ReferenceMarks;
    use framewire_media::picture_order::{Entry, OutputRule};

    use super::*;
    use crate::testing::movie;

    const fn h264(reordered: u8) -> OutputRule {
        OutputRule::H264 { reordered: Some(reordered), entry: Entry::Inside }
    }

    const fn h265(reordered: u8) -> OutputRule {
        OutputRule::H265 { reordered, entry: Entry::Inside, keeps: 0 }
    }

    /// A picture of a stream in which low bits distinguish 32 counts.
    fn of_rule(output: OutputRule) -> PictureOrder {
        PictureOrder {
            count: 0,
            turn: NonZeroU32::new(32),
            follows_frame_num: false,
            is_base: true,
            begins_sequence: false,
            can_begin_sequence: false,
            numbers: None,
            output,
            marks: None,
        }
    }

    /// What is not shown in its place of frames that came, and the first frame that led to it. `missing` did not
    /// come.
    fn misplaced(output: OutputRule, counts: &[(i64, bool)], missing: std::ops::Range<u32>) -> Vec<(u32, u32)> {
        let mut decoding = Decoding::default();
        let mut misplaced = vec![];
        for (frame, &(count, is_base)) in (0u32..).zip(counts) {
            let picture = PictureOrder { count, is_base, begins_sequence: count == 0, ..of_rule(output) };
            let facts =
                FrameFacts { display_index: count as u32, picture_order: Some(picture), ..movie(&[1]).remove(0) };
            let arrival = (!missing.contains(&frame)).then_some(Timestamp::ZERO);
            let Decoded { decodable, missing, .. } = decoding.take(&facts, arrival, false);
            misplaced.extend(missing.filter(|_| arrival.is_some() && !decodable).map(|missing| (frame, missing)));
        }
        misplaced.extend(decoding.misplaced().iter().map(|one| (one.frame, one.missing)));
        misplaced.sort_unstable();
        misplaced
    }

    #[test]
    fn behind_a_long_gap_a_decoder_goes_by_what_it_holds_back() {
        // Each P picture with a B picture before it in display order. Behind 12 and 10, ten pictures are missing.
        let pairs = (1..14).flat_map(|pair| [(4 * pair, true), (4 * pair - 2, false)]);
        let all: Vec<_> = [(0, true)].into_iter().chain(pairs).collect();
        assert_eq!([h264(1), h265(1)].map(|rule| misplaced(rule, &all, 0..0)), [[], []]);
        assert_eq!(all[17], (36, true), "it is taken for 4");
        // 44, which is taken for 12, comes behind the 12 that was held back.
        assert_eq!(misplaced(h264(1), &all, 7..17), [17, 18, 19, 20, 22].map(|frame| (frame, 7)));
        // A decoder of H.265 shows 36 and 40, each of which is placed before that 12, when they come; 34 and 38 come behind
        // them, 44 is at its place, and the 12 itself is shown after 42.
        assert_eq!(misplaced(h265(1), &all, 7..17), [5, 18, 20, 21].map(|frame| (frame, 7)));
    }

    #[test]
    fn what_was_held_back_is_misplaced_by_what_is_lost_behind_it() {
        // 42 is taken for 10, which is shown before the 12 and the 16 that were held back.
        let counts = [(0, true), (4, true), (8, true), (12, true), (16, true), (28, true), (42, true), (46, true)];
        assert_eq!(misplaced(h264(2), &counts, 5..6), [(3, 5), (4, 5)]);
    }

    #[test]
    fn what_a_decoder_still_holds_when_nothing_more_comes_may_never_be_shown() {
        // Of a stream that does not begin with an IDR picture nothing is shown before its key frame has been: 10, which was
        // decoded before that, is not shown when 9 of it is lost behind.
        let shown = |entry: Entry, missing: std::ops::Range<u32>| {
            let rule = |frame: u32| OutputRule::H264 {
                reordered: Some(1),
                entry: if frame == 0 { entry } else { Entry::Inside },
            };
            let mut decoding = Decoding::default();
            for (frame, count) in [(0, 6), (1, 10), (2, 14)] {
                let picture = PictureOrder { count, ..of_rule(rule(frame)) };
                let facts = FrameFacts { display_index: frame, picture_order: Some(picture), ..movie(&[1]).remove(0) };
                decoding.take(&facts, (!missing.contains(&frame)).then_some(Timestamp::ZERO), false);
            }
            decoding.misplaced().iter().map(|one| (one.frame, one.missing)).collect::<Vec<_>>()
        };
        assert_eq!(shown(Entry::Closed, 2..3), []);
        assert_eq!(shown(Entry::Open, 3..3), []);
        assert_eq!(shown(Entry::Open, 2..3), [(1, 2)]);
    }

    #[test]
    fn a_picture_whose_references_are_displaced_is_damaged_and_what_refers_to_it() {
        // Low bits distinguish 64 counts: behind frame 3, which is missing or not, 68 is taken for 4, and 12 stands between
        // the 10 and the 16 of the last picture's references.
        let counts = [0, 6, 12, 40, 68, 74, 80, 76, 78];
        let decoded = |missing: Option<u32>| {
            let mut decoding = Decoding::default();
            let taken = (0u32..).zip(counts).map(|(frame, count)| {
                let picture = PictureOrder {
                    count,
                    turn: NonZeroU32::new(64),
                    follows_frame_num: false,
                    is_base: frame < 8,
                    begins_sequence: count == 0,
                    can_begin_sequence: false,
                    numbers: None,
                    output: h264(2),
                    marks: Some(ReferenceMarks {
                        max_frames: 5,
                        by_order: if frame == 7 { (1, 1) } else { (0, 0) },
                        unmarks: 0,
                        gaps_allowed: false,
                        listed: 0,
                        named: 0,
                    }),
                };
                let references = [vec![], vec![5, 6], vec![7]][frame.saturating_sub(6) as usize].clone();
                let display_index = count as u32;
                let facts =
                    FrameFacts { references, display_index, picture_order: Some(picture), ..movie(&[1]).remove(0) };
                let arrival = (missing != Some(frame)).then_some(Timestamp::ZERO);
                let Decoded { decodable, missing, .. } = decoding.take(&facts, arrival, false);
                (decodable, missing)
            });
            taken.collect::<Vec<_>>()
        };
        assert_eq!(decoded(None), [(true, None); 9]);
        assert_eq!(decoded(Some(2))[7..], [(true, None); 2]);
        let behind_gap = decoded(Some(3));
        assert_eq!(behind_gap[4..7], [(true, None); 3]);
        assert_eq!(behind_gap[7..], [(false, Some(3)); 2]);
    }

    #[test]
    fn eight_bytes_are_kept_of_a_frame() {
        // docs/simulator.md
        assert_eq!(size_of::<Lack>(), 8);
    }

    #[test]
    fn what_was_lacking_before_a_refresh_began_lacks_no_longer() {
        let lacking = |harm: &[Lack]| {
            let mut lack = Lack::NOTHING;
            harm.iter().for_each(|&harm| lack.add(harm));
            lack
        };
        let (missing, outside) = (Lack::missing, Lack::outside);
        assert_eq!(missing(4).after_refresh(5), Lack::NOTHING);
        assert_eq!([missing(5), missing(6)].map(|lack| lack.after_refresh(5)), [missing(5), missing(6)]);
        assert_eq!(outside(4).after_refresh(5), Lack::NOTHING);
        assert_eq!(outside(5).after_refresh(5), outside(5));
        assert_eq!(lacking(&[missing(3), missing(6)]).after_refresh(5), missing(6));
        assert_eq!(lacking(&[missing(3), outside(6)]).after_refresh(5), outside(6));
        assert_eq!(lacking(&[outside(3), missing(6)]).after_refresh(5), missing(6));
        assert_eq!(lacking(&[outside(6), missing(6)]).after_refresh(5).first_missing(), Some(6));
        assert_eq!(lacking(&[missing(6), missing(8)]).after_refresh(5).first_missing(), Some(6));
        assert_eq!(Lack::NOTHING.after_refresh(0), Lack::NOTHING);
        assert_eq!(missing(0).after_refresh(0), missing(0));
    }
}
