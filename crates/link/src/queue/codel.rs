//! Controlled delay (RFC 8289): drops from the head of a queue whose shortest wait over an interval stays too long.
//!
//! After the pseudocode of section 5. Fields are named in words, with the RFC's name as a comment.

use framewire_units::{DataSize, Duration, Timestamp};

use super::fifo::Fifo;
use super::settings::settings;
use super::{Arrival, Backlog, Dropped, QueueDiscipline, QueueSetup, Queued};
use crate::verdict::DropCause;

/// A dropping state goes on where the last one ended if so many intervals lie between them at most (RFC 8289, section
/// 5.5; the value is that of Linux).
const MEMORY: u32 = 16;

settings! {
    /// What CoDel goes by.
    CodelSettings {
        /// The wait that may stand; RFC 8289, section 5.3: 5 ms.
        target: Time(Duration) = Duration::from_millis(5), Duration::from_micros(1) => Duration::from_secs(60);
        /// For how long it may be exceeded, a round trip of most paths; RFC 8289, section 5.3: 100 ms.
        interval: Time(Duration) = Duration::from_millis(100), Duration::from_micros(1) => Duration::from_secs(60);
        /// Whether packets of transports that know ECN are marked instead of dropped; RFC 8289 drops.
        ecn: Flag(bool) = false, false => true;
    }
}

/// The rule itself, whatever the queue is a part of.
#[derive(Clone, Debug)]
pub(super) struct Control {
    settings: CodelSettings,
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

impl Control {
    pub(super) fn new(settings: CodelSettings, mtu: DataSize) -> Self {
        Self {
            settings,
            mtu,
            above_since_interval: None,
            is_dropping: false,
            next_drop: Timestamp::ZERO,
            count: 0,
            count_at_begin: 0,
        }
    }

    /// `dodequeue`: the oldest packet, and whether it may be dropped, because no wait was under the target for an
    /// interval.
    fn take_oldest(&mut self, fifo: &mut Fifo, now: Timestamp) -> (Option<Queued>, bool) {
        let Some(packet) = fifo.pop() else {
            self.above_since_interval = None;
            return (None, false);
        };
        if packet.waited(now) < self.settings.target || fifo.backlog().size <= self.mtu {
            self.above_since_interval = None;
            return (Some(packet), false);
        }
        let above_since_interval = *self.above_since_interval.get_or_insert(now + self.settings.interval);
        (Some(packet), now >= above_since_interval)
    }

    /// `control_law`: the time to the next drop falls with the square root of the number of drops, which makes the
    /// throughput of TCP fall in proportion to that number.
    fn control_law(&self, from: Timestamp) -> Timestamp {
        let interval = self.settings.interval.as_nanos() as f64;
        from + Duration::from_nanos((interval / libm::sqrt(f64::from(self.count))) as u64)
    }

    /// The count that a dropping state begins with. If the last one ended a short time ago, its rate of drops is a good
    /// one to start with. `next_drop` is at most an interval after the last drop, and so a good estimate of it.
    fn initial_count(&self, now: Timestamp) -> u32 {
        let dropped = self.count - self.count_at_begin;
        let recent = now.saturating_since(self.next_drop) < self.settings.interval * MEMORY;
        if dropped > 1 && recent { dropped } else { 1 }
    }

    /// Marks the packet instead of dropping it, where that is wanted and possible.
    fn marks(&self, packet: &mut Option<Queued>) -> bool {
        self.settings.ecn && packet.as_mut().is_some_and(Queued::mark)
    }

    /// The packet whose transmission begins now.
    pub(super) fn dequeue(&mut self, fifo: &mut Fifo, now: Timestamp, dropped: &mut Vec<Dropped>) -> Option<Queued> {
        let mut drop = |packet: Option<Queued>| {
            dropped.extend(packet.map(|packet| Dropped { packet, cause: DropCause::ActiveQueueManagement }));
        };
        let (mut packet, mut may_drop) = self.take_oldest(fifo, now);
        if self.is_dropping {
            self.is_dropping = may_drop;
            // A large backlog may ask for several drops at once.
            while self.is_dropping && now >= self.next_drop {
                self.count += 1;
                if self.marks(&mut packet) {
                    self.next_drop = self.control_law(self.next_drop);
                    break;
                }
                drop(packet);
                (packet, may_drop) = self.take_oldest(fifo, now);
                self.is_dropping = may_drop;
                if self.is_dropping {
                    self.next_drop = self.control_law(self.next_drop);
                }
            }
        } else if may_drop {
            if !self.marks(&mut packet) {
                drop(packet);
                (packet, _) = self.take_oldest(fifo, now);
            }
            self.is_dropping = true;
            self.count = self.initial_count(now);
            self.count_at_begin = self.count;
            self.next_drop = self.control_law(now);
        }
        packet
    }
}

#[derive(Debug)]
pub(super) struct Codel {
    fifo: Fifo,
    control: Control,
}

impl Codel {
    pub(super) fn new(settings: CodelSettings, setup: &QueueSetup) -> Self {
        Self { fifo: Fifo::new(setup.limit), control: Control::new(settings, setup.mtu) }
    }
}

impl QueueDiscipline for Codel {
    fn enqueue(&mut self, arrival: Arrival, dropped: &mut Vec<Dropped>) {
        if let Err(packet) = self.fifo.push(arrival) {
            dropped.push(Dropped { packet, cause: DropCause::QueueFull });
        }
    }

    fn dequeue(&mut self, now: Timestamp, dropped: &mut Vec<Dropped>) -> Option<Queued> {
        self.control.dequeue(&mut self.fifo, now, dropped)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests;
