//! HyStart: leaves slow start before it overflows the queue.
//!
//! Ha and Rhee, "Taming the elephants: new TCP slow start" (Computer Networks 55, 2011), as Linux has it in
//! `tcp_cubic.c` (`hystart_update`) with its default parameters.

use framewire_units::{Duration, Timestamp};

use super::round::Round;
use super::{Acknowledgement, Window};

/// No exit below this window, in packets. Linux: `hystart_low_window`.
const LOW_WINDOW: u32 = 16;
/// Acknowledgements closer than this belong to one train. Linux: `hystart_ack_delta_us`.
const TRAIN_SPACING: Duration = Duration::from_millis(2);
/// Samples that a round needs before its least delay counts. Linux: `HYSTART_MIN_SAMPLES`.
const MINIMUM_SAMPLES: u32 = 8;
/// The delay that counts as a queue is an eighth of the least one, within these. Linux: `HYSTART_DELAY_THRESH`.
const DELAY_INCREASE: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
/// The largest burst that segmentation offload may make. Linux: `sk_gso_max_size`, 65,536 less the headers' room.
const LARGEST_BURST: u64 = 65_536 - 321;
/// At most this is granted for bursts. Linux: `hystart_ack_delay`.
const LONGEST_BURST: Duration = Duration::from_millis(1);

/// State of the detection in the present slow start.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    is_found: bool,
    round_start: Timestamp,
    last_of_train: Timestamp,
    round: Round,
    least_of_round: Duration,
    samples: u32,
}

impl HyStart {
    /// The detection of a new connection.
    pub(super) fn new() -> Self {
        Self {
            is_found: false,
            round_start: Timestamp::ZERO,
            last_of_train: Timestamp::ZERO,
            round: Round::first(),
            least_of_round: Duration::MAX,
            samples: 0,
        }
    }

    /// Begins afresh at `now`, after a timeout.
    pub(super) fn reset(&mut self, now: Timestamp) {
        self.is_found = false;
        self.round.reset();
        self.begin_round(now);
    }

    /// To be called with each acknowledgement, first.
    pub(super) fn note(&mut self, ack: &Acknowledgement) {
        self.round.note(ack);
    }

    fn begin_round(&mut self, now: Timestamp) {
        self.round_start = now;
        self.last_of_train = now;
        self.least_of_round = Duration::MAX;
        self.samples = 0;
    }

    /// True when slow start should end with this acknowledgement, whose delay is `rtt`.
    pub(super) fn finds_exit(
        &mut self,
        window: &Window,
        ack: &Acknowledgement,
        rtt: Duration,
        least: Duration,
    ) -> bool {
        if self.is_found {
            return false;
        }
        if self.round.ends_with(ack) {
            self.begin_round(ack.now);
        }
        if window.cwnd < LOW_WINDOW {
            return false;
        }
        let long_train = self.sees_long_train(window, ack, least);
        let queue = self.sees_queue(rtt, least);
        self.is_found = long_train || queue;
        self.is_found
    }

    /// A train of closely spaced acknowledgements that lasts half the least delay: the window fills the path.
    fn sees_long_train(&mut self, window: &Window, ack: &Acknowledgement, least: Duration) -> bool {
        if ack.now.saturating_since(self.last_of_train) > TRAIN_SPACING {
            return false;
        }
        self.last_of_train = ack.now;
        // Half, because nothing paces the packets (Linux: `SK_PACING_NONE`).
        let threshold = (least + burst_allowance(window, ack.srtt)) / 2;
        ack.now.saturating_since(self.round_start) > threshold
    }

    /// The least delay of this round's first samples is above the least of all.
    fn sees_queue(&mut self, rtt: Duration, least: Duration) -> bool {
        self.least_of_round = self.least_of_round.min(rtt);
        if self.samples < MINIMUM_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least_of_round > least + (least / 8).clamp(DELAY_INCREASE.0, DELAY_INCREASE.1)
    }
}

/// The time that four largest bursts take at the rate of slow start, twice the window per round trip.
fn burst_allowance(window: &Window, srtt: Duration) -> Duration {
    let per_round = 2 * u64::from(window.cwnd) * u64::from(window.maximum_segment);
    let nanos = u128::from(4 * LARGEST_BURST) * srtt.as_nanos() / u128::from(per_round.max(1));
    LONGEST_BURST.min(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::acknowledgement;
    use super::*;

    const MSS: u64 = 1460;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, ssthresh: u32::MAX, cwnd_count: 0, prior_cwnd: 0, flight_size: 0, maximum_segment: MSS as u32 }
    }

    /// Acknowledges a packet per `spacing` from 1 s on, with delays given by `rtt`; returns after how many slow start
    /// is left.
    fn acknowledgements_to_exit(cwnd: u32, spacing: Duration, rtt: impl Fn(u64) -> Duration) -> Option<u64> {
        let mut hystart = HyStart::new();
        (0..400).find(|&count| {
            let now = Timestamp::from_nanos(1_000_000_000 + count * spacing.as_nanos() as u64);
            let acked = 1 + (count + 1) * MSS;
            let ack = acknowledgement(now, rtt(count), acked, 1 + 1_000 * MSS);
            hystart.note(&ack);
            hystart.finds_exit(&window(cwnd), &ack, rtt(count), Duration::from_millis(100))
        })
    }

    #[test]
    fn a_train_ends_slow_start_past_half_the_least_delay() {
        let steady = |_| Duration::from_millis(100);
        // (100 + 1) / 2 = 50.5 ms: the 51st acknowledgement after the first, one per millisecond.
        assert_eq!(acknowledgements_to_exit(100, Duration::from_millis(1), steady), Some(51));
        assert_eq!(acknowledgements_to_exit(100, Duration::from_micros(2_001), steady), None, "no train");
        assert_eq!(acknowledgements_to_exit(15, Duration::from_millis(1), steady), None, "the window is too small");
    }

    #[test]
    fn a_queue_ends_slow_start_after_eight_samples() {
        // An eighth of 100 ms is 12.5 ms.
        let spacing = Duration::from_millis(3);
        assert_eq!(acknowledgements_to_exit(100, spacing, |_| Duration::from_micros(112_501)), Some(8));
        assert_eq!(acknowledgements_to_exit(100, spacing, |_| Duration::from_micros(112_500)), None);
        let falls = |count| Duration::from_millis(if count == 5 { 100 } else { 140 });
        assert_eq!(acknowledgements_to_exit(100, spacing, falls), None, "the least of the round counts");
    }
}
