//! Which runs come next.

use crate::cell::Cell;
use crate::dataset::{Dataset, Known};

/// The half width of the 95 % confidence interval of a cell's goodput, as a part of its mean, at which it is done.
const WANTED_PRECISION: f64 = 0.07;
/// A run that was disturbed so often is given up.
const ATTEMPTS: u32 = 8;

/// Bounds of a batch and of the whole.
pub struct Limits {
    pub lanes: usize,
    pub load_mbps: f64,
    pub repeats: u32,
    /// Repeats that every cell gets: a few values that are close by chance prove nothing, and what is retransmitted varies
    /// where goodput does not.
    pub at_least: usize,
}

/// One run: a cell and the number of its repeat, from 1, which is its seed.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub cell: Cell,
    pub repeat: u32,
}

/// The next batch, and how many cells are not done. Earlier repeats come first; then the cells that are known least.
pub fn next_batch(cells: &[Cell], dataset: &Dataset, limits: &Limits) -> (Vec<Run>, usize) {
    let mut wanted: Vec<(u32, f64, Run)> = Vec::new();
    let mut left = 0;
    for &cell in cells {
        let known = dataset.known(&cell);
        let precision = precision(&known);
        if precision <= WANTED_PRECISION && known.received.len() >= limits.at_least {
            continue;
        }
        let missing: Vec<u32> = (1..=limits.repeats)
            .filter(|repeat| !known.received.contains_key(repeat))
            .filter(|repeat| known.disturbed.get(repeat).is_none_or(|attempts| *attempts < ATTEMPTS))
            .take(4)
            .collect();
        left += usize::from(!missing.is_empty());
        wanted.extend(missing.into_iter().map(|repeat| (repeat, precision, Run { cell, repeat })));
    }
    wanted.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let (mut batch, mut load) = (Vec::new(), 0.0);
    for (_, _, run) in wanted {
        let more = run.cell.expected_mbps();
        if batch.len() < limits.lanes && (batch.is_empty() || load + more <= limits.load_mbps) {
            load += more;
            batch.push(run);
        }
    }
    (batch, left)
}

/// Half width of the 95 % confidence interval of the mean as a part of the mean; infinite with fewer than two values.
fn precision(known: &Known) -> f64 {
    let values: Vec<f64> = known.received.values().copied().collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 || mean <= 0.0 {
        return f64::INFINITY;
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    student(values.len() - 1) * (variance / count).sqrt() / mean
}

/// The two-sided 95 % quantile of Student's t distribution.
fn student(degrees: usize) -> f64 {
    const TABLE: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    TABLE.get(degrees - 1).copied().unwrap_or(1.96 + 2.6 / degrees as f64)
}
