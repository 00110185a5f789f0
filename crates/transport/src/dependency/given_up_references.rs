//! Which frames can no longer be referred to.

use std::collections::BTreeSet;

use framewire_media::PictureType;

use crate::frame::OutgoingFrame;

/// How many are remembered one by one: minutes of frames given up without a key frame between them.
const MOST: usize = 4_096;

/// The referenced frames that were given up, as far back as a frame to come may refer.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenUpReferences {
    ids: BTreeSet<u32>,
    /// All before this one count as given up: they were too many to remember.
    all_before: u32,
    last_key: Option<u32>,
    /// Those of `ids` that frames to come would have referred to, in all likelihood: no B pictures.
    anchors: BTreeSet<u32>,
}

impl GivenUpReferences {
    /// A frame was given up.
    pub(super) fn insert<P>(&mut self, frame: &OutgoingFrame<P>) {
        if frame.dependencies.referenced {
            self.remember(frame.id, frame.kind != PictureType::B);
        }
    }

    fn remember(&mut self, id: u32, is_anchor: bool) {
        self.ids.insert(id);
        if is_anchor {
            self.anchors.insert(id);
        }
        if self.ids.len() > MOST
            && let Some(oldest) = self.ids.pop_first()
        {
            self.anchors.remove(&oldest);
            self.all_before = self.all_before.max(oldest.saturating_add(1));
        }
    }

    /// Whether an I or P picture between these two frames was given up.
    pub(super) fn anchor_between(&self, after: u32, before: u32) -> bool {
        after.saturating_add(1) < before
            && (after.saturating_add(1) < self.all_before || self.anchors.range(after + 1..before).next().is_some())
    }

    pub(super) fn contains(&self, id: u32) -> bool {
        id < self.all_before || self.ids.contains(&id)
    }

    /// A key frame comes. Only the leading frames of one refer to what came before it, and no further back than to the
    /// group before: all that is older is forgotten.
    pub(super) fn start_group(&mut self, key: u32) {
        if let Some(last_key) = self.last_key.replace(key) {
            self.ids = self.ids.split_off(&last_key);
            self.anchors = self.anchors.split_off(&last_key);
            if self.all_before <= last_key {
                self.all_before = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_without_key_frames_and_forgets_on_the_safe_side() {
        let mut gone = GivenUpReferences::default();
        for id in 0..20_000 {
            gone.remember(2 * id, id % 2 == 0);
        }
        assert!(gone.ids.len() <= MOST && gone.anchors.len() <= MOST);
        assert!((0..20_000).all(|id| gone.contains(2 * id)), "nothing given up is taken for sent");
        assert!(!gone.contains(39_997), "what is remembered one by one is exact");
    }

    #[test]
    fn what_lies_between_two_frames_is_told_by_its_kind() {
        let mut gone = GivenUpReferences::default();
        gone.remember(5, true);
        gone.remember(7, false);
        assert!(gone.anchor_between(4, 6) && !gone.anchor_between(5, 9) && !gone.anchor_between(4, 5));
    }

    #[test]
    fn a_second_key_frame_ends_what_may_be_referred_to() {
        let mut gone = GivenUpReferences::default();
        gone.start_group(0);
        gone.remember(5, false);
        gone.start_group(10);
        assert!(gone.contains(5), "leading frames of the second group refer to it");
        gone.start_group(20);
        assert!(!gone.contains(5));
    }
}
