//! Until when missing bytes are sent ahead (section 5.3).

use framewire_units::Duration;

use crate::schedule::{Occupancy, ScheduleError};

/// t_j: |min U(t)| bytes are sent in [0, t_j] beside what the plan sends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreSend {
    /// Nothing is sent ahead: frames may be late.
    Never,
    /// Until this time.
    Until(Duration),
    /// Until this time, or until the first underflow where that comes before.
    AtMost(Duration),
    /// Until the first underflow of any level: with this, of all t_j, the buffer fills least and the rate rises least.
    Latest,
}

impl PreSend {
    /// t_j for plans with these buffers; nothing when no plan misses a byte.
    ///
    /// Until the first underflow the plan itself is enough, so what is sent ahead by then prevents all of them. A later
    /// t_j could miss the first, even where it comes before the worst.
    pub(super) fn until(self, levels: &[Occupancy]) -> Result<Option<Duration>, ScheduleError> {
        let underflows =
            levels.iter().enumerate().filter_map(|(level, plan)| Some((plan.first_underflow_time()?, level)));
        let Some((first_underflow, level)) = underflows.min() else { return Ok(None) };
        match self {
            Self::Never => Ok(None),
            Self::Until(until) | Self::AtMost(until) if until.is_zero() => Err(ScheduleError::PreSendAtOnce),
            Self::Until(until) if until > first_underflow => {
                Err(ScheduleError::PreSendTooLate { until, level, first_underflow })
            }
            Self::Until(until) => Ok(Some(until)),
            Self::AtMost(until) => Ok(Some(until.min(first_underflow))),
            Self::Latest => Ok(Some(first_underflow)),
        }
    }
}
