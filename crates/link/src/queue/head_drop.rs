//! A queue that makes room at its front: the sender learns of congestion a queue's length earlier than from drop-tail
//! (T. V. Lakshman, A. Neidhardt, T. Ott, "The drop from front strategy in TCP and in TCP over ATM", INFOCOM 1996).

use framewire_units::{DataSize, Timestamp};

use super::fifo::Fifo;
use super::{Arrival, Backlog, Dropped, QueueDiscipline, QueueLimit, QueueSetup, Queued};
use crate::verdict::DropCause;

/// First in, first out; where there is no room, the packets that have waited longest make it.
#[derive(Debug)]
pub(super) struct HeadDrop(Fifo);

impl HeadDrop {
    pub(super) fn new(setup: &QueueSetup) -> Self {
        Self(Fifo::new(setup.limit))
    }

    /// Whether a packet of `size` has room after `freed` bytes were given up. Of a limit in time only the wait at arrival is
    /// known: it is not longer than that once as many bytes went as come.
    fn has_room(&self, size: DataSize, freed: DataSize) -> bool {
        match self.0.limit() {
            QueueLimit::Time(_) => freed >= size,
            limit => limit.has_room(self.0.backlog(), size, None),
        }
    }
}

impl QueueDiscipline for HeadDrop {
    fn enqueue(&mut self, arrival: Arrival, dropped: &mut Vec<Dropped>) {
        let Err(packet) = self.0.push(arrival) else { return };
        let mut freed = DataSize::ZERO;
        while !self.has_room(packet.packet.size, freed) {
            // It has no room even in an empty queue.
            let oldest = self.0.pop().unwrap_or(packet);
            dropped.push(Dropped { packet: oldest, cause: DropCause::QueueFull });
            if oldest.packet.id == packet.packet.id {
                return;
            }
            freed += oldest.packet.size;
        }
        self.0.add(packet);
    }

    fn dequeue(&mut self, _at: Timestamp, _dropped: &mut Vec<Dropped>) -> Option<Queued> {
        self.0.pop()
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

#[cfg(test)]
mod tests {
    use framewire_units::Duration;

    use super::*;
    use crate::verdict::{Packet, PacketId};

    fn offer(queue: &mut HeadDrop, id: u64, size: u64, wait: Option<Duration>) -> Vec<u64> {
        let packet = Queued::new(Packet::new(PacketId(id), DataSize::from_bytes(size)), Timestamp::ZERO);
        let mut dropped = Vec::new();
        queue.enqueue(Arrival { packet, wait, idle: Duration::ZERO }, &mut dropped);
        assert!(dropped.iter().all(|dropped| dropped.cause == DropCause::QueueFull));
        dropped.iter().map(|dropped| dropped.packet.packet.id.0).collect()
    }

    fn queue(limit: QueueLimit) -> HeadDrop {
        HeadDrop::new(&QueueSetup { limit, mtu: DataSize::from_bytes(1500), rate: None })
    }

    #[test]
    fn what_waited_longest_makes_room() {
        let mut packets = queue(QueueLimit::Packets(2));
        let drops: Vec<_> = (0..4).map(|id| offer(&mut packets, id, 100, None)).collect();
        assert_eq!(drops, [vec![], vec![], vec![0], vec![1]]);
        let left: Vec<_> = std::iter::from_fn(|| packets.dequeue(Timestamp::ZERO, &mut Vec::new())).collect();
        assert_eq!(left.iter().map(|packet| packet.packet.id.0).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn as_many_go_as_are_needed_and_the_last_one_where_even_that_is_not_enough() {
        let mut bytes = queue(QueueLimit::Bytes(DataSize::from_bytes(1_000)));
        assert_eq!((offer(&mut bytes, 0, 400, None), offer(&mut bytes, 1, 400, None)), (vec![], vec![]));
        assert_eq!(offer(&mut bytes, 2, 900, None), [0, 1]);
        assert_eq!(offer(&mut bytes, 3, 1_001, None), [2, 3]);
        assert_eq!(bytes.backlog(), Backlog::default());
    }

    #[test]
    fn a_limit_in_time_gives_up_as_many_bytes_as_come() {
        let mut time = queue(QueueLimit::Time(Duration::from_millis(10)));
        let short = Some(Duration::from_millis(1));
        assert_eq!((offer(&mut time, 0, 400, short), offer(&mut time, 1, 400, short)), (vec![], vec![]));
        assert_eq!(offer(&mut time, 2, 401, Some(Duration::from_millis(11))), [0, 1]);
        assert_eq!(time.backlog().packets, 1);
    }
}
