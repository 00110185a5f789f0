//! What a network decided and has not been polled yet.

use std::collections::VecDeque;

use framewire_units::Timestamp;

use crate::verdict::{HopRecord, Outcome, Packet, PacketId, SniffedFrame};

/// Something that a network decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// The packet leaves the network at its destination at the time `at`, usually in the future: the world holds it till
    /// then.
    Deliver {
        /// The packet, as it comes out: with Congestion Experienced where a queue on the way marked it.
        packet: Packet,
        /// When, exactly.
        at: Timestamp,
    },
    /// The sending host's own device is done with the packet at `at` (maybe in the future): delivered, given up, or
    /// refused by its queue.
    Released {
        /// The packet.
        packet: PacketId,
        /// When.
        at: Timestamp,
    },
    /// One hop's verdict.
    Hop {
        /// The verdict.
        record: HopRecord,
        /// It is the last record of its packet: no hop of it and no captured transmission comes after. Every packet that is
        /// settled has one such record, where deliveries are recorded.
        last: bool,
    },
    /// The sniffer captured a transmission.
    Sniffed(SniffedFrame),
}

/// The events of a network, in order.
#[derive(Debug)]
pub(crate) struct Events {
    queue: VecDeque<NetworkEvent>,
    records_deliveries: bool,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self { queue: VecDeque::new(), records_deliveries: true }
    }

    /// Whether hops that delivered their packet are recorded too; those that dropped it always are.
    pub(crate) fn record_deliveries(&mut self, wanted: bool) {
        self.records_deliveries = wanted;
    }

    pub(crate) fn push(&mut self, event: NetworkEvent) {
        self.queue.push_back(event);
    }

    /// A hop's verdict; `last`: nothing more comes of its packet.
    pub(crate) fn hop(&mut self, record: HopRecord, last: bool) {
        if self.records_deliveries || record.outcome != Outcome::Delivered {
            self.queue.push_back(NetworkEvent::Hop { record, last });
        }
    }

    /// The packet leaves the network.
    pub(crate) fn deliver(&mut self, packet: Packet, at: Timestamp) {
        self.push(NetworkEvent::Deliver { packet, at });
    }

    pub(crate) fn pop(&mut self) -> Option<NetworkEvent> {
        self.queue.pop_front()
    }
}
