//! TCP Veno: Vegas' estimate of the queue distinguishes losses of congestion from losses of the radio.
//!
//! Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks" (IEEE JSAC 21(2), 2003).
//! Linux: `tcp_veno.c`.

use framewire_units::{Duration, Timestamp};

use super::{Acknowledgement, CongestionControl, Event, MINIMUM_THRESHOLD, State, Window, reno};

/// Packets in the queue from which a loss is taken for congestion (section III of the paper), in halves. Linux:
/// `beta`, with `V_PARAM_SHIFT`.
const CONGESTED: u64 = 3 * 2;
/// Samples up to which it is Reno.
const TOO_FEW_SAMPLES: u32 = 2;

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Veno {
    /// False in recovery, where it is Reno.
    is_active: bool,
    samples: u32,
    /// Least delay since the last growth.
    least_of_round: Duration,
    /// Least delay of all.
    least: Duration,
    /// In congestion only every other step is taken: this one.
    takes_step: bool,
    /// Packets in the queue, in halves.
    queued: u64,
}

impl Default for Veno {
    fn default() -> Self {
        Self {
            is_active: true,
            samples: 0,
            least_of_round: Duration::MAX,
            least: Duration::MAX,
            takes_step: true,
            queued: 0,
        }
    }
}

impl Veno {
    fn enable(&mut self) {
        self.is_active = true;
        self.least_of_round = Duration::MAX;
    }

    /// N of the paper, in halves: the window less what the actual rate needs without a queue.
    fn estimate_queue(&mut self, cwnd: u32) {
        let twice = u64::from(cwnd) * 2;
        let needed = u128::from(twice) * self.least.as_nanos() / self.least_of_round.as_nanos().max(1);
        self.queued = twice.saturating_sub(u64::try_from(needed).unwrap_or(u64::MAX));
    }

    fn avoid_congestion(&mut self, window: &mut Window, acked: u32) {
        if self.queued < CONGESTED {
            window.avoid_congestion(window.cwnd, acked);
        } else if window.cwnd_count >= window.cwnd {
            window.cwnd += u32::from(self.takes_step);
            self.takes_step = !self.takes_step;
            window.cwnd_count = 0;
        } else {
            window.cwnd_count += acked;
        }
    }
}

impl CongestionControl for Veno {
    fn name(&self) -> &'static str {
        "veno"
    }

    fn handle_acknowledgement(&mut self, _window: &mut Window, ack: &Acknowledgement) {
        let Some(rtt) = ack.rtt else { return };
        self.least = self.least.min(rtt);
        self.least_of_round = self.least_of_round.min(rtt);
        self.samples = self.samples.saturating_add(1);
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if !self.is_active {
            reno::grow(window, ack);
            return;
        }
        if !ack.is_cwnd_limited {
            return;
        }
        if self.samples <= TOO_FEW_SAMPLES {
            reno::grow(window, ack);
        } else {
            self.estimate_queue(window.cwnd);
            let mut acked = ack.acked_or_sacked;
            if window.in_slow_start() {
                acked = window.slow_start(acked);
            }
            if acked > 0 {
                self.avoid_congestion(window, acked);
            }
            window.cwnd = window.cwnd.max(MINIMUM_THRESHOLD);
        }
        self.least_of_round = Duration::MAX;
    }

    /// A fifth less when the queue was short, for then the loss was none of congestion; else half.
    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        if self.queued < CONGESTED {
            u32::try_from(u64::from(window.cwnd) * 4 / 5).unwrap_or(u32::MAX).max(MINIMUM_THRESHOLD)
        } else {
            reno::reduced_threshold(window)
        }
    }

    fn handle_state(&mut self, _window: &mut Window, state: State, _now: Timestamp) {
        if state == State::Open {
            self.enable();
        } else {
            self.is_active = false;
        }
    }

    fn handle_event(&mut self, _window: &mut Window, event: Event) {
        if matches!(event, Event::TransmitStart { .. } | Event::WindowRestart) {
            self.least = Duration::MAX;
            self.takes_step = true;
            self.enable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, ssthresh: 10, cwnd_count: 0, prior_cwnd: 0, flight_size: 0, maximum_segment: 1460 }
    }

    #[test]
    fn the_queue_decides_what_a_loss_means() {
        // 50 packets over 100 ms; at 105 ms 50 * 5/105 = 2.4 are queued, at 107 ms 3.3.
        for (millis, threshold) in [(100, 40), (105, 40), (107, 25), (200, 25)] {
            let mut veno = Veno {
                least: Duration::from_millis(100),
                least_of_round: Duration::from_millis(millis),
                ..Veno::default()
            };
            veno.estimate_queue(50);
            assert_eq!(veno.reduced_threshold(&window(50), Timestamp::ZERO), threshold, "{millis} ms");
        }
    }

    #[test]
    fn in_congestion_it_grows_every_other_round() {
        let mut veno = Veno { queued: CONGESTED, ..Veno::default() };
        let mut window = window(50);
        for _ in 0..4 * 51 {
            veno.avoid_congestion(&mut window, 1);
        }
        assert_eq!(window.cwnd, 52);
    }
}
