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
    /// It refers to something that is not in the movie, directly or not.
    pub not_in_movie: bool,
}

/// What a decoder makes of the frames that arrived whole, frame by frame.
#[derive(Debug, Default)]
pub(super) struct Decoding {
    /// What is kept of the frames so far, which any later one may refer to.
    past: Vec<Past>,
    order: ReceivedOrder,
    /// The first frame lost since the order was last right.
    lost: Option<u32>,
}

/// A frame that others may refer to, in few bytes: there is one for every frame of a movie.
#[derive(Clone, Copy, Debug)]
struct Past {
    /// The first frame that it, directly or not, lacks; all ones where it lacks none.
    missing: u32,
    complete: bool,
    not_in_movie: bool,
}

/// No frame: a movie has fewer.
const NONE: u32 = u32::MAX;

impl Decoding {
    /// Takes the next frame in decode order: follows its references and the order in which a decoder shows what reaches it.
    /// A decoder works in decode order, so a reference that does not come before the frame itself cannot be one and is
    /// ignored. `begins_sequence`: it was made to begin a coded video sequence.
    pub fn take(&mut self, facts: &FrameFacts, complete: bool, begins_sequence: bool) -> Decoded {
        let (missing, not_in_movie) = self.lacking(facts);
        let misplaced = self.misplaced(facts, complete, begins_sequence);
        self.past.push(Past { missing: missing.unwrap_or(NONE), complete, not_in_movie });
        let decodable = complete && missing.is_none() && !not_in_movie && misplaced.is_none();
        Decoded { decodable, missing: missing.or(misplaced), not_in_movie }
    }

    /// What a frame lacks, directly or not: the first frame that is missing, and whether something is not in the movie.
    fn lacking(&self, facts: &FrameFacts) -> (Option<u32>, bool) {
        let (mut missing, mut not_in_movie) = (NONE, facts.missing_reference);
        for &reference in &facts.references {
            let Some(past) = self.past.get(reference as usize) else { continue };
            let itself = if past.complete { NONE } else { reference };
            missing = missing.min(past.missing).min(itself);
            not_in_movie |= past.not_in_movie;
        }
        (Some(missing).filter(|&missing| missing != NONE), not_in_movie)
    }

    /// Of a frame that arrived whole but is not shown in its place, the first of the frames whose loss led to that.
    fn misplaced(&mut self, facts: &FrameFacts, complete: bool, begins_sequence: bool) -> Option<u32> {
        let picture = facts.picture_order?;
        if !complete {
            self.lost.get_or_insert(self.past.len() as u32);
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
