//! A transmitter behind a queue.
//!
//! A packet's fate is settled when its service begins. Where the queue's discipline drops and reorders nothing that it has
//! taken, departures follow from arrivals, and all is settled at arrival.

use std::collections::VecDeque;

use framewire_units::{Seed, Timestamp};

use crate::config::WireConfig;
use crate::queue::{Arrival, Dropped, QueueDiscipline, QueueSetup, Queued};
use crate::server::{Server, Service};
use crate::verdict::{DropCause, Packet};

/// What became of a packet at a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    pub(crate) packet: Queued,
    pub(crate) fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Served(Service),
    Dropped { at: Timestamp, cause: DropCause },
}

/// A rate and a queue, shared by all flows of one direction. What propagates behind it is not its business.
///
/// Every handler gives what it settled to its last argument, in the order of departures and drops.
#[derive(Debug)]
pub(crate) struct Bottleneck {
    server: Server,
    queue: Box<dyn QueueDiscipline>,
    settling: Settling,
    /// Time of the last arrival or, if that is later, of the last service that was settled in its course.
    settled: Timestamp,
    /// What the discipline dropped in a call; kept to save an allocation.
    dropped: Vec<Dropped>,
}

/// When a packet's fate is settled.
#[derive(Debug)]
enum Settling {
    /// At its arrival.
    AtArrival {
        /// Service start of every packet that still waited at the time of the last arrival.
        starts: VecDeque<Timestamp>,
    },
    /// When its service begins, or when it is dropped.
    AtDeparture {
        /// Arrival of the packet since which something waits.
        since: Timestamp,
    },
}

impl Bottleneck {
    /// An idle transmitter with an empty queue; `seed` is the queue's own.
    pub(crate) fn new(config: &WireConfig, seed: Seed) -> Self {
        let queue = config.queue_discipline.build(&QueueSetup { limit: config.queue, mtu: config.mtu }, seed);
        Self::with_queue(Server::new(config), queue)
    }

    fn with_queue(server: Server, queue: Box<dyn QueueDiscipline>) -> Self {
        let settling = if queue.settles_at_arrival() {
            Settling::AtArrival { starts: VecDeque::new() }
        } else {
            Settling::AtDeparture { since: Timestamp::ZERO }
        };
        Self { server, queue, settling, settled: Timestamp::ZERO, dropped: Vec::new() }
    }

    /// When a packet enters the queue that is stamped `at`: at that time, unless something later is settled already.
    pub(crate) fn entry(&self, at: Timestamp) -> Timestamp {
        at.max(self.settled)
    }

    /// A packet arrives.
    pub(crate) fn handle_packet(&mut self, at: Timestamp, packet: Packet, mut settled: impl FnMut(Settled)) {
        let entry = self.entry(at);
        let packet = Queued { packet, at: entry, clamped: at < entry };
        match self.settling {
            Settling::AtArrival { .. } => self.settle_at_arrival(packet, settled),
            Settling::AtDeparture { .. } => {
                self.settle_departures(entry, &mut settled);
                self.enqueue(packet, &mut settled);
                // It may have found the transmitter idle.
                self.settle_departures(entry, &mut settled);
            }
        }
        self.settled = entry;
    }

    /// Settles all that happens up to `now`.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, mut settled: impl FnMut(Settled)) {
        self.settle_departures(now, &mut settled);
    }

    /// When the next service begins that is not settled; `None` where only a packet can change something.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        match self.settling {
            Settling::AtDeparture { since } if self.queue.backlog().packets > 0 => Some(self.server.start_for(since)),
            Settling::AtArrival { .. } | Settling::AtDeparture { .. } => None,
        }
    }

    fn settle_at_arrival(&mut self, packet: Queued, mut settled: impl FnMut(Settled)) {
        let Settling::AtArrival { starts } = &mut self.settling else { return };
        while starts.front().is_some_and(|&start| start <= packet.at) {
            let start = starts.pop_front().expect("invariant: just seen");
            self.queue.dequeue(start, &mut self.dropped);
        }
        let start = self.server.start_for(packet.at);
        let wait = Some(start.saturating_since(packet.at));
        self.queue.enqueue(Arrival { packet, wait }, &mut self.dropped);
        let fate = match self.dropped.pop() {
            Some(Dropped { cause, .. }) => Fate::Dropped { at: packet.at, cause },
            None => {
                starts.push_back(start);
                Fate::Served(self.server.serve(packet.at, packet.packet.size))
            }
        };
        settled(Settled { packet, fate });
    }

    fn enqueue(&mut self, packet: Queued, settled: &mut impl FnMut(Settled)) {
        let Settling::AtDeparture { since } = &mut self.settling else { return };
        let backlog = self.queue.backlog();
        if backlog.packets == 0 {
            *since = packet.at;
        }
        let wait = Some(self.server.start_behind(backlog.size, *since, packet.at).saturating_since(packet.at));
        self.queue.enqueue(Arrival { packet, wait }, &mut self.dropped);
        self.settle_drops(packet.at, settled);
    }

    fn settle_departures(&mut self, now: Timestamp, settled: &mut impl FnMut(Settled)) {
        while let Some(start) = self.next_timeout().filter(|&start| start <= now) {
            self.settled = self.settled.max(start);
            let packet = self.queue.dequeue(start, &mut self.dropped);
            self.settle_drops(start, settled);
            if let Some(packet) = packet {
                let service = self.server.serve(packet.at, packet.packet.size);
                settled(Settled { packet, fate: Fate::Served(service) });
            }
        }
    }

    fn settle_drops(&mut self, at: Timestamp, settled: &mut impl FnMut(Settled)) {
        for Dropped { packet, cause } in self.dropped.drain(..) {
            settled(Settled { packet, fate: Fate::Dropped { at, cause } });
        }
    }
}

#[cfg(test)]
mod tests;
