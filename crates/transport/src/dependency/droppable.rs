//! The third rule's question: which frame the stream goes on without.

use super::{DependencyQueue, MOST_CHECKS};
use crate::backlog::Waiting;
use crate::frame::{OutgoingFrame, Payload};
use crate::queue::Level;

impl<P: Payload> DependencyQueue<P> {
    /// The oldest frame without which the stream goes on, with what is lost with it, among those for which `late` is
    /// true of what waits from them on.
    pub(super) fn find_droppable(&self, late: impl Fn(Level) -> bool) -> Option<Vec<u32>> {
        let behind_one = self.backlog.len().saturating_sub(1);
        let candidates = self.rests().take(behind_one).take_while(|(_, rest)| late(*rest));
        let mut candidates = candidates.filter(|(waiting, _)| waiting.frame.dependencies.key.is_none());
        let mut checks = 0;
        candidates.find_map(|(Waiting { frame, .. }, _)| {
            checks += u32::from(frame.dependencies.referenced);
            if checks <= MOST_CHECKS { self.lost_if_spared(frame) } else { unreferenced(frame) }
        })
    }

    /// What is lost with a frame, if the stream goes on without it: nothing refers to it, or a referenced frame waits
    /// behind it that does not.
    fn lost_if_spared(&self, frame: &OutgoingFrame<P>) -> Option<Vec<u32>> {
        if !frame.dependencies.referenced {
            return unreferenced(frame);
        }
        let lost = self.lost_with(|other| other.id == frame.id);
        let goes_on = |other: &OutgoingFrame<P>| {
            other.id > frame.id && other.dependencies.referenced && lost.binary_search(&other.id).is_err()
        };
        self.backlog.iter().any(|waiting| goes_on(&waiting.frame)).then_some(lost)
    }
}

/// What is lost with a frame that nothing refers to.
fn unreferenced<P>(frame: &OutgoingFrame<P>) -> Option<Vec<u32>> {
    (!frame.dependencies.referenced).then(|| vec![frame.id])
}
