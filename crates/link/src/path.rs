//! The two ways through a network: which hops, in which order, in both directions.

use framewire_units::{Seed, Timestamp};

use crate::config::{BottleneckPlace, ConfigError, WifiNetworkConfig, WiredNetworkConfig};
use crate::events::Events;
use crate::network::NetworkEvent;
use crate::verdict::{DropCause, Hop, HopRecord, Outcome, Packet, Port, Timeout};
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

    pub(crate) fn handle_packet(&mut self, at: Timestamp, from: Port, packet: Packet, events: &mut Events) {
        let (wire, to) = match from {
            Port::Sender => (&mut self.forward, Port::Receiver),
            Port::Receiver => (&mut self.backward, Port::Sender),
        };
        let WireVerdict { released, record } = wire.handle_packet(at, from, packet);
        let in_device = from == Port::Receiver || self.bottleneck == BottleneckPlace::LocalDevice;
        let released = if in_device { released } else { record.enqueued };
        events.push(NetworkEvent::Released { packet: packet.id, at: released });
        events.last_hop(record, to);
    }
}

/// The wireless station; its number names its draws, and so does the access point's.
const STATION: StationId = StationId(0);
/// The access point.
const ACCESS_POINT: StationId = StationId(1);

/// stations - 802.11 - access point - wire - far host. The stations are the senders with a local bottleneck; one is the
/// receiver with a remote one.
#[derive(Debug)]
pub(crate) struct WifiPath {
    /// The port of the host that is the wireless station.
    station: Port,
    medium: Medium,
    /// The stations beside [`STATION`] whose packets come from the world.
    further: Vec<StationId>,
    contenders: Vec<StationId>,
    /// From the access point to the far host.
    outward: Wire,
    /// From the far host to the access point.
    inward: Wire,
}

impl WifiPath {
    pub(crate) fn new(config: &WifiNetworkConfig, seed: Seed) -> Result<Self, ConfigError> {
        let station = match config.bottleneck {
            BottleneckPlace::LocalDevice => Port::Sender,
            BottleneckPlace::Remote => Port::Receiver,
        };
        let mut medium = Medium::new(&config.wifi, seed)?;
        let device =
            |queue| StationConfig { queue, hop: Hop::SenderDevice, from: station, retry: None, saturated: None };
        medium.add_station(device(config.station_queue));
        medium.add_station(StationConfig {
            queue: config.access_point_queue,
            hop: Hop::AccessPoint,
            from: other(station),
            retry: config.access_point_retry,
            saturated: None,
        });
        let further = config.further_stations.iter().map(|&queue| medium.add_station(device(queue))).collect();
        let contender = |packet| StationConfig { saturated: Some(packet), ..device(config.station_queue) };
        let contenders = config.contenders.into_iter().flat_map(|of| (0..of.stations).map(move |_| of.packet));
        let contenders = contenders.map(|packet| medium.add_station(contender(packet))).collect();
        let outward = Wire::new(&config.wire, Hop::Wire, seed, 0);
        let inward = Wire::new(&config.wire, Hop::Wire, seed, 1);
        Ok(Self { station, medium, further, contenders, outward, inward })
    }

    pub(crate) fn stations(&self) -> usize {
        1 + self.further.len()
    }

    /// A station is done with a packet when it knows what became of it, which is after the packet has passed the wire
    /// beyond. A packet that the wire from the far host loses comes to no station.
    pub(crate) fn is_last(&self, hop: &HopRecord) -> bool {
        hop.hop != Hop::Wire || hop.from != self.station && hop.outcome != Outcome::Delivered
    }

    pub(crate) fn contenders(&self) -> Option<StationCounters> {
        let each = self.contenders.iter().map(|&station| self.medium.counters(station));
        each.reduce(|sum, counters| sum + counters)
    }

    pub(crate) fn handle_packet(&mut self, at: Timestamp, from: Port, packet: Packet, events: &mut Events) {
        if from == self.station {
            self.medium.handle_packet(STATION, at, packet);
        } else {
            let WireVerdict { released, record } = self.inward.handle_packet(at, from, packet);
            events.push(NetworkEvent::Released { packet: packet.id, at: released });
            if record.outcome == Outcome::Delivered {
                self.medium.handle_packet(ACCESS_POINT, record.finished, packet);
            }
            events.hop(record);
        }
        self.drain(events);
    }

    pub(crate) fn handle_packet_from_station(&mut self, at: Timestamp, n: usize, packet: Packet, events: &mut Events) {
        match n.checked_sub(1) {
            None => self.handle_packet(at, Port::Sender, packet, events),
            Some(further) => {
                self.medium.handle_packet(self.further[further], at, packet);
                self.drain(events);
            }
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Timestamp, events: &mut Events) {
        self.medium.handle_timeout(now);
        self.drain(events);
    }

    pub(crate) fn next_timeout(&self) -> Option<Timeout> {
        self.medium.next_timeout()
    }

    fn drain(&mut self, events: &mut Events) {
        while let Some(event) = self.medium.poll_event() {
            match event {
                MediumEvent::Received { station: ACCESS_POINT, packet, at } => {
                    events.push(NetworkEvent::Deliver { packet: packet.id, to: self.station, at });
                }
                MediumEvent::Received { packet, at, .. } => {
                    let WireVerdict { record, .. } = self.outward.handle_packet(at, self.station, packet);
                    events.last_hop(record, other(self.station));
                }
                MediumEvent::Released { station, packet, at } => {
                    if station != ACCESS_POINT {
                        events.push(NetworkEvent::Released { packet: packet.id, at });
                    }
                }
                MediumEvent::Done { station, verdict: StationVerdict { record, released } } => {
                    let refused = record.outcome == Outcome::Dropped(DropCause::QueueFull);
                    if station != ACCESS_POINT && refused {
                        events.push(NetworkEvent::Released { packet: record.packet, at: released });
                    }
                    events.hop(record);
                }
                MediumEvent::Sniffed(frame) => events.push(NetworkEvent::Sniffed(frame)),
            }
        }
    }
}

fn other(port: Port) -> Port {
    match port {
        Port::Sender => Port::Receiver,
        Port::Receiver => Port::Sender,
    }
}
