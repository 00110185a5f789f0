//! Which frames can be decoded and are shown in their place: those that arrived whole, together with everything they
//! refer to and with enough of what tells a decoder their place in display order.

use framewire_media::picture_order::ReceivedOrder;

use crate::record::FrameFacts;

/// What a decoder makes of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    /// It is complete, and so is everything it refers to, directly or not; and it is shown in its place.
    pub decodable: bool,
    /// The first frame in decode order that is missing of all those it refers to, directly or not; or else, where so many
    /// frames are missing that a decoder shows it elsewhere, the first of these.
    pub missing: Option<u32>,
    /// It refers to something that is not in the movie, directly or not, and lacks nothing else.
    pub not_in_movie: bool,
}

/// What a decoder makes of the frames that arrived whole, frame by frame.
#[derive(Debug, Default)]
pub(super) struct Decoding {
    /// Of the frames so far, what those that refer to them lack for it.
    past: Vec<Lack>,
    order: ReceivedOrder,
    /// The first frame lost since the order was last right.
    lost: Option<u32>,
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
    pub fn take(&mut self, facts: &FrameFacts, complete: bool, begins_sequence: bool) -> Decoded {
        let frame = self.past.len() as u32;
        let lack = self.lacking(frame, facts);
        let misplaced = self.misplaced(frame, facts, complete, begins_sequence);
        let mut of_those_behind = lack;
        if !complete {
            of_those_behind.add(Lack::missing(frame));
        }
        self.past.push(of_those_behind);
        let decodable = complete && lack == Lack::NOTHING && misplaced.is_none();
        let missing = lack.first_missing();
        Decoded { decodable, missing: missing.or(misplaced), not_in_movie: missing.is_none() && lack != Lack::NOTHING }
    }

    /// What a frame lacks, unless a refresh has made up for it.
    fn lacking(&self, frame: u32, facts: &FrameFacts) -> Lack {
        let mut lack = if facts.missing_reference { Lack::outside(frame) } else { Lack::NOTHING };
        let earlier = facts.references.iter().filter_map(|&reference| self.past.get(reference as usize));
        earlier.for_each(|&of_reference| lack.add(of_reference));
        // No picture before the refresh does harm to this one: nor to those that refer to it, for its sake.
        facts.recovers_from.map_or(lack, |since| lack.after_refresh(since))
    }

    /// Of a frame that arrived whole but is not shown in its place, the first of the frames whose loss led to that.
    fn misplaced(&mut self, frame: u32, facts: &FrameFacts, complete: bool, begins_sequence: bool) -> Option<u32> {
        let picture = facts.picture_order?;
        if !complete {
            self.lost.get_or_insert(frame);
            return None;
        }
        let picture = if begins_sequence { picture.beginning_sequence() } else { picture };
        let is_in_place = self.order.take(picture);
        if is_in_place && picture.is_base {
            self.lost = None;
        }
        self.lost.filter(|_| !is_in_place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
