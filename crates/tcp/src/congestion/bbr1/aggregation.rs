//! Acknowledgements that come in lumps: how much more than expected was acknowledged at once, so that the window can
//! keep the path busy in the silence before the next. Linux: `bbr_update_ack_aggregation`.

use framewire_units::{Duration, Timestamp};

use super::bandwidth::Bandwidth;

/// Rounds of half the window. Linux: `bbr_extra_acked_win_rtts`.
const ROUNDS: u32 = 5;
/// Packets counted in one epoch at most. Linux: `bbr_ack_epoch_acked_reset_thresh`.
const MOST_COUNTED: u64 = 1 << 20;
/// The window is raised by what is sent in this time at most. Linux: `bbr_extra_acked_max_us`.
const MOST_TIME: Duration = Duration::from_millis(100);

/// The largest excess of the last five to ten rounds.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    epoch: Timestamp,
    acked: u64,
    excess: [u64; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self { epoch: Timestamp::ZERO, acked: 0, excess: [0; 2], current: 0, rounds: 0 }
    }

    /// Begins counting anew: after idling nothing is expected.
    pub(super) fn restart(&mut self, now: Timestamp) {
        self.epoch = now;
        self.acked = 0;
    }

    /// `acked` packets were acknowledged, where `bandwidth` is expected.
    pub(super) fn update(&mut self, now: Timestamp, acked: u32, is_round_start: bool, bandwidth: Bandwidth, cwnd: u32) {
        if is_round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.excess[self.current] = 0;
            }
        }
        let mut expected = bandwidth.packets_in(now.saturating_since(self.epoch));
        if self.acked <= expected || self.acked + u64::from(acked) >= MOST_COUNTED {
            self.restart(now);
            expected = 0;
        }
        self.acked = (self.acked + u64::from(acked)).min(MOST_COUNTED - 1);
        let excess = (self.acked - expected).min(u64::from(cwnd));
        self.excess[self.current] = self.excess[self.current].max(excess);
    }

    /// Packets to raise the window by. Linux: `bbr_ack_aggregation_cwnd`.
    pub(super) fn window(&self, bandwidth: Bandwidth) -> u32 {
        let excess = self.excess[0].max(self.excess[1]);
        excess.min(bandwidth.packets_in(MOST_TIME)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One packet per millisecond, acknowledged in lumps.
    fn run(lump: u64, millis: u64) -> Aggregation {
        let mut aggregation = Aggregation::new();
        let bandwidth = Bandwidth::of(1, Duration::from_millis(1));
        for now in (lump..=millis).step_by(lump as usize) {
            let is_round_start = (now / lump).is_multiple_of(40_u64.div_ceil(lump));
            aggregation.update(Timestamp::from_millis(now), lump as u32, is_round_start, bandwidth, 80);
        }
        aggregation
    }

    #[test]
    fn the_lump_is_the_excess() {
        let bandwidth = Bandwidth::of(1, Duration::from_millis(1));
        // A packet in each acknowledgement is a lump of one or two, as rounding has it.
        assert!(run(1, 1_000).window(bandwidth) <= 2);
        for lump in [10, 20, 40] {
            let window = run(lump, 2_000).window(bandwidth);
            assert!((lump..=2 * lump).contains(&u64::from(window)), "{window} for {lump}");
        }
        assert_eq!(run(40, 2_000).window(Bandwidth::of(1, Duration::from_millis(10))), 9, "100 ms worth at most");
    }

    #[test]
    fn a_lump_is_forgotten_within_ten_rounds() {
        let bandwidth = Bandwidth::of(1, Duration::from_millis(1));
        let mut aggregation = run(40, 400);
        // Nothing comes for a while, and then one packet at a time.
        for now in 500..=1_100 {
            aggregation.update(Timestamp::from_millis(now), 1, now % 40 == 0, bandwidth, 80);
        }
        assert!(aggregation.window(bandwidth) <= 2, "{}", aggregation.window(bandwidth));
    }
}
