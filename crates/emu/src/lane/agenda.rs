//! What is to happen to packets, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use framewire_link::{NodeId, PacketId};
use framewire_units::Timestamp;

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    /// Let the kernel free the original in the sender's device.
    Release(PacketId),
    /// Write the copy to a host.
    Deliver(PacketId, NodeId),
}

/// Things to do by their time; those of one time in the order in which they were decided.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(Timestamp, u64, Action)>>,
    decided: u64,
}

impl Agenda {
    pub(crate) fn add(&mut self, at: Timestamp, action: Action) {
        self.heap.push(Reverse((at, self.decided, action)));
        self.decided += 1;
    }

    /// Takes the first thing if it is due.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, Action)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, action))| (at, action))
    }

    /// When the first thing is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_by_time_and_then_by_decision() {
        let mut agenda = Agenda::default();
        let deliver = |number| Action::Deliver(PacketId(number), NodeId::RECEIVER);
        agenda.add(Timestamp::from_micros(2), deliver(0));
        agenda.add(Timestamp::from_micros(1), deliver(2));
        agenda.add(Timestamp::from_micros(1), deliver(1));
        assert_eq!(agenda.pop_due(Timestamp::from_nanos(999)), None);
        let now = Timestamp::from_micros(1);
        assert_eq!(agenda.pop_due(now), Some((now, deliver(2))));
        assert_eq!(agenda.pop_due(now), Some((now, deliver(1))));
        assert_eq!(agenda.pop_due(now), None);
        assert_eq!(agenda.next(), Some(Timestamp::from_micros(2)));
    }
}
