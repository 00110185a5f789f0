//! Putting a stream together from segments that come in any order: what is there in order, what lies beyond a hole,
//! and what of that to report to the sender (RFC 2018, RFC 2883).

use std::collections::VecDeque;

use crate::segment::SackBlock;

/// Blocks that are remembered for the SACK option; three fit beside timestamps. Linux: `TCP_NUM_SACKS`.
const REMEMBERED_BLOCKS: usize = 4;

/// Bytes beyond a hole, without a hole of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Memory that the kernel charges for its packets.
    pub(crate) truesize: u64,
    pub(crate) packets: u32,
}

/// What a segment did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It carried nothing new; reported to the sender as a duplicate.
    Duplicate,
    /// It lies beyond a hole. `is_new` is false where all of it was there already; `blocks_before` counts the blocks
    /// in front of the one that it extended or opened.
    OutOfOrder { is_new: bool, blocks_before: usize },
    /// It continues the stream.
    InOrder { filled_last_hole: bool },
}

/// The receiving half's map of sequence numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    next: u64,
    /// Beyond `next`, sorted, neither overlapping nor touching.
    runs: VecDeque<Run>,
    /// Where the runs begin that were touched last, most recent first.
    recent: Vec<u64>,
    duplicate: Option<SackBlock>,
}

impl Reassembly {
    /// A stream whose first expected number is `next`.
    pub(crate) fn new(next: u64) -> Self {
        Self { next, ..Self::default() }
    }

    /// The next number expected.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// True where nothing lies beyond a hole.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.runs.is_empty()
    }

    /// The number after the last byte that is there, holes or not.
    pub(crate) fn highest(&self) -> u64 {
        self.runs.back().map_or(self.next, |run| run.end)
    }

    /// Takes the numbers from `start` up to `end`, whose packet the kernel charges with `truesize`. `deliver` is
    /// called with the segment, where it is in order, and then with each run that it reaches, empty where the segment
    /// covered all of it.
    pub(crate) fn insert(&mut self, start: u64, end: u64, truesize: u64, deliver: impl FnMut(Run)) -> Arrival {
        self.duplicate = None;
        if end <= self.next {
            self.tell_duplicate(start, end);
            Arrival::Duplicate
        } else if start <= self.next {
            if start < self.next {
                self.tell_duplicate(start, self.next);
            }
            self.advance(Run { start: self.next, end, truesize, packets: 1 }, deliver)
        } else {
            self.insert_beyond(Run { start, end, truesize, packets: 1 })
        }
    }

    /// Moves the stream on by `run` and by whatever it reaches.
    fn advance(&mut self, run: Run, mut deliver: impl FnMut(Run)) -> Arrival {
        self.next = run.end;
        deliver(run);
        let had_holes = !self.runs.is_empty();
        while let Some(&reached) = self.runs.front().filter(|reached| reached.start <= self.next) {
            self.runs.pop_front();
            if reached.start < self.next {
                self.tell_duplicate(reached.start, reached.end.min(self.next));
            }
            self.recent.retain(|&start| start != reached.start);
            // Nothing of it is left where the segment covered all of it.
            let start = self.next;
            self.next = self.next.max(reached.end);
            deliver(Run { start, end: self.next, ..reached });
        }
        Arrival::InOrder { filled_last_hole: had_holes && self.runs.is_empty() }
    }

    fn insert_beyond(&mut self, run: Run) -> Arrival {
        // Most arrive at the far end: look from there.
        let after = self.runs.iter().rposition(|other| other.end < run.start).map_or(0, |index| index + 1);
        let until = after + self.runs.range(after..).take_while(|other| other.start <= run.end).count();
        let mut merged = run;
        for index in after..until {
            let other = self.runs[index];
            if other.start <= run.start && run.end <= other.end {
                self.tell_duplicate(run.start, run.end);
                let blocks_before = self.remember(other);
                return Arrival::OutOfOrder { is_new: false, blocks_before };
            }
            let (start, end) = (other.start.max(run.start), other.end.min(run.end));
            if start < end {
                self.extend_duplicate(start, end);
            }
            merged.start = merged.start.min(other.start);
            merged.end = merged.end.max(other.end);
            merged.truesize += other.truesize;
            merged.packets += other.packets;
        }
        if after == until {
            self.runs.insert(after, merged);
        } else {
            self.runs[after] = merged;
            self.runs.drain(after + 1..until);
        }
        Arrival::OutOfOrder { is_new: true, blocks_before: self.remember(merged) }
    }

    /// Makes `run` the most recent, in the place of those it took in. Returns how many were more recent.
    fn remember(&mut self, run: Run) -> usize {
        let is_part = |start: &u64| (run.start..run.end).contains(start);
        let blocks_before = self.recent.iter().position(is_part).unwrap_or(self.recent.len());
        self.recent.retain(|start| !is_part(start));
        self.recent.insert(0, run.start);
        self.recent.truncate(REMEMBERED_BLOCKS);
        blocks_before
    }

    /// Reports a duplicate with the next acknowledgement (RFC 2883, section 4). Also for segments that were refused
    /// before they came here.
    pub(crate) fn tell_duplicate(&mut self, start: u64, end: u64) {
        self.duplicate = Some(SackBlock { start, end });
    }

    /// Adds to the duplicate of this segment where the two touch.
    fn extend_duplicate(&mut self, start: u64, end: u64) {
        match &mut self.duplicate {
            Some(block) if start <= block.end && block.start <= end => {
                block.start = block.start.min(start);
                block.end = block.end.max(end);
            }
            Some(_) => {}
            None => self.duplicate = Some(SackBlock { start, end }),
        }
    }

    /// The blocks for the SACK option, duplicate first (RFC 2883, section 4), then the most recent (RFC 2018,
    /// section 4). A duplicate is reported once.
    pub(crate) fn take_blocks(&mut self) -> impl Iterator<Item = SackBlock> + '_ {
        let duplicate = self.duplicate.take();
        let block = |start: &u64| {
            let index = self.runs.binary_search_by_key(start, |run| run.start).ok()?;
            Some(SackBlock { start: *start, end: self.runs[index].end })
        };
        duplicate.into_iter().chain(self.recent.iter().filter_map(block))
    }

    /// Gives up the run furthest out, for want of memory (RFC 2018, section 8); `None` without one.
    pub(crate) fn drop_last(&mut self) -> Option<Run> {
        let run = self.runs.pop_back()?;
        // What was reported can no longer be relied on: begin afresh, as Linux does.
        self.recent.clear();
        Some(run)
    }

    /// The runs beyond holes, to re-charge them.
    pub(crate) fn runs_mut(&mut self) -> impl Iterator<Item = &mut Run> {
        self.runs.iter_mut()
    }

    /// The runs beyond holes, in order.
    #[cfg(test)]
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter()
    }
}

#[cfg(test)]
mod tests;
