//! What a network decided and has not been polled yet.

use std::collections::VecDeque;

use crate::network::NetworkEvent;
use crate::verdict::{HopRecord, Outcome, Port};

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
