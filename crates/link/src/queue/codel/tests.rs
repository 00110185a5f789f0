//! After the pseudocode of RFC 8289, section 5: packets of one size, one of which is sent every millisecond.

use super::*;
use crate::queue::QueueLimit;
use crate::verdict::{Packet, PacketId};

const MTU: DataSize = DataSize::from_bytes(1500);

/// A queue whose transmitter takes a packet every millisecond.
struct Link {
    codel: Codel,
    now: u64,
    next: u64,
    /// The milliseconds of all drops at a departure.
    drops: Vec<u64>,
}

impl Link {
    fn new() -> Self {
        Self::with_limit(QueueLimit::Packets(10_000))
    }

    fn with_limit(limit: QueueLimit) -> Self {
        Self {
            codel: Codel::new(CodelSettings::default(), &QueueSetup { limit, mtu: MTU, rate: None }),
            now: 0,
            next: 0,
            drops: Vec::new(),
        }
    }

    /// So many packets arrive now; how many of them are refused.
    fn offer(&mut self, packets: u64) -> usize {
        let mut refused = Vec::new();
        for _ in 0..packets {
            let packet = Packet::new(PacketId(self.next), MTU);
            let packet = Queued::new(packet, Timestamp::from_millis(self.now));
            self.next += 1;
            self.codel
                .enqueue(Arrival { packet, wait: Some(Duration::from_millis(1)), idle: Duration::ZERO }, &mut refused);
        }
        assert!(refused.iter().all(|dropped| dropped.cause == DropCause::QueueFull));
        refused.len()
    }

    /// A millisecond passes, and a packet is sent: how long it waited.
    fn send(&mut self) -> Option<Duration> {
        self.now += 1;
        let now = Timestamp::from_millis(self.now);
        let mut dropped = Vec::new();
        let sent = self.codel.dequeue(now, &mut dropped);
        assert!(dropped.iter().all(|dropped| dropped.cause == DropCause::ActiveQueueManagement));
        self.drops.extend(dropped.iter().map(|_| self.now));
        sent.map(|sent| now.saturating_since(sent.at))
    }

    /// As many packets come as leave, one each millisecond.
    fn run(&mut self, millis: u64) {
        for _ in 0..millis {
            self.offer(1);
            self.send();
        }
    }

    /// Until nothing waits.
    fn empty(&mut self) {
        while self.codel.backlog().packets > 0 {
            self.send();
        }
    }
}

/// The whole milliseconds at which drops are due that begin at `first` with the count `count`.
fn schedule(first: u64, count: u32, drops: usize) -> Vec<u64> {
    let mut at = first as f64;
    let mut due = vec![first];
    for n in (count..).take(drops - 1) {
        at += 100.0 / f64::from(n).sqrt();
        due.push(at.ceil() as u64);
    }
    due
}

#[test]
fn a_wait_under_the_target_is_never_answered() {
    let mut link = Link::new();
    // A packet that comes behind three others is sent after 4 ms.
    link.offer(3);
    link.run(1_000);
    assert_eq!(link.drops, []);
}

#[test]
fn a_wait_over_the_target_is_answered_after_an_interval_and_then_by_the_control_law() {
    let mut link = Link::new();
    link.offer(100);
    link.run(700);
    // The first packet that waited 5 ms is sent at 5 ms.
    assert_eq!(link.drops, schedule(5 + 100, 1, link.drops.len()));
    assert!(link.drops.len() > 12, "{:?}", link.drops);
}

#[test]
fn one_short_wait_begins_the_interval_anew() {
    let mut link = Link::new();
    link.offer(50);
    link.run(50);
    link.empty();
    assert_eq!(link.drops, [], "above the target for less than an interval");
    let begin = link.now;
    link.offer(100);
    link.run(120);
    assert_eq!(link.drops, [begin + 5 + 100]);
}

#[test]
fn it_leaves_the_dropping_state_when_a_wait_is_under_the_target() {
    let mut link = Link::new();
    link.offer(100);
    link.run(150);
    assert!(link.codel.control.is_dropping);
    link.empty();
    assert!(!link.codel.control.is_dropping && link.codel.control.above_since_interval.is_none());
    let before = link.drops.len();
    link.offer(3);
    link.run(1_000);
    assert_eq!(link.drops.len(), before);
}

#[test]
fn what_is_left_of_an_mtu_or_less_is_never_dropped() {
    let mut link = Link::new();
    link.offer(2);
    // Both wait far too long; the second one of them is an MTU that waits behind the first, and no more (section 5.5:
    // `bytes() <= maxpacket_`).
    link.now = 1_000;
    assert_eq!(link.send(), Some(Duration::from_millis(1_001)));
    assert!(link.codel.control.above_since_interval.is_none(), "an MTU behind it is not more than one");
    link.now = 2_000;
    assert_eq!(link.send(), Some(Duration::from_millis(2_001)));
    assert!(link.drops.is_empty() && link.codel.control.above_since_interval.is_none());
    link.offer(3);
    link.now = 4_000;
    link.send();
    assert!(link.codel.control.above_since_interval.is_some(), "two packets behind it are more than an MTU");
}

/// A queue that was over the target long enough for `drops` drops, and then emptied.
fn after_drops(drops: usize) -> Link {
    let mut link = Link::new();
    link.offer(200);
    while link.drops.len() < drops {
        link.run(1);
    }
    link.empty();
    link.drops.clear();
    link
}

#[test]
fn a_dropping_state_soon_after_another_goes_on_at_its_rate() {
    let mut link = after_drops(9);
    // Nine drops: one at its begin, and eight counted since.
    let carried = link.codel.control.count - link.codel.control.count_at_begin;
    assert_eq!((link.codel.control.count_at_begin, carried >= 8), (1, true));
    let begin = link.now;
    link.offer(300);
    link.run(400);
    assert_eq!(link.codel.control.count_at_begin, carried);
    assert_eq!(link.drops, schedule(begin + 105, carried, link.drops.len()));
}

#[test]
fn a_dropping_state_long_after_another_begins_at_one() {
    let mut link = after_drops(9);
    link.now += 16 * 100 + 100;
    let begin = link.now;
    link.offer(300);
    link.run(400);
    assert_eq!(link.codel.control.count_at_begin, 1);
    assert_eq!(link.drops, schedule(begin + 105, 1, link.drops.len()));
}

#[test]
fn drops_that_are_overdue_come_at_once() {
    let mut link = Link::new();
    link.offer(1_000);
    link.run(150);
    assert_eq!(link.drops, [105]);
    // The transmitter stands still for a second, in which the law asks for drops at 205, 276, 333, ... ms.
    link.now = 1_149;
    link.send();
    let due = schedule(105, 1, 40).into_iter().filter(|&at| at <= 1_150).count();
    assert_eq!(link.drops.len(), due);
    assert_eq!(link.drops[1..], vec![1_150; due - 1]);
}

#[test]
fn a_full_queue_refuses_what_arrives() {
    let mut link = Link::with_limit(QueueLimit::Packets(10));
    assert_eq!(link.offer(15), 5);
    assert_eq!(link.codel.backlog(), Backlog { packets: 10, size: DataSize::from_bytes(15_000) });
}
