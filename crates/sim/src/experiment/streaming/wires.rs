//! What the packets of an experiment carry, and what is counted of them.

use framewire_adaptive::datagram::Channel;
use framewire_link::{DropCause, HopRecord, Outcome, Port};
use framewire_tcp::Segment;
use framewire_units::{DataSize, Timestamp};

use super::outcome::PacketCounts;
use crate::wires::{Recorder, Wires};

/// The network of an experiment.
pub(super) type SharedWires = Wires<Cargo, Tally>;

/// A packet of a flow.
#[derive(Debug)]
pub(super) struct Cargo {
    pub(super) flow: u16,
    pub(super) sent: Timestamp,
    /// IP bytes.
    pub(super) size: DataSize,
    /// Bytes above TCP or UDP.
    pub(super) payload: u32,
    pub(super) body: Body,
}

/// What a packet is.
#[derive(Debug)]
pub(super) enum Body {
    Segment(Segment),
    Datagram(Channel, Vec<u8>),
    /// What is left of a packet that has come out: its sender's device may still hold it.
    Taken,
}

impl Cargo {
    pub(super) fn segment(flow: u16, sent: Timestamp, segment: Segment) -> Self {
        let (size, payload) = (segment.packet_size(), segment.payload);
        Self { flow, sent, size, payload, body: Body::Segment(segment) }
    }

    pub(super) fn datagram(flow: u16, sent: Timestamp, size: DataSize, channel: Channel, bytes: Vec<u8>) -> Self {
        let payload = bytes.len() as u32;
        Self { flow, sent, size, payload, body: Body::Datagram(channel, bytes) }
    }

    /// The packet, with what it carries moved out.
    pub(super) fn take(&mut self) -> Self {
        Self { body: std::mem::replace(&mut self.body, Body::Taken), ..*self }
    }
}

/// Counts the packets of each flow on the way to the receiver.
#[derive(Debug)]
pub(super) struct Tally {
    /// Whose packet each is, by its number.
    flows: Vec<u16>,
    counts: Vec<PacketCounts>,
}

impl Tally {
    pub(super) fn new(flows: usize) -> Self {
        Self { flows: Vec::new(), counts: vec![PacketCounts::default(); flows] }
    }

    pub(super) fn handle_delivery(&mut self, flow: usize) {
        self.counts[flow].delivered += 1;
    }

    pub(super) fn of(&self, flow: usize) -> PacketCounts {
        self.counts[flow]
    }
}

impl Recorder<Cargo> for Tally {
    fn handle_packet(&mut self, _id: u64, from: Port, _size: DataSize, cargo: &Cargo) {
        self.flows.push(cargo.flow);
        self.counts[usize::from(cargo.flow)].sent += u64::from(from == Port::Sender);
    }

    fn handle_hop(&mut self, hop: HopRecord, _last: bool) {
        let Outcome::Dropped(cause) = hop.outcome else { return };
        let counts = &mut self.counts[usize::from(self.flows[hop.packet.0 as usize])];
        match (hop.from, cause) {
            (Port::Receiver, _) => counts.dropped_backward += 1,
            (Port::Sender, DropCause::QueueFull) => counts.queue_drops += 1,
            (Port::Sender, DropCause::RandomLoss) => counts.random_losses += 1,
            (Port::Sender, DropCause::RetryLimit | DropCause::Outage) => counts.other_losses += 1,
        }
    }
}
