//! Whether a decoder can derive where the frames that are sent are shown (`framewire_media::picture_order`).

use framewire_media::picture_order::{PictureOrder, Renumbering};

use super::given_up_references::GivenUpReferences;
use super::numbering::{Line, can_go_on};
use super::{LEADING_WITHOUT_REFERENCE, MISPLACED, REFERENCE_GIVEN_UP, references};
use crate::backlog::Waiting;
use crate::frame::{Dependencies, OutgoingFrame, Payload};

/// The order in which a decoder shows what was sent, and what waits to be.
#[derive(Clone, Debug, Default)]
pub(super) struct DisplayOrderTracker {
    /// After what was sent.
    pub(super) sent: Line,
    /// After what waits.
    waiting: Line,
    /// The last key frame that waits, or was sent, was made to begin a sequence, or to go on from what was sent: no decoder
    /// shows its leading frames.
    skips_leading: bool,
    /// Key frames that were given up in a row because they had lost their places.
    passed_over: Option<PassedOver>,
    /// The last key frame that waits, or was sent, has lost its place and was kept all the same.
    catches_up: bool,
}

#[derive(Clone, Copy, Debug)]
struct PassedOver {
    /// How many.
    keys: u32,
    /// The picture order count of the last one.
    count: i64,
}

/// How many key frames that have lost their places are given up at most until one is kept all the same. A decoder passes
/// over its pictures and those behind it until they have caught up with what it has shown: half a turn at most, which is
/// less than a group that is given up.
const MOST_PASSED_OVER: u32 = 3;

impl PassedOver {
    /// Whether waiting for another key frame than this one is of no use: it is as misplaced as the one before, as every
    /// one is where groups are as long as whole turns.
    fn is_enough(self, order: PictureOrder) -> bool {
        let is_alike = order.turn.is_some_and(|turn| (order.count - self.count).rem_euclid(turn.get().into()) == 0);
        is_alike || self.keys >= MOST_PASSED_OVER
    }
}

/// Whether a frame that has lost its place can be given one as the beginning of a sequence.
fn can_begin_sequence(dependencies: &Dependencies) -> bool {
    dependencies.key.is_some() && dependencies.picture_order.is_some_and(|order| order.can_begin_sequence)
}

/// Whether a frame that has lost its place can be given one.
fn can_be_placed(dependencies: &Dependencies) -> bool {
    can_begin_sequence(dependencies) || can_go_on(dependencies)
}

impl DisplayOrderTracker {
    /// Whether a frame that comes keeps its place, can be given one, or is needed all the same: a key frame after others
    /// that had lost their places, too, and what is referred to behind it.
    pub(super) fn keeps_place<P>(&self, frame: &OutgoingFrame<P>) -> bool {
        let dependencies = &frame.dependencies;
        self.waiting.places(dependencies) || can_be_placed(dependencies) || self.goes_misplaced(dependencies)
    }

    fn goes_misplaced(&self, dependencies: &Dependencies) -> bool {
        match (dependencies.key, self.passed_over, dependencies.picture_order) {
            (Some(_), Some(passed_over), Some(order)) => passed_over.is_enough(order),
            (Some(_), ..) => false,
            (None, ..) => self.catches_up && dependencies.referenced,
        }
    }

    /// A key frame is given up because it has lost its place.
    pub(super) fn pass_over<P>(&mut self, frame: &OutgoingFrame<P>) {
        if let (Some(_), Some(order)) = (frame.dependencies.key, frame.dependencies.picture_order) {
            let keys = self.passed_over.map_or(0, |before| before.keys) + 1;
            self.passed_over = Some(PassedOver { keys, count: order.count });
        }
    }

    /// Whether leading frames that come now are not shown by any decoder.
    pub(super) fn skips_leading(&self) -> bool {
        self.skips_leading
    }

    /// A frame that [keeps its place](Self::keeps_place) is kept; it is made to begin a sequence where that is needed, or
    /// to go on from what is sent before it where that is not what came before it: where an I or P picture is `gone`, the
    /// leading frames are lost all the same.
    pub(super) fn push<P>(&mut self, frame: &mut OutgoingFrame<P>, gone: &GivenUpReferences) {
        let dependencies = &mut frame.dependencies;
        let is_in_place = self.waiting.places(dependencies);
        dependencies.begins_sequence |= !is_in_place && can_begin_sequence(dependencies);
        let is_behind_gap = || self.waiting.last().is_some_and(|last| gone.anchor_between(last, frame.id));
        dependencies.goes_on |= can_go_on(dependencies) && (!is_in_place || is_behind_gap());
        if dependencies.key.is_some() {
            self.skips_leading = dependencies.begins_sequence || dependencies.goes_on;
            self.catches_up = !is_in_place && !self.skips_leading;
            self.passed_over = self.passed_over.filter(|_| self.catches_up);
        }
        self.waiting.take_next(frame.id, dependencies);
    }

    /// A frame is sent, with other numbers in its headers where they have to be, and parameter sets that allow the gaps in
    /// them that frames given up leave. False where its numbers could not be changed.
    pub(super) fn leaves<P: Payload>(&mut self, frame: &mut OutgoingFrame<P>) -> bool {
        let OutgoingFrame { id, dependencies, bytes, .. } = frame;
        let by = self.sent.renumbering(dependencies);
        let numbers = dependencies.picture_order.and_then(|order| order.numbers);
        if numbers.is_some() {
            bytes.allow_gaps();
        }
        let is_done = by.is_none() || numbers.is_some_and(|numbers| bytes.renumber(numbers, by));
        dependencies.renumbered = if is_done { by } else { Renumbering::default() };
        self.sent.take(*id, dependencies, dependencies.renumbered);
        is_done
    }

    /// What waits comes behind what was sent, and not behind what was to be sent.
    pub(super) fn wait_behind<'a, P: 'a>(&mut self, frames: impl Iterator<Item = &'a OutgoingFrame<P>>) {
        self.waiting = self.sent;
        frames.for_each(|frame| self.waiting.take_next(frame.id, &frame.dependencies));
    }

    /// What waited is given up: the decoder has what was sent, and nothing else.
    pub(super) fn flush(&mut self) {
        *self = Self { sent: self.sent, waiting: self.sent, ..Self::default() };
    }

    /// Whether the last of these frames keeps its place, or can be given one, when they are sent next.
    pub(super) fn keep_last_place<'a, P: 'a>(&self, frames: impl Iterator<Item = &'a OutgoingFrame<P>>) -> bool {
        let mut line = self.sent;
        let mut kept = true;
        for OutgoingFrame { id, dependencies, .. } in frames {
            kept = line.places(dependencies) || can_be_placed(dependencies);
            line.take_next(*id, dependencies);
        }
        kept
    }

    /// Places what waits anew, after some of it was given up: gives the ids of the frames that have lost their places or
    /// refer to such a frame, ascending, with the rule.
    pub(super) fn place_anew<'a, P: 'a>(
        &mut self,
        frames: impl Iterator<Item = &'a mut Waiting<P>>,
        gone: &GivenUpReferences,
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
                Some(rule) => {
                    if rule == MISPLACED {
                        self.pass_over(frame);
                    }
                    lost.push((frame.id, rule));
                }
                None => {
                    self.push(frame, gone);
                    if is_key {
                        skips_leading = Some(self.skips_leading);
                    }
                }
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use framewire_media::PictureType::B;
    use framewire_media::access_unit::KeyKind;
    use framewire_media::picture_order::{Entry, OutputRule};

    use super::super::{DependencyQueue, testing};
    use super::*;
    use crate::limits::Limits;

    /// Frames of which each refers to the one before, with two counts to a frame and low bits that distinguish 32.
    fn frame(id: u32, key: Option<KeyKind>, can_begin_sequence: bool) -> OutgoingFrame {
        let begins_sequence = key == Some(KeyKind::Closed);
        let order = PictureOrder {
            count: 2 * i64::from(id),
            turn: std::num::NonZeroU32::new(32),
            follows_frame_num: false,
            is_base: true,
            begins_sequence,
            can_begin_sequence: can_begin_sequence && key == Some(KeyKind::Open),
            numbers: None,
            output: OutputRule::H264 { reordered: Some(0), entry: Entry::Inside },
            marks: None,
        };
        testing::frame(id, key, order, b"frame".to_vec())
    }

    fn after_a_gap() -> DependencyQueue {
        testing::after_a_gap(|id, key| frame(id, key, false))
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
    fn where_every_key_frame_is_as_misplaced_the_second_one_ends_the_gap() {
        let mut queue = after_a_gap();
        while queue.take().is_some() {}
        assert_eq!(rules(&mut queue, frame(20, Some(KeyKind::Open), false)), [(20, MISPLACED)]);
        // 16 frames of two counts are a turn: 36 is as far from its place as 20, and so would 52 be.
        assert_eq!(rules(&mut queue, frame(36, Some(KeyKind::Open), false)), []);
        assert!(!queue.needs_key_frame());
        while queue.take().is_some() {}
        let mut bidirectional = frame(37, None, false);
        bidirectional.dependencies = Dependencies {
            referenced: false,
            picture_order: bidirectional
                .dependencies
                .picture_order
                .map(|order| PictureOrder { is_base: false, ..order }),
            references: Some(vec![36]),
            ..Dependencies::default()
        };
        assert_eq!(rules(&mut queue, bidirectional), [(37, MISPLACED)], "nothing needs it, and no decoder shows it");
        let mut next = frame(38, None, false);
        next.dependencies.references = Some(vec![36]);
        assert_eq!(rules(&mut queue, next), []);
        for id in 39..52 {
            assert_eq!(rules(&mut queue, frame(id, None, false)), []);
            while queue.take().is_some() {}
        }
        // All of them have caught up: the next key frame has a place, and what is misplaced is given up as before.
        assert_eq!(rules(&mut queue, frame(52, Some(KeyKind::Open), false)), []);
    }

    #[test]
    fn no_more_than_three_key_frames_are_passed_over() {
        let mut queue = after_a_gap();
        while queue.take().is_some() {}
        // None comes to stand behind the last frame that left, and no two are whole turns apart.
        let passed: Vec<bool> =
            [20, 37, 54, 68].map(|id| rules(&mut queue, frame(id, Some(KeyKind::Open), false)).is_empty()).into();
        assert_eq!(passed, [false, false, false, true]);
    }

    #[test]
    fn what_was_flushed_was_never_sent() {
        let mut queue = DependencyQueue::new(Limits::default());
        for id in 0..20 {
            queue.offer(frame(id, (id == 0).then_some(KeyKind::Closed), false));
        }
        queue.take();
        let flushed: Vec<u32> = queue.flush().iter().map(|frame| frame.id).collect();
        assert_eq!(flushed, (1..20).collect::<Vec<_>>());
        assert_eq!(rules(&mut queue, frame(20, None, false)), [(20, REFERENCE_GIVEN_UP)]);
        // Behind the first frame 50 counts are taken for -14 and 66 for 2; behind the twentieth for 12 and -4 more.
        assert_eq!(rules(&mut queue, frame(25, Some(KeyKind::Open), false)), [(25, MISPLACED)]);
        assert_eq!(rules(&mut queue, frame(33, Some(KeyKind::Open), false)), []);
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
