use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Nanoseconds since the origin of a run. The world that drives a state machine says what the origin is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The origin of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event of any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A time stamp from nanoseconds since the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A time stamp from microseconds since the origin.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A time stamp from milliseconds since the origin.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A time stamp from seconds since the origin.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time from `earlier` to `self`, zero if `earlier` is later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The first multiple of a tick that is not before it, counted from the origin; the time itself where the tick has no
    /// length, or there is none before the end of time.
    #[inline]
    pub fn next_multiple_of(self, tick: Duration) -> Self {
        if tick.is_zero() {
            return self;
        }
        let tick = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX);
        self.0.checked_next_multiple_of(tick).map_or(self, Self)
    }

    /// Signed nanoseconds from `other` to `self`.
    pub fn nanos_since(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    /// Saturates at [`Timestamp::MAX`].
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<Duration> for Timestamp {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    /// Saturates at [`Timestamp::ZERO`].
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_multiples_from_the_origin() {
        let tick = Duration::from_millis(10);
        for (at, expected) in [(0, 0), (1, 10), (10, 10), (10_001, 10_010)] {
            assert_eq!(Timestamp::from_millis(at).next_multiple_of(tick), Timestamp::from_millis(expected));
        }
        let at = Timestamp::from_nanos(7);
        assert_eq!(at.next_multiple_of(Duration::ZERO), at, "exact");
        assert_eq!(Timestamp::MAX.next_multiple_of(tick), Timestamp::MAX, "there is none");
    }

    #[test]
    fn differences_keep_their_sign() {
        let early = Timestamp::from_millis(1);
        let late = Timestamp::from_millis(3);
        assert_eq!(late.nanos_since(early), 2_000_000);
        assert_eq!(early.nanos_since(late), -2_000_000);
        assert_eq!(early.saturating_since(late), Duration::ZERO);
    }

    #[test]
    fn the_end_of_time_is_never_passed() {
        assert_eq!(Timestamp::MAX + Duration::from_secs(1), Timestamp::MAX);
        assert_eq!(Timestamp::ZERO - Duration::from_secs(1), Timestamp::ZERO);
    }
}
