//! The queue of a plain router or network interface.

use framewire_units::Timestamp;

use super::fifo::Fifo;
use super::{Arrival, Backlog, Dropped, QueueDiscipline, QueueLimit, QueueSetup, Queued};
use crate::verdict::DropCause;

/// First in, first out; refuses what arrives at a full queue.
#[derive(Debug)]
pub(super) struct DropTail(Fifo);

impl DropTail {
    pub(super) fn new(setup: &QueueSetup) -> Self {
        Self(Fifo::new(setup.limit))
    }
}

impl QueueDiscipline for DropTail {
    fn enqueue(&mut self, arrival: Arrival, dropped: &mut Vec<Dropped>) {
        if let Err(packet) = self.0.push(arrival) {
            dropped.push(Dropped { packet, cause: DropCause::QueueFull });
        }
    }

    fn dequeue(&mut self, _at: Timestamp, _dropped: &mut Vec<Dropped>) -> Option<Queued> {
        self.0.pop()
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }

    fn is_only_limited_by(&self) -> Option<QueueLimit> {
        Some(self.0.limit())
    }
}
