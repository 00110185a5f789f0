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
