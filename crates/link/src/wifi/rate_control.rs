//! Which rate a station sends at: fixed, or one of two ways to fall back.

use framewire_units::{Duration, Timestamp, keywords};

use crate::wifi::bss::Standard;
use crate::wifi::phy::DataRate;

keywords! {
    /// What an automatic rate falls back on.
    Fallback {
        /// Missing acknowledgements (ARF, Kamerman and Monteban 1997).
        Transmissions = "transmissions",
        /// Packets given up, as the card of Ouwens' thesis seems to.
        Packets = "packets",
    }
}

impl Fallback {
    /// An automatic rate that falls back so, with the default thresholds.
    pub fn policy(self) -> RatePolicy {
        match self {
            Self::Transmissions => RatePolicy::Automatic(ArfConfig::default()),
            Self::Packets => RatePolicy::ByPacket(PacketFallbackConfig::default()),
        }
    }
}

/// How a station chooses the rate of its data frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatePolicy {
    /// Always the same.
    Fixed(DataRate),
    /// Automatic rate fallback, by the fate of each transmission.
    Automatic(ArfConfig),
    /// Fallback by the fate of each packet.
    ByPacket(PacketFallbackConfig),
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

/// A card that looks at packets, not at transmissions: one rate down when a packet was given up, one up when none was for
/// a while. `docs/links.md` says why the card of the thesis is taken to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFallbackConfig {
    /// Time without a packet given up after which the next higher rate is taken; above zero.
    pub recovery: Duration,
}

impl Default for PacketFallbackConfig {
    fn default() -> Self {
        Self { recovery: Duration::from_millis(800) }
    }
}

/// The rate of one station, driven by the fate of its transmissions, retransmissions included, and of its packets.
#[derive(Clone, Debug)]
pub(crate) struct RateControl {
    policy: RatePolicy,
    rate: DataRate,
    failures: u32,
    successes: u32,
    since_change: u32,
    probing: bool,
    /// Since when no packet was given up at this rate.
    undisturbed_since: Timestamp,
}

impl RateControl {
    /// Starts at the fixed rate, or at the highest.
    pub(crate) fn new(policy: RatePolicy, standard: Standard) -> Self {
        let rate = match policy {
            RatePolicy::Fixed(rate) => rate,
            RatePolicy::Automatic(_) | RatePolicy::ByPacket(_) => standard.highest_rate(),
        };
        Self::at(policy, rate)
    }

    fn at(policy: RatePolicy, rate: DataRate) -> Self {
        let undisturbed_since = Timestamp::ZERO;
        Self { policy, rate, failures: 0, successes: 0, since_change: 0, probing: false, undisturbed_since }
    }

    /// Rate of a transmission that begins at `now`.
    pub(crate) fn rate(&mut self, now: Timestamp) -> DataRate {
        if let RatePolicy::ByPacket(config) = self.policy {
            while self.rate.next_higher() != self.rate && self.undisturbed_since + config.recovery <= now {
                self.rate = self.rate.next_higher();
                self.undisturbed_since += config.recovery;
            }
        }
        self.rate
    }

    /// A transmission was acknowledged.
    pub(crate) fn handle_success(&mut self) {
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
    pub(crate) fn handle_failure(&mut self) {
        let RatePolicy::Automatic(arf) = self.policy else { return };
        self.successes = 0;
        self.failures += 1;
        self.since_change += 1;
        if self.probing || self.failures >= arf.failures_down {
            self.change(self.rate.next_lower());
        }
    }

    /// A packet was given up at `now`, after its last transmission.
    pub(crate) fn handle_packet_given_up(&mut self, now: Timestamp) {
        if let RatePolicy::ByPacket(_) = self.policy {
            self.rate = self.rate.next_lower();
            self.undisturbed_since = now;
        }
    }

    fn raise(&mut self) {
        let higher = self.rate.next_higher();
        let probing = higher != self.rate;
        self.change(higher);
        self.probing = probing;
    }

    fn change(&mut self, rate: DataRate) {
        *self = Self::at(self.policy, rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::ZERO;

    fn automatic() -> RateControl {
        RateControl::new(RatePolicy::Automatic(ArfConfig::default()), Standard::Ieee80211b)
    }

    #[test]
    fn two_failures_in_a_row_lower_the_rate_and_one_does_not() {
        let mut control = automatic();
        for _ in 0..5 {
            control.handle_failure();
            assert_eq!(control.rate(NOW), DataRate::Mbps11);
            control.handle_success();
        }
        control.handle_failure();
        control.handle_failure();
        assert_eq!(control.rate(NOW), DataRate::Mbps5_5);
        for _ in 0..8 {
            control.handle_failure();
        }
        assert_eq!(control.rate(NOW), DataRate::Mbps1);
    }

    #[test]
    fn ten_successes_probe_and_a_failed_probe_falls_back_at_once() {
        let mut control = automatic();
        control.handle_failure();
        control.handle_failure();
        for _ in 0..9 {
            control.handle_success();
        }
        assert_eq!(control.rate(NOW), DataRate::Mbps5_5);
        control.handle_success();
        assert_eq!(control.rate(NOW), DataRate::Mbps11);
        control.handle_failure();
        assert_eq!(control.rate(NOW), DataRate::Mbps5_5);
        // After a probe that went well, one failure is again forgiven.
        for _ in 0..11 {
            control.handle_success();
        }
        control.handle_failure();
        assert_eq!(control.rate(NOW), DataRate::Mbps11);
    }

    #[test]
    fn the_timer_tries_a_higher_rate_despite_failures() {
        let mut control = automatic();
        control.handle_failure();
        control.handle_failure();
        for transmission in 0..15 {
            assert_eq!(control.rate(NOW), DataRate::Mbps5_5, "{transmission}");
            if transmission % 5 == 3 { control.handle_failure() } else { control.handle_success() }
        }
        assert_eq!(control.rate(NOW), DataRate::Mbps11);
    }

    #[test]
    fn a_fixed_rate_never_moves() {
        let mut control = RateControl::new(RatePolicy::Fixed(DataRate::Mbps2), Standard::Ieee80211b);
        for _ in 0..50 {
            control.handle_failure();
            control.handle_packet_given_up(NOW);
            assert_eq!(control.rate(NOW), DataRate::Mbps2);
        }
        for _ in 0..50 {
            control.handle_success();
            assert_eq!(control.rate(Timestamp::from_secs(100)), DataRate::Mbps2);
        }
    }

    #[test]
    fn fallback_over_ofdm_goes_down_to_six_and_back_to_fifty_four() {
        let mut control = RateControl::new(RatePolicy::Automatic(ArfConfig::default()), Standard::Ieee80211a);
        for expected in DataRate::OFDM.iter().rev() {
            assert_eq!(control.rate(NOW), *expected);
            control.handle_failure();
            control.handle_failure();
        }
        assert_eq!(control.rate(NOW), DataRate::Mbps6);
        for _ in 0..7 * 10 {
            control.handle_success();
        }
        assert_eq!(control.rate(NOW), DataRate::Mbps54);
    }

    #[test]
    fn fallback_by_packet_ignores_transmissions_and_recovers_with_time() {
        let second = Timestamp::from_secs;
        let recovery = Duration::from_secs(1);
        let mut control =
            RateControl::new(RatePolicy::ByPacket(PacketFallbackConfig { recovery }), Standard::Ieee80211b);
        for _ in 0..50 {
            control.handle_failure();
        }
        assert_eq!(control.rate(second(5)), DataRate::Mbps11);
        control.handle_packet_given_up(second(5));
        control.handle_packet_given_up(second(5));
        assert_eq!(control.rate(second(5)), DataRate::Mbps2);
        assert_eq!(control.rate(Timestamp::from_millis(5_999)), DataRate::Mbps2);
        assert_eq!(control.rate(second(6)), DataRate::Mbps5_5);
        // Another one given up starts the time again, and at the lowest rate too.
        control.handle_packet_given_up(Timestamp::from_millis(6_500));
        assert_eq!(control.rate(second(7)), DataRate::Mbps2);
        for _ in 0..3 {
            control.handle_packet_given_up(second(7));
        }
        assert_eq!(control.rate(Timestamp::from_millis(7_999)), DataRate::Mbps1);
        // A station that was silent for long begins at the highest.
        assert_eq!(control.rate(second(20)), DataRate::Mbps11);
    }
}
