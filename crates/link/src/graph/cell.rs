//! A cell of IEEE 802.11 in a graph: which node is which station, and where its frames go.

use std::collections::VecDeque;

use framewire_units::{Seed, Timestamp};

use super::config::CellConfig;
use crate::config::ConfigError;
use crate::queue::Discipline;
use crate::verdict::{Hop, HopRecord, NodeId, Packet, PacketId, SniffedFrame};
use crate::wifi::{Medium, MediumEvent, StationConfig, StationCounters, StationId, StationVerdict};

/// The station of a medium that is its access point: that which is added second, so that a cell of one station draws as a
/// network of one station does.
const ACCESS_POINT: StationId = StationId(1);

/// Something that a cell says.
#[derive(Debug)]
pub(super) enum CellOutput {
    /// The other end of a frame has a packet.
    Received {
        /// The access point sent it.
        downward: bool,
        /// The packet.
        packet: Packet,
        /// When.
        at: Timestamp,
    },
    /// The station's own device is done with a packet.
    Released {
        /// The packet.
        packet: PacketId,
        /// When.
        at: Timestamp,
    },
    /// A verdict.
    Done(HopRecord),
    /// The sniffer captured a transmission.
    Sniffed(SniffedFrame),
}

#[derive(Debug)]
struct Station {
    id: StationId,
    /// It is a host's only interface, which holds packets until they are sent.
    in_device: bool,
}

/// A cell.
#[derive(Debug)]
pub(super) struct Cell {
    medium: Medium,
    access_point: NodeId,
    stations: Vec<Station>,
    contenders: Vec<StationId>,
    /// On their way to a node from which they go on.
    arriving: VecDeque<(Timestamp, NodeId, Packet)>,
    next: Timestamp,
}

impl Cell {
    /// An idle cell. Its stations' verdicts have the hop with the number `first_hop`, the access point's the next one.
    pub(super) fn new(
        config: &CellConfig,
        in_device: impl Fn(NodeId) -> bool,
        first_hop: u16,
        seed: Seed,
    ) -> Result<Self, ConfigError> {
        let mut medium = Medium::new(&config.wifi, seed)?;
        let device = |queue| StationConfig {
            queue,
            queue_discipline: Discipline::DropTail,
            hop: Hop::Link(first_hop),
            retry: None,
            saturated: None,
        };
        let mut stations = Vec::new();
        for (number, station) in config.stations.iter().enumerate() {
            let id = medium.add_station(device(station.queue));
            stations.push(Station { id, in_device: in_device(station.node) });
            if number == 0 {
                medium.add_station(StationConfig {
                    queue: config.access_point_queue,
                    queue_discipline: config.access_point_discipline,
                    hop: Hop::Link(first_hop + 1),
                    retry: config.access_point_retry,
                    saturated: None,
                });
            }
        }
        let first_queue = config.stations[0].queue;
        let contender = |packet| StationConfig { saturated: Some(packet), ..device(first_queue) };
        let contenders = config.contenders.into_iter().flat_map(|of| (0..of.stations).map(move |_| of.packet));
        let contenders = contenders.map(|packet| medium.add_station(contender(packet))).collect();
        let mut cell = Self {
            medium,
            access_point: config.access_point,
            stations,
            contenders,
            arriving: VecDeque::new(),
            next: Timestamp::MAX,
        };
        cell.ask();
        Ok(cell)
    }

    /// Whether the interface of the station with this number holds packets until they are sent.
    pub(super) fn is_in_device(&self, station: usize) -> bool {
        self.stations[station].in_device
    }

    /// When something happens by itself.
    pub(super) fn next(&self) -> Timestamp {
        self.next
    }

    /// The node that is its access point.
    pub(super) fn access_point(&self) -> NodeId {
        self.access_point
    }

    /// The access point is given a packet.
    pub(super) fn send_to_station(&mut self, at: Timestamp, packet: Packet, output: &mut Vec<CellOutput>) {
        self.medium.handle_packet(ACCESS_POINT, at, packet);
        self.drain(output);
    }

    /// A station is given a packet.
    pub(super) fn send_to_access_point(
        &mut self,
        at: Timestamp,
        station: usize,
        packet: Packet,
        output: &mut Vec<CellOutput>,
    ) {
        self.medium.handle_packet(self.stations[station].id, at, packet);
        self.drain(output);
    }

    /// What was to be decided on the medium before `now` is decided.
    pub(super) fn handle_timeout(&mut self, now: Timestamp, output: &mut Vec<CellOutput>) {
        self.medium.handle_timeout(now);
        self.drain(output);
    }

    /// A packet will be at `node` at `at`, and goes on from there.
    pub(super) fn add_arrival(&mut self, at: Timestamp, node: NodeId, packet: Packet) {
        let place = self.arriving.partition_point(|&(other, ..)| other <= at);
        self.arriving.insert(place, (at, node, packet));
        self.ask();
    }

    /// The next packet that is at a node by `now` and goes on from there.
    pub(super) fn poll_arrival(&mut self, now: Timestamp) -> Option<(Timestamp, NodeId, Packet)> {
        if self.arriving.front().is_none_or(|&(at, ..)| at > now) {
            return None;
        }
        let arrival = self.arriving.pop_front();
        self.ask();
        arrival
    }

    /// What its contenders achieved together.
    pub(super) fn contenders(&self) -> Option<StationCounters> {
        let each = self.contenders.iter().map(|&station| self.medium.counters(station));
        each.reduce(|sum, counters| sum + counters)
    }

    fn ask(&mut self) {
        let medium = self.medium.next_timeout().map_or(Timestamp::MAX, |timeout| timeout.at);
        self.next = self.arriving.front().map_or(medium, |&(at, ..)| medium.min(at));
    }

    fn drain(&mut self, output: &mut Vec<CellOutput>) {
        while let Some(event) = self.medium.poll_event() {
            match event {
                MediumEvent::Received { station, packet, at } => {
                    output.push(CellOutput::Received { downward: station == ACCESS_POINT, packet, at });
                }
                MediumEvent::Released { station, packet, at } => {
                    if self.holds(station) {
                        output.push(CellOutput::Released { packet: packet.id, at });
                    }
                }
                MediumEvent::Done { station, verdict: StationVerdict { record, released } } => {
                    if record.started.is_none() && self.holds(station) {
                        output.push(CellOutput::Released { packet: record.packet, at: released });
                    }
                    output.push(CellOutput::Done(record));
                }
                MediumEvent::Sniffed(frame) => output.push(CellOutput::Sniffed(frame)),
            }
        }
        self.ask();
    }

    /// Whether a station of the medium is a host's own device.
    fn holds(&self, station: StationId) -> bool {
        self.stations.iter().any(|other| other.id == station && other.in_device)
    }
}
