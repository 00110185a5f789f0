//! The two ways through a network: which hops, in which order, in both directions.

use std::collections::VecDeque;

use framewire_units::{Seed, Timestamp};

use crate::config::{BottleneckPlace, ConfigError, WifiNetworkConfig, WiredNetworkConfig};
use crate::network::NetworkEvent;
use crate::verdict::{DropCause, Hop, HopRecord, Outcome, Packet, Port, Timeout};
use crate::wifi::{Medium, MediumEvent, StationConfig, StationId, StationVerdict};
use crate::wire::{Wire, WireVerdict};

type Events = VecDeque<NetworkEvent>;

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
        events.push_back(NetworkEvent::Released { packet: packet.id, at: released });
        deliver(record, to, events);
    }
}

/// The wireless station; its number names its draws, and so does the access point's.
const STATION: StationId = StationId(0);
/// The access point.
const ACCESS_POINT: StationId = StationId(1);

/// station - 802.11 - access point - wire - far host. The station is the sender with a local bottleneck, the receiver
/// with a remote one.
#[derive(Debug)]
pub(crate) struct WifiPath {
    /// The port of the host that is the wireless station.
    station: Port,
    medium: Medium,
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
        medium.add_station(StationConfig { queue: config.station_queue, hop: Hop::SenderDevice, from: station });
        let queue = config.access_point_queue;
        medium.add_station(StationConfig { queue, hop: Hop::AccessPoint, from: other(station) });
        let outward = Wire::new(&config.wire, Hop::Wire, seed, 0);
        let inward = Wire::new(&config.wire, Hop::Wire, seed, 1);
        Ok(Self { station, medium, outward, inward })
    }

    pub(crate) fn handle_packet(&mut self, at: Timestamp, from: Port, packet: Packet, events: &mut Events) {
        if from == self.station {
            self.medium.handle_packet(STATION, at, packet);
        } else {
            let WireVerdict { released, record } = self.inward.handle_packet(at, from, packet);
            events.push_back(NetworkEvent::Released { packet: packet.id, at: released });
            if record.outcome == Outcome::Delivered {
                self.medium.handle_packet(ACCESS_POINT, record.finished, packet);
            }
            events.push_back(NetworkEvent::Hop(record));
        }
        self.drain(events);
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
                MediumEvent::Received { station: STATION, packet, at } => {
                    let WireVerdict { record, .. } = self.outward.handle_packet(at, self.station, packet);
                    deliver(record, other(self.station), events);
                }
                MediumEvent::Received { packet, at, .. } => {
                    events.push_back(NetworkEvent::Deliver { packet: packet.id, to: self.station, at });
                }
                MediumEvent::Released { station, packet, at } => {
                    if station == STATION {
                        events.push_back(NetworkEvent::Released { packet: packet.id, at });
                    }
                }
                MediumEvent::Done { station, verdict: StationVerdict { record, released } } => {
                    let refused = record.outcome == Outcome::Dropped(DropCause::QueueFull);
                    if station == STATION && refused {
                        events.push_back(NetworkEvent::Released { packet: record.packet, at: released });
                    }
                    events.push_back(NetworkEvent::Hop(record));
                }
                MediumEvent::Sniffed(frame) => events.push_back(NetworkEvent::Sniffed(frame)),
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

/// The last hop's verdict, and the delivery if it is one.
fn deliver(record: HopRecord, to: Port, events: &mut Events) {
    if record.outcome == Outcome::Delivered {
        events.push_back(NetworkEvent::Deliver { packet: record.packet, to, at: record.finished });
    }
    events.push_back(NetworkEvent::Hop(record));
}
