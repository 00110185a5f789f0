//! TCP Illinois: loss says when, delay says how much.
//!
//! Liu, Basar and Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed networks"
//! (Performance Evaluation 65, 2008). Linux: `tcp_illinois.c`.

use framewire_units::{Duration, Timestamp};

use super::round::Round;
use super::{Acknowledgement, CongestionControl, MINIMUM_THRESHOLD, State, Window};

/// The unit of alpha. Linux: `ALPHA_SCALE`.
const ALPHA_UNIT: u64 = 128;
/// alpha_min = 0.3 (section 4 of the paper). Linux: `ALPHA_MIN`.
const ALPHA_LEAST: u64 = 3 * ALPHA_UNIT / 10;
/// alpha_max = 10. Linux: `ALPHA_MAX`.
const ALPHA_MOST: u64 = 10 * ALPHA_UNIT;
/// The unit of beta. Linux: `BETA_SCALE`.
const BETA_UNIT: u64 = 64;
/// beta_min = 1/8. Linux: `BETA_MIN`.
const BETA_LEAST: u64 = BETA_UNIT / 8;
/// beta_max = 1/2. Linux: `BETA_MAX`.
const BETA_MOST: u64 = BETA_UNIT / 2;
/// Reno below this window, in packets. Linux: `win_thresh`.
const WINDOW_THRESHOLD: u32 = 15;
/// Rounds of small delay before alpha returns to its maximum. Linux: `theta`.
const LOW_ROUNDS: u32 = 5;

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Illinois {
    /// Packets per round that the window grows, in `ALPHA_UNIT`.
    alpha: u64,
    /// Part of the window that a reduction takes, in `BETA_UNIT`.
    beta: u64,
    least: Duration,
    most: Duration,
    sum: Duration,
    samples: u32,
    round: Round,
    /// The delay left the lowest hundredth at some time.
    was_above: bool,
    low_rounds: u32,
    /// Packets acknowledged by number since the window last grew by them.
    acked: u32,
}

impl Default for Illinois {
    fn default() -> Self {
        Self {
            alpha: ALPHA_MOST,
            beta: BETA_MOST,
            least: Duration::MAX,
            most: Duration::ZERO,
            sum: Duration::ZERO,
            samples: 0,
            round: Round::first(),
            was_above: false,
            low_rounds: 0,
            acked: 0,
        }
    }
}

impl Illinois {
    /// Once per round. Linux: `update_params`.
    fn update(&mut self, cwnd: u32) {
        if cwnd < WINDOW_THRESHOLD {
            self.alpha = ALPHA_UNIT;
            self.beta = BETA_MOST;
        } else if self.samples > 0 {
            let least = micros(self.least);
            let longest = micros(self.most) - least;
            let average = micros(self.sum / self.samples).saturating_sub(least);
            self.alpha = self.alpha_for(average, longest);
            self.beta = beta_for(average, longest);
        }
        self.forget_round();
    }

    fn forget_round(&mut self) {
        self.sum = Duration::ZERO;
        self.samples = 0;
    }

    /// alpha for an average queueing delay, when the longest ever was `longest`, both in microseconds (equation 3).
    fn alpha_for(&mut self, average: u64, longest: u64) -> u64 {
        let low = longest / 100;
        if average > low {
            self.was_above = true;
            // k1 / (k2 + d), with k1 and k2 such that the ends are alpha_max and alpha_min.
            let (average, longest) = (average - low, longest - low);
            return longest * ALPHA_MOST / (longest + average * (ALPHA_MOST - ALPHA_LEAST) / ALPHA_LEAST);
        }
        if self.was_above {
            self.low_rounds += 1;
            if self.low_rounds < LOW_ROUNDS {
                return self.alpha;
            }
            self.low_rounds = 0;
            self.was_above = false;
        }
        ALPHA_MOST
    }
}

/// beta for an average queueing delay: least up to a tenth of the longest, most from eight tenths on, linear between
/// (equation 4).
fn beta_for(average: u64, longest: u64) -> u64 {
    let (low, high) = (longest / 10, 8 * longest / 10);
    if average <= low {
        return BETA_LEAST;
    }
    if average >= high || high <= low {
        return BETA_MOST;
    }
    (BETA_LEAST * high + (BETA_MOST - BETA_LEAST) * average - BETA_MOST * low) / (high - low)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl CongestionControl for Illinois {
    fn name(&self) -> &'static str {
        "illinois"
    }

    fn handle_acknowledgement(&mut self, _window: &mut Window, ack: &Acknowledgement) {
        self.round.note(ack);
        self.acked = ack.acked;
        let Some(rtt) = ack.rtt else { return };
        self.least = self.least.min(rtt);
        self.most = self.most.max(rtt);
        self.sum += rtt;
        self.samples += 1;
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if self.round.ends_with(ack) {
            self.update(window.cwnd);
        }
        if !ack.is_cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.acked_or_sacked);
            return;
        }
        window.cwnd_count += std::mem::replace(&mut self.acked, 1);
        let steps = u64::from(window.cwnd_count) * self.alpha / ALPHA_UNIT / u64::from(window.cwnd.max(1));
        if steps > 0 {
            window.cwnd = window.cwnd.saturating_add(u32::try_from(steps).unwrap_or(u32::MAX));
            window.cwnd_count = 0;
        }
    }

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        let decrease = u64::from(window.cwnd) * self.beta / BETA_UNIT;
        (window.cwnd - decrease as u32).max(MINIMUM_THRESHOLD)
    }

    fn handle_state(&mut self, _window: &mut Window, state: State, _now: Timestamp) {
        if state == State::Loss {
            self.alpha = ALPHA_UNIT;
            self.beta = BETA_MOST;
            self.low_rounds = 0;
            self.was_above = false;
            self.forget_round();
            self.round.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equation 3 of the paper with d1 = dm/100, in real numbers.
    fn alpha(average: f64, longest: f64) -> f64 {
        let (least, most, low) = (0.3, 10.0, longest / 100.0);
        let k1 = (longest - low) * least * most / (most - least);
        let k2 = (longest - low) * least / (most - least) - low;
        if average <= low { most } else { k1 / (k2 + average) }
    }

    /// Equation 4 with d2 = dm/10 and d3 = 8 dm/10.
    fn beta(average: f64, longest: f64) -> f64 {
        (0.125 + 0.375 * (average / longest - 0.1) / 0.7).clamp(0.125, 0.5)
    }

    #[test]
    fn alpha_and_beta_follow_the_curves_of_the_paper() {
        for percent in 0..=100 {
            let (average, longest) = (percent * 1_000, 100_000);
            let mut illinois = Illinois::default();
            let found = illinois.alpha_for(average, longest) as f64 / 128.0;
            let wanted = alpha(average as f64, longest as f64);
            // alpha_min is 38/128 = 0.297 there.
            assert!((found - wanted).abs() < 0.02 + 0.012 * wanted, "{percent} %: {found} for {wanted}");
            let found = beta_for(average, longest) as f64 / 64.0;
            let wanted = beta(average as f64, longest as f64);
            assert!((found - wanted).abs() <= 1.0 / 64.0, "{percent} %: {found} for {wanted}");
        }
    }

    #[test]
    fn alpha_returns_to_its_maximum_after_five_low_rounds_only() {
        let mut illinois = Illinois::default();
        illinois.alpha = illinois.alpha_for(50_000, 100_000);
        let before = illinois.alpha;
        let rounds: Vec<_> = (0..6).map(|_| illinois.alpha_for(0, 100_000)).collect();
        assert_eq!(rounds, [before, before, before, before, ALPHA_MOST, ALPHA_MOST]);
    }

    #[test]
    fn small_windows_are_reno() {
        let mut illinois = Illinois::default();
        illinois.update(14);
        assert_eq!((illinois.alpha, illinois.beta), (ALPHA_UNIT, BETA_MOST));
    }
}
