//! Compound TCP: a window of Reno's and one that the delay governs, added up.
//!
//! Tan, Song, Zhang and Sridharan, "A Compound TCP Approach for High-speed and Long Distance Networks" (INFOCOM 2006);
//! draft-sridharan-tcpm-ctcp-02. What they leave open: the delay of a round is the mean of its samples. Slow start is
//! Reno's, and the window of delay begins after it.

use framewire_units::{Duration, Timestamp};

use super::round::Round;
use super::{Acknowledgement, CongestionControl, Event, MINIMUM_THRESHOLD, State, Window, reno};

/// While no queue is seen the window grows by alpha W^k packets per round (section 3 of the draft).
const ALPHA: f64 = 0.125;
const EXPONENT: f64 = 0.75;
/// Part of the window that a loss takes away (section 3 of the draft: beta).
const BETA: f64 = 0.5;
/// Packets that the window of delay gives up for each packet in the queue (section 3 of the draft: zeta).
const ZETA: f64 = 1.0;
/// Packets in the queue from which on there is congestion: at first and at most, and at least (section 5 of the draft).
const LARGEST_GAMMA: f64 = 30.0;
const LEAST_GAMMA: f64 = 5.0;
/// Weight of a new sample of what Reno's window alone would queue, and the part of it that counts (section 5 of the
/// draft).
const GAMMA_WEIGHT: f64 = 0.8;
const GAMMA_PART: f64 = 0.75;

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Compound {
    /// The window of loss, in packets (cwnd of the draft).
    loss_window: f64,
    /// The window of delay (dwnd).
    delay_window: f64,
    gamma: f64,
    /// What Reno's window alone had in the queue in the last round (`diff_reno`); `None` once used.
    reno_queue: Option<f64>,
    /// Least round-trip time of all (`baseRTT`).
    least: Duration,
    /// Of this round: the sum of its samples and how many.
    sum: Duration,
    samples: u32,
    round: Round,
}

impl Default for Compound {
    fn default() -> Self {
        Self {
            loss_window: 0.0,
            delay_window: 0.0,
            gamma: LARGEST_GAMMA,
            reno_queue: None,
            least: Duration::MAX,
            sum: Duration::ZERO,
            samples: 0,
            round: Round::first(),
        }
    }
}

impl Compound {
    /// The window is what something else made of it: all of it is the window of loss.
    fn follow(&mut self, window: &Window) {
        if (self.loss_window + self.delay_window) as u32 != window.cwnd {
            self.delay_window = self.delay_window.min(f64::from(window.cwnd) - 1.0).max(0.0);
            self.loss_window = f64::from(window.cwnd) - self.delay_window;
        }
    }

    /// Once per round: grows or shrinks the window of delay (section 3 of the draft).
    fn adjust(&mut self) {
        let mean = self.sum.as_secs_f64() / f64::from(self.samples.max(1));
        let queued_part = (1.0 - self.least.as_secs_f64() / mean).max(0.0);
        let all = self.loss_window + self.delay_window;
        let queued = all * queued_part;
        self.reno_queue = Some(self.loss_window * queued_part);
        if queued < self.gamma {
            self.delay_window += (ALPHA * libm::pow(all, EXPONENT) - 1.0).max(0.0);
        } else {
            self.delay_window = (self.delay_window - ZETA * queued).max(0.0);
        }
    }

    /// Learns from a loss how many packets a full queue means (section 5 of the draft).
    fn tune(&mut self) {
        if let Some(queue) = self.reno_queue.take() {
            let gamma = self.gamma * (1.0 - GAMMA_WEIGHT) + GAMMA_WEIGHT * GAMMA_PART * queue;
            self.gamma = gamma.clamp(LEAST_GAMMA, LARGEST_GAMMA);
        }
    }
}

impl CongestionControl for Compound {
    fn name(&self) -> &'static str {
        "compound"
    }

    fn handle_acknowledgement(&mut self, _window: &mut Window, ack: &Acknowledgement) {
        self.round.note(ack);
        if let Some(rtt) = ack.rtt {
            self.least = self.least.min(rtt);
            self.sum += rtt;
            self.samples += 1;
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        let is_round_over = self.round.ends_with(ack);
        if window.in_slow_start() {
            reno::grow(window, ack);
        } else if ack.is_cwnd_limited {
            self.follow(window);
            let all = self.loss_window + self.delay_window;
            self.loss_window += f64::from(ack.acked_or_sacked) / all.max(1.0);
            if is_round_over && self.samples > 0 {
                self.adjust();
            }
            window.cwnd = ((self.loss_window + self.delay_window) as u32).max(1);
        }
        if is_round_over {
            (self.sum, self.samples) = (Duration::ZERO, 0);
        }
    }

    /// Both windows together lose beta, and Reno's half (section 3 of the draft).
    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        self.follow(window);
        self.tune();
        let left = f64::from(window.cwnd) * (1.0 - BETA);
        self.loss_window /= 2.0;
        self.delay_window = (left - self.loss_window).max(0.0);
        (left as u32).max(MINIMUM_THRESHOLD)
    }

    fn handle_state(&mut self, _window: &mut Window, state: State, _now: Timestamp) {
        if state == State::Open {
            self.round.reset();
            (self.sum, self.samples) = (Duration::ZERO, 0);
        }
    }

    /// After a timeout the path is measured anew (section 5 of the draft).
    fn handle_event(&mut self, _window: &mut Window, event: Event) {
        if matches!(event, Event::Timeout { .. }) {
            *self = Self { round: self.round, ..Self::default() };
        }
    }
}
