//! How much of the limits is used up before a rule acts.
//!
//! In time it is a reserve that counts, not a share: what has to come after the decision, and still in time, takes as
//! long with a limit of a second as with one of three. With short limits a share of the limit is kept all the same. In
//! frames and bytes, whose limits say nothing of time, it is a share.

use framewire_units::Duration;

use crate::limits::{Limits, Share};
use crate::queue::Level;

/// Above this, frames go from the end of an old group.
pub(super) const END_OF_GROUP: Threshold =
    Threshold { reserve: Duration::from_millis(700), least: part(1, 2), below: Duration::ZERO, share: part(1, 2) };

/// So much is left of what waits then: room for half a group of half a second. More saves frames that the link may yet
/// take; less lets fewer groups lose their ends.
pub(super) const LEFT: Threshold = Threshold { below: Duration::from_millis(300), share: part(1, 4), ..END_OF_GROUP };

/// Above this, all that is left of an old group goes, its key frame too.
pub(super) const OLD_GROUP: Threshold = Threshold { reserve: Duration::from_millis(400), ..END_OF_GROUP };

/// Above this, frames go without which the stream goes on: the reserve is about the time that a P frame and what was
/// sent before it take on a link that is too slow for them.
pub(super) const DROPPABLE: Threshold =
    Threshold { reserve: Duration::from_millis(320), least: part(1, 3), below: Duration::ZERO, share: part(7, 8) };

const fn part(numerator: u128, denominator: u128) -> Share {
    Share { numerator, denominator }
}

/// A level of waiting: of a limit in time all but `reserve`, but no less than `least` of it, less `below`; of the other
/// limits `share`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    reserve: Duration,
    least: Share,
    below: Duration,
    share: Share,
}

impl Threshold {
    /// True when more waits.
    pub(super) fn exceeded_by(&self, limits: Limits, level: Level) -> bool {
        let untimed = Limits { time: None, ..limits };
        limits.time.is_some_and(|limit| level.time > self.time(limit)) || untimed.share_exceeded_by(level, self.share)
    }

    /// Of a limit in time.
    fn time(&self, limit: Duration) -> Duration {
        let least = limit.as_nanos() * self.least.numerator / self.least.denominator;
        let least = Duration::from_nanos(u64::try_from(least).unwrap_or(u64::MAX));
        limit.saturating_sub(self.reserve).max(least).saturating_sub(self.below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_counts_in_long_limits_and_a_share_in_short_ones() {
        let millis = |threshold: Threshold, limit| threshold.time(Duration::from_millis(limit)).as_millis();
        let all = |limit| [LEFT, END_OF_GROUP, OLD_GROUP, DROPPABLE].map(|threshold| millis(threshold, limit));
        assert_eq!(all(3_000), [2_000, 2_300, 2_600, 2_680]);
        assert_eq!(all(1_000), [200, 500, 600, 680]);
        assert_eq!(all(300), [0, 150, 150, 100]);
        assert_eq!(all(0), [0; 4]);
    }

    #[test]
    fn whichever_limit_is_used_up_first_counts() {
        let limits = Limits { frames: Some(8), bytes: None, time: Some(Duration::from_secs(1)) };
        let level = |frames, millis| Level { frames, time: Duration::from_millis(millis), ..Level::default() };
        assert!(!DROPPABLE.exceeded_by(limits, level(7, 680)));
        assert!(DROPPABLE.exceeded_by(limits, level(8, 100)));
        assert!(DROPPABLE.exceeded_by(limits, level(1, 681)));
        assert!(!DROPPABLE.exceeded_by(Limits::default(), level(1_000, 100_000)));
    }
}
