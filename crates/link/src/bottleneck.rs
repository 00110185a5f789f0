//! A transmitter behind a queue.
//!
//! A packet's fate is settled when its service begins. Where the queue has a limit and no other rule, departures follow from
//! arrivals, and all is settled at arrival.

use std::collections::VecDeque;

use framewire_units::{DataSize, Duration, Seed, Timestamp};

use crate::queue::QueueLimit;

use crate::config::WireConfig;
use crate::queue::{Arrival, Backlog, Dropped, QueueDiscipline, QueueSetup, Queued};
use crate::server::{Load, Server, Service};
use crate::token_bucket::{Policer, PolicerConfig};
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
    queue: Queue,
    /// Time of the last arrival or, if that is later, of the last service that was settled in its course.
    settled: Timestamp,
}

/// What waits, by when a packet's fate is settled.
#[derive(Debug)]
enum Queue {
    /// At its arrival.
    Limited(Limited),
    /// When its service begins, or when it is dropped.
    Managed(Managed),
    /// As the queue behind the policer settles it, or at its arrival.
    Policed(Box<Policed>),
}

/// A queue behind a policer.
#[derive(Debug)]
struct Policed {
    policer: Policer,
    queue: Queue,
}

/// A queue with a limit and nothing else: it is enough to know when each of its packets leaves it.
#[derive(Debug)]
struct Limited {
    limit: QueueLimit,
    /// Service start and size of every packet that still waited at the time of the last arrival.
    waiting: VecDeque<(Timestamp, DataSize)>,
    size: DataSize,
}

#[derive(Debug)]
struct Managed {
    queue: Box<dyn QueueDiscipline>,
    /// Arrival of the packet since which something waits.
    since: Timestamp,
    /// What waits, for the server.
    load: Load,
    /// What the discipline dropped in a call; kept to save an allocation.
    dropped: Vec<Dropped>,
}

impl Bottleneck {
    /// An idle transmitter with an empty queue; `seed` is the queue's own.
    pub(crate) fn new(config: &WireConfig, seed: Seed) -> Self {
        let setup = QueueSetup { limit: config.queue, mtu: config.mtu, rate: config.mean_rate() };
        let queue = config.queue_discipline.build(&setup, seed);
        Self::with_queue(Server::new(config), queue).policed(config.policer)
    }

    fn with_queue(server: Server, queue: Box<dyn QueueDiscipline>) -> Self {
        let queue = match queue.is_only_limited_by() {
            Some(limit) => Queue::Limited(Limited { limit, waiting: VecDeque::new(), size: DataSize::ZERO }),
            None => {
                Queue::Managed(Managed { queue, since: Timestamp::ZERO, load: Load::default(), dropped: Vec::new() })
            }
        };
        Self { server, queue, settled: Timestamp::ZERO }
    }

    /// With a policer before its queue, if there is one.
    fn policed(self, config: Option<PolicerConfig>) -> Self {
        let Some(config) = config else { return self };
        let policed = Policed { policer: Policer::new(config), queue: self.queue };
        Self { queue: Queue::Policed(Box::new(policed)), ..self }
    }

    /// When a packet enters the queue that is stamped `at`: at that time, unless something later is settled already.
    pub(crate) fn entry(&self, at: Timestamp) -> Timestamp {
        at.max(self.settled)
    }

    /// A packet arrives.
    #[inline]
    pub(crate) fn handle_packet(&mut self, at: Timestamp, packet: Packet, mut settled: impl FnMut(Settled)) {
        let entry = self.entry(at);
        self.settled = entry;
        let packet = Queued { clamped: at < entry, ..Queued::new(packet, entry) };
        match &mut self.queue {
            Queue::Limited(queue) => settled(Settled { packet, fate: queue.settle(packet, &mut self.server) }),
            Queue::Managed(queue) => queue.handle_packet(packet, &mut self.server, &mut settled),
            Queue::Policed(queue) => queue.handle_packet(packet, &mut self.server, &mut settled),
        }
    }

    /// Settles all that happens up to `now`.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, mut settled: impl FnMut(Settled)) {
        if let Some(queue) = self.queue.managed() {
            let last = queue.settle_until(now, &mut self.server, &mut settled);
            self.settled = self.settled.max(last);
        }
    }

    /// When the next service begins that is not settled; `None` where only a packet can change something.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        self.queue.next_start(&self.server)
    }
}

impl Queue {
    /// What has to be woken, if anything has.
    fn managed(&mut self) -> Option<&mut Managed> {
        match self {
            Self::Limited(_) => None,
            Self::Managed(queue) => Some(queue),
            Self::Policed(policed) => policed.queue.managed(),
        }
    }

    fn next_start(&self, server: &Server) -> Option<Timestamp> {
        match self {
            Self::Limited(_) => None,
            Self::Managed(queue) => queue.next_start(server),
            Self::Policed(policed) => policed.queue.next_start(server),
        }
    }
}

impl Policed {
    // Apart, as what a managed queue does is.
    #[inline(never)]
    fn handle_packet(&mut self, mut packet: Queued, server: &mut Server, settled: &mut dyn FnMut(Settled)) {
        if let Some(queue) = self.queue.managed() {
            queue.settle_until(packet.at, server, settled);
        }
        if !self.policer.admits(&mut packet) {
            return settled(Settled { packet, fate: Fate::Dropped { at: packet.at, cause: DropCause::Policed } });
        }
        match &mut self.queue {
            Queue::Limited(queue) => settled(Settled { packet, fate: queue.settle(packet, server) }),
            Queue::Managed(queue) => queue.handle_packet(packet, server, settled),
            Queue::Policed(queue) => queue.handle_packet(packet, server, settled),
        }
    }
}

impl Limited {
    #[inline]
    fn settle(&mut self, packet: Queued, server: &mut Server) -> Fate {
        let Queued { packet: Packet { size, .. }, at, .. } = packet;
        while let Some(&(_, gone)) = self.waiting.front().filter(|(start, _)| *start <= at) {
            self.waiting.pop_front();
            self.size = self.size - gone;
        }
        let start = server.start_for(at);
        let backlog = Backlog { packets: self.waiting.len(), size: self.size };
        if !self.limit.has_room(backlog, size, Some(start.saturating_since(at))) {
            return Fate::Dropped { at, cause: DropCause::QueueFull };
        }
        self.waiting.push_back((start, size));
        self.size += size;
        Fate::Served(server.serve(at, size))
    }
}

impl Managed {
    // Apart from what a queue with a limit does, which is a packet's whole way through a wire in one piece of code.
    #[inline(never)]
    fn handle_packet(&mut self, packet: Queued, server: &mut Server, settled: &mut dyn FnMut(Settled)) {
        self.settle_until(packet.at, server, settled);
        self.enqueue(packet, server, settled);
        // It may have found the transmitter idle.
        self.settle_until(packet.at, server, settled);
    }

    fn next_start(&self, server: &Server) -> Option<Timestamp> {
        (self.queue.backlog().packets > 0).then(|| server.start_for(self.since))
    }

    fn enqueue(&mut self, packet: Queued, server: &Server, settled: &mut dyn FnMut(Settled)) {
        let backlog = self.queue.backlog();
        if backlog.packets == 0 {
            self.since = packet.at;
        }
        let wait = server.start_behind(self.load, self.since, packet.at).saturating_since(packet.at);
        let idle = if wait.is_zero() { packet.at.saturating_since(server.free_since()) } else { Duration::ZERO };
        self.load = self.load + server.load(packet.packet.size);
        self.queue.enqueue(Arrival { packet, wait: Some(wait), idle }, &mut self.dropped);
        self.settle_drops(packet.at, server, settled);
    }

    /// Settles all services that begin up to `now`; when the last of them did.
    fn settle_until(&mut self, now: Timestamp, server: &mut Server, settled: &mut dyn FnMut(Settled)) -> Timestamp {
        let mut last = Timestamp::ZERO;
        while let Some(start) = self.next_start(server).filter(|&start| start <= now) {
            last = start;
            let packet = self.queue.dequeue(start, &mut self.dropped);
            self.settle_drops(start, server, settled);
            if let Some(packet) = packet {
                self.load = self.load - server.load(packet.packet.size);
                let service = server.serve(packet.at, packet.packet.size);
                settled(Settled { packet, fate: Fate::Served(service) });
            }
        }
        last
    }

    fn settle_drops(&mut self, at: Timestamp, server: &Server, settled: &mut dyn FnMut(Settled)) {
        for Dropped { packet, cause } in self.dropped.drain(..) {
            self.load = self.load - server.load(packet.packet.size);
            settled(Settled { packet, fate: Fate::Dropped { at, cause } });
        }
    }
}

#[cfg(test)]
mod tests;
