//! Packets that are spread in time.

use framewire_units::{Duration, Timestamp};
use framewire_wire::rtp_payload::PacketRule;
use proptest::prelude::*;

use super::*;
use crate::WriteProgress::{self, Blocked, Early, Idle};
use crate::event::SenderEvent;
use crate::ifd::IfdPolicy;
use crate::queue::FrameQueue;
use crate::socket::DatagramSend::{Dropped, Sent, WouldBlock};
use crate::testing::{ToyDatagrams, movie, packetizer};

const FRAME: Duration = Duration::from_millis(40);

fn half(queue: FrameQueue, overflow: Overflow, spread: Spread) -> DatagramSender {
    DatagramSender::new(queue, packetizer(PacketRule::Full), overflow).with_spread(spread)
}

/// Drives the half as a world does, from `now` until nothing is left that time alone brings on.
fn drive(half: &mut DatagramSender, now: Timestamp, socket: &mut ToyDatagrams) -> (Timestamp, WriteProgress) {
    let mut now = now;
    loop {
        match half.poll_write(now, socket).unwrap() {
            Early => {
                let next = half.next_timeout().unwrap();
                assert!(next > now, "a timeout that has passed would be asked for again and again");
                now = next;
            }
            other => return (now, other),
        }
    }
}

/// Times at which datagrams were offered, and whether they were sent, by frame.
fn times(half: &mut DatagramSender) -> Vec<(u32, Timestamp, bool)> {
    let events = std::iter::from_fn(|| half.poll_event());
    let time = |event| match event {
        SenderEvent::Datagram { frame: Some(frame), at, sent, .. } => Some((frame, at, sent)),
        _ => None,
    };
    events.filter_map(time).collect()
}

#[test]
fn packets_of_a_frame_divide_its_interval_evenly() {
    let frames = movie("IB", 9_000);
    let mut half = half(FrameQueue::direct(), Overflow::Drop, Spread::FrameInterval);
    let mut socket = ToyDatagrams::default();
    for (start, frame) in [(7, 0), (100, 1)] {
        half.handle_frame(Timestamp::from_millis(start), frames[frame].clone());
        let (end, progress) = drive(&mut half, Timestamp::from_millis(start), &mut socket);
        let log = times(&mut half);
        let count = log.len() as u32;
        assert!(progress == Idle && count > 5, "{count}");
        let slot = |number: u32| Timestamp::from_millis(start) + FRAME * number / count;
        assert_eq!(log.iter().map(|(_, at, _)| *at).collect::<Vec<_>>(), (0..count).map(slot).collect::<Vec<_>>());
        assert_eq!(end, slot(count - 1), "the last slot is empty after its packet: the next frame is in time");
        assert!(half.wants_frame() && half.next_timeout().is_none());
    }
}

#[test]
fn a_packet_that_had_to_wait_makes_no_other_late() {
    let frame = movie("P", 14_000).remove(0);
    let mut half = half(FrameQueue::direct(), Overflow::Wait, Spread::FrameInterval);
    let mut socket = ToyDatagrams { outcomes: vec![WouldBlock, Sent, Sent], ..ToyDatagrams::default() };
    half.handle_frame(Timestamp::ZERO, frame);
    let (stuck, progress) = drive(&mut half, Timestamp::ZERO, &mut socket);
    assert_eq!(progress, Blocked);
    let late = stuck + Duration::from_millis(15);
    let (end, progress) = drive(&mut half, late, &mut socket);
    let log = times(&mut half);
    let count = log.len() as u32;
    assert!(progress == Idle && log.iter().all(|(_, _, sent)| *sent));
    assert!(log.iter().filter(|(_, at, _)| *at == late).count() > 2, "those that were due meanwhile leave together");
    assert_eq!(end, Timestamp::ZERO + FRAME * (count - 1) / count);
}

#[test]
fn a_gap_lies_between_any_two_packets() {
    let frames = movie("IP", 9_000);
    let gap = Duration::from_micros(200);
    let mut half = half(FrameQueue::ifd(IfdPolicy::Basic), Overflow::Drop, Spread::Gap(gap));
    let mut socket = ToyDatagrams { outcomes: vec![Sent, Dropped, WouldBlock, Sent], ..ToyDatagrams::default() };
    half.handle_frame(Timestamp::ZERO, frames[0].clone());
    assert_eq!(half.poll_write(Timestamp::ZERO, &mut socket), Ok(Early));
    half.handle_frame(Timestamp::ZERO, frames[1].clone());
    drive(&mut half, Timestamp::ZERO, &mut socket);
    let log = times(&mut half);
    assert!(log.iter().any(|(frame, ..)| *frame == 1), "the second frame follows the first");
    assert_eq!(log.iter().filter(|(_, _, sent)| !sent).count(), 2);
    assert!(log.windows(2).all(|pair| pair[1].1 == pair[0].1 + gap), "also after a packet that was lost: {log:?}");
}

#[test]
fn who_wakes_late_keeps_the_pace_and_who_was_idle_does_not_hurry() {
    let frames = movie("PP", 14_000);
    let gap = Duration::from_micros(200);
    let mut half = half(FrameQueue::direct(), Overflow::Drop, Spread::Gap(gap));
    let mut socket = ToyDatagrams::default();
    let mut now = Timestamp::ZERO;
    half.handle_frame(now, frames[0].clone());
    while half.poll_write(now, &mut socket).unwrap() == Early {
        now = half.next_timeout().unwrap() + Duration::from_micros(60);
    }
    let log = times(&mut half);
    let (count, last) = (log.len() as u32, log.last().unwrap().1);
    assert_eq!(last, Timestamp::ZERO + gap * (count - 1) + Duration::from_micros(60), "late by one wake, not by all");
    // 250 us later nothing waits any more: the next frame has the whole gap after each of its packets.
    let start = last + Duration::from_micros(250);
    half.handle_frame(start, frames[1].clone());
    drive(&mut half, start, &mut socket);
    let log = times(&mut half);
    assert!(log[0].1 == start && log.windows(2).all(|pair| pair[1].1 == pair[0].1 + gap), "{log:?}");
}

#[test]
fn what_is_kept_back_takes_no_time_and_a_stop_ends_the_waiting() {
    let frames = movie("IP", 9_000);
    let mut half = half(FrameQueue::direct(), Overflow::DropRestOfFrame, Spread::FrameInterval);
    let mut socket = ToyDatagrams { outcomes: vec![Dropped, Sent], ..ToyDatagrams::default() };
    half.handle_frame(Timestamp::ZERO, frames[0].clone());
    let (end, _) = drive(&mut half, Timestamp::ZERO, &mut socket);
    let log = times(&mut half);
    assert_eq!(log.iter().filter(|(_, _, sent)| *sent).count(), 1);
    assert_eq!(end, log[1].1, "the rest of the frame is settled with the packet that was lost");
    half.handle_frame(end, frames[1].clone());
    assert_eq!(half.poll_write(end, &mut socket), Ok(Early));
    assert!(!half.wants_frame() && half.next_timeout().is_some());
    half.handle_abort(end);
    assert!(half.is_finished() && half.next_timeout().is_none());
}

proptest! {
    /// However it is spread, the same packets are offered in the same order, none before its time.
    #[test]
    fn spreading_moves_packets_and_changes_none(
        sizes in prop::collection::vec(1usize..20_000, 1..6), nanos in 1u64..5_000_000, even: bool,
    ) {
        let frames: Vec<_> = sizes.iter().enumerate().map(|(id, &size)| {
            let mut frame = movie("P", size).remove(0);
            frame.id = id as u32;
            frame
        }).collect();
        let spread = if even { Spread::FrameInterval } else { Spread::Gap(Duration::from_nanos(nanos)) };
        let (mut at_once, mut spread_out) = (vec![], vec![]);
        for (way, sent) in [(Spread::AtOnce, &mut at_once), (spread, &mut spread_out)] {
            let mut half = half(FrameQueue::direct(), Overflow::Drop, way);
            let mut socket = ToyDatagrams::default();
            let mut now = Timestamp::ZERO;
            for frame in &frames {
                half.handle_frame(now, frame.clone());
                let (end, progress) = drive(&mut half, now, &mut socket);
                prop_assert_eq!(progress, Idle);
                prop_assert!(way != Spread::AtOnce || end == now);
                now = end;
            }
            let log = times(&mut half);
            prop_assert!(log.windows(2).all(|pair| pair[0].1 <= pair[1].1));
            *sent = socket.sent;
        }
        prop_assert_eq!(at_once, spread_out);
    }
}
