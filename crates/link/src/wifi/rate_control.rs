//! Which rate a station sends at: fixed, or automatic rate fallback.

use crate::wifi::phy::DataRate;

/// How a station chooses the rate of its data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatePolicy {
    /// Always the same.
    Fixed(DataRate),
    /// Automatic rate fallback.
    Automatic(ArfConfig),
}

/// Thresholds of automatic rate fallback (Kamerman and Monteban, "WaveLAN-II: a high-performance wireless LAN for the
/// unlicensed band", Bell Labs Technical Journal 2(3), 1997): one rate down after two missing acknowledgements in a
/// row, one up after ten good ones in a row or when a timer expires; when the first frame at the higher rate is not
/// acknowledged, back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArfConfig {
    /// Missing acknowledgements in a row that lower the rate; at least 1.
    pub failures_down: u32,
    /// Acknowledgements in a row that raise the rate; at least 1.
    pub successes_up: u32,
    /// Transmissions at a rate after which a higher one is tried whatever their fate; at least 1. The paper has a
    /// timer in seconds and does not say how long; counting transmissions is how ns-3 (`ArfWifiManager`) reads it.
    pub timer_transmissions: u32,
}

impl Default for ArfConfig {
    fn default() -> Self {
        Self { failures_down: 2, successes_up: 10, timer_transmissions: 15 }
    }
}

/// The rate of one station, driven by the fate of each of its transmissions, retransmissions included.
#[derive(Clone, Debug)]
pub struct RateControl {
    policy: RatePolicy,
    rate: DataRate,
    failures: u32,
    successes: u32,
    since_change: u32,
    probing: bool,
}

impl RateControl {
    /// Starts at the fixed rate, or at the highest.
    pub fn new(policy: RatePolicy) -> Self {
        let rate = match policy {
            RatePolicy::Fixed(rate) => rate,
            RatePolicy::Automatic(_) => DataRate::Mbps11,
        };
        Self { policy, rate, failures: 0, successes: 0, since_change: 0, probing: false }
    }

    /// Rate of the next transmission.
    pub fn rate(&self) -> DataRate {
        self.rate
    }

    /// A transmission was acknowledged.
    pub fn handle_success(&mut self) {
        let RatePolicy::Automatic(arf) = self.policy else { return };
        self.failures = 0;
        self.successes += 1;
        self.since_change += 1;
        self.probing = false;
        if self.successes >= arf.successes_up || self.since_change >= arf.timer_transmissions {
            self.raise();
        }
    }

    /// A transmission was not acknowledged.
    pub fn handle_failure(&mut self) {
        let RatePolicy::Automatic(arf) = self.policy else { return };
        self.successes = 0;
        self.failures += 1;
        self.since_change += 1;
        if self.probing || self.failures >= arf.failures_down {
            self.change(self.rate.next_lower());
        }
    }

    fn raise(&mut self) {
        let higher = self.rate.next_higher();
        let probing = higher != self.rate;
        self.change(higher);
        self.probing = probing;
    }

    fn change(&mut self, rate: DataRate) {
        *self = Self::new(self.policy);
        self.rate = rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automatic() -> RateControl {
        RateControl::new(RatePolicy::Automatic(ArfConfig::default()))
    }

    #[test]
    fn two_failures_in_a_row_lower_the_rate_and_one_does_not() {
        let mut control = automatic();
        for _ in 0..5 {
            control.handle_failure();
            assert_eq!(control.rate(), DataRate::Mbps11);
            control.handle_success();
        }
        control.handle_failure();
        control.handle_failure();
        assert_eq!(control.rate(), DataRate::Mbps5_5);
        for _ in 0..8 {
            control.handle_failure();
        }
        assert_eq!(control.rate(), DataRate::Mbps1);
    }

    #[test]
    fn ten_successes_probe_and_a_failed_probe_falls_back_at_once() {
        let mut control = automatic();
        control.handle_failure();
        control.handle_failure();
        for _ in 0..9 {
            control.handle_success();
        }
        assert_eq!(control.rate(), DataRate::Mbps5_5);
        control.handle_success();
        assert_eq!(control.rate(), DataRate::Mbps11);
        control.handle_failure();
        assert_eq!(control.rate(), DataRate::Mbps5_5);
        // After a probe that went well, one failure is again forgiven.
        for _ in 0..11 {
            control.handle_success();
        }
        control.handle_failure();
        assert_eq!(control.rate(), DataRate::Mbps11);
    }

    #[test]
    fn the_timer_tries_a_higher_rate_despite_failures() {
        let mut control = automatic();
        control.handle_failure();
        control.handle_failure();
        for transmission in 0..15 {
            assert_eq!(control.rate(), DataRate::Mbps5_5, "{transmission}");
            if transmission % 5 == 3 { control.handle_failure() } else { control.handle_success() }
        }
        assert_eq!(control.rate(), DataRate::Mbps11);
    }

    #[test]
    fn a_fixed_rate_never_moves() {
        let mut control = RateControl::new(RatePolicy::Fixed(DataRate::Mbps2));
        for _ in 0..50 {
            control.handle_failure();
            assert_eq!(control.rate(), DataRate::Mbps2);
        }
        for _ in 0..50 {
            control.handle_success();
            assert_eq!(control.rate(), DataRate::Mbps2);
        }
    }
}
