//! Counts that anyone may read while a lane runs.

use std::sync::atomic::{AtomicU64, Ordering};

use framewire_link::NodeId;

/// What has happened so far in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounters {
    /// Packets that came into the network.
    pub packets: u64,
    /// Packets that reached the other host.
    pub delivered: u64,
    /// IP bytes that reached the other host.
    pub bytes_delivered: u64,
    /// Packets that the link model dropped.
    pub dropped: u64,
}

/// What has happened so far in a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneCounters {
    /// From sender to receiver.
    pub forward: DirectionCounters,
    /// From receiver to sender.
    pub backward: DirectionCounters,
    /// How many packets of either direction came into the network and have come out or were dropped, with all that came
    /// in before them.
    pub settled: u64,
}

#[derive(Debug, Default)]
struct Direction {
    packets: AtomicU64,
    delivered: AtomicU64,
    bytes_delivered: AtomicU64,
    dropped: AtomicU64,
}

/// The counts themselves.
#[derive(Debug, Default)]
pub(crate) struct Live {
    directions: [Direction; 2],
    settled: AtomicU64,
}

impl Live {
    fn direction(&self, from: NodeId) -> &Direction {
        &self.directions[usize::from(from == NodeId::RECEIVER)]
    }

    pub(crate) fn arrived(&self, from: NodeId) {
        self.direction(from).packets.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn delivered(&self, from: NodeId, bytes: u64) {
        let direction = self.direction(from);
        direction.delivered.fetch_add(1, Ordering::Relaxed);
        direction.bytes_delivered.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self, from: NodeId) {
        self.direction(from).dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn settled(&self, packets: u64) {
        self.settled.store(packets, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> LaneCounters {
        let read = |direction: &Direction| DirectionCounters {
            packets: direction.packets.load(Ordering::Relaxed),
            delivered: direction.delivered.load(Ordering::Relaxed),
            bytes_delivered: direction.bytes_delivered.load(Ordering::Relaxed),
            dropped: direction.dropped.load(Ordering::Relaxed),
        };
        LaneCounters {
            forward: read(&self.directions[0]),
            backward: read(&self.directions[1]),
            settled: self.settled.load(Ordering::Relaxed),
        }
    }
}
