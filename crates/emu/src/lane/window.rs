//! The packets of which not everything is known yet.

use std::collections::VecDeque;

use framewire_link::{HopRecord, PacketId};

use super::log::PacketLog;

/// Logs that are handed over together.
pub(crate) const BLOCK: usize = 4_096;

/// A packet's log, and what is still to come of it.
struct Entry {
    log: PacketLog,
    /// It is at the other host or was dropped, and the kernel no longer holds the original.
    settled: bool,
    /// The model has reported its last hop.
    has_last_hop: bool,
}

/// Logs by number. A log leaves, in order, when everything is known of it and of all before it.
pub(crate) struct LogWindow {
    first: u64,
    // Boxes, so that a window that grows moves little while packets wait for the pump.
    window: VecDeque<Box<Entry>>,
    known: Vec<PacketLog>,
}

impl LogWindow {
    pub(crate) fn new() -> Self {
        Self { first: 0, window: VecDeque::new(), known: Vec::with_capacity(BLOCK) }
    }

    /// Number of packets that were ever added.
    pub(crate) fn count(&self) -> u64 {
        self.first + self.window.len() as u64
    }

    /// Adds the next packet.
    pub(crate) fn push(&mut self, log: PacketLog) {
        self.window.push_back(Box::new(Entry { log, settled: false, has_last_hop: false }));
    }

    pub(crate) fn get_mut(&mut self, id: PacketId) -> Option<&mut PacketLog> {
        self.entry(id).map(|entry| &mut entry.log)
    }

    /// Adds the verdict of a hop to its packet; `last` when no verdict of it follows.
    pub(crate) fn note_hop(&mut self, record: HopRecord, last: bool) {
        if let Some(entry) = self.entry(record.packet) {
            entry.has_last_hop |= last;
            // Most packets have one: room for more would be most of what a log needs.
            entry.log.hops.reserve_exact(1);
            entry.log.hops.push(record);
            self.let_go();
        }
    }

    /// The packet has gone its way.
    pub(crate) fn settle(&mut self, id: PacketId) {
        if let Some(entry) = self.entry(id) {
            entry.settled = true;
            self.let_go();
        }
    }

    /// The logs that have left the window and were not taken yet, in order.
    pub(crate) fn known(&mut self) -> &mut Vec<PacketLog> {
        &mut self.known
    }

    /// Takes all logs that are left, as they are.
    pub(crate) fn take_all(&mut self) -> Vec<PacketLog> {
        self.first = self.count();
        let mut all = std::mem::take(&mut self.known);
        all.extend(self.window.drain(..).map(|entry| entry.log));
        all
    }

    fn entry(&mut self, id: PacketId) -> Option<&mut Entry> {
        let offset = id.0.checked_sub(self.first)?;
        self.window.get_mut(usize::try_from(offset).ok()?).map(|entry| &mut **entry)
    }

    fn let_go(&mut self) {
        while self.window.front().is_some_and(|entry| entry.settled && entry.has_last_hop) {
            self.known.extend(self.window.pop_front().map(|entry| entry.log));
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lane::log::tests::{hop, packet};

    fn window(count: u64) -> LogWindow {
        let mut window = LogWindow::new();
        (0..count).for_each(|number| window.push(packet(number)));
        window
    }

    fn numbers(logs: &[PacketLog]) -> Vec<u64> {
        logs.iter().map(|log| log.id.0).collect()
    }

    #[test]
    fn a_log_leaves_in_order_when_nothing_more_is_to_come() {
        let mut window = window(3);
        let last = |number| hop(number);
        window.note_hop(last(1), true);
        window.settle(PacketId(1));
        window.note_hop(last(0), false);
        window.settle(PacketId(0));
        assert!(window.known().is_empty(), "the model may say more of the first");
        window.get_mut(PacketId(0)).unwrap().sniffed = 1;
        window.note_hop(last(0), true);
        assert_eq!(numbers(window.known()), [0, 1]);
        assert_eq!((window.known()[0].hops.len(), window.known()[0].sniffed), (2, 1));
        window.note_hop(last(2), true);
        assert_eq!(numbers(window.known()), [0, 1], "the last is still under way");
        assert!(window.get_mut(PacketId(1)).is_none() && window.get_mut(PacketId(2)).is_some());
        assert_eq!(window.count(), 3);
    }

    #[test]
    fn what_is_under_way_at_the_end_is_taken_as_it_is() {
        let mut window = window(3);
        window.note_hop(hop(0), true);
        window.settle(PacketId(0));
        assert_eq!(numbers(&window.take_all()), [0, 1, 2]);
        assert_eq!((window.count(), window.take_all().len()), (3, 0));
    }

    proptest! {
        /// Whatever the order in which things become known, and whenever logs are taken.
        #[test]
        fn logs_are_those_of_a_list_that_is_made_at_the_end(order in proptest::collection::vec(any::<u8>(), 0..300)) {
            const COUNT: usize = 20;
            let (mut window, mut taken) = (window(COUNT as u64), Vec::new());
            let mut expected: Vec<PacketLog> = (0..COUNT as u64).map(packet).collect();
            let mut events = [0; COUNT];
            for step in order {
                let number = usize::from(step) % COUNT;
                let (id, hops) = (number as u64, number % 3 + 1);
                // One of its events is that it has gone its way, the others are its hops.
                if events[number] == number % (hops + 1) {
                    window.settle(PacketId(id));
                } else if events[number] <= hops {
                    let record = hop(id);
                    expected[number].hops.push(record.clone());
                    window.note_hop(record, expected[number].hops.len() == hops);
                }
                events[number] += 1;
                if step.is_multiple_of(7) {
                    taken.append(window.known());
                }
            }
            taken.extend(window.take_all());
            prop_assert_eq!(taken, expected);
        }
    }
}
