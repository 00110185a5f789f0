//! The halves over datagrams, against a toy socket and each other.

use framewire_units::Timestamp;
use framewire_wire::rtp_payload::{Depacketizer, Limits, PacketRule, StreamOrigin, mpeg_video};
use proptest::prelude::*;

use super::*;
use crate::WriteProgress;
use crate::event::{ReceiverEvent, SenderEvent, SenderPlace};
use crate::frame::OutgoingFrame;
use crate::ifd::IfdPolicy;
use crate::queue::FrameQueue;
use crate::socket::DatagramSend::{self, Dropped, Sent, WouldBlock};
use crate::testing::{ToyDatagrams, movie, packetizer};

const T0: Timestamp = Timestamp::ZERO;

fn sender(overflow: Overflow) -> DatagramSender {
    DatagramSender::new(FrameQueue::direct(), packetizer(PacketRule::Full), overflow)
}

fn receiver() -> DatagramReceiver {
    let origin = StreamOrigin { ssrc: 7, initial_sequence: 65_530 };
    DatagramReceiver::new(Depacketizer::new(&mpeg_video::FORMAT, Some(origin), Limits::default()))
}

fn events(half: &mut DatagramSender) -> Vec<SenderEvent> {
    std::iter::from_fn(|| half.poll_event()).collect()
}

/// Outcomes in the order in which they come.
fn socket(outcomes: &[DatagramSend]) -> ToyDatagrams {
    ToyDatagrams { outcomes: outcomes.iter().rev().copied().collect(), ..ToyDatagrams::default() }
}

/// Which datagrams were sent, by frame.
fn fates(events: &[SenderEvent]) -> Vec<(u32, bool)> {
    let fate = |event: &SenderEvent| match event {
        SenderEvent::Datagram { frame: Some(frame), sent, .. } => Some((*frame, *sent)),
        _ => None,
    };
    events.iter().filter_map(fate).collect()
}

/// The rule and place by which frames were given up.
fn rules(events: &[SenderEvent]) -> Vec<(u32, SenderPlace, &'static str)> {
    let rule = |event: &SenderEvent| match event {
        SenderEvent::Discarded { frame, place, rule, .. } => Some((*frame, *place, *rule)),
        _ => None,
    };
    events.iter().filter_map(rule).collect()
}

/// Frames whose last byte entered the socket.
fn whole(events: &[SenderEvent]) -> Vec<u32> {
    let last = |event: &SenderEvent| match event {
        SenderEvent::LastByte { frame, .. } => Some(*frame),
        _ => None,
    };
    events.iter().filter_map(last).collect()
}

#[test]
fn what_came_of_a_damaged_frame_is_handed_on_where_that_is_wanted() {
    let frames = movie("IPB", 5_000);
    let (mut half, mut socket) = (sender(Overflow::Wait), socket(&[]));
    for frame in &frames {
        half.handle_frame(T0, frame.clone());
        half.poll_write(T0, &mut socket).unwrap();
    }
    let lost = socket.sent.len() / 2;
    let came = |passes: bool| {
        let mut half = receiver().passing_damaged(passes);
        let sent = socket.sent.iter().enumerate().filter(|(place, _)| *place != lost);
        sent.for_each(|(_, datagram)| half.handle_datagram(T0, datagram));
        half.handle_end(T0);
        let frame = |event| match event {
            ReceiverEvent::Frame { complete, handed_on, bytes, .. } => Some((complete, handed_on.is_some(), bytes)),
            _ => None,
        };
        std::iter::from_fn(|| half.poll_event()).filter_map(frame).collect::<Vec<_>>()
    };
    let [discarded, passed] = [came(false), came(true)];
    assert_eq!(discarded.iter().map(|frame| frame.0).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!((discarded[1].1, discarded[1].2.len()), (false, 0));
    assert!(passed[1].1 && !passed[1].0 && !passed[1].2.is_empty());
    assert!(frames[1].bytes.starts_with(&passed[1].2) && passed[1].2.len() < frames[1].bytes.len());
    assert_eq!([&passed[0], &passed[2]], [&discarded[0], &discarded[2]], "of others nothing changes");
}

/// The frames that arrive when everything sent does.
fn received(socket: &ToyDatagrams) -> Vec<bytes::Bytes> {
    let mut half = receiver();
    socket.sent.iter().for_each(|datagram| half.handle_datagram(T0, datagram));
    half.handle_end(T0);
    let complete = |event| match event {
        ReceiverEvent::Frame { complete: true, bytes, .. } => Some(bytes),
        _ => None,
    };
    std::iter::from_fn(|| half.poll_event()).filter_map(complete).collect()
}

#[test]
fn waiting_repeats_the_same_datagram() {
    let frame = movie("I", 4_000).remove(0);
    let mut half = sender(Overflow::Wait);
    let mut socket = socket(&[Sent, WouldBlock, WouldBlock]);
    half.handle_frame(T0, frame.clone());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    assert!(!half.wants_frame());
    assert_eq!(fates(&events(&mut half)), [(0, true)]);
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    let log = events(&mut half);
    assert!(fates(&log).iter().all(|(_, sent)| *sent) && whole(&log) == [0]);
    assert_eq!(received(&socket), [frame.bytes]);
    assert!(half.wants_frame());
}

#[test]
fn dropping_goes_on_with_the_next_datagram() {
    let frames = movie("IP", 4_000);
    let mut half = sender(Overflow::Drop);
    let mut socket = socket(&[Sent, WouldBlock, Sent]);
    half.handle_frame(T0, frames[0].clone());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    let log = events(&mut half);
    assert_eq!(fates(&log)[..3], [(0, true), (0, false), (0, true)]);
    assert_eq!(rules(&log), [(0, SenderPlace::Socket, "udp: send buffer full")]);
    assert!(whole(&log).is_empty(), "a part of it is missing");
    half.handle_frame(T0, frames[1].clone());
    half.poll_write(T0, &mut socket).unwrap();
    assert_eq!(whole(&events(&mut half)), [1]);
    assert_eq!(received(&socket), [frames[1].bytes.clone()]);
}

#[test]
fn the_rest_of_a_frame_is_kept_back() {
    let frames = movie("IPB", 6_000);
    let mut half = sender(Overflow::DropRestOfFrame);
    let mut socket = socket(&[Sent, Sent, WouldBlock]);
    half.handle_frame(T0, frames[0].clone());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    assert_eq!(socket.calls, 3, "nothing is offered after the one that did not fit");
    let log = events(&mut half);
    let fates = fates(&log);
    assert!(fates.len() > 4 && fates[2..].iter().all(|(_, sent)| !sent), "the rest has numbers all the same");
    let rule = "udp-whole: a packet did not fit, rest of the frame kept back";
    assert_eq!(rules(&log), [(0, SenderPlace::Socket, rule)]);
    for frame in &frames[1..] {
        half.handle_frame(T0, frame.clone());
        half.poll_write(T0, &mut socket).unwrap();
    }
    assert_eq!(whole(&events(&mut half)), [1, 2]);
    assert_eq!(received(&socket), [frames[1].bytes.clone(), frames[2].bytes.clone()]);
}

#[test]
fn a_drop_in_the_device_queue_is_not_waited_for() {
    let mut half = sender(Overflow::Wait);
    let mut socket = socket(&[Dropped]);
    half.handle_frame(T0, movie("I", 4_000).remove(0));
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    assert_eq!(rules(&events(&mut half)), [(0, SenderPlace::Socket, "udp: device queue full")]);
}

#[test]
fn ifd_gives_up_frames_while_the_socket_is_full() {
    let frames = movie("IBP", 4_000);
    let queue = FrameQueue::ifd(IfdPolicy::Basic);
    let mut half = DatagramSender::new(queue, packetizer(PacketRule::Thesis), Overflow::Wait);
    let mut socket = socket(&[Sent, WouldBlock, WouldBlock, WouldBlock]);
    for frame in &frames {
        assert!(half.wants_frame());
        half.handle_frame(T0, frame.clone());
        assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    }
    half.handle_end(T0);
    assert!(!half.is_finished());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    let log = events(&mut half);
    assert_eq!(rules(&log), [(1, SenderPlace::Pipeline, "ifd: waiting B overwritten by a P")]);
    assert_eq!(whole(&log), [0, 2]);
    assert!(half.is_finished());
    assert_eq!(received(&socket).len(), 2, "a frame given up before it had packets leaves no gap");
}

#[test]
fn a_frame_that_cannot_be_cut_and_a_stop_are_reported() {
    let frames = movie("IPP", 4_000);
    let queue = FrameQueue::ifd(IfdPolicy::Basic);
    let mut half = DatagramSender::new(queue, packetizer(PacketRule::Full), Overflow::Wait);
    let mut socket = socket(&[Sent, WouldBlock]);
    half.handle_frame(T0, OutgoingFrame { bytes: bytes::Bytes::from_static(b"no frame"), ..frames[0].clone() });
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle));
    assert_eq!(rules(&events(&mut half)), [(0, SenderPlace::Pipeline, "rtp: frame cannot be cut into packets")]);
    half.handle_frame(T0, frames[1].clone());
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Blocked));
    half.handle_frame(T0, frames[2].clone());
    half.handle_abort(T0);
    let log = events(&mut half);
    assert_eq!(rules(&log).iter().map(|(frame, ..)| *frame).collect::<Vec<_>>(), [1, 2]);
    assert!(half.is_finished() && !half.wants_frame());
    socket.broken = true;
    assert_eq!(half.poll_write(T0, &mut socket), Ok(WriteProgress::Idle), "nothing is left to send");
}

#[test]
fn a_broken_socket_is_an_error_and_the_frame_is_kept() {
    let mut half = sender(Overflow::Wait);
    let mut socket = ToyDatagrams { broken: true, ..ToyDatagrams::default() };
    half.handle_frame(T0, movie("I", 4_000).remove(0));
    assert!(half.poll_write(T0, &mut socket).is_err());
    assert!(!half.wants_frame());
    half.handle_abort(T0);
    assert_eq!(rules(&events(&mut half)).len(), 1);
}

#[test]
fn what_is_not_of_this_flow_is_rejected() {
    let mut half = receiver();
    half.handle_datagram(T0, b"GET / HTTP/1.1");
    half.handle_datagram(T0, &[]);
    half.handle_end(T0);
    let log: Vec<_> = std::iter::from_fn(|| half.poll_event()).collect();
    assert!(log.len() == 2 && log.iter().all(|event| matches!(event, ReceiverEvent::Rejected { .. })), "{log:?}");
}

proptest! {
    #[test]
    fn whatever_arrives_a_complete_frame_is_one_that_was_sent(
        order in prop::collection::vec((0usize..200, prop::option::weighted(0.1, (0usize..1_500, any::<u8>()))), 0..300),
    ) {
        let frames = movie("IPBBPBBIBB", 3_000);
        let mut half = sender(Overflow::Wait);
        let mut socket = ToyDatagrams::default();
        for frame in &frames {
            half.handle_frame(T0, frame.clone());
            half.poll_write(T0, &mut socket).unwrap();
        }
        let mut half = receiver();
        let (mut damaged, mut log) = (false, vec![]);
        for (index, damage) in order {
            let mut datagram = socket.sent[index % socket.sent.len()].clone();
            if let Some((place, value)) = damage {
                damaged = true;
                let place = place % datagram.len();
                datagram[place] = value;
                datagram.truncate(place + 40);
            }
            half.handle_datagram(T0, &datagram);
            log.extend(std::iter::from_fn(|| half.poll_event()));
        }
        half.handle_end(T0);
        log.extend(std::iter::from_fn(|| half.poll_event()));
        for event in log {
            if let ReceiverEvent::Frame { complete, bytes, .. } = event {
                prop_assert_eq!(complete, !bytes.is_empty());
                // UDP's own checksum keeps damaged datagrams away; here they only must do no harm.
                prop_assert!(damaged || !complete || frames.iter().any(|frame| frame.bytes == bytes));
            }
        }
    }

    #[test]
    fn what_was_sent_whole_is_what_arrives_whole(
        outcomes in prop::collection::vec(prop_oneof![4 => Just(Sent), 1 => Just(WouldBlock), 1 => Just(Dropped)], 0..200),
        overflow in prop_oneof![Just(Overflow::Wait), Just(Overflow::Drop), Just(Overflow::DropRestOfFrame)],
        rule in prop_oneof![Just(PacketRule::Full), Just(PacketRule::Slices), Just(PacketRule::Thesis)],
    ) {
        let frames = movie("IPBBPBBPBBIBBPBB", 5_000);
        let mut half = DatagramSender::new(FrameQueue::direct(), packetizer(rule), overflow);
        let mut socket = socket(&outcomes);
        for frame in &frames {
            half.handle_frame(T0, frame.clone());
            while half.poll_write(T0, &mut socket).unwrap() == WriteProgress::Blocked {
                prop_assert_eq!(overflow, Overflow::Wait);
            }
        }
        half.handle_end(T0);
        prop_assert!(half.is_finished());
        let log = events(&mut half);
        let numbers: Vec<u64> = log.iter().filter_map(|event| match event {
            SenderEvent::Datagram { sequence, .. } => Some(*sequence),
            _ => None,
        }).collect();
        prop_assert_eq!(&numbers, &(0..numbers.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(fates(&log).iter().filter(|(_, sent)| *sent).count(), socket.sent.len());
        let whole = whole(&log);
        for &id in &whole {
            let video = log.iter().filter_map(|event| match event {
                SenderEvent::Datagram { frame, size, headers, .. } if *frame == Some(id) => Some(size - u32::from(*headers)),
                _ => None,
            });
            prop_assert_eq!(video.sum::<u32>() as usize, frames[id as usize].bytes.len(), "headers are no video");
        }
        let mut ended: Vec<u32> = rules(&log).iter().map(|(frame, ..)| *frame).chain(whole.iter().copied()).collect();
        ended.sort_unstable();
        prop_assert_eq!(ended, (0..frames.len() as u32).collect::<Vec<_>>());
        let expected: Vec<_> = whole.iter().map(|frame| frames[*frame as usize].bytes.clone()).collect();
        prop_assert_eq!(received(&socket), expected);
        if overflow == Overflow::DropRestOfFrame {
            for pair in fates(&log).windows(2) {
                prop_assert!(pair[0].0 != pair[1].0 || pair[0].1 || !pair[1].1, "sent after one that was not");
            }
        }
    }
}
