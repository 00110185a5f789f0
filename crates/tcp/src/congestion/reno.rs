//! New Reno: additive increase, multiplicative decrease by one half.
//!
//! RFC 5681, section 3.1, counts acknowledged packets (as RFC 3465 counts bytes). What RFC 6582 adds concerns recovery,
//! which is the endpoint's. Linux: `tcp_cong.c`, `tcp_reno`.

use framewire_units::Timestamp;

use super::{Acknowledgement, CongestionControl, MINIMUM_THRESHOLD, Window};

/// The algorithm; it has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reno;

/// Slow start, then one packet per window of acknowledged packets. Linux: `tcp_reno_cong_avoid`.
pub(super) fn grow(window: &mut Window, ack: &Acknowledgement) {
    if !ack.is_cwnd_limited {
        return;
    }
    let mut acked = ack.acked_or_sacked;
    if window.in_slow_start() {
        acked = window.slow_start(acked);
    }
    if acked > 0 {
        window.avoid_congestion(window.cwnd, acked);
    }
}

/// Half the window (RFC 5681, equation 4, with the window for the flight size, as Linux does: `tcp_reno_ssthresh`).
pub(super) fn reduced_threshold(window: &Window) -> u32 {
    (window.cwnd / 2).max(MINIMUM_THRESHOLD)
}

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        grow(window, ack);
    }

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        reduced_threshold(window)
    }
}
