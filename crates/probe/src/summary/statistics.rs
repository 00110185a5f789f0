//! Percentiles, means and loss runs.

use serde::Serialize;

/// The percentile by nearest rank: the smallest value that is not less than `percent` per cent of all values. It is
/// always a value that was measured. `None` without values.
///
/// `sorted` is in ascending order, and `percent` from 1 to 100.
pub(super) fn nearest_rank(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// Arithmetic mean; `None` without values.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut count = 0_u64;
    let sum: f64 = values.into_iter().inspect(|_| count += 1).sum();
    (count > 0).then(|| sum / count as f64)
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
    pub fn of(lost: impl IntoIterator<Item = bool>) -> Self {
        let mut runs = Self::default();
        let mut length = 0;
        for lost in lost {
            if lost {
                length += 1;
            } else {
                runs.end_run(std::mem::take(&mut length));
            }
        }
        runs.end_run(length);
        runs
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
