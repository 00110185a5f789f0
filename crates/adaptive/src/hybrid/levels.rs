use framewire_units::{Bitrate, Duration, Timestamp};

use crate::controller::PlanRates;
use crate::source::Plan;

// Times and margins of levels have no source. Measured (docs/vtp-hybrid.md, Constants): 0.7 and 1.4 times of each
// change no level by 0.2 on nine paths, but for a margin of 0.67, a quarter of a level beside BBR flows.

/// Of the rate that is allowed, what a climb reckons with.
const MARGIN: f64 = 0.95;

/// Playout buffer level, in seconds, with which a level may be entered whose plan is above the rate for a while.
const COMFORT: f64 = 4.0;

/// A level is left when less than this, in seconds, would be left in the playout buffer ...
const DANGER: f64 = 0.5;

/// ... after sending so many more seconds of it: the next I frame may be that far.
const REACTION: u32 = 2;

/// Time between a change of level and the next climb.
const DWELL: Duration = Duration::from_secs(2);

/// A climb failed when the level is left within this time.
const TOO_SHORT: Duration = Duration::from_secs(20);

/// How long the level is not entered again after its first failed climb, and at most: doubled with each.
const FIRST_HOLD: Duration = Duration::from_secs(5);
const LONGEST_HOLD: Duration = Duration::from_secs(80);

/// Where the stream is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position {
    /// When.
    pub now: Timestamp,
    /// Playout buffer level of the viewer, in seconds: below zero it stalls.
    pub buffer_level: f64,
    /// The rate allowed, as a mean over some seconds, in bits of video per second.
    pub steady: f64,
    /// The rate allowed now.
    pub rate: f64,
    /// Whether that rate is still doubling: then each level is taken as soon as it is reached.
    pub is_starting: bool,
}

/// Memory of the climbs to a level.
#[derive(Clone, Copy, Debug, Default)]
struct Climbs {
    entered: Option<Timestamp>,
    hold: Duration,
    held_until: Option<Timestamp>,
}

/// The level to send.
///
/// For each level the plan ahead says how much the viewer's playout buffer would hold at each second, were it sent at the rate
/// allowed. A level is entered when that never falls, or never below what is comfortable, and left when it is about to
/// run out: a full buffer is spent before the level falls, and a plan that soon asks for too much is not entered. A
/// level that was left soon after it was entered is not entered again for a while, which doubles each time.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    horizon: u32,
    level: usize,
    changed: Option<Timestamp>,
    climbs: Vec<Climbs>,
}

impl Levels {
    /// At the lowest level; the plan is looked at for `horizon` ahead, in whole seconds.
    pub(crate) fn new(horizon: Duration) -> Self {
        let horizon = u32::try_from(horizon.as_secs()).unwrap_or(u32::MAX);
        Self { horizon, level: 0, changed: None, climbs: vec![] }
    }

    /// The level.
    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Decides again. Without the whole plan, the one here is taken to go on.
    pub(crate) fn update(&mut self, position: &Position, here: &PlanRates<'_>, ahead: Option<&dyn Plan>) -> usize {
        self.climbs.resize(here.rates.len(), Climbs::default());
        self.level = self.level.min(here.top());
        let project =
            |level, rate, seconds| lowest_buffer_level(here, ahead, (level, rate), position.buffer_level, seconds);
        let is_empty = |level| project(level, position.steady, REACTION) < DANGER;
        if self.level > 0 && is_empty(self.level) {
            let lower =
                (0..self.level).rev().find(|&level| rate_of(here.rate(level)) <= position.rate.min(position.steady));
            self.fall(position.now, lower.unwrap_or(0));
        } else if position.is_starting || self.may_climb(position.now) {
            let rate = MARGIN * position.rate.min(position.steady);
            let enough = position.buffer_level.min(COMFORT);
            let fits =
                |level: usize| project(level, rate, self.horizon) >= enough && !self.is_held(position.now, level);
            if let Some(higher) = (self.level + 1..here.rates.len()).rev().find(|&level| fits(level)) {
                self.climb(position.now, higher);
            }
        }
        self.level
    }

    fn may_climb(&self, now: Timestamp) -> bool {
        self.changed.is_none_or(|changed| now.saturating_since(changed) >= DWELL)
    }

    fn is_held(&self, now: Timestamp, level: usize) -> bool {
        self.climbs[level].held_until.is_some_and(|until| now < until)
    }

    fn climb(&mut self, now: Timestamp, level: usize) {
        for climbs in &mut self.climbs[self.level + 1..=level] {
            climbs.entered = Some(now);
        }
        (self.level, self.changed) = (level, Some(now));
    }

    fn fall(&mut self, now: Timestamp, level: usize) {
        for climbs in &mut self.climbs[level + 1..=self.level] {
            let failed = climbs.entered.is_some_and(|entered| now.saturating_since(entered) < TOO_SHORT);
            climbs.hold = if failed { (climbs.hold * 2).clamp(FIRST_HOLD, LONGEST_HOLD) } else { Duration::ZERO };
            climbs.held_until = Some(now + climbs.hold);
        }
        (self.level, self.changed) = (level, Some(now));
    }
}

/// The lowest playout buffer level of the viewer over the next seconds of the movie, were they sent from this level at this
/// rate: in each second of video, a second comes in and the time that it takes to send goes out.
fn lowest_buffer_level(
    here: &PlanRates<'_>,
    ahead: Option<&dyn Plan>,
    (level, rate): (usize, f64),
    buffer_level: f64,
    seconds: u32,
) -> f64 {
    let second = Duration::from_secs(1);
    let planned = |number: u32| match ahead {
        Some(plan) if plan.levels() == here.rates.len() => {
            rate_of(plan.rate_at(level, here.now_in_stream.saturating_add(second * number)))
        }
        _ => rate_of(here.rate(level)),
    };
    let levels_ahead = (0..seconds).scan(buffer_level, |buffer_level, number| {
        *buffer_level += 1.0 - planned(number) / rate.max(1.0);
        Some(*buffer_level)
    });
    levels_ahead.fold(buffer_level, f64::min)
}

fn rate_of(rate: Bitrate) -> f64 {
    rate.as_bps() as f64
}
