//! HyStart++ (RFC 9406): slow start, a conservative slow start when the delay grows, and back when it was a false alarm.

use framewire_units::Duration;

use super::Acknowledgement;

/// RFC 9406, section 4.3: MIN_RTT_THRESH and MAX_RTT_THRESH.
const THRESHOLD: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
/// RFC 9406, section 4.3: MIN_RTT_DIVISOR.
const DIVISOR: u32 = 8;
/// RFC 9406, section 4.3: N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
/// RFC 9406, section 4.3: CSS_GROWTH_DIVISOR.
const GROWTH_DIVISOR: u32 = 4;
/// RFC 9406, section 4.3: CSS_ROUNDS.
const CONSERVATIVE_ROUNDS: u32 = 5;
/// RFC 9406, section 4.3: L, packets per acknowledgement without pacing.
const LARGEST_STEP: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// CSS. The baseline (cssBaselineMinRtt) detects a false alarm.
    Conservative {
        baseline: Duration,
        rounds: u32,
    },
    Over,
}

/// State of the first slow start; later ones are plain (RFC 9406, section 4.3).
#[derive(Clone, Debug)]
pub(super) struct HyStartPlusPlus {
    phase: Phase,
    /// windowEnd.
    round_end: Option<u64>,
    /// lastRoundMinRTT.
    last_round: Option<Duration>,
    /// currentRoundMinRTT.
    this_round: Option<Duration>,
    /// rttSampleCount.
    samples: u32,
    /// Packets acknowledged in conservative slow start that did not yet make a step.
    remainder: u32,
}

impl HyStartPlusPlus {
    /// The state of a new connection.
    pub(super) fn new() -> Self {
        Self { phase: Phase::SlowStart, round_end: None, last_round: None, this_round: None, samples: 0, remainder: 0 }
    }

    /// A loss or a mark ends it for good.
    pub(super) fn finish(&mut self) {
        self.phase = Phase::Over;
    }

    /// True when slow start should end with this acknowledgement.
    pub(super) fn finds_exit(&mut self, ack: &Acknowledgement) -> bool {
        if self.phase == Phase::Over {
            return false;
        }
        if self.round_end.is_none_or(|end| ack.first_unacknowledged >= end) && self.starts_round(ack) {
            self.phase = Phase::Over;
            return true;
        }
        if let Some(rtt) = ack.rtt {
            self.this_round = Some(self.this_round.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if self.samples >= SAMPLES {
            self.judge();
        }
        false
    }

    /// Packets by which slow start may grow after `acked` (RFC 9406, section 4.2).
    pub(super) fn step(&mut self, acked: u32) -> u32 {
        match self.phase {
            Phase::Over => acked,
            Phase::SlowStart => acked.min(LARGEST_STEP),
            Phase::Conservative { .. } => {
                self.remainder += acked.min(LARGEST_STEP);
                let step = self.remainder / GROWTH_DIVISOR;
                self.remainder %= GROWTH_DIVISOR;
                step
            }
        }
    }

    /// Begins a round; true when the conservative rounds are used up.
    fn starts_round(&mut self, ack: &Acknowledgement) -> bool {
        let had_round = self.round_end.is_some();
        self.round_end = Some(ack.next_sequence);
        self.last_round = self.this_round.take();
        self.samples = 0;
        match &mut self.phase {
            Phase::Conservative { rounds, .. } if had_round => {
                *rounds += 1;
                *rounds >= CONSERVATIVE_ROUNDS
            }
            _ => false,
        }
    }

    fn judge(&mut self) {
        let Some(this_round) = self.this_round else { return };
        match self.phase {
            Phase::SlowStart => {
                let Some(last_round) = self.last_round else { return };
                if this_round >= last_round + (last_round / DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1) {
                    self.phase = Phase::Conservative { baseline: this_round, rounds: 0 };
                }
            }
            Phase::Conservative { baseline, .. } if this_round < baseline => self.phase = Phase::SlowStart,
            Phase::Conservative { .. } | Phase::Over => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use framewire_units::Timestamp;

    use super::super::tests::acknowledgement;
    use super::*;

    /// Ten acknowledgements per round with the delays of `rounds`; returns the growth per ten packets in each round, and
    /// in which round slow start was left.
    fn run(rounds: &[u64]) -> (Vec<u32>, Option<usize>) {
        let mut hystart = HyStartPlusPlus::new();
        let mut growth = Vec::new();
        for (round, &millis) in rounds.iter().enumerate() {
            let mut steps = 0;
            for packet in 1..=10 {
                let acked = 1 + (round as u64 * 10 + packet) * 1460;
                let rtt = Duration::from_millis(millis);
                let ack = acknowledgement(Timestamp::from_millis(acked), rtt, acked, acked + 10 * 1460);
                if hystart.finds_exit(&ack) {
                    return (growth, Some(round));
                }
                steps += hystart.step(1);
            }
            growth.push(steps);
        }
        (growth, None)
    }

    #[test]
    fn growing_delay_slows_growth_to_a_quarter_and_ends_after_five_rounds() {
        // The threshold at 100 ms is 12.5 ms; the eighth sample of the third round decides.
        let (growth, exit) = run(&[100, 100, 113, 113, 113, 113, 113, 113, 113]);
        assert_eq!(growth[..2], [10, 10]);
        assert!(growth[3..].iter().all(|&steps| steps == 2 || steps == 3), "{growth:?}");
        assert_eq!(exit, Some(2 + 5));
        assert_eq!(run(&[100, 100, 112, 112, 112, 112, 112, 112, 112]).1, None, "below the threshold");
    }

    #[test]
    fn a_false_alarm_resumes_slow_start() {
        let (growth, exit) = run(&[100, 100, 113, 113, 112, 112, 112, 112, 112, 112]);
        assert_eq!((growth[9], exit), (10, None));
    }

    #[test]
    fn one_acknowledgement_opens_by_eight_packets_at_most() {
        assert_eq!(HyStartPlusPlus::new().step(40), 8);
    }
}
