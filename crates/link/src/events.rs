//! What a network decided and has not been polled yet.

use std::collections::VecDeque;

use framewire_units::Timestamp;

use crate::verdict::{HopRecord, Outcome, PacketId, Port, SniffedFrame};

/// Something that a network decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// The packet leaves the network at `to` at the time `at`, usually in the future: the world holds it till then.
    Deliver {
        /// The packet.
        packet: PacketId,
        /// Where it comes out.
        to: Port,
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
    Hop(HopRecord),
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

    /// A hop's verdict.
    pub(crate) fn hop(&mut self, record: HopRecord) {
        if self.records_deliveries || record.outcome != Outcome::Delivered {
            self.queue.push_back(NetworkEvent::Hop(record));
        }
    }

    /// The last hop's verdict, and the delivery if it is one.
    pub(crate) fn last_hop(&mut self, record: HopRecord, to: Port) {
        if record.outcome == Outcome::Delivered {
            self.push(NetworkEvent::Deliver { packet: record.packet, to, at: record.finished });
        }
        self.hop(record);
    }

    pub(crate) fn pop(&mut self) -> Option<NetworkEvent> {
        self.queue.pop_front()
    }
}
