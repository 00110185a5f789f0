//! Round-trip time and retransmission timeout (RFC 6298), with the estimator of Linux.

use framewire_units::{Duration, Timestamp};

/// For how long a least round-trip time counts. Linux: `tcp_min_rtt_wlen`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// The estimator. Times in nanoseconds.
///
/// It differs from RFC 6298 as Linux does: the deviation is smoothed with a finer gain while the round-trip time falls,
/// its maximum over a round trip counts, it decays once per round trip, and it is the deviation that has a floor, not
/// the timeout.
#[derive(Clone, Debug)]
pub(super) struct RttEstimator {
    /// Smoothed round-trip time times 8; zero before the first sample.
    srtt_eighths: i64,
    /// Smoothed deviation times 4. Linux: `mdev_us`.
    deviation_quarters: i64,
    /// Largest `deviation_quarters` of this round trip. Linux: `mdev_max_us`.
    largest_deviation: i64,
    /// Four times RTTVAR, as the timeout takes it. Linux: `rttvar_us`.
    variation: i64,
    /// When this sequence number is acknowledged, a round trip has passed. Linux: `rtt_seq`.
    round_end: u64,
    rto: Duration,
    least: WindowedMinimum,
    limits: RtoLimits,
}

/// Bounds of the timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct RtoLimits {
    /// Before the first sample.
    pub initial: Duration,
    /// Floor of four times RTTVAR.
    pub min: Duration,
    /// Ceiling.
    pub max: Duration,
    /// The timeout is a multiple of this, unless zero.
    pub tick: Duration,
}

impl RttEstimator {
    /// Without a sample.
    pub(super) fn new(limits: RtoLimits) -> Self {
        Self {
            srtt_eighths: 0,
            deviation_quarters: 0,
            largest_deviation: 0,
            variation: 0,
            round_end: 0,
            rto: limits.initial,
            least: WindowedMinimum::default(),
            limits,
        }
    }

    /// Takes a sample. `acknowledged` is the first sequence number not acknowledged, `next` the next to be sent. Linux:
    /// `tcp_rtt_estimator`.
    pub(super) fn sample(&mut self, rtt: Duration, acknowledged: u64, next: u64) {
        let floor = self.limits.min.as_nanos() as i64;
        let rtt = rtt.as_nanos() as i64;
        if self.srtt_eighths == 0 {
            self.srtt_eighths = rtt * 8;
            // The first timeout is three round-trip times (RFC 6298, 2.2).
            self.deviation_quarters = rtt * 2;
            self.variation = self.deviation_quarters.max(floor);
            self.largest_deviation = self.variation;
            self.round_end = next;
        } else {
            let error = rtt - self.srtt_eighths / 8;
            self.srtt_eighths += error;
            let mut step = error.abs() - self.deviation_quarters / 4;
            if error < 0 && step > 0 {
                step /= 8;
            }
            self.deviation_quarters += step;
            self.largest_deviation = self.largest_deviation.max(self.deviation_quarters);
            self.variation = self.variation.max(self.largest_deviation);
            if acknowledged > self.round_end {
                if self.largest_deviation < self.variation {
                    self.variation -= (self.variation - self.largest_deviation) / 4;
                }
                self.round_end = next;
                self.largest_deviation = floor;
            }
        }
        self.srtt_eighths = self.srtt_eighths.max(1);
        self.set_rto();
    }

    fn set_rto(&mut self) {
        let rto = (self.srtt_eighths / 8 + self.variation) as u64;
        let tick = self.limits.tick.as_nanos() as u64;
        let rto = if tick == 0 { rto } else { rto.next_multiple_of(tick) };
        self.rto = Duration::from_nanos(rto).min(self.limits.max);
    }

    /// Takes a sample into the least round-trip time. Linux: `tcp_update_rtt_min`.
    pub(super) fn sample_minimum(&mut self, rtt: Duration, now: Timestamp) {
        self.least.add(now, rtt, MIN_RTT_WINDOW);
    }

    /// A timeout expired: the next one is twice as long (RFC 6298, 5.5).
    pub(super) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.limits.max);
    }

    /// Starts from `initial` again, as after a handshake whose SYN was lost (RFC 6298, 5.7).
    pub(super) fn restart(&mut self, initial: Duration) {
        self.variation = initial.as_nanos() as i64;
        self.deviation_quarters = self.variation;
        self.largest_deviation = self.variation;
        self.rto = initial;
    }

    /// The retransmission timeout, with backoff.
    pub(super) fn rto(&self) -> Duration {
        self.rto
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub(super) fn srtt(&self) -> Duration {
        Duration::from_nanos((self.srtt_eighths / 8) as u64)
    }

    /// RTTVAR as Linux reports it: a quarter of `mdev_us` in `TCP_INFO`.
    pub(super) fn deviation(&self) -> Duration {
        Duration::from_nanos((self.deviation_quarters / 4) as u64)
    }

    /// Least round-trip time.
    pub(super) fn min_rtt(&self) -> Option<Duration> {
        self.least.get()
    }
}

/// The least of the samples of a sliding window, from the best three of its parts (Kathleen Nichols' algorithm, Linux:
/// `win_minmax.c`).
#[derive(Clone, Copy, Debug, Default)]
struct WindowedMinimum {
    samples: [(Timestamp, Duration); 3],
    is_set: bool,
}

impl WindowedMinimum {
    fn get(&self) -> Option<Duration> {
        self.is_set.then_some(self.samples[0].1)
    }

    fn add(&mut self, now: Timestamp, value: Duration, window: Duration) {
        let new = (now, value);
        let [best, second, third] = &mut self.samples;
        if !self.is_set || value <= best.1 || now.saturating_since(third.0) > window {
            self.samples = [new; 3];
            self.is_set = true;
            return;
        }
        if value <= second.1 {
            (*second, *third) = (new, new);
        } else if value <= third.1 {
            *third = new;
        }
        let age = now.saturating_since(best.0);
        if age > window {
            (*best, *second, *third) = (*second, *third, new);
            if now.saturating_since(best.0) > window {
                (*best, *second, *third) = (*second, *third, new);
            }
        } else if second.0 == best.0 && age > window / 4 {
            (*second, *third) = (new, new);
        } else if third.0 == second.0 && age > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RtoLimits = RtoLimits {
        initial: Duration::from_secs(1),
        min: Duration::from_millis(200),
        max: Duration::from_secs(120),
        tick: Duration::ZERO,
    };

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_floor_is_added_to_the_round_trip_time() {
        let mut rtt = RttEstimator::new(LIMITS);
        assert_eq!(rtt.rto(), millis(1000));
        rtt.sample(millis(80), 0, 10);
        // Twice the first sample is below the floor of 200 ms.
        assert_eq!((rtt.srtt(), rtt.rto()), (millis(80), millis(280)));
        let mut slow = RttEstimator::new(LIMITS);
        slow.sample(millis(300), 0, 10);
        assert_eq!(slow.rto(), millis(900));
    }

    #[test]
    fn the_smoothing_is_an_eighth_and_the_variation_decays_once_per_round() {
        let mut rtt = RttEstimator::new(LIMITS);
        rtt.sample(millis(400), 0, 10);
        rtt.sample(millis(480), 5, 20);
        assert_eq!(rtt.srtt(), millis(410));
        // |error| 80 ms against a deviation of 200 ms (2 * 400 / 4): deviation * 4 is 800 - 120 = 680 ms.
        assert_eq!(rtt.deviation(), millis(170));
        // The variation stays at the largest of its round trip, 800 ms.
        assert_eq!(rtt.rto(), millis(1210));
        rtt.sample(millis(410), 11, 30);
        assert_eq!(rtt.rto(), millis(1210));
        // At the end of the next one it goes a quarter of the way to that one's: |error| 0 ms makes 680 ms of twice
        // three quarters, 382.5 ms.
        rtt.sample(millis(410), 31, 40);
        assert_eq!(rtt.rto(), Duration::from_micros(410_000 + 800_000 - (800_000 - 382_500) / 4));
    }

    #[test]
    fn backoff_doubles_up_to_the_ceiling_and_a_sample_ends_it() {
        let mut rtt = RttEstimator::new(LIMITS);
        rtt.sample(millis(100), 0, 10);
        for expected in [600, 1200, 2400] {
            rtt.back_off();
            assert_eq!(rtt.rto(), millis(expected));
        }
        for _ in 0..10 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(120));
        rtt.sample(millis(100), 1, 20);
        assert_eq!(rtt.rto(), millis(300));
    }

    #[test]
    fn a_minimum_is_forgotten_after_its_window() {
        let mut minimum = WindowedMinimum::default();
        let window = Duration::from_secs(10);
        minimum.add(Timestamp::ZERO, millis(10), window);
        for second in 1..=10 {
            minimum.add(Timestamp::from_secs(second), millis(20), window);
            assert_eq!(minimum.get(), Some(millis(10)), "after {second} s");
        }
        minimum.add(Timestamp::from_secs(11), millis(20), window);
        assert_eq!(minimum.get(), Some(millis(20)));
    }
}
