//! One direction of a wired link of a graph.

use std::collections::VecDeque;

use framewire_units::{Seed, Timestamp};

use super::config::DirectionConfig;
use super::open_records::OpenRecords;
use crate::events::{Events, NetworkEvent};
use crate::verdict::{Hop, HopRecord, NodeId, Outcome, Packet};
use crate::wire::{Wire, WireVerdict};

/// A wire, and what is on its way to a node from which it goes on.
#[derive(Debug)]
pub(super) struct Direction {
    wire: Wire,
    to: NodeId,
    in_device: bool,
    arriving: VecDeque<(Timestamp, Packet)>,
    /// When something happens by itself: asked for after each change, because most of what happens is another's.
    next: Timestamp,
    /// When the transmitter has something to do.
    transmitter: Timestamp,
}

/// What became of a packet, to be told.
pub(super) struct Told {
    record: HopRecord,
    released: Option<Timestamp>,
    delivered: Option<Packet>,
}

impl Told {
    /// Tells it; of a packet that is delivered or dropped here the record is the last, unless a cell that it passed has not
    /// said all of it.
    pub(super) fn tell(self, open: &mut OpenRecords, events: &mut Events) {
        let Self { record, released, delivered } = self;
        if let Some(at) = released {
            events.push(NetworkEvent::Released { packet: record.packet, at });
        }
        let ends = delivered.is_some() || record.outcome != Outcome::Delivered;
        if let Some(packet) = delivered {
            events.deliver(packet, record.finished);
        }
        let last = ends && open.end(record.packet);
        events.hop(record, last);
    }
}

impl Direction {
    /// An idle one; `number` names it among those of the network.
    pub(super) fn new(config: &DirectionConfig, to: NodeId, number: u16, seed: Seed) -> Self {
        Self {
            wire: Wire::new(&config.wire, Hop::Link(number), seed, u64::from(number)),
            to,
            in_device: config.in_device,
            arriving: VecDeque::new(),
            next: Timestamp::MAX,
            transmitter: Timestamp::MAX,
        }
    }

    /// The node at its end.
    pub(super) fn to(&self) -> NodeId {
        self.to
    }

    /// Whether its queue is that of a host's own interface.
    pub(super) fn is_in_device(&self) -> bool {
        self.in_device
    }

    /// When a packet enters its queue that comes at `at`.
    pub(super) fn entry(&self, at: Timestamp) -> Timestamp {
        self.wire.entry(at)
    }

    /// When something happens by itself; never: the end of time.
    #[inline]
    pub(super) fn next(&self) -> Timestamp {
        self.next
    }

    /// Whether the transmitter has something to do by `at`.
    pub(super) fn is_due(&self, at: Timestamp) -> bool {
        self.transmitter <= at
    }

    /// A packet comes to it.
    pub(super) fn handle_packet(&mut self, at: Timestamp, packet: Packet, mut tell: impl FnMut(Told)) {
        let Self { wire, to, in_device, arriving, .. } = self;
        wire.handle_packet(at, packet, |verdict| tell(told(verdict, *to, *in_device, arriving)));
        self.ask();
    }

    /// The transmitter does what is due by `now`.
    pub(super) fn handle_timeout(&mut self, now: Timestamp, mut tell: impl FnMut(Told)) {
        let Self { wire, to, in_device, arriving, .. } = self;
        wire.handle_timeout(now, |verdict| tell(told(verdict, *to, *in_device, arriving)));
        self.ask();
    }

    /// The next packet that is at the end by `now` and goes on from there.
    pub(super) fn poll_arrival(&mut self, now: Timestamp) -> Option<(Timestamp, Packet)> {
        if self.arriving.front().is_none_or(|&(at, _)| at > now) {
            return None;
        }
        let arrival = self.arriving.pop_front();
        self.ask();
        arrival
    }

    fn ask(&mut self) {
        self.transmitter = self.wire.next_timeout().map_or(Timestamp::MAX, |timeout| timeout.at);
        self.next = self.arriving.front().map_or(self.transmitter, |&(at, _)| self.transmitter.min(at));
    }
}

/// Packets come out in the order in which they went in.
fn told(verdict: WireVerdict, to: NodeId, in_device: bool, arriving: &mut VecDeque<(Timestamp, Packet)>) -> Told {
    let WireVerdict { packet, released, record } = verdict;
    let arrives = record.outcome == Outcome::Delivered;
    let delivered = (arrives && packet.to == to).then_some(packet);
    if arrives && delivered.is_none() {
        debug_assert!(arriving.back().is_none_or(|&(last, _)| last <= record.finished));
        arriving.push_back((record.finished, packet));
    }
    Told { record, released: in_device.then_some(released), delivered }
}
