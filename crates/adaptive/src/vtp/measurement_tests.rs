use proptest::prelude::*;

use super::*;
use crate::requests::MAX_REQUESTS;

/// Packets of 1,000 bytes leave each 10 ms from time 0, every `k`-th asks, and arrive 5 ms later on a clock that is
/// 100 s ahead; answers take 5 ms.
struct Path {
    measurement: Measurement,
    k: u32,
    sent: u32,
    report: u32,
}

const AHEAD: Duration = Duration::from_secs(100);

impl Path {
    fn new(k: u32, estimate: Estimate) -> Self {
        let settings = VtpSettings { alpha: 0.5, estimate, ..VtpSettings::paper() };
        Self { measurement: Measurement::new(&settings), k, sent: 0, report: 0 }
    }

    fn departure(sequence: u32) -> Timestamp {
        Timestamp::from_millis(10 * u64::from(sequence))
    }

    fn arrival(sequence: u32) -> Timestamp {
        Self::departure(sequence) + AHEAD + Duration::from_millis(5)
    }

    /// Sends k packets and returns the control packet that would answer if `lost` of them, not the first and not the
    /// last, had been lost.
    fn interval(&mut self, lost: u32) -> ControlPacket {
        let first = self.sent;
        for sequence in first..first + self.k {
            let ack = sequence == first + self.k - 1;
            self.measurement.handle_sent(Self::departure(sequence), sequence, DataSize::from_bytes(1_000), ack);
        }
        self.sent += self.k;
        self.report += 1;
        let sequence = self.sent - 1;
        ControlPacket {
            session: 1,
            sequence,
            sender_time: Self::departure(sequence),
            receiver_time: Self::arrival(sequence),
            size: DataSize::from_bytes(1_000 * u64::from(self.k - lost)),
            report: self.report - 1,
            first_arrival: Self::arrival(first),
            packets: self.k - lost,
            buffer_free: None,
        }
    }

    fn answer(&mut self, control: &ControlPacket) -> Result<Sample, Discard> {
        self.measurement.handle_control(Self::departure(control.sequence) + Duration::from_millis(10), control)
    }
}

/// Evenly spaced packets of 1,000 bytes of video arrive at 800 kbit/s. By the indices of equation 1 k packets give
/// k / (k - 1) of it; by section 4.1 they give it, and what SIZE counts beside the video.
#[test]
fn equation_1_by_hand_for_every_k_of_figure_17() {
    let over_gaps = |header| Estimate::BytesOverGaps { header: DataSize::from_bytes(header) };
    for (k, over_k_minus_1) in [(1, 1_600_000.0), (2, 1_600_000.0), (5, 1_000_000.0), (20, 16e6 / 19.0)] {
        let readings = [
            (Estimate::KOverKMinus1, over_k_minus_1),
            (over_gaps(0), 800_000.0),
            (over_gaps(28), 822_400.0),
            (Estimate::PAPER, 848_000.0),
        ];
        for (estimate, expected) in readings {
            let mut path = Path::new(k, estimate);
            let first = path.interval(0);
            let round_trip = Duration::from_millis(10);
            assert_eq!(path.answer(&first), Ok(Sample { round_trip, bandwidth: None }));
            let second = path.interval(0);
            let sample = path.answer(&second).unwrap().bandwidth.unwrap();
            assert!((sample / expected - 1.0).abs() < 1e-12, "k = {k}, {estimate:?}: {sample}");
            assert_eq!(path.measurement.least_round_trip(), Some(round_trip));
        }
    }
}

/// t_1 = 0, t_4 = 30 ms, d = 400 + 1,000 + 1,000 + 600 bytes: 24,000 bits / 0.03 s.
#[test]
fn the_example_of_the_paper_with_four_packets() {
    let mut path = Path::new(4, Estimate::KOverKMinus1);
    let first = path.interval(0);
    path.answer(&first).unwrap();
    let mut control = path.interval(0);
    control.size = DataSize::from_bytes(3_000);
    assert_eq!(path.answer(&control).unwrap().bandwidth, Some(800_000.0));
}

#[test]
fn loss_lowers_the_sample() {
    let mut path = Path::new(5, Estimate::KOverKMinus1);
    for (lost, expected) in [(0, None), (1, Some(800_000.0)), (2, Some(600_000.0))] {
        let control = path.interval(lost);
        assert_eq!(path.answer(&control).unwrap().bandwidth, expected);
    }
}

/// All but the packet that asks were lost: its bytes over the time since the last one that asked.
#[test]
fn a_lone_packet_of_many_counts_over_the_whole_interval() {
    let mut path = Path::new(5, Estimate::KOverKMinus1);
    let first = path.interval(0);
    path.answer(&first).unwrap();
    let mut control = path.interval(4);
    control.first_arrival = control.receiver_time;
    let sample = path.answer(&control).unwrap().bandwidth.unwrap();
    assert!((sample - 160_000.0).abs() < 1e-6, "{sample}");
}

#[test]
fn a_lost_control_packet_discards_one_sample_and_no_more() {
    let mut path = Path::new(5, Estimate::KOverKMinus1);
    let first = path.interval(0);
    path.answer(&first).unwrap();
    let _lost = path.interval(0);
    let after = path.interval(0);
    assert_eq!(path.answer(&after), Err(Discard::Gap));
    assert_eq!((path.measurement.estimate(), path.measurement.counts()), (None, (1, 1)));
    let next = path.interval(0);
    assert!(path.answer(&next).unwrap().bandwidth.is_some());
}

/// A live stream that had nothing to send measures itself.
#[test]
fn a_pause_of_the_stream_discards_the_sample_that_spans_it_and_no_other() {
    let mut path = Path::new(5, Estimate::KOverKMinus1);
    let first = path.interval(0);
    path.answer(&first).unwrap();
    path.measurement.handle_idle();
    let spans = path.interval(0);
    let next = path.interval(0);
    assert_eq!(path.answer(&spans), Err(Discard::Idle));
    assert_eq!(path.measurement.estimate(), None);
    assert!(path.answer(&next).unwrap().bandwidth.is_some());
    assert_eq!(path.measurement.counts(), (2, 1));
}

#[test]
fn what_was_not_asked_or_cannot_be_changes_nothing() {
    let mut path = Path::new(5, Estimate::KOverKMinus1);
    let first = path.interval(0);
    path.answer(&first).unwrap();
    assert_eq!(path.answer(&first), Err(Discard::Unrequested), "a repeated answer");
    let control = path.interval(0);
    let forged = ControlPacket { sender_time: control.sender_time + Duration::from_nanos(1), ..control };
    assert_eq!(path.answer(&forged), Err(Discard::Forged));
    let greedy = ControlPacket { size: DataSize::from_bytes(5_001), ..control };
    assert_eq!(path.answer(&greedy), Err(Discard::Implausible));
    let many = ControlPacket { packets: 6, ..control };
    assert_eq!(path.answer(&many), Err(Discard::Implausible));
    assert!(path.answer(&control).is_ok(), "the honest answer still counts");
}

#[test]
fn clocks_that_jump_give_no_sample() {
    let mut path = Path::new(5, Estimate::KOverKMinus1);
    let first = path.interval(0);
    path.answer(&first).unwrap();
    let backwards = ControlPacket { receiver_time: Timestamp::from_secs(1), ..path.interval(0) };
    assert_eq!(path.answer(&backwards), Err(Discard::NoInterval));
    let control = path.interval(0);
    let early = path.measurement.handle_control(Timestamp::ZERO, &control);
    assert_eq!(early, Err(Discard::ClockJump));
    assert_eq!(path.measurement.least_round_trip(), Some(Duration::from_millis(10)));
}

#[test]
fn the_least_round_trip_counts() {
    let mut path = Path::new(1, Estimate::KOverKMinus1);
    for millis in [30, 12, 25] {
        let control = path.interval(0);
        let now = Path::departure(control.sequence) + Duration::from_millis(millis);
        path.measurement.handle_control(now, &control).unwrap();
    }
    assert_eq!(path.measurement.least_round_trip(), Some(Duration::from_millis(12)));
    assert_eq!(path.measurement.last_round_trip(), Some(Duration::from_millis(25)));
    // 30, then 7/8 of that and 1/8 of 12, then 7/8 of that and 1/8 of 25.
    assert_eq!(path.measurement.smoothed_round_trip(), Some(Duration::from_nanos(27_406_250)));
}

proptest! {
    #[test]
    fn any_control_packets_leave_a_finite_estimate_and_bounded_memory(
        steps in proptest::collection::vec(
            (any::<bool>(), 0u32..40, any::<u32>(), 0u64..5_000_000_000, 0u64..5_000_000_000, 0u32..4), 0..200),
    ) {
        let mut path = Path::new(1, Estimate::KOverKMinus1);
        for (honest, sequence, size, receiver, first, packets) in steps {
            let mut control = path.interval(0);
            if !honest {
                control.sequence = sequence;
                control.sender_time = Path::departure(sequence);
                control.size = DataSize::from_bytes(u64::from(size));
                control.receiver_time = Timestamp::from_nanos(receiver);
                control.first_arrival = Timestamp::from_nanos(first);
                control.packets = packets;
            }
            let _ = path.answer(&control);
            prop_assert!(path.measurement.estimate().is_none_or(|estimate| estimate.is_finite() && estimate >= 0.0));
            prop_assert!(path.measurement.open_requests() <= MAX_REQUESTS);
        }
    }
}
