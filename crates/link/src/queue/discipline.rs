//! What a queue is given and what it decides, whichever its discipline.

use std::fmt;

use framewire_units::{Bitrate, DataSize, Duration, Ecn, Timestamp};

use crate::verdict::{DropCause, Packet};

/// A packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// The packet.
    pub(crate) packet: Packet,
    /// When it entered the queue.
    pub(crate) at: Timestamp,
    /// Its arrival was seen too late and was moved to that time.
    pub(crate) clamped: bool,
    /// This hop has said that it saw congestion.
    pub(crate) marked: bool,
}

impl Queued {
    /// A packet that enters a queue.
    pub(crate) fn new(packet: Packet, at: Timestamp) -> Self {
        Self { packet, at, clamped: false, marked: false }
    }

    /// Sets Congestion Experienced instead of a drop, where the packet's transport knows ECN (RFC 3168, section 5).
    /// Returns whether it does.
    pub(crate) fn mark(&mut self) -> bool {
        let capable = self.packet.ecn.is_capable();
        if capable {
            self.packet.ecn = Ecn::Ce;
            self.marked = true;
        }
        capable
    }

    /// How long it has waited.
    pub(crate) fn waited(&self, now: Timestamp) -> Duration {
        now.saturating_since(self.at)
    }
}

/// What a discipline is given of an arriving packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The packet, and when it arrives.
    pub(crate) packet: Queued,
    /// How long it would wait for its transmission if all that waits now goes first: zero at an idle transmitter,
    /// `None` where the rate is not known in advance.
    pub(crate) wait: Option<Duration>,
    /// How long the transmitter has had nothing to do; zero where it has.
    pub(crate) idle: Duration,
}

/// A packet that a discipline gave up, at the time of the call in which it did so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// The packet.
    pub(crate) packet: Queued,
    /// Why.
    pub(crate) cause: DropCause,
}

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    /// Number of packets.
    pub(crate) packets: usize,
    /// Their IP bytes.
    pub(crate) size: DataSize,
}

impl std::ops::Add for Backlog {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, size: self.size + other.size }
    }
}

/// How much may wait in a queue. The packet in transmission does not wait and is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets.
    Packets(u32),
    /// So many bytes of IP packets.
    Bytes(DataSize),
    /// A packet whose transmission would begin later than this after its arrival is refused.
    /// Only where the rate is known: not on an 802.11 interface.
    Time(Duration),
}

impl QueueLimit {
    /// Whether a packet of `size` may wait behind `backlog`, for `wait` if that is known. At an idle transmitter it
    /// does not wait, and is taken whatever the limit.
    pub(crate) fn has_room(self, backlog: Backlog, size: DataSize, wait: Option<Duration>) -> bool {
        let has_room = match self {
            Self::Packets(limit) => backlog.packets < limit as usize,
            Self::Bytes(limit) => backlog.size + size <= limit,
            Self::Time(limit) => wait.is_none_or(|wait| wait <= limit),
        };
        has_room || wait == Some(Duration::ZERO)
    }
}

/// A queue in front of a transmitter.
///
/// # How it is driven
///
/// [`enqueue`](Self::enqueue) and [`dequeue`](Self::dequeue) are called in the order of their times; at one time the
/// transmitter comes first, and then arrivals. A packet that finds the transmitter idle is dequeued at the time at
/// which it was enqueued; `dequeue` is only called while something waits.
///
/// Each packet leaves the queue once: `dequeue` returns it, or either call adds it to `dropped`. Which packets, and in
/// which order, is up to the discipline: it may refuse what arrives, give up others in its place, or drop a packet when
/// its turn has come. What it does follows from what it was given so far and the draws of its own seed, so that both
/// worlds decide alike.
///
/// # What it costs
///
/// A packet's fate is known when its service begins. Where a discipline [only has a limit](Self::is_only_limited_by), a
/// wire knows it as soon as the packet comes, and needs to be woken for nothing.
pub(crate) trait QueueDiscipline: fmt::Debug + Send {
    /// A packet arrives.
    fn enqueue(&mut self, arrival: Arrival, dropped: &mut Vec<Dropped>);

    /// The packet whose transmission begins at `at`; `None` when nothing is left that is to be sent.
    fn dequeue(&mut self, at: Timestamp, dropped: &mut Vec<Dropped>) -> Option<Queued>;

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// The limit of a queue that refuses what has no room, and gives all else as it came and in its order: departures
    /// then follow from arrivals, and a wire whose rate is known in advance needs no more than this of it.
    fn is_only_limited_by(&self) -> Option<QueueLimit> {
        None
    }
}

/// What a queue is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueSetup {
    /// How much may wait.
    pub(crate) limit: QueueLimit,
    /// The largest IP packet of the link.
    pub(crate) mtu: DataSize,
    /// How fast the transmitter is, in the mean; `None` where that is not known.
    pub(crate) rate: Option<Bitrate>,
}
