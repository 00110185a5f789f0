//! Congestion-window validation: a window that the application does not fill shows nothing of the path (RFC 2861,
//! RFC 7661). Linux: `tcp_cwnd_validate`, `tcp_cwnd_application_limited`, `tcp_cwnd_restart`.

use framewire_units::{Duration, Timestamp};

use crate::congestion::Window;

/// How full the window was.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowValidation {
    /// Most packets outstanding in the round trip that ends at `round_end`.
    most_outstanding: u32,
    round_end: u64,
    /// The window was the limit then.
    was_limit: bool,
    /// Most packets outstanding since the window was last full.
    used: u32,
    /// When the window was last full or changed. Linux: `snd_cwnd_stamp`.
    changed: Timestamp,
}

/// What happened in a round of sending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// When.
    pub now: Timestamp,
    /// First sequence number not acknowledged.
    pub unacknowledged: u64,
    /// Next sequence number.
    pub next: u64,
    /// Packets outstanding.
    pub outstanding: u32,
    /// The congestion window held packets back.
    pub is_limit: bool,
}

impl WindowValidation {
    /// A fresh connection.
    pub(super) fn new() -> Self {
        Self { most_outstanding: 0, round_end: 0, was_limit: false, used: 0, changed: Timestamp::ZERO }
    }

    /// The window was set at `now`.
    pub(super) fn note_change(&mut self, now: Timestamp) {
        self.changed = now;
    }

    /// Whether the window was the limit lately; in slow start it may also grow to twice what was outstanding. Linux:
    /// `tcp_is_cwnd_limited`.
    pub(super) fn is_limited(&self, window: &Window) -> bool {
        self.was_limit || (window.in_slow_start() && window.cwnd < 2 * self.most_outstanding)
    }

    /// After a round of sending. Returns true when the window has not been full for `rto`, and is to be shrunk.
    pub(super) fn validate(&mut self, round: &Round, window: &Window, rto: Duration) -> bool {
        if round.unacknowledged >= self.round_end || round.outstanding > self.most_outstanding || round.is_limit {
            self.most_outstanding = round.outstanding;
            self.round_end = round.next;
            self.was_limit = round.is_limit;
        }
        if self.is_limited(window) {
            self.used = 0;
            self.changed = round.now;
            return false;
        }
        self.used = self.used.max(round.outstanding);
        round.now.saturating_since(self.changed) >= rto
    }

    /// Shrinks the window half-way towards what was used (RFC 2861, section 3.2), unless `may_shrink` is false.
    pub(super) fn shrink(
        &mut self,
        window: &mut Window,
        initial: u32,
        threshold: u32,
        may_shrink: bool,
        now: Timestamp,
    ) {
        if may_shrink {
            let used = self.used.max(initial);
            if used < window.cwnd {
                window.ssthresh = threshold;
                window.cwnd = (window.cwnd + used) / 2;
            }
            self.used = 0;
        }
        self.changed = now;
    }

    /// Restarts after `idle`: the window halves per timeout, down to the initial window (RFC 5681, section 4.1;
    /// RFC 2861, section 3.1).
    pub(super) fn restart(
        &mut self,
        window: &mut Window,
        initial: u32,
        threshold: u32,
        idle: Duration,
        rto: Duration,
        now: Timestamp,
    ) {
        let least = initial.min(window.cwnd);
        window.ssthresh = threshold;
        let mut idle = idle;
        while idle > rto && window.cwnd > least {
            idle -= rto;
            window.cwnd /= 2;
        }
        window.cwnd = window.cwnd.max(least);
        self.changed = now;
        self.used = 0;
    }
}

/// The threshold that remembers the window of now: three quarters of it (RFC 2861, section 3). Linux:
/// `tcp_current_ssthresh`.
pub(super) fn remembered_threshold(window: &Window) -> u32 {
    window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, ssthresh: 5, cwnd_count: 0, prior_cwnd: 0, flight_size: 0, maximum_segment: 1448 }
    }

    fn round(millis: u64, outstanding: u32, is_limit: bool) -> Round {
        let now = Timestamp::from_millis(millis);
        Round { now, unacknowledged: millis, next: millis + 10, outstanding, is_limit }
    }

    const RTO: Duration = Duration::from_millis(300);

    #[test]
    fn a_window_that_is_not_filled_shrinks_half_way_to_what_was_used() {
        let mut validation = WindowValidation::new();
        let mut cwnd = window(40);
        assert!(!validation.validate(&round(0, 40, true), &cwnd, RTO));
        assert!(!validation.validate(&round(100, 12, false), &cwnd, RTO));
        assert!(validation.validate(&round(301, 20, false), &cwnd, RTO));
        validation.shrink(&mut cwnd, 10, remembered_threshold(&window(40)), true, Timestamp::from_millis(301));
        assert_eq!((cwnd.cwnd, cwnd.ssthresh), (30, 30));
        assert!(!validation.is_limited(&cwnd));
    }

    #[test]
    fn slow_start_may_reach_twice_what_was_outstanding() {
        let mut validation = WindowValidation::new();
        let mut cwnd = window(12);
        cwnd.ssthresh = u32::MAX;
        validation.validate(&round(0, 7, false), &cwnd, RTO);
        assert!(validation.is_limited(&cwnd));
        cwnd.cwnd = 14;
        assert!(!validation.is_limited(&cwnd));
    }

    #[test]
    fn idling_halves_the_window_per_timeout() {
        for (idle, expected) in [(299, 80), (301, 40), (601, 20), (901, 10), (90_001, 10)] {
            let mut cwnd = window(80);
            WindowValidation::new().restart(&mut cwnd, 10, 60, Duration::from_millis(idle), RTO, Timestamp::ZERO);
            assert_eq!(cwnd.cwnd, expected, "after {idle} ms");
        }
    }
}
