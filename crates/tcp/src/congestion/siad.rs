//! TCP SIAD: reductions that just empty the queue, and growth that takes a given number of round trips to the next one.
//!
//! Kuehlewind, "TCP SIAD: Congestion Control supporting High Speed and Low Latency" (ETH TIK technical report 367, 2016;
//! first published in 2015). As the author's code for Linux has it where the report says less: how the window of one round
//! trip ago is estimated, and when the least delay is given up. Delays are those of packets, not of time stamps.

use framewire_units::{Duration, Timestamp};

use super::{Acknowledgement, CongestionControl, Event, MINIMUM_THRESHOLD, Window};

/// Round trips from one congestion event to the next (section III of the report: Num_RTT).
const ROUNDS: u32 = 20;
/// Packets that a reduction takes beside what the delay says, against rounding (section III of the report).
const OFFSET: u32 = 1;
/// Minima that grow in a row, after which the path is taken to be longer than thought.
const GROWING_MINIMA: usize = 3;

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Siad {
    /// Packets that the window grows by per round trip (alpha). Below the threshold it is the window: slow start.
    step: f64,
    /// Part of a packet that it has grown by since the last whole one.
    credit: f64,
    /// Where linear growth ends and fast increase begins (`incthresh`).
    target: u32,
    /// The window at the last congestion event, as estimated (`cwnd_max`).
    last_maximum: u32,
    /// The last sample, and the smaller of the last two, so that single high ones do not count.
    last_delay: Option<Duration>,
    delay: Option<Duration>,
    /// Least delay, and least since the last congestion event.
    least: Option<Duration>,
    least_of_epoch: Option<Duration>,
    /// Minima of epochs that have grown in a row.
    growing_minima: Vec<Duration>,
    /// Further reductions in this epoch.
    decreases: u32,
    /// The queue has been empty since the reduction, as far as the delay says.
    has_emptied: bool,
    has_grown: bool,
}

impl Default for Siad {
    fn default() -> Self {
        Self {
            step: f64::INFINITY,
            credit: 0.0,
            target: 0,
            last_maximum: 0,
            last_delay: None,
            delay: None,
            least: None,
            least_of_epoch: None,
            growing_minima: Vec::new(),
            decreases: 0,
            has_emptied: true,
            has_grown: false,
        }
    }
}

impl Siad {
    fn take_delay(&mut self, window: &Window, rtt: Duration) {
        self.delay = Some(rtt.min(self.last_delay.unwrap_or(rtt)));
        self.last_delay = Some(rtt);
        if self.least.is_none_or(|least| rtt <= least) {
            self.least = Some(rtt);
            self.least_of_epoch = Some(rtt);
            self.has_emptied = true;
        } else if self.least_of_epoch.is_none_or(|least| rtt <= least) {
            self.least_of_epoch = Some(rtt);
            if f64::from(window.cwnd) > f64::from(window.ssthresh) + self.step + 1.0 {
                // As small now as after the reduction: the queue is empty, and the path is longer than it was.
                self.least = Some(rtt);
                self.has_emptied = true;
            }
        }
    }

    /// The part of the window that fills the path without a queue.
    fn path_part(&self) -> Option<f64> {
        let (least, delay) = (self.least?, self.delay?);
        Some(least.as_secs_f64() / delay.as_secs_f64().max(1e-9))
    }

    /// The step that gets from `from` to the target in so many round trips, at least a packet.
    fn step_from(&self, from: u32, rounds: u32) -> f64 {
        (f64::from(self.target.saturating_sub(from)) / f64::from(rounds.max(1))).max(1.0)
    }

    /// The queue was not emptied in the first round trip, as another sender keeps it filled: reduces again (section III
    /// of the report, "additional decreases").
    fn decrease_again(&mut self, window: &mut Window) {
        self.decreases += 1;
        self.credit = 0.0;
        // `ssthresh` is the window of one round trip ago.
        let part = self.path_part().unwrap_or(0.5);
        let mut cwnd = ((f64::from(window.ssthresh) * part) as u32).saturating_sub(OFFSET).max(MINIMUM_THRESHOLD);
        let rounds = ROUNDS - self.decreases;
        let step = self.step_from(cwnd, rounds - 1);
        // At least by what it is about to grow, and so that the last one reaches the least window.
        let further = (step as u32).max(cwnd / rounds);
        cwnd = cwnd.saturating_sub(further).max(MINIMUM_THRESHOLD);
        self.step = self.step_from(cwnd, rounds);
        window.cwnd = cwnd;
        window.ssthresh = cwnd.saturating_sub(1).max(MINIMUM_THRESHOLD);
        // No more where nothing is left, or where it would have to more than double per round trip afterwards.
        self.has_emptied |= cwnd == MINIMUM_THRESHOLD || self.step > f64::from(cwnd);
    }

    fn increase(&mut self, window: &mut Window, acked: u32) {
        if window.in_slow_start() {
            self.step = f64::from(window.cwnd);
        }
        self.credit += f64::from(acked) * self.step / f64::from(window.cwnd);
        let packets = (self.credit as u32).min(acked);
        self.credit = (self.credit - f64::from(packets)).min(f64::from(acked));
        if packets == 0 {
            return;
        }
        let before = window.cwnd;
        window.cwnd = window.cwnd.saturating_add(packets);
        self.has_grown = true;
        let passes = |threshold: u32| before < threshold && window.cwnd >= threshold;
        if passes(window.ssthresh) {
            self.step = self.step_from(window.ssthresh, ROUNDS);
        } else if passes(self.target) && before >= window.ssthresh {
            self.step = 1.0;
        } else if window.cwnd > self.target && window.cwnd > window.ssthresh {
            // Fast increase: the step doubles per round trip, up to half the window.
            let limit = f64::from(window.cwnd) / 2.0;
            self.step = (self.step + f64::from(packets)).min(limit.max(self.step));
        }
    }

    /// The window when the congestion began, about one round trip ago.
    fn window_at_congestion(&self, window: &Window) -> u32 {
        let cwnd = window.cwnd;
        let step = self.step.min(f64::from(cwnd));
        let grown = if !self.has_grown {
            0
        } else if cwnd <= window.ssthresh || step >= f64::from(cwnd) {
            cwnd - cwnd / 2
        } else if cwnd > self.target && self.target > 0 {
            // The step doubled in the last round trip.
            (step / 2.0) as u32
        } else {
            step as u32
        };
        cwnd.saturating_sub(grown).max(MINIMUM_THRESHOLD)
    }

    /// Gives the least delay up after minima that only grew.
    fn review_least(&mut self) {
        let Some(least) = self.least_of_epoch else { return };
        if self.growing_minima.last().is_some_and(|&last| least <= last) {
            self.growing_minima.clear();
        }
        self.growing_minima.push(least);
        if self.growing_minima.len() > GROWING_MINIMA {
            self.least = self.growing_minima.first().copied();
            self.growing_minima.clear();
        }
    }
}

impl CongestionControl for Siad {
    fn name(&self) -> &'static str {
        "siad"
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if let Some(rtt) = ack.rtt {
            self.take_delay(window, rtt);
        }
        if window.cwnd > self.target || window.in_slow_start() {
            self.has_emptied = true;
        }
        if !ack.is_cwnd_limited {
            return;
        }
        let is_past_first_round = f64::from(window.cwnd) > f64::from(window.ssthresh) + self.step + 2.0;
        if is_past_first_round && !self.has_emptied && self.decreases < ROUNDS - 1 {
            self.decrease_again(window);
        } else {
            self.increase(window, ack.acked_or_sacked);
        }
    }

    /// Just as far as empties the queue (section III of the report, "adaptive decrease"), and how fast to grow then.
    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        let maximum = self.window_at_congestion(window);
        self.review_least();
        let part = self.path_part().unwrap_or(0.5);
        let threshold = ((f64::from(maximum) * part) as u32).saturating_sub(OFFSET).max(MINIMUM_THRESHOLD);
        // The trend goes on, unless the window has halved since.
        self.target = if self.last_maximum < maximum.saturating_mul(2) {
            (2 * maximum).saturating_sub(self.last_maximum).max(threshold)
        } else {
            threshold
        };
        self.step = self.step_from(threshold, ROUNDS);
        self.last_maximum = maximum;
        self.credit = 0.0;
        threshold
    }

    fn undo(&mut self, window: &Window) -> u32 {
        self.target = self.last_maximum;
        self.has_emptied = true;
        window.cwnd.max(window.prior_cwnd)
    }

    fn handle_event(&mut self, _window: &mut Window, event: Event) {
        if matches!(event, Event::ReductionComplete { .. }) {
            self.least_of_epoch = None;
            self.decreases = 0;
            self.has_emptied = false;
            self.has_grown = false;
        }
    }

    fn start(&mut self, window: &mut Window, _srtt: Duration, _now: Timestamp) {
        self.target = window.cwnd;
        self.last_maximum = window.cwnd;
    }
}
