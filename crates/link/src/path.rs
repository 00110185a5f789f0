//! The two ways through a network: which hops, in which order, in both directions.

use std::collections::BTreeMap;

use framewire_units::{Seed, Timestamp};

use crate::config::{BottleneckPlace, ConfigError, WifiNetworkConfig, WiredNetworkConfig};
use crate::events::Events;
use crate::events::NetworkEvent;
use crate::queue::Discipline;
use crate::verdict::{Hop, HopRecord, NodeId, Outcome, Packet, PacketId, Timeout};
use crate::wifi::{Medium, MediumEvent, StationConfig, StationCounters, StationId, StationVerdict};
use crate::wire::{Wire, WireVerdict};

/// sender - wire - receiver.
#[derive(Debug)]
pub(crate) struct WiredPath {
    bottleneck: BottleneckPlace,
    forward: Wire,
    backward: Wire,
}

impl WiredPath {
    pub(crate) fn new(config: &WiredNetworkConfig, seed: Seed) -> Self {
        let hop = match config.bottleneck {
            BottleneckPlace::LocalDevice => Hop::SenderDevice,
            BottleneckPlace::Remote => Hop::Bottleneck,
        };
        Self {
            bottleneck: config.bottleneck,
            forward: Wire::new(&config.wire, hop, seed, 0),
            backward: Wire::new(&config.backward, Hop::Wire, seed, 1),
        }
    }

    pub(crate) fn handle_packet(&mut self, at: Timestamp, from: NodeId, packet: Packet, events: &mut Events) {
        debug_assert!(from.0 < 2, "node {} of a network with two", from.0);
        let in_device = self.is_in_device(from);
        let wire = if from == NodeId::RECEIVER { &mut self.backward } else { &mut self.forward };
        if !in_device {
            events.push(NetworkEvent::Released { packet: packet.id, at: wire.entry(at) });
        }
        wire.handle_packet(at, packet, |verdict| settle(verdict, in_device, events));
    }

    pub(crate) fn handle_timeout(&mut self, now: Timestamp, events: &mut Events) {
        let in_device = self.is_in_device(NodeId::SENDER);
        self.forward.handle_timeout(now, |verdict| settle(verdict, in_device, events));
        self.backward.handle_timeout(now, |verdict| settle(verdict, true, events));
    }

    pub(crate) fn next_timeout(&self) -> Option<Timeout> {
        first([self.forward.next_timeout(), self.backward.next_timeout()])
    }

    /// Whether the queue is that of the sending host's own interface.
    fn is_in_device(&self, from: NodeId) -> bool {
        from == NodeId::RECEIVER || self.bottleneck == BottleneckPlace::LocalDevice
    }
}

/// A wire between the two hosts is done with a packet.
fn settle(verdict: WireVerdict, in_device: bool, events: &mut Events) {
    let WireVerdict { packet, released, record } = verdict;
    if in_device {
        events.push(NetworkEvent::Released { packet: record.packet, at: released });
    }
    if record.outcome == Outcome::Delivered {
        events.deliver(packet, record.finished);
    }
    events.hop(record, true);
}

/// The earliest; of those at one time the first.
fn first<const N: usize>(timeouts: [Option<Timeout>; N]) -> Option<Timeout> {
    timeouts.iter().fold(None, |first: Option<Timeout>, next| match (first, *next) {
        (Some(first), Some(next)) if next.at < first.at => Some(next),
        (None, next) => next,
        (first, _) => first,
    })
}

/// The wireless station; its number names its draws, and so does the access point's.
const STATION: StationId = StationId(0);
/// The access point.
const ACCESS_POINT: StationId = StationId(1);

/// stations - 802.11 - access point - wire - far host. The stations are the senders with a local bottleneck; one is the
/// receiver with a remote one.
#[derive(Debug)]
pub(crate) struct WifiPath {
    /// The host at the other end of the wire; all others are wireless stations.
    far: NodeId,
    medium: Medium,
    /// The stations beside [`STATION`] whose packets come from the world.
    further: Vec<StationId>,
    contenders: Vec<StationId>,
    /// From the access point to the far host.
    outward: Wire,
    /// From the far host to the access point.
    inward: Wire,
    /// Packets of stations that `outward` has not decided on, by their number, and the verdicts of the medium on them
    /// meanwhile: its record is the last of such a packet.
    undecided: BTreeMap<PacketId, Option<HopRecord>>,
}

impl WifiPath {
    pub(crate) fn new(config: &WifiNetworkConfig, seed: Seed) -> Result<Self, ConfigError> {
        let far = match config.bottleneck {
            BottleneckPlace::LocalDevice => NodeId::RECEIVER,
            BottleneckPlace::Remote => NodeId::SENDER,
        };
        let mut medium = Medium::new(&config.wifi, seed)?;
        let device = |queue| StationConfig {
            queue,
            queue_discipline: Discipline::DropTail,
            hop: Hop::SenderDevice,
            retry: None,
            saturated: None,
        };
        medium.add_station(device(config.station_queue));
        medium.add_station(StationConfig {
            queue: config.access_point_queue,
            queue_discipline: config.access_point_discipline,
            hop: Hop::AccessPoint,
            retry: config.access_point_retry,
            saturated: None,
        });
        let further = config.further_stations.iter().map(|&queue| medium.add_station(device(queue))).collect();
        let contender = |packet| StationConfig { saturated: Some(packet), ..device(config.station_queue) };
        let contenders = config.contenders.into_iter().flat_map(|of| (0..of.stations).map(move |_| of.packet));
        let contenders = contenders.map(|packet| medium.add_station(contender(packet))).collect();
        let outward = Wire::new(&config.wire, Hop::Wire, seed, 0);
        let inward = Wire::new(&config.wire, Hop::Wire, seed, 1);
        Ok(Self { far, medium, further, contenders, outward, inward, undecided: BTreeMap::new() })
    }

    pub(crate) fn contenders(&self) -> Option<StationCounters> {
        let each = self.contenders.iter().map(|&station| self.medium.counters(station));
        each.reduce(|sum, counters| sum + counters)
    }

    pub(crate) fn handle_packet(&mut self, at: Timestamp, from: NodeId, packet: Packet, events: &mut Events) {
        let Self { inward, medium, .. } = self;
        if from == self.far {
            inward.handle_packet(at, packet, |verdict| enter_access_point(verdict, medium, events));
        } else {
            let further = usize::from(from.0).checked_sub(2);
            let station = further.map_or(STATION, |number| self.further[number]);
            medium.handle_packet(station, at, packet);
        }
        self.drain(events);
    }

    pub(crate) fn handle_timeout(&mut self, now: Timestamp, events: &mut Events) {
        let Self { inward, medium, .. } = self;
        inward.handle_timeout(now, |verdict| enter_access_point(verdict, medium, events));
        self.medium.handle_timeout(now);
        self.drain(events);
        // All that comes out of the medium until now has come to the wire: a frame lasts longer than it takes to settle
        // that it is sent.
        let Self { outward, undecided, .. } = self;
        outward.handle_timeout(now, |verdict| leave(verdict, undecided, events));
    }

    pub(crate) fn next_timeout(&self) -> Option<Timeout> {
        first([self.medium.next_timeout(), self.inward.next_timeout(), self.outward.next_timeout()])
    }

    fn drain(&mut self, events: &mut Events) {
        while let Some(event) = self.medium.poll_event() {
            match event {
                MediumEvent::Received { station: ACCESS_POINT, packet, at } => {
                    events.deliver(packet, at);
                }
                MediumEvent::Received { packet, at, .. } => self.enter_outward(at, packet, events),
                MediumEvent::Released { station, packet, at } => {
                    if station != ACCESS_POINT {
                        events.push(NetworkEvent::Released { packet: packet.id, at });
                    }
                }
                MediumEvent::Done { station, verdict: StationVerdict { record, released } } => {
                    let transmitted = record.started.is_some();
                    if station != ACCESS_POINT && !transmitted {
                        events.push(NetworkEvent::Released { packet: record.packet, at: released });
                    }
                    match self.undecided.get_mut(&record.packet) {
                        Some(held) if station != ACCESS_POINT => *held = Some(record),
                        // A station is done with a packet when it knows what became of it, which is after the packet has passed
                        // the wire beyond.
                        _ => events.hop(record, true),
                    }
                }
                MediumEvent::Sniffed(frame) => events.push(NetworkEvent::Sniffed(frame)),
            }
        }
    }

    /// A packet of a station has come to the access point whole.
    fn enter_outward(&mut self, at: Timestamp, packet: Packet, events: &mut Events) {
        let Self { outward, undecided, .. } = self;
        let mut decided = false;
        outward.handle_packet(at, packet, |verdict| {
            decided |= verdict.record.packet == packet.id;
            leave(verdict, undecided, events);
        });
        if !decided {
            undecided.insert(packet.id, None);
        }
    }
}

/// The wire from the far host is done with a packet.
fn enter_access_point(verdict: WireVerdict, medium: &mut Medium, events: &mut Events) {
    let WireVerdict { packet, released, record } = verdict;
    events.push(NetworkEvent::Released { packet: record.packet, at: released });
    let arrives = record.outcome == Outcome::Delivered;
    if arrives {
        medium.handle_packet(ACCESS_POINT, record.finished, packet);
    }
    events.hop(record, !arrives);
}

/// The wire to the far host is done with a packet.
fn leave(verdict: WireVerdict, undecided: &mut BTreeMap<PacketId, Option<HopRecord>>, events: &mut Events) {
    let WireVerdict { packet, record, .. } = verdict;
    let held = if undecided.is_empty() { None } else { undecided.remove(&record.packet).flatten() };
    if record.outcome == Outcome::Delivered {
        events.deliver(packet, record.finished);
    }
    events.hop(record, false);
    if let Some(last) = held {
        events.hop(last, true);
    }
}
