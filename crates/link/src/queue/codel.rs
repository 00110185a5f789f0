//! Controlled delay (RFC 8289): drops from the head of a queue whose shortest wait over an interval stays too long.
//!
//! After the pseudocode of section 5. Fields are named in words, with the RFC's name as a comment.

use framewire_units::{DataSize, Duration, Timestamp};

use super::fifo::Fifo;
use super::{Arrival, Backlog, Dropped, QueueDiscipline, QueueSetup, Queued};
use crate::verdict::DropCause;

/// The wait that may stand (RFC 8289, section 5.3).
const TARGET: Duration = Duration::from_millis(5);
/// For how long it may be exceeded: a round trip of most paths (RFC 8289, section 5.3).
const INTERVAL: Duration = Duration::from_millis(100);
/// A dropping state goes on where the last one ended if so many intervals lie between them at most (RFC 8289, section
/// 5.5; the value is that of Linux).
const MEMORY: u32 = 16;

#[derive(Debug)]
pub(super) struct Codel {
    fifo: Fifo,
    /// At least this much must wait for a packet to be dropped (`maxpacket_`): the link's MTU.
    mtu: DataSize,
    /// When the wait will have been above the target for an interval (`first_above_time_`).
    above_since_interval: Option<Timestamp>,
    /// `dropping_`.
    is_dropping: bool,
    /// `drop_next_`.
    next_drop: Timestamp,
    /// Drops of this dropping state, and of those that it goes on from (`count_`).
    count: u32,
    /// What `count` was at the beginning of this dropping state (`lastcount_`).
    count_at_begin: u32,
}

impl Codel {
    pub(super) fn new(setup: &QueueSetup) -> Self {
        Self {
            fifo: Fifo::new(setup.limit),
            mtu: setup.mtu,
            above_since_interval: None,
            is_dropping: false,
            next_drop: Timestamp::ZERO,
            count: 0,
            count_at_begin: 0,
        }
    }

    /// `dodequeue`: the oldest packet, and whether it may be dropped, because no wait was under the target for an
    /// interval.
    fn take_oldest(&mut self, now: Timestamp) -> (Option<Queued>, bool) {
        let Some(packet) = self.fifo.pop() else {
            self.above_since_interval = None;
            return (None, false);
        };
        let wait = now.saturating_since(packet.at);
        if wait < TARGET || self.fifo.backlog().size <= self.mtu {
            self.above_since_interval = None;
            return (Some(packet), false);
        }
        let above_since_interval = *self.above_since_interval.get_or_insert(now + INTERVAL);
        (Some(packet), now >= above_since_interval)
    }

    /// `control_law`: the time to the next drop falls with the square root of the number of drops, which makes the
    /// throughput of TCP fall in proportion to that number.
    fn control_law(&self, from: Timestamp) -> Timestamp {
        from + Duration::from_nanos((INTERVAL.as_nanos() as f64 / libm::sqrt(f64::from(self.count))) as u64)
    }

    /// The count that a dropping state begins with. If the last one ended a short time ago, its rate of drops is a good
    /// one to start with. `next_drop` is at most an interval after the last drop, and so a good estimate of it.
    fn initial_count(&self, now: Timestamp) -> u32 {
        let dropped = self.count - self.count_at_begin;
        let recent = now.saturating_since(self.next_drop) < INTERVAL * MEMORY;
        if dropped > 1 && recent { dropped } else { 1 }
    }
}

impl QueueDiscipline for Codel {
    fn enqueue(&mut self, arrival: Arrival, dropped: &mut Vec<Dropped>) {
        if let Err(packet) = self.fifo.push(arrival) {
            dropped.push(Dropped { packet, cause: DropCause::QueueFull });
        }
    }

    fn dequeue(&mut self, now: Timestamp, dropped: &mut Vec<Dropped>) -> Option<Queued> {
        let mut drop = |packet: Option<Queued>| {
            dropped.extend(packet.map(|packet| Dropped { packet, cause: DropCause::ActiveQueueManagement }));
        };
        let (mut packet, mut may_drop) = self.take_oldest(now);
        if self.is_dropping {
            self.is_dropping = may_drop;
            // A large backlog may ask for several drops at once.
            while self.is_dropping && now >= self.next_drop {
                drop(packet);
                self.count += 1;
                (packet, may_drop) = self.take_oldest(now);
                self.is_dropping = may_drop;
                if self.is_dropping {
                    self.next_drop = self.control_law(self.next_drop);
                }
            }
        } else if may_drop {
            drop(packet);
            (packet, _) = self.take_oldest(now);
            self.is_dropping = true;
            self.count = self.initial_count(now);
            self.count_at_begin = self.count;
            self.next_drop = self.control_law(now);
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests;
