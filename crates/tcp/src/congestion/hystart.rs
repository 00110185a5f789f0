//! HyStart: leaves slow start before it overflows the queue.
//!
//! Ha and Rhee, "Taming the elephants: new TCP slow start" (Computer Networks 55, 2011), as Linux has it in
//! `tcp_cubic.c` (`hystart_update`) with its default parameters.

use framewire_units::{Duration, Timestamp};

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
    /// The round ends when this number is passed; `None` until the first acknowledgement after a reset tells it.
    round_end: Option<u64>,
    least_of_round: Duration,
    samples: u32,
}

impl HyStart {
    /// A detection that starts at `now`.
    pub fn new(now: Timestamp) -> Self {
        Self {
            is_found: false,
            round_start: now,
            last_of_train: now,
            round_end: None,
            least_of_round: Duration::MAX,
            samples: 0,
        }
    }

    /// Learns the end of the first round, which a reset outside an acknowledgement cannot know.
    pub fn note(&mut self, ack: &Acknowledgement) {
        self.round_end.get_or_insert(ack.next_sequence);
    }

    /// True when slow start should end with this acknowledgement, whose delay is `rtt`.
    pub fn finds_exit(&mut self, window: &Window, ack: &Acknowledgement, rtt: Duration, least: Duration) -> bool {
        if self.is_found {
            return false;
        }
        if self.round_end.is_none_or(|end| ack.first_unacknowledged > end) {
            *self = Self { round_end: Some(ack.next_sequence), ..Self::new(ack.now) };
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
