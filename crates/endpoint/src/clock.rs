//! This kernel's time as a count of a run's own: monotonic, and for stamps of arrivals put right by the real-time clock
//! that the kernel stamps with.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use framewire_units::{Duration, Timestamp};

/// What time it is, in a world's own count.
pub trait Clock: Copy {
    /// Now.
    fn now(&self) -> Timestamp;

    /// When the kernel got a datagram that it stamped so (`CLOCK_REALTIME` in nanoseconds since 1970); now, where the
    /// stamp is missing or cannot be.
    fn arrival(&self, realtime_nanos: Option<u64>) -> Timestamp;
}

/// What the clock shows at its start: time before that can be named too.
const START: Timestamp = Timestamp::from_nanos(1_000_000_000);

/// Monotonic time since the clock was made.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Timestamp {
        START + self.origin.elapsed()
    }

    /// Clocks that are set must not matter.
    fn arrival(&self, realtime_nanos: Option<u64>) -> Timestamp {
        let now = self.now();
        let realtime = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let age = realtime_nanos.and_then(|stamp| realtime.checked_sub(Duration::from_nanos(stamp)));
        // Nothing waits in a socket for longer than this thread may sleep.
        now - age.filter(|age| *age < crate::TICK * 2).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn realtime() -> u64 {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        u64::try_from(since_1970.as_nanos()).expect("before 2554")
    }

    /// A stamp from before or after the real-time clock was set has no meaning: now is taken.
    #[test]
    fn stamps_count_while_they_can_be_true() {
        const MILLI: u64 = 1_000_000;
        let clock = MonotonicClock::start();
        std::thread::sleep(Duration::from_millis(300));
        let stamps = [None, Some(0), Some(realtime() + 3_600_000 * MILLI), Some(realtime() - 3_600_000 * MILLI)];
        for stamp in stamps {
            let before = clock.now();
            let arrival = clock.arrival(stamp);
            assert!((before..=clock.now()).contains(&arrival), "{stamp:?}: {arrival}");
        }
        let (before, stamp) = (clock.now(), realtime() - 100 * MILLI);
        let ago = before.saturating_since(clock.arrival(Some(stamp)));
        assert!((Duration::from_millis(80)..=Duration::from_millis(101)).contains(&ago), "{ago:?}");
    }
}
