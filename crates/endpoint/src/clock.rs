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
