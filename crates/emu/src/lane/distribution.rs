//! The distribution of a quantity of which there may be tens of millions of values, in little memory.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Significant decimal digits that a percentile keeps.
const DIGITS: u8 = 3;

/// The distribution of a quantity in nanoseconds.
///
/// The percentiles are by nearest rank and at most one part in a thousand below it; up to 2,047 ns they are exact, as is the
/// largest value always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// Half of them are at most this.
    pub p50_ns: i64,
    /// 99 of 100 are at most this.
    pub p99_ns: i64,
    /// The largest.
    pub max_ns: i64,
}

impl Distribution {
    /// The distribution of `values`; all zero when there are none.
    pub fn of(values: impl IntoIterator<Item = i64>) -> Self {
        let mut all = Values::default();
        values.into_iter().for_each(|value| all.push(value));
        all.distribution()
    }
}

/// Nanoseconds as they come, counted in histograms whose size does not depend on how many there are.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// Magnitudes of those below zero.
    negative: Histogram<u64>,
    others: Histogram<u64>,
    /// The least and the largest; none yet: the other way around.
    range: (i64, i64),
}

impl Default for Values {
    fn default() -> Self {
        let histogram = || Histogram::new(DIGITS).expect("invariant: 0 to 5 digits are allowed");
        Self { negative: histogram(), others: histogram(), range: (i64::MAX, i64::MIN) }
    }
}

impl Values {
    /// Counts a value.
    pub(crate) fn push(&mut self, value: i64) {
        let side = if value < 0 { &mut self.negative } else { &mut self.others };
        side.record(value.unsigned_abs()).expect("invariant: it grows with what it counts");
        self.range = (self.range.0.min(value), self.range.1.max(value));
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.negative.len() + self.others.len()
    }

    /// What they are distributed like.
    pub(crate) fn distribution(&self) -> Distribution {
        let count = self.len();
        if count == 0 {
            return Distribution::default();
        }
        let [p50_ns, p99_ns] = [50, 99].map(|percent| self.of_rank((count * percent).div_ceil(100)));
        Distribution { count, p50_ns, p99_ns, max_ns: self.range.1 }
    }

    /// The value of a rank from 1 to the number of values.
    fn of_rank(&self, rank: u64) -> i64 {
        let value = match rank.checked_sub(self.negative.len()) {
            // Those of the largest magnitudes come first.
            None | Some(0) => -lowest_of_rank(&self.negative, self.negative.len() + 1 - rank),
            Some(rank) => lowest_of_rank(&self.others, rank),
        };
        value.clamp(self.range.0, self.range.1)
    }
}

/// The lowest value that is counted with that of a rank.
fn lowest_of_rank(histogram: &Histogram<u64>, rank: u64) -> i64 {
    let reached = histogram.iter_recorded().scan(0, |counted, step| {
        *counted += step.count_since_last_iteration();
        Some((*counted, step.value_iterated_to()))
    });
    let found = reached.skip_while(|(counted, _)| *counted < rank).map(|(_, value)| value).next();
    histogram.lowest_equivalent(found.unwrap_or_default()).cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let distribution = Distribution::of((1..=200).rev());
        assert_eq!(distribution, Distribution { count: 200, p50_ns: 100, p99_ns: 198, max_ns: 200 });
        assert_eq!(Distribution::of([7]), Distribution { count: 1, p50_ns: 7, p99_ns: 7, max_ns: 7 });
        assert_eq!(Distribution::of([]).count, 0);
    }

    fn nearest_rank(sorted: &[i64], percent: usize) -> i64 {
        sorted[(sorted.len() * percent).div_ceil(100) - 1]
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_values_to_three_digits(
            mut values in prop::collection::vec(prop_oneof![-3_000_i64..3_000, -10_000_000_000_i64..10_000_000_000], 1..300),
        ) {
            let distribution = Distribution::of(values.iter().copied());
            values.sort_unstable();
            prop_assert_eq!(distribution.count, values.len() as u64);
            prop_assert_eq!(distribution.max_ns, values[values.len() - 1]);
            for (found, percent) in [(distribution.p50_ns, 50), (distribution.p99_ns, 99)] {
                let exact = nearest_rank(&values, percent);
                let below = exact.abs() - found.abs();
                prop_assert!(below.abs() <= exact.abs() / 1_000, "{} for {}", found, exact);
                prop_assert!(found == exact || exact.abs() > 2_047, "{} for {}", found, exact);
            }
        }
    }
}
