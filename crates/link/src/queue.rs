//! Queue disciplines. They see logical times only: when a packet arrived and when its service began, by the model.

use std::collections::VecDeque;

use framewire_units::{DataSize, Duration, Timestamp};

use crate::config::QueueLimit;

/// What a discipline is told about an arriving packet.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub at: Timestamp,
    /// IP bytes.
    pub size: DataSize,
    /// How long it would wait for its transmission if all that waits now goes first: zero at an idle transmitter,
    /// `None` where the rate is not known in advance.
    pub wait: Option<Duration>,
}

/// A queue in front of a transmitter.
///
/// The driver calls [`enqueue`](Self::enqueue) and [`dequeue`](Self::dequeue) in the order of their times. A packet
/// that finds the transmitter idle does not wait: it is taken whatever the limit and dequeued at the same time.
pub trait QueueDiscipline<T> {
    /// Takes a packet that arrives; `Err` gives it back when the discipline refuses it.
    fn enqueue(&mut self, arrival: Arrival, packet: T) -> Result<(), T>;

    /// Gives the packet whose transmission begins at `at`; `None` when nothing waits.
    fn dequeue(&mut self, at: Timestamp) -> Option<T>;

    /// Packets waiting.
    fn len(&self) -> usize;

    /// True when nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// First in, first out; refuses what arrives at a full queue.
#[derive(Clone, Debug)]
pub struct DropTail<T> {
    limit: QueueLimit,
    waiting: VecDeque<(DataSize, T)>,
    bytes: DataSize,
}

impl<T> DropTail<T> {
    /// An empty queue.
    pub fn new(limit: QueueLimit) -> Self {
        Self { limit, waiting: VecDeque::new(), bytes: DataSize::ZERO }
    }

    fn has_room(&self, arrival: Arrival) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.waiting.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.bytes + arrival.size <= limit,
            QueueLimit::Time(limit) => arrival.wait.is_none_or(|wait| wait <= limit),
        }
    }
}

impl<T> QueueDiscipline<T> for DropTail<T> {
    fn enqueue(&mut self, arrival: Arrival, packet: T) -> Result<(), T> {
        if arrival.wait == Some(Duration::ZERO) || self.has_room(arrival) {
            self.bytes += arrival.size;
            self.waiting.push_back((arrival.size, packet));
            Ok(())
        } else {
            Err(packet)
        }
    }

    fn dequeue(&mut self, _at: Timestamp) -> Option<T> {
        let (size, packet) = self.waiting.pop_front()?;
        self.bytes = self.bytes - size;
        Some(packet)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}
