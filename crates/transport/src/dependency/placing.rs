//! Whether a decoder can tell where the frames that are sent are shown (`framewire_media::picture_order`).

use framewire_media::picture_order::{PictureOrder, ReceivedOrder};

use super::{LEADING_WITHOUT_REFERENCE, MISPLACED, REFERENCE_GIVEN_UP, references};
use crate::backlog::Waiting;
use crate::frame::{Dependencies, OutgoingFrame};

/// The order in which a decoder shows what was sent, and what waits to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Placing {
    /// After what was sent.
    sent: ReceivedOrder,
    /// After what waits.
    waiting: ReceivedOrder,
    /// The last key frame that waits, or was sent, was made to begin a sequence: no decoder shows its leading frames.
    skips_leading: bool,
}

/// A frame's own order, unless it was made to begin a sequence.
fn order_of(dependencies: &Dependencies) -> Option<PictureOrder> {
    let order = dependencies.picture_order?;
    Some(if dependencies.begins_sequence { order.beginning_sequence() } else { order })
}

/// Whether a frame that has lost its place can be given one as the beginning of a sequence.
fn can_begin_sequence(dependencies: &Dependencies) -> bool {
    dependencies.key.is_some() && dependencies.picture_order.is_some_and(|order| order.can_begin_sequence)
}

fn places(order: &ReceivedOrder, dependencies: &Dependencies) -> bool {
    order_of(dependencies).is_none_or(|picture| order.places(picture))
}

impl Placing {
    /// Whether a frame that comes keeps its place, or can be given one.
    pub(super) fn keeps_place<P>(&self, frame: &OutgoingFrame<P>) -> bool {
        places(&self.waiting, &frame.dependencies) || can_begin_sequence(&frame.dependencies)
    }

    /// Whether leading frames that come now are not shown by any decoder.
    pub(super) fn skips_leading(&self) -> bool {
        self.skips_leading
    }

    /// A frame that [keeps its place](Self::keeps_place) is kept; it is made to begin a sequence where that is needed.
    pub(super) fn push<P>(&mut self, frame: &mut OutgoingFrame<P>) {
        let dependencies = &mut frame.dependencies;
        dependencies.begins_sequence |= !places(&self.waiting, dependencies);
        if dependencies.key.is_some() {
            self.skips_leading = dependencies.begins_sequence;
        }
        if let Some(order) = order_of(dependencies) {
            self.waiting.take(order);
        }
    }

    /// A frame is sent.
    pub(super) fn leaves<P>(&mut self, frame: &OutgoingFrame<P>) {
        if let Some(order) = order_of(&frame.dependencies) {
            self.sent.take(order);
        }
    }

    /// Whether the last of these frames keeps its place, or can be given one, when they are sent next.
    pub(super) fn keep_last_place<'a, P: 'a>(&self, frames: impl Iterator<Item = &'a OutgoingFrame<P>>) -> bool {
        let mut order = self.sent;
        let mut kept = true;
        for OutgoingFrame { dependencies, .. } in frames {
            kept = places(&order, dependencies) || can_begin_sequence(dependencies);
            if let Some(picture) = order_of(dependencies) {
                order.take(picture);
            }
        }
        kept
    }

    /// Places what waits anew, after some of it was given up: gives the ids of the frames that have lost their places or
    /// refer to such a frame, ascending, with the rule.
    pub(super) fn place_anew<'a, P: 'a>(
        &mut self,
        frames: impl Iterator<Item = &'a mut Waiting<P>>,
    ) -> Vec<(u32, &'static str)> {
        self.waiting = self.sent;
        let mut lost: Vec<(u32, &'static str)> = vec![];
        let mut skips_leading = None;
        for Waiting { frame, .. } in frames {
            let refers_to_lost =
                || references(frame).iter().any(|id| lost.binary_search_by_key(id, |lost| lost.0).is_ok());
            let is_key = frame.dependencies.key.is_some();
            let rule = match () {
                () if !is_key && refers_to_lost() => Some(REFERENCE_GIVEN_UP),
                () if frame.dependencies.leading && skips_leading == Some(true) => Some(LEADING_WITHOUT_REFERENCE),
                () if !self.keeps_place(frame) => Some(MISPLACED),
                () => None,
            };
            match rule {
                Some(rule) => lost.push((frame.id, rule)),
                None => {
                    self.push(frame);
                    if is_key {
                        skips_leading = Some(frame.dependencies.begins_sequence);
                    }
                }
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use framewire_media::PictureType::{B, I, P};
    use framewire_media::access_unit::KeyKind;

    use super::super::DependencyQueue;
    use super::*;
    use crate::limits::Limits;

    /// Frames of which each refers to the one before, with two counts to a frame and low bits that tell 32 apart.
    fn frame(id: u32, key: Option<KeyKind>, can_begin_sequence: bool) -> OutgoingFrame {
        let begins_sequence = key == Some(KeyKind::Closed);
        let order = PictureOrder {
            count: 2 * i64::from(id),
            turn: Some(32),
            is_base: true,
            begins_sequence,
            can_begin_sequence: can_begin_sequence && key == Some(KeyKind::Open),
        };
        let dependencies = Dependencies {
            key,
            referenced: true,
            references: Some(if key.is_some() { vec![] } else { vec![id - 1] }),
            picture_order: Some(order),
            ..Dependencies::default()
        };
        OutgoingFrame {
            id,
            kind: if key.is_some() { I } else { P },
            dependencies,
            duration: framewire_units::Duration::from_millis(40),
            rtp_timestamp: 0,
            bytes: bytes::Bytes::from_static(b"frame"),
        }
    }

    /// Three frames have left and four wait; all up to the twentieth, an open key frame, were given up.
    fn after_a_gap() -> DependencyQueue {
        let mut queue = DependencyQueue::new(Limits { frames: Some(4), ..Limits::default() });
        for id in 0..20 {
            queue.offer(frame(id, (id == 0).then_some(KeyKind::Closed), false));
            if id < 3 {
                assert_eq!(queue.take().map(|frame| frame.id), Some(id));
            }
        }
        assert!(queue.needs_key_frame());
        queue
    }

    fn rules(queue: &mut DependencyQueue, frame: OutgoingFrame) -> Vec<(u32, &'static str)> {
        queue.offer(frame).into_iter().map(|discard| (discard.frame.id, discard.rule)).collect()
    }

    #[test]
    fn a_key_frame_that_a_decoder_would_show_elsewhere_is_no_end_of_the_gap() {
        let mut queue = after_a_gap();
        assert_eq!(rules(&mut queue, frame(20, Some(KeyKind::Open), false)), [(20, MISPLACED)]);
        assert_eq!(rules(&mut queue, frame(21, None, false)), [(21, REFERENCE_GIVEN_UP)]);
        assert!(queue.needs_key_frame(), "an encoder that is asked can end it");
        while queue.take().is_some() {}
        // From the sixth frame 64 counts are two turns: it would stand beside it. 66 are taken for two, behind it.
        assert_eq!(rules(&mut queue, frame(38, Some(KeyKind::Open), false)), [(38, MISPLACED)]);
        assert_eq!(rules(&mut queue, frame(39, Some(KeyKind::Open), false)), []);
        assert!(!queue.needs_key_frame());
    }

    #[test]
    fn an_idr_picture_always_is() {
        let mut queue = after_a_gap();
        let given_up = rules(&mut queue, frame(20, Some(KeyKind::Closed), false));
        assert!(given_up.iter().all(|(id, _)| *id < 20) && !queue.needs_key_frame());
    }

    #[test]
    fn a_cra_picture_begins_a_sequence_instead_and_its_leading_frames_go() {
        let mut queue = after_a_gap();
        let given_up = rules(&mut queue, frame(20, Some(KeyKind::Open), true));
        assert!(given_up.iter().all(|(id, _)| *id < 20) && !queue.needs_key_frame());
        let mut leading = frame(21, None, true);
        leading.kind = B;
        leading.dependencies.leading = true;
        assert_eq!(rules(&mut queue, leading), [(21, LEADING_WITHOUT_REFERENCE)]);
        let left: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        let begin: Vec<u32> =
            left.iter().filter(|frame| frame.dependencies.begins_sequence).map(|frame| frame.id).collect();
        assert_eq!(begin, [20]);
    }
}
