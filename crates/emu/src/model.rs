//! What a lane asks of a link model, and two trivial models for tests and benchmarks.

use std::collections::VecDeque;

use framewire_link::{Hop, HopRecord, Network, NetworkEvent, NodeId, Outcome, Packet, Rates};
use framewire_units::{Bitrate, Duration, Timestamp};

/// A sans-IO model of everything between the two hosts.
///
/// The contract is that of [`Network`]: call one handler, then [`poll_event`](Self::poll_event) until it returns
/// nothing, then sleep until [`next_timeout`](Self::next_timeout). Every packet gets one `Released`, and either one
/// `Deliver` or one `Hop` with a drop.
pub trait LinkModel: Send {
    /// A packet came into the network at `from`; it was stamped at `at` and is handed over at `now`.
    fn handle_packet(&mut self, now: Timestamp, at: Timestamp, from: NodeId, packet: Packet);

    /// The moment that [`next_timeout`](Self::next_timeout) named has come.
    fn handle_timeout(&mut self, now: Timestamp);

    /// The next output of the model.
    fn poll_event(&mut self) -> Option<NetworkEvent>;

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    fn next_timeout(&self) -> Option<Timestamp>;
}

impl LinkModel for Network {
    fn handle_packet(&mut self, now: Timestamp, at: Timestamp, from: NodeId, packet: Packet) {
        Network::handle_packet(self, now, at, from, packet);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        Network::handle_timeout(self, now);
    }

    fn poll_event(&mut self) -> Option<NetworkEvent> {
        Network::poll_event(self)
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        Network::next_timeout(self).map(|timeout| timeout.at)
    }
}

/// A wire without a queue: every packet arrives after the same delay, in both directions.
#[derive(Debug, Default)]
pub struct FixedDelay {
    delay: Duration,
    events: VecDeque<NetworkEvent>,
}

impl FixedDelay {
    /// A wire of this one-way delay.
    pub fn new(delay: Duration) -> Self {
        Self { delay, events: VecDeque::new() }
    }
}

impl LinkModel for FixedDelay {
    fn handle_packet(&mut self, _now: Timestamp, at: Timestamp, _from: NodeId, packet: Packet) {
        let arrival = at + self.delay;
        self.events.push_back(NetworkEvent::Released { packet: packet.id, at });
        self.events.push_back(crossed_wire(packet, at, arrival));
        self.events.push_back(NetworkEvent::Deliver { packet, at: arrival });
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_event(&mut self) -> Option<NetworkEvent> {
        self.events.pop_front()
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        None
    }
}

/// A bottleneck with a rate and an unbounded queue, then a wire, in the forward direction; a plain wire backward.
#[derive(Debug)]
pub struct RateAndDelay {
    rate: Bitrate,
    wire: FixedDelay,
    busy_until: Timestamp,
}

impl RateAndDelay {
    /// A bottleneck of this rate before a wire of this one-way delay.
    pub fn new(rate: Bitrate, delay: Duration) -> Self {
        Self { rate, wire: FixedDelay::new(delay), busy_until: Timestamp::ZERO }
    }
}

impl LinkModel for RateAndDelay {
    fn handle_packet(&mut self, now: Timestamp, at: Timestamp, from: NodeId, packet: Packet) {
        if from == NodeId::RECEIVER {
            return self.wire.handle_packet(now, at, from, packet);
        }
        let started = at.max(self.busy_until);
        self.busy_until = started + self.rate.transmit_time(packet.size);
        let record = HopRecord {
            packet: packet.id,
            hop: Hop::SenderDevice,
            size: packet.size,
            enqueued: at,
            clamped: false,
            started: Some(started),
            finished: self.busy_until,
            transmissions: self.rate.into(),
            marked: false,
            outcome: Outcome::Delivered,
        };
        self.wire.events.push_back(NetworkEvent::Hop { record, last: false });
        self.wire.handle_packet(now, self.busy_until, from, packet);
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_event(&mut self) -> Option<NetworkEvent> {
        self.wire.poll_event()
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        None
    }
}

/// The last record of a packet, of a wire that it crossed at once.
pub(crate) fn crossed_wire(packet: Packet, at: Timestamp, arrival: Timestamp) -> NetworkEvent {
    let record = HopRecord {
        packet: packet.id,
        hop: Hop::Wire,
        size: packet.size,
        enqueued: at,
        clamped: false,
        started: Some(at),
        finished: arrival,
        transmissions: Rates::new(),
        marked: false,
        outcome: Outcome::Delivered,
    };
    NetworkEvent::Hop { record, last: true }
}

/// The other one of two hosts.
pub(crate) fn other_end(host: NodeId) -> NodeId {
    if host == NodeId::SENDER { NodeId::RECEIVER } else { NodeId::SENDER }
}
