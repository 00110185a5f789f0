//! Token-bucket policers: where two intervals in a row deliver the same rate at a high loss, that rate is what the
//! network allows in the long term, and going beyond it only loses packets. Linux: `bbr_lt_bw_sampling`.

use framewire_units::{Duration, Timestamp};

use super::bandwidth::{Bandwidth, UNIT};

/// Round trips of an interval at least. Linux: `bbr_lt_intvl_min_rtts`.
const LEAST_ROUNDS: u32 = 4;
/// Round trips at most, as a multiple of that.
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Lost per delivered, in 256ths, from which an interval is lossy: 20 %. Linux: `bbr_lt_loss_thresh`.
const LOSS_THRESHOLD: u64 = 50;
/// Two rates are the same where they differ by an eighth. Linux: `bbr_lt_bw_ratio`.
const SAME_RATIO: u64 = 8;
/// Or by 4 kbit/s. Linux: `bbr_lt_bw_diff`.
const SAME_DIFFERENCE: u64 = 4_000;
/// For how many round trips the rate is used. Linux: `bbr_lt_bw_max_rtts`.
const USED_ROUNDS: u32 = 48;

/// What the connection has counted so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) delivered_time: Timestamp,
    pub(super) delivered: u64,
    pub(super) lost: u64,
}

/// What an acknowledgement contributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) has_losses: bool,
    pub(super) is_app_limited: bool,
    pub(super) is_round_start: bool,
    pub(super) is_probing: bool,
    pub(super) packet: u32,
}

/// What to do after a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Nothing,
    /// The rate is that of a policer: hold it.
    Policed,
    /// It was held long enough: probe again.
    ProbeAgain,
}

/// The estimator.
#[derive(Clone, Debug)]
pub(super) struct LongTerm {
    bandwidth: Option<Bandwidth>,
    is_used: bool,
    is_sampling: bool,
    rounds: u32,
    start: Counts,
}

impl LongTerm {
    pub(super) fn new() -> Self {
        let start = Counts { delivered_time: Timestamp::ZERO, delivered: 0, lost: 0 };
        Self { bandwidth: None, is_used: false, is_sampling: false, rounds: 0, start }
    }

    /// The policer's rate, while it is held.
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        self.bandwidth.filter(|_| self.is_used)
    }

    /// Forgets everything. Linux: `bbr_reset_lt_bw_sampling`.
    pub(super) fn reset(&mut self, counts: Counts) {
        self.bandwidth = None;
        self.is_used = false;
        self.is_sampling = false;
        self.begin_interval(counts);
    }

    fn begin_interval(&mut self, counts: Counts) {
        self.start = counts;
        self.rounds = 0;
    }

    /// Takes note of an acknowledgement.
    pub(super) fn sample(&mut self, sample: &Sample, counts: Counts) -> Verdict {
        if self.is_used {
            return self.hold(sample, counts);
        }
        if !self.is_sampling {
            // Up to the first loss the bucket is not empty.
            if !sample.has_losses {
                return Verdict::Nothing;
            }
            self.begin_interval(counts);
            self.is_sampling = true;
        }
        if sample.is_app_limited {
            self.reset(counts);
            return Verdict::Nothing;
        }
        self.rounds += u32::from(sample.is_round_start);
        if self.rounds < LEAST_ROUNDS {
            return Verdict::Nothing;
        }
        if self.rounds > MOST_ROUNDS {
            self.reset(counts);
            return Verdict::Nothing;
        }
        // An interval ends with a loss: the bucket is empty again.
        if !sample.has_losses {
            return Verdict::Nothing;
        }
        self.end_interval(sample.packet, counts)
    }

    fn hold(&mut self, sample: &Sample, counts: Counts) -> Verdict {
        if sample.is_probing && sample.is_round_start {
            self.rounds += 1;
            if self.rounds >= USED_ROUNDS {
                self.reset(counts);
                return Verdict::ProbeAgain;
            }
        }
        Verdict::Nothing
    }

    fn end_interval(&mut self, packet: u32, counts: Counts) -> Verdict {
        let lost = counts.lost - self.start.lost;
        let delivered = counts.delivered - self.start.delivered;
        if delivered == 0 || lost * UNIT < LOSS_THRESHOLD * delivered {
            return Verdict::Nothing;
        }
        let time = counts.delivered_time.saturating_since(self.start.delivered_time);
        if time < Duration::from_millis(1) {
            return Verdict::Nothing;
        }
        let bandwidth = Bandwidth::of(delivered, time);
        if let Some(last) = self.bandwidth
            && is_same(bandwidth, last, packet)
        {
            self.bandwidth = Some(Bandwidth((bandwidth.0 + last.0) / 2));
            self.is_used = true;
            self.rounds = 0;
            return Verdict::Policed;
        }
        self.bandwidth = Some(bandwidth);
        self.begin_interval(counts);
        Verdict::Nothing
    }
}

fn is_same(one: Bandwidth, other: Bandwidth, packet: u32) -> bool {
    let difference = Bandwidth(one.0.abs_diff(other.0));
    difference.0 * SAME_RATIO <= other.0 || difference.pacing_rate(packet, UNIT).as_bps() <= SAME_DIFFERENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Sample =
        Sample { has_losses: true, is_app_limited: false, is_round_start: true, is_probing: true, packet: 1_448 };

    /// Rounds of 40 ms that deliver `delivered` packets and lose `lost`; returns the verdicts.
    fn run(filter: &mut LongTerm, rounds: u64, delivered: u64, lost: u64) -> Vec<Verdict> {
        (1..=rounds)
            .map(|round| {
                let counts = Counts {
                    delivered_time: Timestamp::from_millis(40 * round),
                    delivered: delivered * round,
                    lost: lost * round,
                };
                filter.sample(&Sample { has_losses: lost > 0, ..SAMPLE }, counts)
            })
            .collect()
    }

    #[test]
    fn a_policer_is_found_after_two_equal_lossy_intervals_and_left_after_48_rounds() {
        let mut filter = LongTerm::new();
        let verdicts = run(&mut filter, 60, 40, 10);
        let policed = verdicts.iter().position(|verdict| *verdict == Verdict::Policed).expect("25 % are lost");
        assert!((6..=9).contains(&policed), "after two intervals of four rounds: {policed}");
        let again = verdicts.iter().position(|verdict| *verdict == Verdict::ProbeAgain).expect("in time");
        assert_eq!(again - policed, 48);
    }

    #[test]
    fn its_rate_is_what_was_delivered() {
        let mut filter = LongTerm::new();
        run(&mut filter, 12, 40, 10);
        let bandwidth = filter.bandwidth().expect("held");
        assert_eq!(bandwidth.packets_in_with_gain(Duration::from_millis(40), UNIT), 40);
    }

    #[test]
    fn a_little_loss_or_changing_rates_are_no_policer() {
        let mut filter = LongTerm::new();
        assert!(run(&mut filter, 60, 40, 4).iter().all(|verdict| *verdict == Verdict::Nothing));
        let mut filter = LongTerm::new();
        assert!(run(&mut filter, 60, 40, 0).iter().all(|verdict| *verdict == Verdict::Nothing));
        let mut filter = LongTerm::new();
        let limited = Sample { is_app_limited: true, ..SAMPLE };
        for round in 0..40 {
            let counts = Counts { delivered_time: Timestamp::from_millis(round), delivered: round, lost: round };
            assert_eq!(filter.sample(&limited, counts), Verdict::Nothing);
        }
        assert_eq!(filter.bandwidth(), None);
    }
}
