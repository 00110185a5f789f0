//! TCP Vegas: keeps between two and four packets in the queue.
//!
//! Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet" (IEEE JSAC 13(8), 1995).
//! Linux: `tcp_vegas.c`, which differs from the paper in that slow start grows every round, that losses are found and
//! recovered as ever, and that the actual rate is that of acknowledgements.

use framewire_units::{Duration, Timestamp};

use super::{Acknowledgement, CongestionControl, Event, MINIMUM_THRESHOLD, State, Window, reno};

/// Fewer packets than this in the queue: grow. Linux: `alpha`.
const ALPHA: u64 = 2;
/// More than this: shrink. Linux: `beta`.
const BETA: u64 = 4;
/// More than this in slow start: leave it. Linux: `gamma`.
const GAMMA: u64 = 1;
/// Samples without which a round says nothing, as they may all be of delayed acknowledgements.
const TOO_FEW_SAMPLES: u32 = 2;

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Vegas {
    /// False in recovery, where it is Reno.
    is_active: bool,
    /// The round ends when this number is passed. Linux: `beg_snd_nxt`.
    round_end: u64,
    /// The next number to be sent, as the last acknowledgement had it.
    next_sequence: u64,
    /// baseRTT.
    least: Duration,
    /// minRTT, of this round.
    least_of_round: Duration,
    samples: u32,
}

impl Default for Vegas {
    fn default() -> Self {
        Self {
            is_active: true,
            round_end: 1,
            next_sequence: 1,
            least: Duration::MAX,
            least_of_round: Duration::MAX,
            samples: 0,
        }
    }
}

impl Vegas {
    /// Begins afresh with the next flight. Linux: `vegas_enable`.
    fn enable(&mut self) {
        self.is_active = true;
        self.round_end = self.next_sequence;
        self.forget_round();
    }

    fn forget_round(&mut self) {
        self.samples = 0;
        self.least_of_round = Duration::MAX;
    }

    /// The decision of a round: at most one packet up or down.
    fn adjust(&self, window: &mut Window, ack: &Acknowledgement) {
        let base = self.least.as_nanos().max(1);
        let now = self.least_of_round.as_nanos().max(base);
        // Packets in the queue, the paper's Diff times baseRTT.
        let queued = u64::try_from(u128::from(window.cwnd) * (now - base) / base).unwrap_or(u64::MAX);
        if window.in_slow_start() {
            if queued > GAMMA {
                // The window that the actual rate needs without a queue; one more for what is rounded off.
                let target = (u128::from(window.cwnd) * base / now) as u32 + 1;
                window.cwnd = window.cwnd.min(target).max(MINIMUM_THRESHOLD);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(ack.acked_or_sacked);
            }
        } else if queued > BETA {
            window.cwnd = (window.cwnd - 1).max(MINIMUM_THRESHOLD);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < ALPHA {
            window.cwnd += 1;
        }
        // Linux: `tcp_current_ssthresh`.
        if !matches!(ack.state, State::Reduced | State::Recovery) {
            window.ssthresh = window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4);
        }
    }
}

impl CongestionControl for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
    }

    fn handle_acknowledgement(&mut self, _window: &mut Window, ack: &Acknowledgement) {
        self.next_sequence = ack.next_sequence;
        let Some(rtt) = ack.rtt else { return };
        self.least = self.least.min(rtt);
        self.least_of_round = self.least_of_round.min(rtt);
        self.samples += 1;
    }

    /// Linux: `tcp_vegas_cong_avoid`, which does not ask whether the window was used.
    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if !self.is_active {
            reno::grow(window, ack);
        } else if ack.first_unacknowledged > self.round_end {
            self.round_end = ack.next_sequence;
            if self.samples <= TOO_FEW_SAMPLES {
                reno::grow(window, ack);
            } else {
                self.adjust(window, ack);
            }
            self.forget_round();
        } else if window.in_slow_start() {
            window.slow_start(ack.acked_or_sacked);
        }
    }

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        reno::reduced_threshold(window)
    }

    fn handle_state(&mut self, _window: &mut Window, state: State, _now: Timestamp) {
        if state == State::Open {
            self.enable();
        } else {
            self.is_active = false;
        }
    }

    /// After idling, the path is measured anew.
    fn handle_event(&mut self, _window: &mut Window, event: Event) {
        if matches!(event, Event::TransmitStart { .. } | Event::WindowRestart) {
            self.least = Duration::MAX;
            self.enable();
        }
    }
}
