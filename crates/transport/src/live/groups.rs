//! When a group of pictures is lost, and when a key frame would end the loss.

use framewire_media::PictureType;

use super::Placed;
use crate::frame::OutgoingFrame;
use crate::queue::Discard;

/// A group of pictures of which a frame was given up that the frames after it need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostGroup {
    /// The first frame of it that was given up, as [`Placed::number`].
    pub frame: u64,
    /// True when no newer key frame has come: asking the encoder for one shortens the loss.
    pub needs_key_frame: bool,
}

/// Remembers which groups were lost, so that each is reported once.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupWatch {
    newest: u64,
    last_lost: Option<u64>,
}

impl GroupWatch {
    /// A frame comes in.
    pub fn offered<P: Placed>(&mut self, frame: &OutgoingFrame<P>) {
        self.newest = self.newest.max(frame.bytes.group());
    }

    /// A frame was given up. Returns when its group was lost by that, as far as its type shows it.
    pub fn given_up<P: Placed>(&mut self, frame: &OutgoingFrame<P>) -> Option<LostGroup> {
        if is_essential(frame) { self.lose(frame) } else { None }
    }

    /// Frames were given up for one that was offered. `needs_key_frame` is what the queue says of it
    /// ([`FrameQueue::needs_key_frame`](crate::queue::FrameQueue::needs_key_frame)); `None` of a queue
    /// that does not know, so that the types have to decide. Gives the loss with its rule.
    pub fn after_offer<P: Placed>(
        &mut self,
        discards: &[Discard<P>],
        needs_key_frame: Option<bool>,
    ) -> Option<(LostGroup, &'static str)> {
        let mut found: Option<(LostGroup, &'static str)> = None;
        for Discard { frame, rule } in discards {
            let is_lost = match needs_key_frame {
                Some(needs) if frame.bytes.group() >= self.newest => needs,
                _ => is_essential(frame),
            };
            let lost = if is_lost { self.lose(frame) } else { None };
            found = lost.map(|lost| (lost, *rule)).or(found);
        }
        found
    }

    fn lose<P: Placed>(&mut self, frame: &OutgoingFrame<P>) -> Option<LostGroup> {
        let (number, group) = (frame.bytes.number(), frame.bytes.group());
        if self.last_lost.is_some_and(|lost| lost >= group) {
            return None;
        }
        self.last_lost = Some(group);
        Some(LostGroup { frame: number, needs_key_frame: group >= self.newest })
    }
}

/// Whether the frames after it need it, by what its headers say of it alone.
fn is_essential<P>(frame: &OutgoingFrame<P>) -> bool {
    frame.dependencies.referenced
        && frame.dependencies.temporal_layer == 0
        && matches!(frame.kind, PictureType::I | PictureType::P)
}

#[cfg(test)]
mod tests {
    use framewire_units::Duration;

    use super::super::testing::frame;
    use super::*;

    const FRAME: Duration = Duration::from_millis(40);

    #[test]
    fn a_group_is_lost_once_and_a_key_frame_helps_only_the_newest() {
        let mut watch = GroupWatch::default();
        let frames: Vec<_> = (0..4).map(|number| frame(number, number / 2, FRAME)).collect();
        frames.iter().for_each(|frame| watch.offered(frame));
        assert_eq!(watch.given_up(&frames[0]), Some(LostGroup { frame: 0, needs_key_frame: false }));
        assert_eq!(watch.given_up(&frames[1]), None, "it was told");
        assert_eq!(watch.given_up(&frames[3]), Some(LostGroup { frame: 3, needs_key_frame: true }));
    }

    #[test]
    fn what_nothing_refers_to_takes_no_group_with_it() {
        let mut watch = GroupWatch::default();
        let mut droppable = frame(0, 0, FRAME);
        droppable.dependencies.referenced = false;
        watch.offered(&droppable);
        assert_eq!(watch.given_up(&droppable), None);
    }

    #[test]
    fn of_the_newest_group_the_queue_knows_more_than_the_types() {
        let mut watch = GroupWatch::default();
        let offered = frame(7, 3, FRAME);
        watch.offered(&offered);
        let discards = [Discard { frame: offered, rule: "a rule" }];
        assert_eq!(watch.after_offer(&discards, Some(false)), None);
        let lost = LostGroup { frame: 7, needs_key_frame: true };
        assert_eq!(watch.after_offer(&discards, Some(true)), Some((lost, "a rule")));
    }
}
