//! Sender and receiver by the steps of RFC 5348, and whatever else may come over the network.

use framewire_units::{Bitrate, DataSize, Duration, Seed, Timestamp};
use framewire_wire::tfrc::{DataHeader, Feedback};
use proptest::prelude::*;

use super::*;
use crate::controller::{Controller, PlanRates};

const SEGMENT: DataSize = DataSize::from_bytes(1_000);
const ROUND_TRIP: Duration = Duration::from_millis(100);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn feedback(echoed: Timestamp, kbps: u64, loss_event_rate: f64) -> Feedback {
    Feedback { echoed, delay: Duration::ZERO, receive_rate: Bitrate::from_kbps(kbps), loss_event_rate }
}

fn kbps(sender: &Sender) -> f64 {
    sender.allowed_rate().as_bps() as f64 / 1e3
}

fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found}, not {expected}");
}

mod sending {
    use super::*;

    /// A sender with a packet each 10 ms, which are all it may send or not, and feedback after 100 ms.
    struct Flow {
        sender: Sender,
        limit: Limit,
        now: u64,
    }

    impl Flow {
        /// After the first feedback, at 100 ms.
        fn new(limit: Limit) -> Self {
            let mut sender = Sender::new(SenderSettings::default());
            sender.handle_sent(at(0), SEGMENT, limit);
            sender.handle_feedback(at(100), &feedback(at(0), 0, 0.0));
            Self { sender, limit, now: 100 }
        }

        /// A round-trip time later, feedback on what was sent by now.
        fn report(&mut self, kbps: u64, loss_event_rate: f64) -> f64 {
            for millis in (self.now + 10..=self.now + 100).step_by(10) {
                self.sender.handle_sent(at(millis), SEGMENT, self.limit);
            }
            self.now += 100;
            let echoed = at(self.now);
            self.now += 100;
            self.sender.handle_feedback(at(self.now), &feedback(echoed, kbps, loss_event_rate));
            self.allowed()
        }

        fn allowed(&self) -> f64 {
            kbps(&self.sender)
        }

        fn expire(&mut self) -> f64 {
            let due = self.sender.next_timeout().unwrap();
            self.sender.handle_timeout(due);
            self.now = due.as_nanos() / 1_000_000;
            self.allowed()
        }
    }

    /// X_Bps in kbit/s at 100 ms and 1,000 bytes.
    fn equation(p: f64) -> f64 {
        8.0 * Equation::RFC.packets_per_second(ROUND_TRIP, p)
    }

    #[test]
    fn it_begins_with_a_packet_per_second_and_a_window_per_round_trip() {
        let sender = Sender::new(SenderSettings::default());
        assert_eq!((kbps(&sender), sender.next_timeout()), (8.0, None));
        // W_init = min(4 * 1000, max(2 * 1000, 4380)) = 4000 bytes per 100 ms.
        let flow = Flow::new(Limit::Rate);
        close(flow.allowed(), 320.0);
        assert_eq!(flow.sender.round_trip(), Some(ROUND_TRIP));
        assert_eq!(flow.sender.next_timeout(), Some(at(500)), "4R after the feedback");
        let wide = SenderSettings { segment: SegmentSize::Nominal(DataSize::from_bytes(1_460)), ..Default::default() };
        let mut sender = Sender::new(wide);
        sender.handle_sent(at(0), SEGMENT, Limit::Rate);
        assert_eq!(sender.next_timeout(), Some(at(2_000)));
        sender.handle_feedback(at(100), &feedback(at(0), 0, 0.0));
        close(kbps(&sender), 4_380.0 * 8.0 / 100.0);
    }

    #[test]
    fn slow_start_doubles_up_to_twice_the_receive_rate() {
        let mut flow = Flow::new(Limit::Rate);
        close(flow.report(300, 0.0), 640.0);
        close(flow.report(600, 0.0), 1_200.0);
        // 600 is still one of the receive rates of two round-trip times, and is forgotten later.
        close(flow.report(400, 0.0), 1_200.0);
        close(flow.report(400, 0.0), 800.0);
        close(flow.report(100, 0.0), 800.0);
        close(flow.report(100, 0.0), 320.0);
    }

    #[test]
    fn slow_start_doubles_once_in_a_round_trip() {
        let mut flow = Flow::new(Limit::Rate);
        for millis in [110, 120] {
            flow.sender.handle_sent(at(millis), SEGMENT, Limit::Rate);
        }
        flow.sender.handle_feedback(at(210), &feedback(at(110), 1_000, 0.0));
        close(flow.allowed(), 640.0);
        flow.sender.handle_feedback(at(220), &feedback(at(120), 1_000, 0.0));
        close(flow.allowed(), 640.0);
    }

    #[test]
    fn after_a_loss_the_equation_rules_within_twice_the_receive_rate() {
        let mut flow = Flow::new(Limit::Rate);
        close(flow.report(1_000, 0.01), equation(0.01));
        close(flow.report(1_000, 0.02), equation(0.02));
        flow.report(100, 0.001);
        flow.report(100, 0.001);
        close(flow.report(100, 0.001), 200.0);
    }

    #[test]
    fn a_data_limited_sender_keeps_its_best_receive_rate_until_a_loss() {
        let mut flow = Flow::new(Limit::Data);
        // A loss: the set becomes 0.85 * 300, and the limit is that, not twice.
        close(flow.report(300, 1e-4), 255.0);
        for _ in 0..10 {
            close(flow.report(50, 1e-4), 510.0);
        }
        // The next: max(255 / 2, 0.85 * 50).
        close(flow.report(50, 2e-4), 127.5);
        close(flow.report(50, 2e-4), 255.0);
        // More is reported: the better rate stays.
        close(flow.report(300, 2e-4), 600.0);
        close(flow.report(50, 2e-4), 600.0);
    }

    #[test]
    fn silence_halves_the_rate_in_slow_start_and_before_it() {
        let mut sender = Sender::new(SenderSettings::default());
        sender.handle_sent(at(0), SEGMENT, Limit::Rate);
        sender.handle_timeout(at(1_999));
        close(kbps(&sender), 8.0);
        sender.handle_timeout(at(2_000));
        close(kbps(&sender), 4.0);
        assert_eq!(sender.next_timeout(), Some(at(6_000)), "2s/X");

        let mut flow = Flow::new(Limit::Rate);
        flow.report(1_000, 0.0);
        close(flow.allowed(), 640.0);
        flow.sender.handle_sent(at(flow.now), SEGMENT, Limit::Rate);
        close(flow.expire(), 320.0);
    }

    #[test]
    fn silence_halves_what_limited_the_rate_after_a_loss() {
        let mut flow = Flow::new(Limit::Rate);
        flow.report(5_000, 0.01);
        flow.sender.handle_sent(at(flow.now), SEGMENT, Limit::Rate);
        close(flow.expire(), equation(0.01) / 2.0);

        let mut flow = Flow::new(Limit::Rate);
        for _ in 0..3 {
            flow.report(200, 0.001);
        }
        close(flow.allowed(), 400.0);
        flow.sender.handle_sent(at(flow.now), SEGMENT, Limit::Rate);
        close(flow.expire(), 200.0);
        flow.sender.handle_sent(at(flow.now), SEGMENT, Limit::Rate);
        close(flow.expire(), 100.0);
    }

    #[test]
    fn an_idle_sender_is_not_halved_below_what_it_could_begin_with() {
        let mut flow = Flow::new(Limit::Rate);
        flow.report(1_000, 0.0);
        // X = 640 is not below twice 320; halved, it is.
        assert_eq!([flow.expire(), flow.expire(), flow.expire()], [320.0; 3]);
        let mut slow = Flow::new(Limit::Rate);
        for _ in 0..3 {
            slow.report(100, 0.001);
        }
        close(slow.expire(), 200.0);
        close(slow.expire(), 200.0);
    }

    #[test]
    fn silence_never_stops_a_sender() {
        let mut flow = Flow::new(Limit::Rate);
        flow.report(1_000, 0.5);
        for _ in 0..40 {
            flow.sender.handle_sent(at(flow.now), SEGMENT, Limit::Rate);
            flow.expire();
        }
        close(flow.allowed(), 8.0 / 64.0);
    }

    #[test]
    fn packets_leave_at_the_rate_and_catch_up_by_little() {
        let mut flow = Flow::new(Limit::Rate);
        // 320 kbit/s: a packet each 25 ms, and half a millisecond early is allowed. The last packet left at 0 ms.
        let nanos = |sender: &Sender| sender.next_send().as_nanos() as f64 / 1e6;
        assert_eq!(nanos(&flow.sender), 24.5);
        flow.sender.handle_sent(at(200), SEGMENT, Limit::Data);
        assert_eq!(nanos(&flow.sender), 223.5, "a millisecond of the time lost is caught up");
        flow.sender.handle_sent(Timestamp::from_micros(223_500), SEGMENT, Limit::Rate);
        assert_eq!(nanos(&flow.sender), 248.5, "early packets make the next no earlier");
    }

    #[test]
    fn a_longer_round_trip_slows_packets_down_before_it_counts() {
        let mut flow = Flow::new(Limit::Rate);
        flow.report(1_000, 0.0);
        assert_eq!(flow.sender.instantaneous_rate(), flow.sender.allowed_rate());
        flow.sender.handle_sent(at(flow.now), SEGMENT, Limit::Rate);
        flow.sender.handle_feedback(at(flow.now + 400), &feedback(at(flow.now), 1_000, 0.0));
        // sqrt(0.4) is twice sqrt(0.1): (0.9 * 1 + 0.1 * 2) / 2.
        close(flow.sender.instantaneous_rate().as_bps() as f64, flow.sender.allowed_rate().as_bps() as f64 * 0.55);
        close(flow.sender.round_trip().unwrap().as_secs_f64(), 0.13);
    }

    #[test]
    fn the_mean_segment_follows_what_is_sent() {
        let settings = SenderSettings { segment: SegmentSize::Mean(SEGMENT), ..SenderSettings::default() };
        let mut sender = Sender::new(settings);
        for millis in 0..200 {
            sender.handle_sent(at(millis), DataSize::from_bytes(500), Limit::Rate);
        }
        sender.handle_feedback(at(300), &feedback(at(199), 0, 0.0));
        let expected = 4.0 * 500.0 * 8.0 / 101.0;
        assert!((kbps(&sender) / expected - 1.0).abs() < 1e-3, "{}", kbps(&sender));
    }

    #[test]
    fn impossible_feedback_changes_nothing_and_is_counted() {
        let mut flow = Flow::new(Limit::Rate);
        flow.report(1_000, 0.01);
        let (allowed, timer) = (flow.allowed(), flow.sender.next_timeout());
        let now = at(flow.now + 10);
        let good = feedback(at(flow.now), 9_000, 0.0);
        let hostile = [
            Feedback { echoed: at(flow.now + 11), ..good },
            Feedback { echoed: at(flow.now - 100), ..good },
            Feedback { echoed: Timestamp::ZERO, ..good },
            Feedback { delay: Duration::from_millis(11), ..good },
            Feedback { delay: Duration::MAX, ..good },
            Feedback { loss_event_rate: f64::NAN, ..good },
            Feedback { loss_event_rate: -0.1, ..good },
            Feedback { loss_event_rate: 1.1, ..good },
        ];
        for feedback in &hostile {
            flow.sender.handle_feedback(now, feedback);
        }
        assert_eq!((flow.allowed(), flow.sender.next_timeout()), (allowed, timer));
        assert_eq!(flow.sender.discarded(), hostile.len() as u64);
        flow.sender.handle_feedback(now, &good);
        assert!(flow.allowed() > allowed, "the same without the lie counts");
    }
}

mod receiving {
    use super::*;

    struct Flow {
        receiver: Receiver,
        feedback: Vec<(Timestamp, Feedback)>,
    }

    impl Flow {
        fn new(settings: ReceiverSettings) -> Self {
            Self { receiver: Receiver::new(settings), feedback: Vec::new() }
        }

        fn arrive_with(&mut self, sequence: u32, millis: u64, round_trip: Option<Duration>) {
            while self.receiver.next_timeout().is_some_and(|due| due < at(millis)) {
                let due = self.receiver.next_timeout().unwrap();
                self.receiver.handle_timeout(due);
                self.poll(due);
            }
            let header = DataHeader { sequence, sent: at(u64::from(sequence)), round_trip };
            self.receiver.handle_data(at(millis), &DataPacket { header, size: SEGMENT, congestion_experienced: false });
            self.poll(at(millis));
        }

        fn poll(&mut self, now: Timestamp) {
            if let Some(feedback) = self.receiver.poll_feedback(now) {
                self.feedback.push((now, feedback));
            }
            assert_eq!(self.receiver.poll_feedback(now), None, "once");
        }

        /// A packet each 10 ms from 0 ms on, but for the lost ones.
        fn arrive(&mut self, sequences: impl IntoIterator<Item = u32>) {
            for sequence in sequences {
                self.arrive_with(sequence, 10 * u64::from(sequence), Some(ROUND_TRIP));
            }
        }

        fn times(&self) -> Vec<u64> {
            self.feedback.iter().map(|(now, _)| now.as_nanos() / 1_000_000).collect()
        }
    }

    #[test]
    fn the_first_packet_is_reported_at_once_and_then_each_round_trip() {
        let mut flow = Flow::new(ReceiverSettings::default());
        flow.arrive(0..=35);
        assert_eq!(flow.times(), [0, 100, 200, 300]);
        let (_, first) = flow.feedback[0];
        assert_eq!(first, feedback(at(0), 0, 0.0));
        // Ten packets of 8 kbit in 100 ms, of which the last comes as the timer expires.
        for ((_, later), newest) in flow.feedback[1..].iter().zip([10, 20, 30]) {
            assert_eq!(*later, feedback(at(newest), 800, 0.0));
        }
    }

    #[test]
    fn a_sender_without_a_round_trip_gets_a_report_for_each_packet() {
        let mut flow = Flow::new(ReceiverSettings::default());
        for sequence in 0..5 {
            flow.arrive_with(sequence, 10 * u64::from(sequence), None);
        }
        assert_eq!(flow.times(), [0, 10, 20, 30, 40]);
        flow.arrive(5..30);
        assert_eq!(flow.times()[5..], [140, 240]);
    }

    #[test]
    fn nothing_arrived_nothing_is_reported() {
        let mut flow = Flow::new(ReceiverSettings::default());
        flow.arrive(0..=12);
        assert_eq!(flow.receiver.next_timeout(), Some(at(200)));
        flow.receiver.handle_timeout(at(200));
        flow.poll(at(200));
        assert_eq!(flow.receiver.next_timeout(), None);
        // The timer went on expiring each 100 ms without an effect, so that a packet is reported as it comes (section
        // 6.1, steps 2 and 4), with the rate since 600 ms: the last expiration a round-trip time ago or more.
        flow.arrive_with(13, 730, Some(ROUND_TRIP));
        assert_eq!(flow.times(), [0, 100, 200, 730]);
        assert_eq!(flow.feedback.last().unwrap().1.receive_rate.as_bps(), 8_000 * 1_000 / 130);
        assert_eq!(flow.receiver.next_timeout(), None);
        // The timer begins anew with that.
        flow.arrive_with(14, 740, Some(ROUND_TRIP));
        assert_eq!(flow.receiver.next_timeout(), Some(at(830)));
    }

    #[test]
    fn a_sender_below_a_packet_per_round_trip_gets_a_report_for_each_of_them() {
        let mut flow = Flow::new(ReceiverSettings::default());
        for sequence in 0..20 {
            flow.arrive_with(sequence, 350 * u64::from(sequence), Some(ROUND_TRIP));
        }
        assert_eq!(flow.times(), (0..20).map(|sequence| 350 * sequence).collect::<Vec<u64>>());
        // Never less than a packet in two round-trip times, however slow the sender is.
        for (_, slow) in &flow.feedback[1..] {
            assert!((40_000..=80_000).contains(&slow.receive_rate.as_bps()), "{slow:?}");
        }
    }

    #[test]
    fn a_loss_event_that_is_taken_back_is_told_at_once() {
        let mut flow = Flow::new(ReceiverSettings::default());
        flow.arrive((0..=57).filter(|sequence| *sequence != 52));
        assert_eq!(flow.times()[5..], [500, 550]);
        assert!(flow.receiver.loss_event_rate() > 0.0);
        flow.arrive_with(52, 571, Some(ROUND_TRIP));
        assert_eq!(flow.times()[5..], [500, 550, 571]);
        assert_eq!(flow.feedback.last().unwrap().1.loss_event_rate, 0.0);
    }

    #[test]
    fn a_loss_is_reported_at_once_with_half_of_what_was_sent_before() {
        let mut flow = Flow::new(ReceiverSettings::default());
        flow.arrive((0..=60).filter(|sequence| *sequence != 52));
        assert_eq!(flow.times()[5..], [500, 550], "the third packet after the lost one");
        let p = flow.feedback.last().unwrap().1.loss_event_rate;
        // 100 packets per second arrived: the made-up interval is the one that allows as much.
        let rate = Equation::RFC.packets_per_second(ROUND_TRIP, p);
        assert!((rate - 100.0).abs() < 1.0, "{rate}");
        // X_recv is over a round-trip time and more, since the last report is not that old.
        let received = flow.feedback.last().unwrap().1.receive_rate.as_bps();
        assert!((700_000..=800_000).contains(&received), "{received}");
    }

    #[test]
    fn a_lost_first_packet_means_half_a_packet_per_round_trip() {
        let mut flow = Flow::new(ReceiverSettings::default());
        flow.arrive(1..=3);
        let rate = Equation::RFC.packets_per_second(ROUND_TRIP, flow.receiver.loss_event_rate());
        close(rate, 0.5 / ROUND_TRIP.as_secs_f64());
        let mut unaware = Flow::new(ReceiverSettings { first_sequence: None, ..Default::default() });
        unaware.arrive(1..=3);
        assert_eq!(unaware.receiver.loss_event_rate(), 0.0);
    }

    #[test]
    fn numbers_wrap() {
        let mut flow = Flow::new(ReceiverSettings { first_sequence: Some(u32::MAX - 20), ..Default::default() });
        for (count, step) in (0u64..).zip(0u32..60) {
            flow.arrive_with((u32::MAX - 20).wrapping_add(step), 10 * count, Some(ROUND_TRIP));
        }
        assert_eq!((flow.receiver.loss_event_rate(), flow.receiver.duplicates()), (0.0, 0));
        flow.arrive_with(3, 700, Some(ROUND_TRIP));
        assert_eq!(flow.receiver.duplicates(), 1);
    }

    #[test]
    fn a_sender_cannot_make_it_report_more_than_it_receives() {
        let mut flow = Flow::new(ReceiverSettings::default());
        for sequence in 0..200u32 {
            flow.arrive_with(5 * sequence, u64::from(sequence), Some(Duration::from_nanos(1)));
        }
        assert!(flow.feedback.len() <= 200);
        let due = flow.receiver.next_timeout();
        assert!(due.is_none_or(|due| due >= at(199)));
    }
}

/// Everything that the network, the clock and a peer may do to the two ends.
#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Jump(u64),
    Send(u64, bool),
    Deliver,
    Lose,
    Duplicate,
    Forge { sequence: u32, sent: u64, round_trip: Option<u64>, size: u64, marked: bool },
    Lie { echoed: u64, delay: u64, rate: u64, loss: f64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u64..200_000_000).prop_map(Step::Wait),
        1 => any::<u64>().prop_map(Step::Jump),
        6 => (0u64..65_536, any::<bool>()).prop_map(|(size, limited)| Step::Send(size, limited)),
        6 => Just(Step::Deliver),
        1 => Just(Step::Lose),
        1 => Just(Step::Duplicate),
        1 => (any::<u32>(), any::<u64>(), proptest::option::of(any::<u64>()), any::<u64>(), any::<bool>()).prop_map(
            |(sequence, sent, round_trip, size, marked)| Step::Forge { sequence, sent, round_trip, size, marked }
        ),
        1 => (any::<u64>(), any::<u64>(), any::<u64>(), any::<f64>())
            .prop_map(|(echoed, delay, rate, loss)| Step::Lie { echoed, delay, rate, loss }),
    ]
}

/// Sender and receiver, and what is on the way between them.
struct Ends {
    controller: TfrcController,
    receiver: Receiver,
    now: Timestamp,
    sequence: u32,
    on_the_way: std::collections::VecDeque<DataPacket>,
    data: u64,
    feedback: u64,
}

impl Ends {
    fn take(&mut self, step: Step) {
        const RATES: [Bitrate; 2] = [Bitrate::from_kbps(125), Bitrate::from_kbps(450)];
        let plan = PlanRates { now_in_stream: Duration::ZERO, rates: &RATES };
        let hear = |controller: &mut TfrcController, now, feedback| {
            controller.handle_feedback(now, &crate::controller::Feedback::Tfrc(feedback), &plan);
        };
        match step {
            Step::Wait(nanos) => self.now += Duration::from_nanos(nanos),
            Step::Jump(to) => self.now = Timestamp::from_nanos(to),
            Step::Send(size, limited) => {
                let (header, size) = (self.header(), DataSize::from_bytes(size));
                self.controller.handle_sent(self.now, self.sequence, size, limited);
                self.sequence = self.sequence.wrapping_add(1);
                self.on_the_way.push_back(DataPacket { header, size, congestion_experienced: false });
            }
            Step::Deliver => {
                if let Some(packet) = self.on_the_way.pop_front() {
                    self.arrive(&packet);
                }
            }
            Step::Lose => drop(self.on_the_way.pop_front()),
            Step::Duplicate => self.on_the_way.extend(self.on_the_way.front().copied()),
            Step::Forge { sequence, sent, round_trip, size, marked } => self.arrive(&DataPacket {
                header: DataHeader {
                    sequence,
                    sent: Timestamp::from_nanos(sent),
                    round_trip: round_trip.map(Duration::from_nanos),
                },
                size: DataSize::from_bytes(size),
                congestion_experienced: marked,
            }),
            Step::Lie { echoed, delay, rate, loss } => {
                let (echoed, delay) = (Timestamp::from_nanos(echoed), Duration::from_nanos(delay));
                let receive_rate = Bitrate::from_bps(rate);
                hear(&mut self.controller, self.now, Feedback { echoed, delay, receive_rate, loss_event_rate: loss });
            }
        }
        self.receiver.handle_timeout(self.now);
        while let Some(feedback) = self.receiver.poll_feedback(self.now) {
            self.feedback += 1;
            hear(&mut self.controller, self.now, feedback);
        }
        self.controller.handle_timeout(self.now, &plan);
        let decision = self.controller.decision(self.now, &plan);
        assert!(decision.rate <= plan.cap() && decision.level < 2);
        assert!(self.controller.sender().allowed_rate() > Bitrate::default());
    }

    fn arrive(&mut self, packet: &DataPacket) {
        self.data += 1;
        self.receiver.handle_data(self.now, packet);
    }

    fn header(&self) -> DataHeader {
        DataHeader { sequence: self.sequence, sent: self.now, round_trip: self.controller.sender().round_trip() }
    }
}

proptest! {
    #[test]
    fn whatever_happens(steps in proptest::collection::vec(step(), 0..300), first in any::<Option<u32>>(), mean: bool) {
        let segment = if mean { SegmentSize::Mean(DataSize::ZERO) } else { SegmentSize::Nominal(SEGMENT) };
        let receiver = ReceiverSettings { first_sequence: first, ..ReceiverSettings::default() };
        let mut ends = Ends {
            controller: TfrcController::new(SenderSettings { segment, ..SenderSettings::default() }),
            receiver: Receiver::new(receiver),
            now: Timestamp::ZERO,
            sequence: first.unwrap_or(7),
            on_the_way: Default::default(),
            data: 0,
            feedback: 0,
        };
        for step in steps {
            ends.take(step);
            prop_assert!(ends.feedback <= ends.data, "a receiver is no amplifier");
            prop_assert!((0.0..=1.0).contains(&ends.receiver.loss_event_rate()));
        }
    }
}

#[test]
fn the_level_is_the_highest_within_the_rate_and_the_target_holds() {
    const RATES: [Bitrate; 3] = [Bitrate::from_kbps(125), Bitrate::from_kbps(260), Bitrate::from_kbps(450)];
    let plan = PlanRates { now_in_stream: Duration::ZERO, rates: &RATES };
    let decide = |maximum_rate, loss| {
        let mut controller = TfrcController::new(SenderSettings { maximum_rate, ..SenderSettings::default() });
        assert_eq!(controller.decision(at(0), &plan).level, 0);
        for (sent, heard) in [(0, 100), (100, 200), (200, 300)] {
            controller.handle_sent(at(sent), 0, SEGMENT, false);
            let feedback = feedback(at(sent), 2_000, if heard == 300 { loss } else { 0.0 });
            controller.handle_feedback(at(heard), &crate::controller::Feedback::Tfrc(feedback), &plan);
        }
        let decision = controller.decision(at(300), &plan);
        assert_eq!(controller.state().rate, decision.rate);
        (decision.rate.as_bps() / 1_000, decision.level)
    };
    assert_eq!(decide(None, 0.0), (450, 2), "the plan wants no more");
    assert_eq!(decide(Some(Bitrate::from_kbps(400)), 0.0), (400, 1), "the paper's target");
    // 8 * packets_per_second(100 ms, p): 295 kbit/s at 5 %, 34 kbit/s at 20 %.
    assert_eq!(decide(None, 0.05), (294, 1));
    assert_eq!(decide(None, 0.2).1, 0);
    assert!(decide(None, 0.2).0 < 125, "below the floor, if it must");
}

#[test]
fn draws_of_losses_make_the_rate_that_they_are() {
    // Packets of a flow that is not controlled, 1 in 50 lost at random, a round trip shorter than the gap between
    // packets: every loss is an event, and the average interval is 50 packets within its spread.
    let mut receiver = Receiver::new(ReceiverSettings::default());
    let mut draws = Seed(4).stream("losses", &[]);
    let lost = framewire_units::Probability::new(0.02).unwrap();
    let mut total = 0.0;
    for sequence in 0..200_000u32 {
        if sequence > 0 && draws.chance(lost) {
            continue;
        }
        let header = DataHeader { sequence, sent: at(0), round_trip: Some(Duration::from_millis(5)) };
        let now = at(10 * u64::from(sequence));
        receiver.handle_data(now, &DataPacket { header, size: SEGMENT, congestion_experienced: false });
        receiver.handle_timeout(now);
        receiver.poll_feedback(now);
        if sequence >= 1_000 {
            total += 1.0 / receiver.loss_event_rate();
        }
    }
    // Above 50: the current interval counts only when it makes the mean longer.
    let mean = total / (199_000.0 * 0.98);
    assert!((50.0..62.0).contains(&mean), "{mean}");
}
