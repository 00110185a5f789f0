//! What a lane asks of a link model, and two trivial models for tests and benchmarks.

use std::collections::VecDeque;

use framewire_link::{Hop, HopRecord, Network, NetworkEvent, Outcome, Packet, Port, Rates};
use framewire_units::{Bitrate, Duration, Timestamp};

/// A sans-IO model of everything between the two hosts.
///
/// The contract is that of [`Network`]: call one handler, then [`poll_event`](Self::poll_event) until it returns
/// nothing, then sleep until [`next_timeout`](Self::next_timeout). Every packet gets one `Released`, and either one
/// `Deliver` or one `Hop` with a drop.
pub trait LinkModel: Send {
    /// A packet came into the network at `from`; it was stamped at `at` and is handed over at `now`.
    fn handle_packet(&mut self, now: Timestamp, at: Timestamp, from: Port, packet: Packet);

    /// The moment that [`next_timeout`](Self::next_timeout) named has come.
    fn handle_timeout(&mut self, now: Timestamp);

    /// The next output of the model.
    fn poll_event(&mut self) -> Option<NetworkEvent>;

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    fn next_timeout(&self) -> Option<Timestamp>;

    /// Whether `hop`, which [`poll_event`](Self::poll_event) just gave, is the last record of its packet: no hop of it and
    /// no captured transmission comes after. Each packet has one such record, so that its log can go to the disk.
    fn is_last(&self, hop: &HopRecord) -> bool;
}

impl LinkModel for Network {
    fn handle_packet(&mut self, now: Timestamp, at: Timestamp, from: Port, packet: Packet) {
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

    fn is_last(&self, hop: &HopRecord) -> bool {
        Network::is_last(self, hop)
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
    fn handle_packet(&mut self, _now: Timestamp, at: Timestamp, from: Port, packet: Packet) {
        let arrival = at + self.delay;
        let to = other_end(from);
        self.events.push_back(NetworkEvent::Released { packet: packet.id, at });
        self.events.push_back(NetworkEvent::Hop(crossed_wire(packet, from, at, arrival)));
        self.events.push_back(NetworkEvent::Deliver { packet: packet.id, to, at: arrival });
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_event(&mut self) -> Option<NetworkEvent> {
        self.events.pop_front()
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn is_last(&self, hop: &HopRecord) -> bool {
        hop.hop == Hop::Wire
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
    fn handle_packet(&mut self, now: Timestamp, at: Timestamp, from: Port, packet: Packet) {
        if from == Port::Receiver {
            return self.wire.handle_packet(now, at, from, packet);
        }
        let started = at.max(self.busy_until);
        self.busy_until = started + self.rate.transmit_time(packet.size);
        self.wire.events.push_back(NetworkEvent::Hop(HopRecord {
            packet: packet.id,
            hop: Hop::SenderDevice,
            from,
            size: packet.size,
            enqueued: at,
            clamped: false,
            started: Some(started),
            finished: self.busy_until,
            transmissions: self.rate.into(),
            outcome: Outcome::Delivered,
        }));
        self.wire.handle_packet(now, self.busy_until, from, packet);
    }

    fn handle_timeout(&mut self, _now: Timestamp) {}

    fn poll_event(&mut self) -> Option<NetworkEvent> {
        self.wire.poll_event()
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn is_last(&self, hop: &HopRecord) -> bool {
        hop.hop == Hop::Wire
    }
}

/// The record of a wire that a packet crossed at once.
pub(crate) fn crossed_wire(packet: Packet, from: Port, at: Timestamp, arrival: Timestamp) -> HopRecord {
    HopRecord {
        packet: packet.id,
        hop: Hop::Wire,
        from,
        size: packet.size,
        enqueued: at,
        clamped: false,
        started: Some(at),
        finished: arrival,
        transmissions: Rates::new(),
        outcome: Outcome::Delivered,
    }
}

/// The port opposite to `port`.
pub(crate) fn other_end(port: Port) -> Port {
    match port {
        Port::Sender => Port::Receiver,
        Port::Receiver => Port::Sender,
    }
}
