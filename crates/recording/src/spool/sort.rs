//! Lists in another order than they were recorded in, without holding them in memory: sorted runs that are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::{IN_MEMORY, Spool, Spooled};
use crate::run::WriteError;

/// Records that come in any order and are read in that of a key; those of one key as they came.
///
/// What is recorded comes nearly in order, so that few runs overlap, and few are in memory while it is read: a run is
/// opened when its first record is due.
#[derive(Clone, Debug)]
pub(crate) struct Sorter<T, K> {
    key: fn(&T) -> K,
    run: Vec<T>,
    /// Sorted runs, one after the other, each of whole blocks.
    runs: Spool<T>,
    begins: Vec<Run<K>>,
}

#[derive(Clone, Debug)]
struct Run<K> {
    first: K,
    blocks: Range<usize>,
}

impl<T: Spooled + Clone, K: Ord + Clone> Sorter<T, K> {
    /// A sorter by `key`; `runs` is an empty list, whose file what is too much for the memory goes to.
    pub(crate) fn new(runs: Spool<T>, key: fn(&T) -> K) -> Self {
        Self { key, run: Vec::new(), runs, begins: Vec::new() }
    }

    /// All of `records` by `key`.
    pub(crate) fn of(runs: Spool<T>, key: fn(&T) -> K, records: impl IntoIterator<Item = T>) -> Self {
        let mut sorter = Self::new(runs, key);
        let records = records.into_iter();
        sorter.run.reserve(records.size_hint().1.unwrap_or(0).min(IN_MEMORY));
        records.for_each(|record| sorter.push(record));
        sorter.ready();
        sorter
    }

    /// Takes a record.
    pub(crate) fn push(&mut self, record: T) {
        if self.run.len() == IN_MEMORY {
            self.spill();
        }
        self.run.push(record);
    }

    /// Nothing more comes: to be called before it is read.
    pub(crate) fn ready(&mut self) {
        if self.begins.is_empty() {
            self.run.sort_by_key(self.key);
        } else {
            self.spill();
        }
    }

    /// What the disk refused, as [`Spool::failure`].
    pub(crate) fn failure(&self) -> Option<WriteError> {
        self.runs.failure()
    }

    /// The records in order. Where the disk does not give them back they end early, and [`failure`](Self::failure) says so.
    pub(crate) fn iter(&self) -> Sorted<'_, T, K> {
        let heap = self.begins.iter().zip(0..).map(|(run, number)| Reverse((run.first.clone(), number)));
        let runs =
            self.begins.iter().map(|run| Reading { blocks: run.blocks.clone(), decoded: Vec::new().into_iter() });
        Sorted { sorter: self, memory: self.run.iter(), heap: heap.collect(), runs: runs.collect() }
    }

    fn spill(&mut self) {
        self.run.sort_by_key(self.key);
        let Some(first) = self.run.first().map(self.key) else { return };
        let start = self.runs.blocks.len();
        self.run.drain(..).for_each(|record| {
            self.runs.length += 1;
            self.runs.recent.push(record);
        });
        self.runs.spill();
        self.begins.push(Run { first, blocks: start..self.runs.blocks.len() });
    }
}

/// The blocks of a run that were not read yet, and what is left of the last that was.
#[derive(Debug)]
struct Reading<T> {
    blocks: Range<usize>,
    decoded: std::vec::IntoIter<T>,
}

/// The records of a [`Sorter`] in order.
#[derive(Debug)]
pub(crate) struct Sorted<'a, T, K> {
    sorter: &'a Sorter<T, K>,
    memory: std::slice::Iter<'a, T>,
    /// The key of the next record of each run, and the run's number.
    heap: BinaryHeap<Reverse<(K, usize)>>,
    runs: Vec<Reading<T>>,
}

impl<T: Spooled + Clone, K: Ord + Clone> Sorted<'_, T, K> {
    /// Reads on in a run when nothing of it is left; false at its end, and where the disk does not give it back.
    fn fill(&mut self, run: usize) -> bool {
        let Reading { blocks, decoded } = &mut self.runs[run];
        while decoded.len() == 0 {
            let list = &self.sorter.runs;
            let Some(records) = blocks.next().and_then(|block| list.read(&list.blocks[block])) else { return false };
            *decoded = records.into_iter();
        }
        true
    }
}

impl<T: Spooled + Clone, K: Ord + Clone> Iterator for Sorted<'_, T, K> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let Some(Reverse((_, run))) = self.heap.pop() else { return self.memory.next().cloned() };
        if !self.fill(run) {
            return None;
        }
        let record = self.runs[run].decoded.next();
        if self.fill(run) {
            let next = &self.runs[run].decoded.as_slice()[0];
            self.heap.push(Reverse(((self.sorter.key)(next), run)));
        }
        record
    }
}

/// Finds records by their numbers, asked for in ascending order.
pub(crate) struct Lookup<I: Iterator<Item = (u64, V)>, V> {
    records: std::iter::Peekable<I>,
    found: Option<(u64, V)>,
}

impl<I: Iterator<Item = (u64, V)>, V: Clone> Lookup<I, V> {
    /// Of records in ascending order of their numbers, each number once.
    pub(crate) fn new(records: I) -> Self {
        Self { records: records.peekable(), found: None }
    }

    /// That of this number, which is not below the one asked for before.
    pub(crate) fn of(&mut self, number: u64) -> Option<V> {
        while let Some(next) = self.records.next_if(|(next, _)| *next <= number) {
            self.found = Some(next);
        }
        self.found.as_ref().filter(|(found, _)| *found == number).map(|(_, value)| value.clone())
    }
}

/// Finds values by their numbers in any order, quickly where numbers that are asked for one after the other are near each
/// other: one block is in memory.
pub(crate) struct Found<V> {
    sorted: Spool<(u64, V)>,
    /// The first number of each block, and then that of the newest records.
    firsts: Vec<u64>,
    block: usize,
    decoded: Vec<(u64, V)>,
}

impl<V: Spooled + Clone> Found<V> {
    /// Of records in ascending order of their numbers; `list` is an empty one.
    pub(crate) fn new(list: Spool<(u64, V)>, records: impl IntoIterator<Item = (u64, V)>) -> Self {
        let mut sorted = list;
        sorted.extend(records);
        let mut found = Self { firsts: Vec::new(), block: usize::MAX, decoded: Vec::new(), sorted };
        for block in 0..found.sorted.blocks.len() {
            let first = found.sorted.read(&found.sorted.blocks[block]).and_then(|records| Some(records.first()?.0));
            found.firsts.extend(first);
        }
        found
    }

    /// That of this number.
    pub(crate) fn of(&mut self, number: u64) -> Option<V> {
        let in_memory = self.sorted.recent.pieces().rev().find(|piece| piece[0].0 <= number);
        let records = if let Some(piece) = in_memory {
            piece
        } else {
            let block = self.firsts.partition_point(|first| *first <= number).checked_sub(1)?;
            if self.block != block {
                self.decoded = self.sorted.read(&self.sorted.blocks[block])?;
                self.block = block;
            }
            &self.decoded
        };
        let place = records.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(records[place].1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 0 on, each a little away from its place, and some far away.
    fn shuffled(count: u64) -> Vec<(u64, u32)> {
        let mut numbers: Vec<(u64, u32)> = (0..count).map(|number| (number / 3, number as u32)).collect();
        for start in (0..count as usize).step_by(7) {
            let end = (start + 5).min(count as usize);
            numbers[start..end].reverse();
        }
        if count > 0 {
            numbers.swap(0, count as usize / 2);
        }
        numbers
    }

    #[test]
    fn a_list_is_sorted_wherever_it_is_and_equals_keep_their_order() {
        for count in [0, 1, 100, IN_MEMORY as u64, IN_MEMORY as u64 + 1, 3 * IN_MEMORY as u64 + 77] {
            let records = shuffled(count);
            let sorter = Sorter::of(Spool::default(), |record: &(u64, u32)| record.0, records.clone());
            assert_eq!(sorter.begins.is_empty(), count <= IN_MEMORY as u64, "{count}");
            let mut expected = records;
            expected.sort_by_key(|record| record.0);
            for _ in 0..2 {
                assert!(sorter.iter().eq(expected.iter().copied()), "{count}");
            }
        }
    }

    #[test]
    fn numbers_are_found_in_any_order_and_others_are_not() {
        for count in [10_u64, 3 * IN_MEMORY as u64 + 77] {
            let mut found = Found::new(Spool::default(), (0..count).map(|number| (2 * number, number as u32)));
            for number in [0, 1, count - 1, count / 2, 3].into_iter().chain((0..count).step_by(997)) {
                assert_eq!(found.of(2 * number), (number < count).then_some(number as u32));
                assert_eq!(found.of(2 * number + 1), None);
            }
            assert_eq!(found.of(2 * count), None);
        }
    }

    #[test]
    fn ascending_questions_are_answered_also_twice() {
        let mut lookup = Lookup::new([(1, 'a'), (4, 'b'), (5, 'c')].into_iter());
        assert_eq!(
            [0, 1, 1, 2, 5, 5, 9].map(|number| lookup.of(number)),
            [None, Some('a'), Some('a'), None, Some('c'), Some('c'), None]
        );
    }
}
