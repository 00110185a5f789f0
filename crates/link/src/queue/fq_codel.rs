//! FlowQueue-CoDel (RFC 8290): a queue for each connection, served in turns by bytes, each with CoDel.

use std::collections::VecDeque;

use framewire_units::{DataSize, Duration, Seed, Timestamp};

use super::codel::{CodelSettings, Control};
use super::fifo::Fifo;
use super::settings::settings;
use super::{Arrival, Backlog, Dropped, QueueDiscipline, QueueLimit, QueueSetup, Queued};
use crate::verdict::DropCause;

settings! {
    /// What FQ-CoDel goes by.
    FqCodelSettings {
        /// Number of queues; RFC 8290, section 5.2.2: 1,024.
        queues: Count(u32) = 1024, 1 => 65_536;
        /// Bytes that a queue may send in a turn; RFC 8290, section 5.2.3: 1,514, an Ethernet frame.
        quantum: Size(DataSize) = DataSize::from_bytes(1514), DataSize::from_bytes(64) => DataSize::from_bytes(65_536);
        /// The wait that may stand in each; RFC 8290, section 5.2.4: 5 ms.
        target: Time(Duration) = Duration::from_millis(5), Duration::from_micros(1) => Duration::from_secs(60);
        /// For how long it may be exceeded; RFC 8290, section 5.2.5: 100 ms.
        interval: Time(Duration) = Duration::from_millis(100), Duration::from_micros(1) => Duration::from_secs(60);
        /// Packets that the longest queue gives up at once where there is no room; RFC 8290, section 4.1: half of it, 64 at most.
        drop_batch: Count(u32) = 64, 1 => 65_536;
        /// Whether packets of transports that know ECN are marked instead of dropped; RFC 8290, section 5.2.7: they are.
        ecn: Flag(bool) = true, false => true;
    }
}

/// On which list a queue is (RFC 8290, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    /// Of those that have just got something to send.
    New,
    /// Of those that had their first turn.
    Old,
    /// On none.
    None,
}

#[derive(Clone, Debug)]
struct FlowQueue {
    fifo: Fifo,
    control: Control,
    /// Bytes that it may still send in this turn, below zero by what its last packet went over.
    credits: i64,
    list: List,
}

#[derive(Debug)]
pub(super) struct FqCodel {
    settings: FqCodelSettings,
    limit: QueueLimit,
    /// Perturbs the hash (section 4.1.1).
    seed: Seed,
    queues: Vec<FlowQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    backlog: Backlog,
}

impl FqCodel {
    pub(super) fn new(settings: FqCodelSettings, setup: &QueueSetup, seed: Seed) -> Self {
        let FqCodelSettings { target, interval, ecn, .. } = settings;
        let queue = FlowQueue {
            fifo: Fifo::new(QueueLimit::Packets(u32::MAX)),
            control: Control::new(CodelSettings { target, interval, ecn }, setup.mtu),
            credits: 0,
            list: List::None,
        };
        Self {
            settings,
            limit: setup.limit,
            seed,
            queues: vec![queue; settings.queues as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    fn queue_of(&self, packet: &Queued) -> usize {
        let hash = self.seed.stream("flow", &[u64::from(packet.packet.flow)]).next_u64();
        // Multiply and shift: uniform over the queues.
        ((u128::from(hash) * self.queues.len() as u128) >> 64) as usize
    }

    fn leave(&mut self, packet: &Queued) {
        self.backlog.packets -= 1;
        self.backlog.size = self.backlog.size - packet.packet.size;
    }

    /// Drops from the head of the queue with the most bytes: half of it or a batch, at least one packet.
    fn drop_from_fattest(&mut self, dropped: &mut Vec<Dropped>) {
        let fattest = (0..self.queues.len()).rev().max_by_key(|&n| self.queues[n].fifo.backlog().size);
        let fattest = fattest.expect("invariant: there is a queue");
        let half = self.queues[fattest].fifo.backlog().size.as_bytes().div_ceil(2);
        let mut gone = 0;
        for _ in 0..self.settings.drop_batch {
            let Some(packet) = self.queues[fattest].fifo.pop() else { return };
            self.leave(&packet);
            gone += packet.packet.size.as_bytes();
            dropped.push(Dropped { packet, cause: DropCause::QueueFull });
            if gone >= half {
                return;
            }
        }
    }

    /// Whether what waits is more than may wait.
    fn is_over_limit(&self) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.backlog.packets > limit as usize,
            QueueLimit::Bytes(limit) => self.backlog.size > limit,
            QueueLimit::Time(_) => false,
        }
    }

    /// The list whose turn it is, and the queue at its head.
    fn head(&self) -> Option<(List, usize)> {
        let new = self.new.front().map(|&queue| (List::New, queue));
        new.or_else(|| self.old.front().map(|&queue| (List::Old, queue)))
    }

    /// Takes the queue at the head of a list off it, and puts it at the end of the old ones or on none.
    fn move_head(&mut self, from: List, to: List) {
        let queue = if from == List::New { self.new.pop_front() } else { self.old.pop_front() };
        let queue = queue.expect("invariant: it was at the head");
        self.queues[queue].list = to;
        if to == List::Old {
            self.old.push_back(queue);
        }
    }
}

impl QueueDiscipline for FqCodel {
    fn enqueue(&mut self, arrival: Arrival, dropped: &mut Vec<Dropped>) {
        let Arrival { packet, wait, .. } = arrival;
        let has_room = self.limit.has_room(self.backlog, packet.packet.size, wait);
        let number = self.queue_of(&packet);
        self.backlog.packets += 1;
        self.backlog.size += packet.packet.size;
        let queue = &mut self.queues[number];
        queue.fifo.add(packet);
        if queue.list == List::None {
            queue.list = List::New;
            queue.credits = self.settings.quantum.as_bytes() as i64;
            self.new.push_back(number);
        }
        if !has_room {
            self.drop_from_fattest(dropped);
            while self.is_over_limit() {
                self.drop_from_fattest(dropped);
            }
        }
    }

    /// Section 4.2: deficit round robin over the new queues first, then the old ones.
    fn dequeue(&mut self, at: Timestamp, dropped: &mut Vec<Dropped>) -> Option<Queued> {
        while let Some((list, number)) = self.head() {
            let queue = &mut self.queues[number];
            if queue.credits <= 0 {
                queue.credits += self.settings.quantum.as_bytes() as i64;
                self.move_head(list, List::Old);
                continue;
            }
            let before = dropped.len();
            let packet = queue.control.dequeue(&mut queue.fifo, at, dropped);
            if let Some(packet) = &packet {
                queue.credits -= packet.packet.size.as_bytes() as i64;
            }
            let gone: Vec<Queued> = dropped[before..].iter().map(|one| one.packet).chain(packet).collect();
            gone.iter().for_each(|packet| self.leave(packet));
            if packet.is_some() {
                return packet;
            }
            // A new queue that is empty becomes an old one, or it could be new again at once and starve the others.
            self.move_head(list, if list == List::New { List::Old } else { List::None });
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests;
