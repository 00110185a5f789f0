//! Packets in order of arrival, up to a limit: what disciplines are made of.

use std::collections::VecDeque;

use framewire_units::DataSize;

use super::{Arrival, Backlog, QueueLimit, Queued};

/// First in, first out.
#[derive(Clone, Debug)]
pub(super) struct Fifo {
    limit: QueueLimit,
    packets: VecDeque<Queued>,
    size: DataSize,
}

impl Fifo {
    pub(super) fn new(limit: QueueLimit) -> Self {
        Self { limit, packets: VecDeque::new(), size: DataSize::ZERO }
    }

    /// Takes a packet; gives it back where there is no room.
    pub(super) fn push(&mut self, arrival: Arrival) -> Result<(), Queued> {
        let Arrival { packet, wait, .. } = arrival;
        if !self.limit.has_room(self.backlog(), packet.packet.size, wait) {
            return Err(packet);
        }
        self.add(packet);
        Ok(())
    }

    /// Takes a packet whatever the limit.
    pub(super) fn add(&mut self, packet: Queued) {
        self.size += packet.packet.size;
        self.packets.push_back(packet);
    }

    pub(super) fn limit(&self) -> QueueLimit {
        self.limit
    }

    /// The oldest packet, which stays.
    pub(super) fn oldest(&self) -> Option<&Queued> {
        self.packets.front()
    }

    /// The oldest packet.
    pub(super) fn pop(&mut self) -> Option<Queued> {
        let oldest = self.packets.pop_front()?;
        self.size = self.size - oldest.packet.size;
        Some(oldest)
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), size: self.size }
    }
}
