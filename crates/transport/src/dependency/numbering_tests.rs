use std::num::NonZeroU32;

use framewire_media::PictureType::{B, P};
use framewire_media::picture_order::{Entry, OutputRule, PictureNumbers};

use super::super::display_order::DisplayOrderTracker;
use super::super::given_up_references::GivenUpReferences;
use super::super::{DependencyQueue, LEADING_WITHOUT_REFERENCE, testing};
use super::*;
use crate::frame::{OutgoingFrame, Payload};
use crate::limits::Limits;

/// Frames that are all referred to, with `frame_num` of four bits and two counts to a frame, of which the low bits
/// distinguish 32.
fn frame(id: u32, key: Option<KeyKind>) -> OutgoingFrame {
    let since_idr = id % 100;
    let numbers = PictureNumbers {
        frame_num: (since_idr % 16) as u16,
        frame_num_bits: 4,
        order_bits: 5,
        frames_only: true,
        separate_colour_planes: false,
        restarts: false,
        recovers: key.is_some(),
    };
    let order = PictureOrder {
        count: 2 * i64::from(since_idr),
        turn: NonZeroU32::new(32),
        follows_frame_num: false,
        is_base: true,
        begins_sequence: key == Some(KeyKind::Closed),
        can_begin_sequence: false,
        numbers: Some(numbers),
        output: OutputRule::H264 { reordered: Some(0), entry: Entry::Inside },
        marks: None,
    };
    // A slice with both numbers in its first three bytes, and a bit behind them.
    testing::frame(id, key, order, slice((since_idr % 16) as u16, (2 * since_idr % 32) as u16))
}

fn slice(frame_num: u16, low_bits: u16) -> Vec<u8> {
    let bits = 0b111 << 13 | frame_num << 9 | low_bits << 4 | 0b1000;
    [&[0, 0, 1, 0x41], &bits.to_be_bytes()[..]].concat()
}

fn after_a_gap() -> DependencyQueue {
    let mut queue = testing::after_a_gap(frame);
    while queue.take().is_some() {}
    queue
}

#[test]
fn an_open_group_goes_on_from_what_was_sent() {
    let mut queue = after_a_gap();
    // The last that left is 6: of 20 to 22, the numbers of 7 to 9 are sent.
    for id in 20..23 {
        assert!(queue.offer(frame(id, (id == 20).then_some(KeyKind::Open))).is_empty());
        let sent = queue.take().expect("it was kept");
        let number = sent.id as u16 - 13;
        assert_eq!((sent.id, &sent.bytes[..]), (id, &slice(number, 2 * number)[..]));
        assert_eq!(sent.dependencies.renumbered, Renumbering { frame_num: 3, order: -26 });
    }
    // Behind an IDR picture nothing is changed.
    for id in 100..103 {
        assert!(queue.offer(frame(id, (id == 100).then_some(KeyKind::Closed))).is_empty());
        let sent = queue.take().expect("it was kept");
        assert_eq!(sent, frame(id, (id == 100).then_some(KeyKind::Closed)));
    }
}

#[test]
fn behind_another_gap_it_goes_on_from_the_numbers_that_were_sent() {
    let mut queue = after_a_gap();
    queue.offer(frame(20, Some(KeyKind::Open)));
    queue.take();
    let given_up = queue.offer(frame(22, None));
    assert!(given_up.is_empty(), "that 21 never came is no affair of the queue");
    assert_eq!(queue.take().map(|frame| frame.bytes), Some(slice(9, 18).into()), "a gap that it leaves");
    for id in 23..40 {
        queue.offer(frame(id, None));
    }
    while queue.take().is_some() {}
    queue.offer(frame(40, Some(KeyKind::Open)));
    let sent = queue.take().expect("it was kept");
    // Of 23 and what follows four were left in the queue: what left last was 26, sent as 13.
    assert_eq!(sent.bytes, slice(14, 28));
}

#[test]
fn a_recovery_point_that_is_not_exact_keeps_its_numbers() {
    let mut queue = after_a_gap();
    let mut key = frame(20, Some(KeyKind::Open));
    let order = key.dependencies.picture_order.as_mut().expect("it has one");
    order.numbers.as_mut().expect("it has them").recovers = false;
    let rules: Vec<_> = queue.offer(key).iter().map(|discard| discard.rule).collect();
    assert_eq!(rules, [super::super::MISPLACED], "frames behind it may refer to some before it");
}

#[test]
fn parameter_sets_allow_gaps_from_the_first_one_on() {
    // Four bits of `frame_num` and five of order counts, two reference frames, 32x32 (7.3.2.1.1).
    let [forbidden, allowed] = [0b1001_1000, 0b1101_1000]
        .map(|flag| [0, 0, 1, 0x67, 0x42, 0, 0x1e, 0b1110_1001, flag, 0b1001_0111, 0b1000_0000]);
    let with_set = |set: &[u8], has_numbers: bool| {
        let mut frame = frame(0, Some(KeyKind::Closed));
        frame.bytes = [set, &frame.bytes[..]].concat().into();
        let order = frame.dependencies.picture_order.as_mut().expect("it has one");
        order.numbers = order.numbers.filter(|_| has_numbers);
        frame
    };
    let sent = |has_numbers: bool| {
        let mut queue = DependencyQueue::new(Limits::default());
        queue.offer(with_set(&forbidden, has_numbers));
        queue.take().map(|frame| frame.bytes)
    };
    assert_eq!(sent(true), Some(with_set(&allowed, true).bytes));
    assert_eq!(sent(false), Some(with_set(&forbidden, false).bytes), "nothing in it is known to be of H.264");
}

#[test]
fn its_leading_frames_go() {
    let mut queue = after_a_gap();
    queue.offer(frame(20, Some(KeyKind::Open)));
    let mut leading = frame(21, None);
    leading.kind = B;
    leading.dependencies.leading = true;
    let rules: Vec<_> = queue.offer(leading).iter().map(|discard| discard.rule).collect();
    assert_eq!(rules, [LEADING_WITHOUT_REFERENCE]);
}

#[test]
fn where_only_b_pictures_are_missing_before_it_its_leading_frames_stay() {
    let goes_on = |kind: framewire_media::PictureType, referenced: bool| {
        let (mut display_order, mut gone) = (DisplayOrderTracker::default(), GivenUpReferences::default());
        display_order.push(&mut frame(0, Some(KeyKind::Closed)), &gone);
        let mut missing = frame(1, None);
        (missing.kind, missing.dependencies.referenced) = (kind, referenced);
        gone.insert(&missing);
        let mut key = frame(2, Some(KeyKind::Open));
        display_order.push(&mut key, &gone);
        assert_eq!(display_order.skips_leading(), key.dependencies.goes_on);
        key.dependencies.goes_on
    };
    assert_eq!([goes_on(P, true), goes_on(B, true), goes_on(P, false)], [true, false, false]);
}

#[test]
fn where_nothing_is_missing_nothing_changes() {
    let mut queue = DependencyQueue::new(Limits::default());
    for id in 0..60 {
        let key = [(0, KeyKind::Closed), (20, KeyKind::Open), (40, KeyKind::Open)];
        let key = key.into_iter().find(|(at, _)| *at == id).map(|(_, key)| key);
        assert!(queue.offer(frame(id, key)).is_empty());
        assert_eq!(queue.take(), Some(frame(id, key)));
    }
}

#[test]
fn where_the_order_is_that_of_decoding_it_goes_on_with_frame_num() {
    // frame_num is 0 to 15. Frame 14 is the last before the gap; frame 24 would be taken for 8.
    let by_frame_num = |id: u32, key: Option<KeyKind>, referenced: bool| {
        let mut dependencies = frame(id, key).dependencies;
        let order = dependencies.picture_order.as_mut().expect("it has one");
        (order.follows_frame_num, order.count) = (true, order.count - i64::from(!referenced));
        dependencies.referenced = referenced;
        dependencies
    };
    for last_is_referenced in [true, false] {
        let mut line = Line::default();
        line.take_next(0, &by_frame_num(0, Some(KeyKind::Closed), true));
        line.take_next(14, &by_frame_num(14, None, last_is_referenced));
        let mut key = by_frame_num(24, Some(KeyKind::Open), true);
        assert!(!line.places(&key), "the turn is forgotten");
        key.goes_on = true;
        let mut sent = line;
        let frame_num = if last_is_referenced { 7 } else { 6 };
        assert_eq!(sent.renumbering(&key), Renumbering { frame_num, order: 0 });
        sent.take_next(24, &key);
        for id in 25..60 {
            let next = by_frame_num(id, None, id % 2 == 1);
            assert!(sent.places(&next), "{id}");
            assert_eq!(sent.renumbering(&next).frame_num, frame_num);
            sent.take_next(id, &next);
        }
    }
}

#[test]
fn a_refresh_goes_on_and_leaves_room_for_what_is_shown_before_it() {
    // In decode order P B B P B B, shown B B P: six counts from one P picture to the next.
    let picture = |id: u32, begins_recovery: bool| {
        let mut picture = frame(id, (id == 0).then_some(KeyKind::Closed));
        let shown = if id % 3 == 1 { id + 2 } else { id.saturating_sub(1) };
        let order = picture.dependencies.picture_order.as_mut().expect("it has one");
        let is_reference = id == 0 || id % 3 == 1;
        (order.count, order.is_base) = (2 * i64::from(shown), is_reference);
        let frame_num = id.div_ceil(3) + u32::from(!is_reference);
        order.numbers.as_mut().expect("it has them").frame_num = (frame_num % 16) as u16;
        (picture.dependencies.begins_recovery, picture.dependencies.referenced) = (begins_recovery, is_reference);
        picture.dependencies
    };
    let mut line = Line::default();
    (0..=6).for_each(|id| line.take_next(id, &picture(id, false)));
    assert!(can_go_on(&picture(16, true)) && !can_go_on(&picture(16, false)));
    let mut begins = picture(16, true);
    assert!(!line.places(&begins), "so many are missing");
    begins.goes_on = true;
    // Behind P4, with frame_num 2 and shown as the sixth, P7 would have come.
    let by = line.renumbering(&begins);
    line.take_next(16, &begins);
    assert_eq!(by, Renumbering { frame_num: 3 + 16 - 6, order: 2 * (9 - 18) });
    for id in 17..40 {
        assert!(line.places(&picture(id, false)), "{id}");
        assert_eq!(line.renumbering(&picture(id, false)), by);
        line.take_next(id, &picture(id, false));
    }
}

#[test]
fn a_frame_behind_it_whose_numbers_cannot_be_changed_is_placed_by_its_own() {
    let mut queue = after_a_gap();
    queue.offer(frame(20, Some(KeyKind::Open)));
    queue.take();
    let mut other = frame(21, None);
    other.dependencies.picture_order.as_mut().expect("it has one").numbers = None;
    // The key frame was sent with count 14; 42 is taken for 10.
    let rules: Vec<_> = queue.offer(other).iter().map(|discard| discard.rule).collect();
    assert_eq!(rules, [super::super::MISPLACED]);
}

/// Bytes that cannot be changed.
#[derive(Clone, Debug)]
struct Fixed;

impl Payload for Fixed {
    fn size(&self) -> u64 {
        1
    }

    fn begin_sequence(&mut self) {}

    fn renumber(&mut self, _: PictureNumbers, _: Renumbering) -> bool {
        false
    }

    fn allow_gaps(&mut self) {}
}

#[test]
fn what_could_not_be_changed_is_known_to_have_left_as_it_was() {
    let fixed = |id: u32, key| {
        let OutgoingFrame { id, kind, dependencies, duration, rtp_timestamp, decode_timestamp, .. } = frame(id, key);
        OutgoingFrame { id, kind, dependencies, duration, rtp_timestamp, decode_timestamp, bytes: Fixed }
    };
    let (mut display_order, mut gone) = (DisplayOrderTracker::default(), GivenUpReferences::default());
    display_order.push(&mut fixed(0, Some(KeyKind::Closed)), &gone);
    assert!(display_order.leaves(&mut fixed(0, Some(KeyKind::Closed))));
    gone.insert(&fixed(1, None));
    let (mut key, mut behind) = (fixed(20, Some(KeyKind::Open)), fixed(21, None));
    display_order.push(&mut key, &gone);
    display_order.push(&mut behind, &gone);
    assert!(key.dependencies.goes_on && display_order.keeps_place(&fixed(22, None)), "as it was to be sent");
    assert!(!display_order.leaves(&mut key));
    display_order.wait_behind([&behind].into_iter());
    assert!(key.dependencies.renumbered.is_none());
    // 40 counts behind the first frame were taken for 8: that is where a decoder is now, and 44 is behind that.
    assert!(display_order.leaves(&mut behind), "nothing is to be added to its numbers any more");
    assert!(behind.dependencies.renumbered.is_none() && display_order.keeps_place(&fixed(22, None)));
    gone.insert(&fixed(22, None));
    let mut next = fixed(40, Some(KeyKind::Open));
    display_order.push(&mut next, &gone);
    // 40 has frame_num 8 and count 80; behind 21, which left with 5 and 42, it is to have 6 and 44.
    assert_eq!(display_order.sent.renumbering(&next.dependencies), Renumbering { frame_num: 14, order: -36 });
}

#[test]
fn operation_5_ends_it_behind_the_picture_that_has_it() {
    let mut queue = after_a_gap();
    queue.offer(frame(20, Some(KeyKind::Open)));
    queue.take();
    let mut last = frame(21, None);
    let order = last.dependencies.picture_order.as_mut().expect("it has one");
    (order.begins_sequence, order.count) = (true, 0);
    order.numbers.as_mut().expect("it has them").restarts = true;
    queue.offer(last);
    assert_eq!(queue.take().map(|frame| frame.bytes), Some(slice(8, 16).into()));
    // It counts as frame 0.
    queue.offer(frame(101, None));
    assert_eq!(queue.take(), Some(frame(101, None)));
}
