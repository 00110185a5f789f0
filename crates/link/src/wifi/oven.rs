//! A microwave oven: an interferer in step with the mains.
//!
//! The magnetron of a domestic oven is fed by a half-wave rectifier, so it radiates during one half of each mains
//! cycle (Kamerman and Erkoçevic, "Microwave oven interference on wireless LANs operating in the 2.4 GHz ISM band",
//! PIMRC 1997). Its line is narrow at any moment, but its frequency follows the supply: it sweeps while the voltage
//! rises and falls and rests in between (Taher, Misurac, LoCicero and Ucci, "Microwave oven signal modelling", WCNC
//! 2008). A channel of 22 MHz beside the resting frequency is therefore crossed twice in each cycle, for about two
//! milliseconds. The constants below are the same for every scenario; `docs/links.md` says where each comes from.

use framewire_units::{Duration, Seed, Timestamp};

use crate::config::OvenConfig;
use crate::wifi::bit_errors::from_db;

/// Duration of a crossing: this share of a mains cycle (2 ms at 50 Hz). The line sweeps over tens of MHz in the quarter
/// of a cycle in which the voltage rises, and back when it falls: 50 MHz in 5 ms cross 22 MHz in about 2 ms.
const CROSSING_SHARE: u64 = 10;
/// The crossings are centred in the rise and in the fall of the voltage: this share of a cycle after the magnetron
/// starts and before it stops.
const EDGE_SHARE: u64 = 8;
/// A crossing comes earlier or later by at most this share of a cycle (0.25 ms at 50 Hz).
const JITTER_SHARE: u64 = 80;
/// Standard deviation of the strength of a crossing, in dB: the turning stirrer and load change the leaking pattern.
const STRENGTH_DEVIATION_DB: f64 = 6.0;

/// One sweep of the magnetron's line through the channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crossing {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    /// Interference over signal at its middle, a ratio of powers.
    peak: f64,
}

impl Crossing {
    /// Interference over signal at `at`: zero at both ends, the shape of a raised cosine.
    pub(super) fn interference(&self, at: Timestamp) -> f64 {
        let elapsed = at.saturating_since(self.start).as_nanos() as f64;
        let duration = self.end.saturating_since(self.start).as_nanos() as f64;
        let sine = libm::sin(std::f64::consts::PI * (elapsed / duration).min(1.0));
        self.peak * sine * sine
    }
}

/// Interference as a function of (seed, time).
#[derive(Clone, Debug)]
pub(super) struct Oven {
    config: OvenConfig,
    seed: Seed,
    period: u64,
    /// Time from the origin back to the start of a mains cycle.
    phase: u64,
}

impl Oven {
    pub(super) fn new(config: OvenConfig, seed: Seed) -> Self {
        let period = config.mains.period().as_nanos() as u64;
        let phase = (seed.stream("mains phase", &[]).next_f64() * period as f64) as u64;
        Self { config, seed, period, phase }
    }

    /// All crossings that touch the time from `from` to `to`.
    pub(super) fn crossings(&self, from: Timestamp, to: Timestamp) -> impl Iterator<Item = Crossing> {
        let touches = move |start: Timestamp, end: Timestamp| start < to && from < end;
        let on = self.config.on.iter().any(|on| touches(on.start, on.end));
        let first = self.cycle(from);
        let last = if on { self.cycle(to) + 1 } else { first };
        (first..last)
            .flat_map(|cycle| [0, 1].map(|which| (cycle, which)))
            .filter_map(|(cycle, which)| self.crossing(cycle, which))
            .filter(move |crossing| touches(crossing.start, crossing.end))
    }

    fn cycle(&self, at: Timestamp) -> u64 {
        at.as_nanos().saturating_add(self.phase) / self.period
    }

    /// One of the two crossings of a cycle; `None` when the oven is not on all along it.
    fn crossing(&self, cycle: u64, which: u64) -> Option<Crossing> {
        let mut draws = self.seed.stream("oven", &[cycle, which]);
        let edge = self.period / EDGE_SHARE;
        let offset = if which == 0 { edge } else { self.period / 2 - edge };
        let jitter = self.period as f64 / JITTER_SHARE as f64 * (2.0 * draws.next_f64() - 1.0);
        let centre = cycle.checked_mul(self.period)?.checked_add(offset)?.checked_add_signed(jitter as i64)?;
        let start =
            Timestamp::from_nanos(centre.checked_sub(self.phase)?.checked_sub(self.period / CROSSING_SHARE / 2)?);
        let end = start + Duration::from_nanos(self.period / CROSSING_SHARE);
        let peak =
            from_db(self.config.strength_db + STRENGTH_DEVIATION_DB * normal(draws.next_f64(), draws.next_f64()));
        self.config.on.iter().any(|on| on.start <= start && end <= on.end).then_some(Crossing { start, end, peak })
    }
}

/// A normal deviate of two uniform ones (Box and Muller, 1958).
fn normal(first: f64, second: f64) -> f64 {
    libm::sqrt(-2.0 * libm::log(1.0 - first)) * libm::cos(2.0 * std::f64::consts::PI * second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Interval, Mains};

    fn oven(mains: Mains, seed: u64) -> Oven {
        let on = vec![Interval { start: Timestamp::from_secs(1), end: Timestamp::from_secs(3) }];
        Oven::new(OvenConfig { on, mains, strength_db: 0.0 }, Seed(seed))
    }

    #[test]
    fn it_crosses_the_channel_twice_a_cycle_while_it_is_on() {
        for (mains, cycles) in [(Mains::Hz50, 100.0), (Mains::Hz60, 120.0)] {
            let all: Vec<_> = oven(mains, 3).crossings(Timestamp::ZERO, Timestamp::from_secs(9)).collect();
            assert!((all.len() as f64 / 2.0 - cycles).abs() <= 1.0, "{}", all.len());
            assert!(all.iter().all(|c| c.start >= Timestamp::from_secs(1) && c.end <= Timestamp::from_secs(3)));
            assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }

    #[test]
    fn it_is_the_same_whoever_asks() {
        let oven = oven(Mains::Hz50, 5);
        let all: Vec<_> = oven.crossings(Timestamp::ZERO, Timestamp::from_secs(4)).collect();
        let mut pieces: Vec<Crossing> = Vec::new();
        for piece in 0..4_000 {
            let found = oven.crossings(Timestamp::from_millis(piece), Timestamp::from_millis(piece + 1));
            pieces.extend(found.filter(|c| c.start >= Timestamp::from_millis(piece)));
        }
        assert_eq!(all, pieces);
    }

    #[test]
    fn its_strength_is_the_median() {
        let all: Vec<_> = oven(Mains::Hz50, 7).crossings(Timestamp::ZERO, Timestamp::from_secs(4)).collect();
        let stronger = all.iter().filter(|c| c.peak > 1.0).count() as f64 / all.len() as f64;
        assert!((0.38..0.62).contains(&stronger), "{stronger} of {}", all.len());
        let middle = all[0].start + all[0].end.saturating_since(all[0].start) / 2;
        assert!((all[0].interference(middle) / all[0].peak - 1.0).abs() < 1e-9);
        assert_eq!(all[0].interference(all[0].start), 0.0);
    }
}
