//! Percentiles, means and loss runs.

use serde::Serialize;

/// Percentiles by nearest rank: the smallest value that is not less than so many per cent of all values. It is always a
/// value that was measured. `None` without values.
///
/// `sorted` has `count` values in ascending order, and `percents` are ascending, from 1 to 100.
pub(super) fn nearest_ranks<const N: usize>(
    mut sorted: impl Iterator<Item = i64>,
    count: usize,
    percents: [usize; N],
) -> Option<[i64; N]> {
    let (mut values, mut last) = ([0; N], (0, None));
    for (value, percent) in values.iter_mut().zip(percents) {
        let rank = (count * percent).div_ceil(100).max(1);
        if rank > last.0 {
            last = (rank, sorted.nth(rank - last.0 - 1));
        }
        *value = last.1?;
    }
    Some(values)
}

/// How many runs of successive losses there were, by length (tables 3.12 and 3.18 of the thesis). A run is maximal:
/// ten losses in a row are one run of ten. The thesis' percentages are shares of the number of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LossRuns {
    /// Runs of 1, 2, 3, 4, 5 to 10, and over 10.
    pub counts: [u32; 6],
}

impl LossRuns {
    /// Counts the runs in a sequence that says of each item whether it was lost.
    pub(crate) fn of(lost: impl IntoIterator<Item = bool>) -> Self {
        let mut counter = RunCounter::default();
        lost.into_iter().for_each(|lost| counter.take(lost));
        counter.runs()
    }

    fn end_run(&mut self, length: u64) {
        let class = match length {
            0 => return,
            1 => 0,
            2 => 1,
            3 => 2,
            4 => 3,
            5..=10 => 4,
            _ => 5,
        };
        self.counts[class] += 1;
    }
}

/// Counts runs, item by item.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunCounter {
    ended: LossRuns,
    /// Of the run that has not ended.
    length: u64,
}

impl RunCounter {
    /// Takes the next item.
    pub(crate) fn take(&mut self, lost: bool) {
        if lost {
            self.length += 1;
        } else {
            self.ended.end_run(std::mem::take(&mut self.length));
        }
    }

    /// The runs of all.
    pub(crate) fn runs(&self) -> LossRuns {
        let mut runs = self.ended;
        runs.end_run(self.length);
        runs
    }
}
