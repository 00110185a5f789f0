//! When frames come, and how fast.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use framewire_adaptive::client::Frame;
use framewire_units::Timestamp;

/// When frames come, and how fast.
#[derive(Debug, Default)]
pub(super) struct Timing {
    /// Arrival and play-out time of the first whole frame.
    first: Option<(Timestamp, Duration)>,
    /// Whole frames that came before, and after, a player shows them that begins after the start-up delay.
    pub in_time: u64,
    pub late: u64,
    /// Play-out time of the newest whole frame.
    pub newest: Option<Duration>,
    /// What had come at some times of the last second.
    received: VecDeque<(Instant, u64)>,
}

/// What the rate is taken over, and how often what came is noted.
const RATE_WINDOW: Duration = Duration::from_secs(1);
const RATE_STEP: Duration = Duration::from_millis(50);

impl Timing {
    /// A whole frame came.
    pub(super) fn frame(&mut self, frame: &Frame, startup: Duration) {
        let (arrived, shown) = *self.first.get_or_insert((frame.arrived, frame.media_time));
        let due = arrived + startup + frame.media_time.saturating_sub(shown);
        if frame.arrived <= due {
            self.in_time += 1
        } else {
            self.late += 1
        }
        self.newest = self.newest.max(Some(frame.media_time));
    }

    /// So many bytes have come by now.
    pub(super) fn note(&mut self, now: Instant, bytes: u64) {
        if self.received.back().is_none_or(|(last, _)| now.saturating_duration_since(*last) >= RATE_STEP) {
            self.received.push_back((now, bytes));
        }
        self.forget(now);
    }

    /// One from before the window stays, to measure from.
    fn forget(&mut self, now: Instant) {
        let is_old = |(at, _): &(Instant, u64)| now.saturating_duration_since(*at) >= RATE_WINDOW;
        while self.received.get(1).is_some_and(is_old) {
            self.received.pop_front();
        }
    }

    /// What comes, in bits per second; `None` before there are two times to measure between.
    pub(super) fn rate(&mut self, now: Instant) -> Option<u64> {
        self.forget(now);
        let (&(since, before), &(_, after)) = (self.received.front()?, self.received.back()?);
        let nanos = now.saturating_duration_since(since).as_nanos();
        (nanos >= RATE_STEP.as_nanos())
            .then(|| u64::try_from(u128::from(after - before) * 8_000_000_000 / nanos).unwrap_or(u64::MAX))
    }
}
