use std::time::Duration;

/// Width of a class.
const CLASS: Duration = Duration::from_micros(10);

/// Number of classes: 50 ms. What is later is counted in the last one.
const CLASSES: usize = 5_000;

/// A distribution of times, in classes of 10 µs.
#[derive(Clone, Debug)]
pub struct Lateness {
    classes: Vec<u64>,
    count: u64,
    most: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { classes: vec![0; CLASSES], count: 0, most: Duration::ZERO }
    }
}

impl Lateness {
    /// One more.
    pub fn add(&mut self, late: Duration) {
        let class = usize::try_from(late.as_nanos() / CLASS.as_nanos()).unwrap_or(CLASSES).min(CLASSES - 1);
        self.classes[class] += 1;
        self.count += 1;
        self.most = self.most.max(late);
    }

    /// How many were measured.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The latest of all.
    pub fn most(&self) -> Duration {
        self.most
    }

    /// The time that `per_mille` of 1,000 do not exceed, rounded up to a class; `None` when nothing was measured.
    pub fn quantile(&self, per_mille: u64) -> Option<Duration> {
        let rank = (self.count * per_mille).div_ceil(1_000).max(1);
        let mut seen = 0;
        let class = self.classes.iter().position(|&count| {
            seen += count;
            seen >= rank
        })?;
        let edge = CLASS * (class as u32 + 1);
        Some(if class + 1 == CLASSES { self.most } else { edge.min(self.most) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_edges_of_classes_and_never_more_than_the_most() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(500), None);
        for micros in 0..1_000 {
            lateness.add(Duration::from_micros(micros));
        }
        assert_eq!(lateness.quantile(500), Some(Duration::from_micros(500)));
        assert_eq!(lateness.quantile(990), Some(Duration::from_micros(990)));
        assert_eq!(lateness.quantile(1_000), Some(Duration::from_micros(999)));
        lateness.add(Duration::from_secs(9));
        assert_eq!((lateness.most(), lateness.count()), (Duration::from_secs(9), 1_001));
        assert_eq!(lateness.quantile(1_000), Some(Duration::from_secs(9)));
    }
}
