//! Which frames can be decoded: those that arrived whole together with everything they refer to.

use crate::record::FrameFacts;

/// The dependency closure over the frames that arrived whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decoding {
    /// Per frame: complete, and so is everything it refers to, directly or not.
    pub decodable: Vec<bool>,
    /// Per frame: the first frame in decode order that is missing of all those it refers to, directly or not.
    pub missing: Vec<Option<u32>>,
}

impl Decoding {
    /// Follows the references of every frame. A decoder works in decode order, so a reference that does not come
    /// before the frame itself cannot be one and is ignored.
    pub fn of(frames: &[FrameFacts], complete: &[bool]) -> Self {
        let mut missing: Vec<Option<u32>> = Vec::with_capacity(frames.len());
        for (index, facts) in frames.iter().enumerate() {
            let earlier = facts.references.iter().copied().filter(|&reference| (reference as usize) < index);
            let first_missing = earlier.filter_map(|reference| {
                let of_reference = missing[reference as usize];
                let itself = (!complete[reference as usize]).then_some(reference);
                of_reference.into_iter().chain(itself).min()
            });
            missing.push(first_missing.min());
        }
        let decodable =
            complete.iter().zip(&missing).map(|(&complete, missing)| complete && missing.is_none()).collect();
        Self { decodable, missing }
    }
}
