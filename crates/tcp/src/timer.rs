//! The deadlines of an endpoint.

use framewire_units::{Duration, Timestamp};

/// What a timeout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing was acknowledged for a retransmission timeout (RFC 6298).
    Retransmission,
    /// The tail of a flight may be lost: probe for it (RFC 8985, section 7).
    LossProbe,
    /// A packet overtaken by later ones has had its time (RFC 8985, section 6.3).
    Reordering,
    /// The peer's window is closed: see whether it has opened (RFC 9293, section 3.8.6.1).
    WindowProbe,
    /// The pacer lets the next burst go.
    Pacing,
    /// A received segment is to be acknowledged now (RFC 9293, section 3.8.6.3).
    Acknowledgement,
}

/// When to call [`Endpoint::handle_timeout`](crate::Endpoint::handle_timeout), and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// When.
    pub at: Timestamp,
    /// What for.
    pub reason: Reason,
}

impl Timeout {
    /// The earlier of two.
    pub(crate) fn earlier(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(a), Some(b)) => Some(if b.at < a.at { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}

/// Timers nearer than this many ticks expire to the tick. Linux' timer wheel: `LVL_START(1)`.
const FINEST_LEVEL: u64 = 63;
/// Each level of the wheel reaches eight times as far as the one below, in steps eight times as coarse. Linux:
/// `LVL_CLK_SHIFT`.
const LEVEL_SHIFT: u32 = 3;
/// Levels of the wheel. Linux: `LVL_DEPTH` at HZ = 250.
const LEVELS: u32 = 9;

/// When a timer of `delay` that is started at `now` expires: as on Linux' timer wheel, which rounds up to its tick,
/// and farther deadlines up to coarser steps, so that no timer is early. A tick of zero is an exact clock.
pub(crate) fn expiry(now: Timestamp, delay: Duration, tick: Duration) -> Timestamp {
    let tick = tick.as_nanos() as u64;
    if tick == 0 {
        return now + delay;
    }
    let ticks = (delay.as_nanos() as u64).div_ceil(tick);
    let expires = now.as_nanos() / tick + ticks;
    let mut level = 0;
    while level + 1 < LEVELS && ticks >= FINEST_LEVEL << (level * LEVEL_SHIFT) {
        level += 1;
    }
    let shift = level * LEVEL_SHIFT;
    let bucket = ((expires >> shift) + 1) << shift;
    Timestamp::from_nanos(bucket.saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(4);

    #[test]
    fn near_timers_expire_on_the_tick_after() {
        let now = Timestamp::from_micros(1_001_500);
        // 200 ms are 50 ticks: from tick 250 to tick 300, one later so as never to be early.
        assert_eq!(expiry(now, Duration::from_millis(200), TICK), Timestamp::from_millis(301 * 4));
        assert_eq!(expiry(now, Duration::from_millis(1), TICK), Timestamp::from_millis(252 * 4));
    }

    #[test]
    fn farther_timers_expire_on_coarser_steps_and_never_early() {
        let now = Timestamp::from_micros(1_001_500);
        // 300 ms are 75 ticks: tick 325, up to the next multiple of 8.
        assert_eq!(expiry(now, Duration::from_millis(300), TICK), Timestamp::from_millis(328 * 4));
        for millis in (1..20_000).step_by(7) {
            let delay = Duration::from_millis(millis);
            let late = expiry(now, delay, TICK).saturating_since(now + delay);
            assert!(expiry(now, delay, TICK) > now + delay, "{delay:?} is early");
            assert!(late <= delay / 7 + 2 * TICK, "{delay:?} is late by {late:?}");
        }
    }

    #[test]
    fn an_exact_clock_is_exact() {
        let now = Timestamp::from_nanos(17);
        assert_eq!(expiry(now, Duration::from_nanos(5), Duration::ZERO), Timestamp::from_nanos(22));
    }
}
