//! Scalable TCP: the window grows by 1 % of what is acknowledged and falls by an eighth.
//!
//! Kelly, "Scalable TCP: improving performance in highspeed wide area networks" (ACM CCR 33(2), 2003). Linux:
//! `tcp_scalable.c`.

use framewire_units::Timestamp;

use super::{Acknowledgement, CongestionControl, MINIMUM_THRESHOLD, Window};

/// Packets acknowledged per step: 1/a, with Kelly's a = 0.01. Linux: `TCP_SCALABLE_AI_CNT`.
const STEP: u32 = 100;
/// Kelly's b = 0.125, as a shift. Linux: `TCP_SCALABLE_MD_SCALE`.
const DECREASE_SHIFT: u32 = 3;

/// The algorithm; it has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scalable;

impl CongestionControl for Scalable {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if !ack.is_cwnd_limited {
            return;
        }
        let mut acked = ack.acked_or_sacked;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        if acked > 0 {
            // Below a hundred packets Reno is faster.
            window.avoid_congestion(window.cwnd.min(STEP), acked);
        }
    }

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        (window.cwnd - (window.cwnd >> DECREASE_SHIFT)).max(MINIMUM_THRESHOLD)
    }
}
