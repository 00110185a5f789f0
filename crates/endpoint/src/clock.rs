use std::time::{Instant, SystemTime, UNIX_EPOCH};

use framewire_units::{Duration, Timestamp};

/// What the clock shows at its start: time before that can be named too.
const START: Timestamp = Timestamp::from_nanos(1_000_000_000);

/// Monotonic time, and what stamps of the real-time clock are in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { origin: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        START + self.origin.elapsed()
    }

    /// When the kernel got a datagram that it stamped so, or now: clocks that are set must not matter.
    pub(crate) fn arrival(&self, realtime_nanos: Option<u64>) -> Timestamp {
        let now = self.now();
        let realtime = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let age = realtime_nanos.and_then(|stamp| realtime.checked_sub(Duration::from_nanos(stamp)));
        // Nothing waits in a socket for longer than this thread may sleep.
        now - age.filter(|age| *age < crate::TICK * 2).unwrap_or_default()
    }
}
