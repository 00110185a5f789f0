//! The largest of the recent values, in constant memory: Kathleen Nichols' algorithm. Linux: `lib/win_minmax.c`.

/// A value and when it was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    time: u64,
    value: u64,
}

/// Keeps the best of a window and, for when that ages, the best of its last three quarters and of its second half.
/// Time is whatever counts up: rounds, cycles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMaximum {
    best: [Sample; 3],
}

impl WindowedMaximum {
    /// The largest value of the window.
    pub(super) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Notes a value at `time`, which is not before the last; the window is `window` long.
    pub(super) fn update(&mut self, window: u64, time: u64, value: u64) {
        let sample = Sample { time, value };
        if value >= self.best[0].value || time - self.best[2].time > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].value {
            self.best[2] = sample;
        }
        self.age(window, sample);
    }

    fn age(&mut self, window: u64, sample: Sample) {
        let passed = sample.time - self.best[0].time;
        if passed > window {
            self.best = [self.best[1], self.best[2], sample];
            if sample.time - self.best[0].time > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].time == self.best[0].time && passed > window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].time == self.best[1].time && passed > window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_maximum_is_forgotten_after_the_window() {
        let mut filter = WindowedMaximum::default();
        for (time, value) in [(0, 100), (1, 80), (4, 70), (9, 60), (10, 50)] {
            filter.update(10, time, value);
            assert_eq!(filter.get(), 100, "at {time}");
        }
        filter.update(10, 11, 40);
        assert_eq!(filter.get(), 70, "the best of the last three quarters");
        filter.update(10, 12, 90);
        assert_eq!(filter.get(), 90);
        filter.update(10, 30, 1);
        assert_eq!(filter.get(), 1, "nothing is left");
    }

    proptest! {
        /// Never above the true maximum of the window, never below that of its last quarter.
        #[test]
        fn stays_within_the_true_maxima(steps in proptest::collection::vec((0u64..4, 0u64..1_000), 1..80)) {
            let mut filter = WindowedMaximum::default();
            let mut seen = Vec::new();
            let mut now = 0;
            for (step, value) in steps {
                now += step;
                seen.push((now, value));
                filter.update(12, now, value);
                let since = |age: u64| {
                    seen.iter().filter(|(time, _)| now - time <= age).map(|(_, value)| *value).max().unwrap()
                };
                prop_assert!(filter.get() <= since(12).max(since(13)), "{} > {}", filter.get(), since(12));
                prop_assert!(filter.get() >= since(2));
            }
        }
    }
}
