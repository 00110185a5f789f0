//! Which frames can be decoded and are shown in their place: those that arrived whole, together with everything they
//! refer to and with enough of what tells a decoder their place in display order.

use framewire_media::picture_order::ReceivedOrder;

use crate::record::FrameFacts;

/// What a decoder makes of the frames that arrived whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decoding {
    /// Per frame: complete, and so is everything it refers to, directly or not; and it is shown in its place.
    pub decodable: Vec<bool>,
    /// Per frame: the first frame in decode order that is missing of all those it refers to, directly or not; or else,
    /// where so many frames are missing that a decoder shows it elsewhere, the first of these.
    pub missing: Vec<Option<u32>>,
    /// Per frame: it refers to something that is not in the movie, directly or not.
    pub not_in_movie: Vec<bool>,
}

impl Decoding {
    /// Follows the references of every frame and the order in which a decoder shows them. A decoder works in decode order,
    /// so a reference that does not come before the frame itself cannot be one and is ignored. `begins_sequence` tells of
    /// each frame whether it was made to begin a coded video sequence.
    pub fn of(frames: &[FrameFacts], complete: &[bool], begins_sequence: &[bool]) -> Self {
        let (mut missing, not_in_movie) = closure(frames, complete);
        let misplaced = misplaced(frames, complete, begins_sequence);
        let decodable = |index: usize| {
            complete[index] && missing[index].is_none() && !not_in_movie[index] && misplaced[index].is_none()
        };
        let decodable = (0..frames.len()).map(decodable).collect();
        for (missing, misplaced) in missing.iter_mut().zip(misplaced) {
            *missing = missing.or(misplaced);
        }
        Self { decodable, missing, not_in_movie }
    }
}

/// Of every frame what it lacks, directly or not: the first frame that is missing, and whether something is not in the
/// movie.
fn closure(frames: &[FrameFacts], complete: &[bool]) -> (Vec<Option<u32>>, Vec<bool>) {
    let mut missing: Vec<Option<u32>> = Vec::with_capacity(frames.len());
    let mut not_in_movie: Vec<bool> = Vec::with_capacity(frames.len());
    for (index, facts) in frames.iter().enumerate() {
        let earlier = || facts.references.iter().copied().filter(|&reference| (reference as usize) < index);
        let first_missing = earlier().filter_map(|reference| {
            let of_reference = missing[reference as usize];
            let itself = (!complete[reference as usize]).then_some(reference);
            of_reference.into_iter().chain(itself).min()
        });
        let lacks = facts.missing_reference || earlier().any(|reference| not_in_movie[reference as usize]);
        missing.push(first_missing.min());
        not_in_movie.push(lacks);
    }
    (missing, not_in_movie)
}

/// Of every frame that arrived whole but is not shown in its place, the first of the frames whose loss led to that.
fn misplaced(frames: &[FrameFacts], complete: &[bool], begins_sequence: &[bool]) -> Vec<Option<u32>> {
    let mut order = ReceivedOrder::default();
    // The first frame lost since the order was last right.
    let mut lost: Option<u32> = None;
    let follow = |(index, facts): (usize, &FrameFacts)| {
        let picture = facts.picture_order?;
        if !complete[index] {
            lost.get_or_insert(index as u32);
            return None;
        }
        let picture = if begins_sequence[index] { picture.beginning_sequence() } else { picture };
        let is_in_place = order.take(picture);
        if is_in_place && picture.is_base {
            lost = None;
        }
        lost.filter(|_| !is_in_place)
    };
    frames.iter().enumerate().map(follow).collect()
}
