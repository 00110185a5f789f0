use framewire_units::{Bitrate, Duration, Timestamp};

use super::measurement::bitrate;
use super::settings::VtpSettings;
use crate::controller::PlanRates;

/// A state of figure 6, for any number of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Qi: sending from level i, waiting for the next estimate.
    Quality(usize),
    /// IRi: the estimate admits a higher rate.
    IncreaseRate(usize),
    /// DR: the estimate is below the rate.
    DecreaseRate,
}

/// What an estimate did. The machine rests in Q states only; IR and DR are passed through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    /// The state that was passed through: IRi or DR.
    pub through: State,
    /// The Q state that was reached.
    pub to: State,
    /// Whether the rate was changed.
    pub rate_changed: bool,
}

/// The state machine of figure 6 with its rate.
///
/// Where the paper is silent (`docs/vtp.md` has the reasons): the round-trip timer starts with the session and with
/// every change of the rate by an estimate; the heuristic counts from the moment when the rate first covers the next
/// level and begins anew when it no longer does; a decrease never raises the level; at the top the rate follows the
/// plan; and the rate never leaves the plan's floor and cap.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    heuristic: u32,
    threshold: f64,
    step: f64,
    level: usize,
    /// R in bits per second; the plan's floor before the first plan was seen.
    rate: f64,
    timer: Timestamp,
    /// Since when the rate covers the next level.
    covers_next_since: Option<Timestamp>,
}

impl Machine {
    /// Row 1: level 0, at the rate of its plan.
    pub(crate) fn new(settings: &VtpSettings, now: Timestamp, plan: &PlanRates<'_>) -> Self {
        Self {
            heuristic: settings.heuristic,
            threshold: settings.threshold.as_bps() as f64,
            step: settings.step.as_bits() as f64,
            level: 0,
            rate: plan.floor().as_bps() as f64,
            timer: now,
            covers_next_since: None,
        }
    }

    /// Qi.
    pub(crate) fn state(&self) -> State {
        State::Quality(self.level)
    }

    /// i of Qi.
    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// R.
    pub(crate) fn rate(&self) -> Bitrate {
        bitrate(self.rate)
    }

    /// A new estimate B, in bits per second (rows 2 to 10).
    pub(crate) fn handle_estimate(
        &mut self,
        now: Timestamp,
        estimate: f64,
        round_trip: Duration,
        plan: &PlanRates<'_>,
    ) -> Transition {
        self.handle_plan(plan);
        self.mend_clock(now);
        let before = self.rate;
        let through = if estimate >= self.rate {
            let state = State::IncreaseRate(self.level);
            if now.saturating_since(self.timer) >= round_trip {
                self.increase(now, round_trip, plan);
            }
            state
        } else {
            self.decrease(now, estimate, plan);
            State::DecreaseRate
        };
        self.keep_within(plan);
        Transition { through, to: self.state(), rate_changed: self.rate != before }
    }

    /// The plan as it is now (rows 11 and 12). The driver calls it whenever the place in the stream moves.
    pub(crate) fn handle_plan(&mut self, plan: &PlanRates<'_>) {
        self.level = self.level.min(plan.top());
        while self.level > 0 && reference(plan, self.level) > self.rate + self.threshold {
            self.level -= 1; // row 11
            self.covers_next_since = None;
        }
        // Row 12; at level 0 the floor, whatever the threshold is.
        self.rate = self.rate.max(reference(plan, self.level));
        self.keep_within(plan);
    }

    /// The network has gone silent: level 0 at its rate.
    pub(crate) fn handle_silence(&mut self, now: Timestamp, plan: &PlanRates<'_>) {
        self.level = 0;
        self.rate = plan.floor().as_bps() as f64;
        self.timer = now;
        self.covers_next_since = None;
    }

    /// Rows 5 to 8.
    fn increase(&mut self, now: Timestamp, round_trip: Duration, plan: &PlanRates<'_>) {
        let next = self.level + 1;
        if next > plan.top() || self.rate < reference(plan, next) {
            self.covers_next_since = None;
        } else {
            let since = *self.covers_next_since.get_or_insert(now);
            if now.saturating_since(since) >= round_trip.saturating_mul(self.heuristic) {
                self.level = next;
                self.covers_next_since = None;
            }
        }
        self.rate += self.step;
        self.timer = now;
    }

    /// Rows 9 and 10.
    fn decrease(&mut self, now: Timestamp, estimate: f64, plan: &PlanRates<'_>) {
        let fitting = (0..=self.level).rev().find(|&level| reference(plan, level) <= estimate);
        self.level = fitting.unwrap_or(0);
        self.rate = estimate; // `keep_within` raises it to the floor
        self.timer = now;
        self.covers_next_since = None;
    }

    /// At the top there is nothing to probe for, so the cap is that level's plan.
    fn keep_within(&mut self, plan: &PlanRates<'_>) {
        let floor = plan.floor().as_bps() as f64;
        let cap = if self.level == plan.top() { plan.rate(self.level) } else { plan.cap() };
        self.rate = self.rate.min(cap.as_bps() as f64).max(floor);
    }

    /// A clock that went back must not stop the timers for as long as it went.
    fn mend_clock(&mut self, now: Timestamp) {
        self.timer = self.timer.min(now);
        self.covers_next_since = self.covers_next_since.map(|since| since.min(now));
    }
}

fn reference(plan: &PlanRates<'_>, level: usize) -> f64 {
    plan.rate(level).as_bps() as f64
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
