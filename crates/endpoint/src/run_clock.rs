//! The clock of a run: one that can begin to count in the future, and that the kernel's time stamps are put on.

use std::time::Duration;

use framewire_units::Timestamp;

use crate::clock::Clock;

/// A run's clock: CLOCK_MONOTONIC, counted from the moment the clock was started.
///
/// Start it first thing in the process, so that nothing that is stamped lies before it. A copy has the same time.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    origin: i64,
}

impl RunClock {
    /// A clock that reads zero now.
    pub fn start() -> Self {
        Self { origin: read(libc::CLOCK_MONOTONIC) }
    }

    /// A clock that reads zero until `delay` has passed, and counts from then: streams that are due at zero then begin
    /// when everything stands.
    pub fn starting_in(delay: Duration) -> Self {
        let delay = i64::try_from(delay.as_nanos()).unwrap_or(i64::MAX);
        Self { origin: read(libc::CLOCK_MONOTONIC).saturating_add(delay) }
    }

    /// The same clock, counting from `by` later on.
    pub fn later(self, by: Duration) -> Self {
        Self { origin: self.origin.saturating_add(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX)) }
    }

    /// How long the clock still reads zero; `None` once it counts.
    pub fn until_origin(&self) -> Option<Duration> {
        let left = self.origin - read(libc::CLOCK_MONOTONIC);
        u64::try_from(left).ok().filter(|&nanos| nanos > 0).map(Duration::from_nanos)
    }

    /// CLOCK_MONOTONIC now, in nanoseconds: what all clocks of a machine have in common, also before they count.
    pub fn monotonic_now() -> i64 {
        read(libc::CLOCK_MONOTONIC)
    }

    /// The time since the start.
    pub fn now(&self) -> Timestamp {
        self.of_monotonic(read(libc::CLOCK_MONOTONIC))
    }

    /// A CLOCK_MONOTONIC reading in nanoseconds on this clock; readings before the start become the start.
    pub(crate) fn of_monotonic(&self, nanos: i64) -> Timestamp {
        Timestamp::from_nanos(u64::try_from(nanos - self.origin).unwrap_or(0))
    }

    /// The CLOCK_MONOTONIC reading in nanoseconds at `at`, for timers.
    pub fn monotonic_nanos(&self, at: Timestamp) -> i64 {
        self.origin.saturating_add(i64::try_from(at.as_nanos()).unwrap_or(i64::MAX))
    }

    /// A CLOCK_REALTIME reading in nanoseconds, such as the kernel's stamp on a packet, on this clock.
    ///
    /// `offset` comes from [`realtime_offset`](Self::realtime_offset), read near the stamp: the wall clock may be set
    /// during a run.
    pub fn from_realtime(&self, nanos: i64, offset: i64) -> Timestamp {
        self.of_monotonic(nanos - offset)
    }

    /// CLOCK_REALTIME less CLOCK_MONOTONIC, in nanoseconds.
    pub fn realtime_offset() -> i64 {
        // The shorter the time between the two outer readings, the closer the middle one lies between them.
        let (mut best, mut width) = (0, i64::MAX);
        for _ in 0..3 {
            let before = read(libc::CLOCK_MONOTONIC);
            let real = read(libc::CLOCK_REALTIME);
            let after = read(libc::CLOCK_MONOTONIC);
            if after - before < width {
                width = after - before;
                best = real - (before + (after - before) / 2);
            }
        }
        best
    }

    /// The time since 1970-01-01 UTC at `at`.
    pub fn to_unix(&self, at: Timestamp) -> Duration {
        let nanos = self.monotonic_nanos(at).saturating_add(Self::realtime_offset());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }
}

impl Clock for RunClock {
    fn now(&self) -> Timestamp {
        Self::now(self)
    }

    fn arrival(&self, realtime_nanos: Option<u64>) -> Timestamp {
        let stamped = realtime_nanos.and_then(|nanos| i64::try_from(nanos).ok());
        stamped.map_or_else(|| self.now(), |nanos| self.from_realtime(nanos, Self::realtime_offset()))
    }
}

fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to, and both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_clocks_agree() {
        let clock = RunClock::start();
        let slack = 200_000;
        let agree = || {
            let offset = RunClock::realtime_offset();
            let before = clock.now();
            let real = clock.from_realtime(read(libc::CLOCK_REALTIME), offset);
            let after = clock.now();
            real.nanos_since(before) > -slack && after.nanos_since(real) > -slack
        };
        // Between two of these readings a busy machine may run something else; it does not do so each time.
        assert!((0..1_000).any(|_| agree()), "never within {slack} ns");
        let now = clock.now();
        assert_eq!(clock.of_monotonic(clock.monotonic_nanos(now)), now);
    }

    #[test]
    fn what_was_stamped_before_the_start_counts_as_the_start() {
        assert_eq!(RunClock::start().of_monotonic(0), Timestamp::ZERO);
    }
}
