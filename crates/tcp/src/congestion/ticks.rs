//! Linux' coarse clock. Some modules count in timer ticks ("jiffies"), and their arithmetic rounds to them.

use framewire_units::{Duration, Timestamp};

/// Ticks per second: CONFIG_HZ of the kernel that the validation runs against, and Debian's.
pub(super) const TICKS_PER_SECOND: u64 = 250;

const NANOS_PER_TICK: u64 = 1_000_000_000 / TICKS_PER_SECOND;

/// The tick that `now` falls in. Linux: `tcp_jiffies32`.
pub(super) fn tick(now: Timestamp) -> u64 {
    now.as_nanos() / NANOS_PER_TICK
}

/// Ticks that cover `duration`. Linux: `usecs_to_jiffies`, which rounds up.
pub(super) fn ticks_in(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).div_ceil(NANOS_PER_TICK)
}
