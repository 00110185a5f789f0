//! Connections that share one network.

use framewire_link::{LossConfig, QueueLimit};
use framewire_units::{Bitrate, Duration, Probability, Seed, Timestamp};

use super::{BulkFlow, FlowConfig, KindOutcome, StreamingExperiment, StreamingOutcome, jain_index};
use crate::experiment::{TcpExperiment, bottleneck};

const RATE: Bitrate = Bitrate::from_mbps(3);
const QUEUE: QueueLimit = QueueLimit::Packets(50);

fn reno() -> BulkFlow {
    BulkFlow::new("reno".parse().expect("invariant: it is in the registry"))
}

fn shared(flows: usize, loss: LossConfig, seed: u64) -> StreamingExperiment {
    let network = bottleneck(RATE, Duration::from_millis(10), loss, QUEUE);
    let mut experiment = StreamingExperiment::new(network, Seed(seed));
    experiment.flows = (0..flows).map(|_| FlowConfig::at_once(reno())).collect();
    experiment.duration = Duration::from_secs(100);
    experiment.stagger(Duration::from_secs(2));
    experiment
}

fn rates(outcome: &StreamingOutcome, from: u64, to: u64) -> Vec<f64> {
    let rate = |from, to| move |flow: &super::FlowOutcome| flow.received.throughput(from, to).as_mbps_f64();
    outcome.flows.iter().map(rate(Timestamp::from_secs(from), Timestamp::from_secs(to))).collect()
}

#[test]
fn reno_flows_fill_the_link_and_share_it() {
    for flows in [1, 2, 4, 8, 16, 32] {
        let outcome = shared(flows, LossConfig::None, 1).run().unwrap();
        let rates = rates(&outcome, 20, 100);
        let sum: f64 = rates.iter().sum();
        assert!((2.99..=3.001).contains(&sum), "{flows} flows take {sum} of 3 Mbit/s");
        let fairness = jain_index(&rates);
        // Flows of one round-trip time converge to equal shares; what is left is the length of their saw teeth.
        assert!((0.9..=1.0).contains(&fairness), "{flows} flows: {rates:?}");
    }
}

#[test]
fn every_packet_is_delivered_dropped_or_under_way() {
    let loss = LossConfig::Bernoulli(Probability::clamped(0.01));
    let outcome = shared(12, loss, 3).run().unwrap();
    let mut sum = super::PacketCounts::default();
    for flow in &outcome.flows {
        let packets = flow.packets;
        // Half a second of the link at most, queue and propagation.
        assert!(packets.under_way() <= 60, "{packets:?}");
        assert!(packets.random_losses > 0 && packets.queue_drops > 0, "{packets:?}");
        assert_eq!((packets.other_losses, packets.dropped_backward), (0, 0));
        sum.sent += packets.sent;
        sum.queue_drops += packets.queue_drops;
        sum.random_losses += packets.random_losses;
    }
    // The process takes what leaves the queue.
    let share = sum.random_losses as f64 / (sum.sent - sum.queue_drops) as f64;
    assert!((0.008..0.012).contains(&share), "{share}");
}

#[test]
fn goodput_is_what_was_received_without_headers_and_repeats() {
    let outcome = shared(8, LossConfig::None, 2).run().unwrap();
    for flow in &outcome.flows {
        let share = flow.goodput.total().as_bytes() as f64 / flow.received.total().as_bytes() as f64;
        // 1,448 of 1,500 bytes, less what came twice.
        assert!((0.93..=1448.0 / 1500.0).contains(&share), "{share}");
        let KindOutcome::Bulk(bulk) = &flow.kind else { panic!("only bulk flows were asked for") };
        let acknowledged = bulk.last.acknowledged.as_bytes();
        let read = flow.goodput.total().as_bytes();
        assert!(acknowledged <= read && read - acknowledged < 200_000, "{acknowledged} of {read}");
    }
}

#[test]
fn one_flow_is_the_connection_of_a_tcp_experiment() {
    let network = bottleneck(RATE, Duration::from_millis(10), LossConfig::None, QUEUE);
    let alone = TcpExperiment::new("reno".parse().unwrap(), network).run().unwrap();
    let mut experiment = shared(1, LossConfig::None, 1);
    experiment.duration = Duration::from_secs(60);
    experiment.stagger(Duration::ZERO);
    let shared = experiment.run().unwrap();
    let (there, here) = (alone.received.as_bytes() as f64, shared.flows[0].goodput.total().as_bytes() as f64);
    assert!((here / there - 1.0).abs() < 0.001, "{here} {there}");
    assert!(
        shared.flows[0].packets.sent.abs_diff(alone.segments) < 60,
        "{:?} {}",
        shared.flows[0].packets,
        alone.segments
    );
}

#[test]
fn the_seed_decides_when_flows_begin_and_all_that_follows() {
    let starts = |seed| shared(8, LossConfig::None, seed).flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
    assert_eq!(starts(1), starts(1));
    assert_ne!(starts(1), starts(2));
    assert!(starts(1).iter().all(|&start| start < Timestamp::from_secs(2)));
    let received = |seed| {
        let outcome = shared(8, LossConfig::None, seed).run().unwrap();
        outcome.flows.into_iter().map(|flow| flow.received).collect::<Vec<_>>()
    };
    assert_eq!(received(1), received(1));
    assert_ne!(received(1), received(2));
}

#[test]
fn a_flow_comes_and_goes() {
    let mut experiment = shared(1, LossConfig::None, 1);
    let guest = BulkFlow { stop: Some(Timestamp::from_secs(60)), ..reno() };
    experiment.flows.push(FlowConfig::at(Timestamp::from_secs(30), guest));
    let outcome = experiment.run().unwrap();
    let (before, during, after) = (rates(&outcome, 10, 30), rates(&outcome, 40, 60), rates(&outcome, 70, 100));
    assert!(before[0] > 2.95 && before[1] == 0.0, "{before:?}");
    assert!(during.iter().all(|&rate| (1.0..2.0).contains(&rate)), "{during:?}");
    // What stood in the send buffer is sent after the end, and then no more.
    assert!(after[0] > 2.7, "{after:?}");
    assert_eq!(rates(&outcome, 90, 100)[1], 0.0);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut experiment = shared(1, LossConfig::None, 1);
    experiment.interval = Duration::ZERO;
    assert!(experiment.run().unwrap_err().to_string().contains("interval = 0 s"));
    let mut experiment = shared(0, LossConfig::None, 1);
    experiment.flows = (0..70_000).map(|_| FlowConfig::at_once(reno())).collect();
    assert!(experiment.run().unwrap_err().to_string().contains("70000 flows"));
}

#[test]
fn throughput_is_that_of_whole_intervals() {
    let mut meter = super::Meter::new(Duration::from_millis(100));
    meter.add(Timestamp::from_millis(50), framewire_units::DataSize::from_bytes(1_000));
    meter.add(Timestamp::from_millis(100), framewire_units::DataSize::from_bytes(500));
    let between = |from, to| meter.throughput(Timestamp::from_millis(from), Timestamp::from_millis(to)).as_bps();
    assert_eq!(between(0, 200), 60_000);
    assert_eq!(between(0, 100), 80_000);
    assert_eq!(between(1, 200), 40_000);
    assert_eq!(between(0, 99), 0);
    assert_eq!(between(0, 1_000), 12_000);
}

mod adaptive {
    use std::sync::Arc;

    use framewire_adaptive::client::ClientSettings;
    use framewire_adaptive::controller::Controller;
    use framewire_adaptive::fixed::FixedRate;
    use framewire_adaptive::frame_plan::FramePlan;
    use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
    use framewire_adaptive::server::ServerSettings;
    use framewire_adaptive::source::PacketSource;
    use framewire_adaptive::stored::LadderSource;
    use framewire_adaptive::vtp::{VtpController, VtpSettings};
    use framewire_media::FrameRate;
    use framewire_media::ladder::{Ladder, Level};

    use super::super::{AdaptiveFlow, AdaptiveOutcome, CoarseClocks, Fate};
    use super::*;

    const FILM: FrameRate = FrameRate { numerator: 24_000, denominator: 1_001 };

    /// A minute of film at about 120, 250 and 460 kbit/s, each group of twelve frames with a large first one.
    fn ladder() -> Ladder {
        let level = |scale: u32| {
            let sizes: Vec<u32> = (0..1_440).map(|frame| scale * if frame % 12 == 0 { 3 } else { 1 }).collect();
            Level::of_sizes(FILM, 12, &sizes).unwrap()
        };
        Ladder::new(vec![level(540), level(1_120), level(2_060)]).unwrap()
    }

    fn stream(controller: Box<dyn Controller>) -> AdaptiveFlow {
        let source = Arc::new(LadderSource::new(ladder(), 1_000));
        let plan = Schedule::new(source.ladder(), ScheduleSettings::PAPER).unwrap();
        let title = || framewire_wire::vtp::Title::new("film").unwrap();
        AdaptiveFlow {
            plan: Arc::new(FramePlan::new(&plan, source.duration())),
            source,
            controller,
            server: ServerSettings::paper(title(), framewire_wire::vtp::Secret::new([7; 32])),
            client: ClientSettings::paper(title(), 1),
            playout_delay: Duration::from_secs(1),
        }
    }

    fn vtp() -> Box<dyn Controller> {
        Box::new(VtpController::new(VtpSettings::paper()).unwrap())
    }

    /// The stream among `connections` connections on 3 Mbit/s; it is the last flow.
    fn among(connections: usize, rate: Bitrate, loss: LossConfig, controller: Box<dyn Controller>) -> StreamingOutcome {
        let network = bottleneck(rate, Duration::from_millis(10), loss, QUEUE);
        let mut experiment = StreamingExperiment::new(network, Seed(1));
        experiment.flows = (0..connections).map(|_| FlowConfig::at_once(reno())).collect();
        experiment.stagger(Duration::from_secs(5));
        experiment.flows.push(FlowConfig::at(Timestamp::from_secs(5), stream(controller)));
        experiment.duration = Duration::from_secs(75);
        experiment.run().unwrap()
    }

    fn adaptive(outcome: &StreamingOutcome) -> &AdaptiveOutcome {
        match &outcome.flows.last().unwrap().kind {
            KindOutcome::Adaptive(adaptive) => adaptive,
            KindOutcome::Bulk(_) => panic!("the stream is the last flow"),
        }
    }

    #[test]
    fn alone_every_frame_arrives_and_the_top_level_is_reached() {
        let outcome = among(0, Bitrate::from_mbps(10), LossConfig::None, vtp());
        let stream = adaptive(&outcome);
        assert!(stream.finished);
        let fates: Vec<Fate> = (0..1_440).map(|frame| stream.viewing.fate(frame)).collect();
        assert!(
            fates.iter().all(|&fate| fate == Fate::Intact),
            "{:?}",
            fates.iter().position(|&fate| fate != Fate::Intact)
        );
        let levels: Vec<u8> = stream.viewing.frames().iter().map(|frame| frame.level.unwrap()).collect();
        assert_eq!((levels[0], levels[1_439]), (0, 2));
        assert_eq!(stream.level_changes, 2, "up, and up again");
        assert!(levels.chunks(12).all(|group| group.iter().all(|&level| level == group[0])), "in whole groups");
        let sent: u32 = levels.iter().zip(0..).map(|(&level, frame)| ladder().frame(level.into(), frame).size).sum();
        assert_eq!(outcome.flows[0].goodput.total().as_bytes(), u64::from(sent));
    }

    #[test]
    fn a_fixed_rate_follows_the_plan_to_the_end() {
        let outcome = among(0, Bitrate::from_mbps(10), LossConfig::None, Box::new(FixedRate::new()));
        let stream = adaptive(&outcome);
        let source = LadderSource::new(ladder(), 1_000);
        let length = stream.end.unwrap().saturating_since(stream.begin.unwrap()).as_secs_f64();
        assert!((length / source.duration().as_secs_f64() - 1.0).abs() < 0.02, "{length} s");
        assert_eq!(stream.level_changes, 0, "the first packet is of the top level");
        assert!(stream.samples.iter().all(|sample| sample.level == 2));
    }

    #[test]
    fn among_connections_it_takes_part_of_the_link_and_never_less_than_its_lowest_level() {
        let outcome = among(7, RATE, LossConfig::None, vtp());
        let stream = adaptive(&outcome);
        let (from, to) = (stream.begin.unwrap(), stream.end.unwrap());
        let rates: Vec<f64> =
            outcome.flows.iter().map(|flow| flow.received.throughput(from, to).as_mbps_f64()).collect();
        let sum: f64 = rates.iter().sum();
        assert!((2.98..=3.001).contains(&sum), "{rates:?}");
        let share = rates[7] / (3.0 / 8.0);
        assert!((0.5..1.5).contains(&share), "{rates:?}");
        assert!(stream.samples.iter().all(|sample| sample.controller.rate >= sample.plan[0]), "the floor");
    }

    #[test]
    fn loss_takes_frames_and_the_counts_agree() {
        let loss = LossConfig::Bernoulli(Probability::clamped(0.02));
        let outcome = among(0, Bitrate::from_mbps(10), loss, Box::new(FixedRate::new()));
        let stream = adaptive(&outcome);
        let lost = (0..1_440).filter(|&frame| stream.viewing.fate(frame) == Fate::Lost).count();
        // Nine packets in ten come two or three to a frame.
        assert!((30..130).contains(&lost), "{lost}");
        let packets = outcome.flows[0].packets;
        assert!(packets.random_losses > 0 && packets.queue_drops == 0 && packets.under_way() == 0, "{packets:?}");
        let complete = stream.viewing.frames().iter().filter(|frame| frame.complete.is_some()).count();
        assert_eq!(complete + lost, 1_440);
    }
    #[test]
    fn coarse_clocks_move_packets_to_ticks_and_leave_the_rate() {
        let run = |sender_ms, receiver_ms| {
            let network = bottleneck(Bitrate::from_mbps(10), Duration::from_millis(10), LossConfig::None, QUEUE);
            let mut experiment = StreamingExperiment::new(network, Seed(1));
            experiment.flows = vec![FlowConfig::at(Timestamp::from_secs(1), stream(Box::new(FixedRate::new())))];
            experiment.duration = Duration::from_secs(70);
            let (sender, receiver) = (Duration::from_millis(sender_ms), Duration::from_millis(receiver_ms));
            experiment.clocks = CoarseClocks { sender, receiver };
            experiment.run().unwrap()
        };
        let off_ticks = |outcome: &StreamingOutcome, tick_ms: u64| {
            let frames = adaptive(outcome).viewing.frames().to_vec();
            assert!(frames.iter().all(|frame| frame.complete.is_some()), "nothing is lost");
            let off = |at: Timestamp| !at.as_nanos().is_multiple_of(tick_ms * 1_000_000);
            frames.iter().filter(|frame| frame.complete.is_some_and(off)).count()
        };
        let (exact, coarse) = (run(0, 0), run(10, 10));
        assert!(off_ticks(&exact, 10) > 1_000);
        assert_eq!(off_ticks(&coarse, 10), 0);
        // Sent at ticks and seen exactly: a packet of at most 1,088 bytes takes 5 ms and less than one more.
        for frame in adaptive(&run(10, 0)).viewing.frames() {
            let after = frame.complete.unwrap().as_nanos() % 10_000_000;
            assert!((5_000_000..10_000_000).contains(&after), "{after}");
        }
        let took = |outcome: &StreamingOutcome| {
            let stream = adaptive(outcome);
            stream.end.unwrap().saturating_since(stream.begin.unwrap()).as_secs_f64()
        };
        assert!((took(&coarse) / took(&exact) - 1.0).abs() < 0.01, "{} {}", took(&coarse), took(&exact));
    }
}
