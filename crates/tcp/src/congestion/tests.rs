//! Algorithms on an ideal path, against closed forms.

use framewire_units::{Duration, Probability, RandomStream, Seed, Timestamp};
use proptest::prelude::*;

use super::{Acknowledgement, Algorithm, CongestionControl, Event, RateSample, State, Window};

const MSS: u64 = 1460;

/// An acknowledgement of one packet.
pub(super) fn acknowledgement(now: Timestamp, rtt: Duration, acked_up_to: u64, sent_up_to: u64) -> Acknowledgement {
    let in_flight = u32::try_from((sent_up_to - acked_up_to) / MSS).unwrap();
    Acknowledgement {
        now,
        acked: 1,
        acked_or_sacked: 1,
        newly_lost: 0,
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: Some(rtt),
        prior_in_flight: in_flight + 1,
        in_flight,
        is_cwnd_limited: true,
        delivered: acked_up_to / MSS,
        lost: 0,
        next_sequence: sent_up_to,
        first_unacknowledged: acked_up_to,
        rate: RateSample {
            delivered: in_flight,
            prior_delivered: (acked_up_to / MSS).saturating_sub(u64::from(in_flight)),
            prior_time: Timestamp::from_nanos(now.as_nanos().saturating_sub(rtt.as_nanos() as u64)),
            interval: Some(rtt),
            is_app_limited: false,
            in_flight_at_send: in_flight,
            lost_at_send: 0,
            delivered_ce: 0,
        },
        ecn_echo: false,
        state: State::Open,
    }
}

/// Which packets the path loses.
pub(super) enum Loss {
    None,
    /// One of so many.
    Every(u64),
    Random(Probability, RandomStream),
    /// What comes when the window is above this many packets.
    Above(u32),
}

/// A path with acknowledgements for each packet, evenly spaced, and recovery that takes no time: what the closed forms
/// assume.
pub(super) struct IdealPath {
    pub(super) control: Box<dyn CongestionControl>,
    pub(super) window: Window,
    base: Duration,
    /// Time of a packet at the bottleneck.
    packet_time: Duration,
    loss: Loss,
    pub(super) now: Timestamp,
    packets: u64,
    /// Losses of packets before this one were answered.
    recovered_up_to: u64,
    reductions: u32,
}

impl IdealPath {
    pub(super) fn new(algorithm: Algorithm, base: Duration, loss: Loss) -> Self {
        Self {
            control: algorithm.build(Seed(1)),
            window: Window {
                cwnd: 10,
                ssthresh: 10,
                cwnd_count: 0,
                prior_cwnd: 0,
                flight_size: 0,
                maximum_segment: MSS as u32,
            },
            base,
            packet_time: Duration::ZERO,
            loss,
            now: Timestamp::from_millis(1),
            packets: 0,
            recovered_up_to: 0,
            reductions: 0,
        }
    }

    fn rtt(&self) -> Duration {
        self.base.max(self.packet_time * self.window.cwnd)
    }

    /// One packet arrives, or does not.
    pub(super) fn step(&mut self) {
        let rtt = self.rtt();
        self.now = Timestamp::from_nanos(self.now.as_nanos() + rtt.as_nanos() as u64 / u64::from(self.window.cwnd));
        self.packets += 1;
        let is_lost = match &mut self.loss {
            Loss::None => false,
            Loss::Every(count) => self.packets.is_multiple_of(*count),
            Loss::Random(probability, stream) => stream.chance(*probability),
            Loss::Above(limit) => self.window.cwnd > *limit,
        };
        if !is_lost {
            let acked = 1 + self.packets * MSS;
            let ack = acknowledgement(self.now, rtt, acked, acked + u64::from(self.window.cwnd) * MSS);
            self.control.handle_acknowledgement(&mut self.window, &ack);
            self.control.grow(&mut self.window, &ack);
        } else if self.packets >= self.recovered_up_to {
            self.recovered_up_to = self.packets + u64::from(self.window.cwnd);
            self.reduce();
        }
    }

    /// As many packets as the window had at the beginning.
    pub(super) fn round_trip(&mut self) {
        (0..self.window.cwnd).for_each(|_| self.step());
    }

    pub(super) fn reduce(&mut self) {
        self.reductions += 1;
        self.window.prior_cwnd = self.window.cwnd;
        self.window.ssthresh = self.control.reduced_threshold(&self.window, self.now);
        self.control.handle_state(&mut self.window, State::Recovery, self.now);
        self.window.cwnd = self.window.ssthresh;
        self.window.cwnd_count = 0;
        self.control.handle_event(&mut self.window, Event::ReductionComplete { now: self.now });
        self.control.handle_state(&mut self.window, State::Open, self.now);
    }

    fn run_until(&mut self, reductions: u32) {
        while self.reductions < reductions {
            self.step();
        }
    }

    /// The mean window over so many reductions, after as many to settle: packets per round-trip time.
    fn mean_window(mut self, reductions: u32) -> f64 {
        self.run_until(reductions / 2);
        let (packets, start) = (self.packets, self.now);
        self.run_until(reductions + reductions / 2);
        let rounds = self.now.saturating_since(start).as_secs_f64() / self.base.as_secs_f64();
        (self.packets - packets) as f64 / rounds
    }
}

fn mean_window(algorithm: Algorithm, rtt_millis: u64, packets_per_loss: u64) -> f64 {
    IdealPath::new(algorithm, Duration::from_millis(rtt_millis), Loss::Every(packets_per_loss)).mean_window(40)
}

fn mean_window_random(algorithm: Algorithm, rtt_millis: u64, probability: f64) -> f64 {
    let loss = Loss::Random(Probability::new(probability).unwrap(), Seed(3).stream("loss", &[]));
    IdealPath::new(algorithm, Duration::from_millis(rtt_millis), loss).mean_window(2_000)
}

#[track_caller]
pub(super) fn assert_near(found: f64, wanted: f64, tolerance: f64) {
    assert!((found / wanted - 1.0).abs() <= tolerance, "{found} for {wanted}");
}

#[test]
fn reno_has_the_response_function_of_rfc_3649_section_3() {
    for packets_per_loss in [100, 1_000, 10_000] {
        // w = sqrt(3/2) / sqrt(p)
        let wanted = (1.5 * packets_per_loss as f64).sqrt();
        assert_near(mean_window(Algorithm::Reno, 100, packets_per_loss), wanted, 0.05);
    }
    // Independent losses: the same law, with a factor of 1.31 for 1.22 (Padhye et al., 1998, give the range).
    for probability in [0.01, 0.001] {
        assert_near(mean_window_random(Algorithm::Reno, 100, probability), 1.27 / probability.sqrt(), 0.07);
    }
}

#[test]
fn cubic_has_the_response_function_of_rfc_9438_section_5() {
    // Equation 6: w = 1.054 RTT^0.75 / p^0.75, where that is above Reno's.
    for (rtt_millis, packets_per_loss) in [(100, 10_000), (100, 100_000), (200, 10_000)] {
        let wanted = rtt_millis as f64 / 1e3 * packets_per_loss as f64;
        let wanted = 1.054 * libm::pow(wanted, 0.75);
        // The plateau is so flat that losses which come a little early meet the same whole window: the model's fixed
        // point is the lower end of a range that is about 13 % wide.
        let found = mean_window(Algorithm::Cubic, rtt_millis, packets_per_loss) / wanted;
        assert!((0.95..1.16).contains(&found), "{rtt_millis} ms, {packets_per_loss}: {found}");
    }
    // Section 4.3: not below Reno's elsewhere.
    for (rtt_millis, packets_per_loss) in [(20, 1_000), (10, 10_000), (20, 100)] {
        let wanted = (1.5 * packets_per_loss as f64).sqrt();
        assert_near(mean_window(Algorithm::Cubic, rtt_millis, packets_per_loss), wanted, 0.12);
    }
}

#[test]
fn scalable_has_the_response_function_of_kelly() {
    // w = a (2 - b) / 2b / p for a = 0.01, b = 1/8: 0.075 / p; Kelly rounds to 0.08.
    for packets_per_loss in [3_000, 10_000, 100_000] {
        let wanted = 0.01 * (2.0 - 0.125) / (2.0 * 0.125) * packets_per_loss as f64;
        assert_near(mean_window(Algorithm::Scalable, 100, packets_per_loss), wanted, 0.05);
    }
}

#[test]
fn hybla_has_the_throughput_of_reno_at_25_ms_whatever_the_round_trip() {
    // rho^2 packets per round in place of one: w = rho sqrt(3/2p), and so w/RTT is the same for all.
    for (rtt_millis, rho) in [(10, 1.0), (25, 1.0), (50, 2.0), (100, 4.0), (600, 24.0)] {
        let wanted = rho * (1.5 * 10_000.0f64).sqrt();
        assert_near(mean_window(Algorithm::Hybla, rtt_millis, 10_000), wanted, 0.12);
    }
    // Increments are rounded down to 1/128 of a packet, which is up to a quarter of one at windows of some forty.
    assert_near(mean_window(Algorithm::Hybla, 25, 1_000), mean_window(Algorithm::Reno, 25, 1_000), 0.08);
}

#[test]
fn highspeed_has_the_response_function_of_rfc_3649_section_5() {
    // w = 0.12 / p^0.835. Linux takes the next row of the table, so it may be a little above.
    for packets_per_loss in [10_000, 100_000, 1_000_000] {
        let wanted = 0.12 * libm::pow(packets_per_loss as f64, 0.835);
        let found = mean_window(Algorithm::HighSpeed, 100, packets_per_loss) / wanted;
        assert!((0.95..1.3).contains(&found), "{found}");
    }
    assert_near(mean_window(Algorithm::HighSpeed, 100, 200), (1.5 * 200.0f64).sqrt(), 0.05);
}

#[test]
fn faster_algorithms_have_larger_windows_at_rare_losses() {
    let reno = mean_window(Algorithm::Reno, 100, 50_000);
    for algorithm in [Algorithm::Illinois, Algorithm::Htcp, Algorithm::HighSpeed, Algorithm::Scalable] {
        let found = mean_window(algorithm, 100, 50_000);
        assert!(found > 2.0 * reno && found < 50.0 * reno, "{algorithm}: {found} against {reno}");
    }
}

#[test]
fn compound_has_the_response_function_of_tan_et_al() {
    // Growth by alpha W^k per round trip and a reduction by half, between losses that are 1/p packets apart:
    // 1/p = (W^(2-k) - (W/2)^(2-k)) / (alpha (2-k)), the mean window is 1/p over the round trips that takes.
    for packets_per_loss in [10_000, 100_000] {
        let (k, alpha) = (0.75, 0.125);
        let rest = |power: f64| 1.0 - libm::pow(0.5, power);
        let top = libm::pow(packets_per_loss as f64 * alpha * (2.0 - k) / rest(2.0 - k), 1.0 / (2.0 - k));
        let rounds = libm::pow(top, 1.0 - k) * rest(1.0 - k) / (alpha * (1.0 - k));
        assert_near(mean_window(Algorithm::Compound, 100, packets_per_loss), packets_per_loss as f64 / rounds, 0.06);
    }
    // Below 16 packets alpha W^k is less than Reno's one.
    assert_near(mean_window(Algorithm::Compound, 100, 100), (1.5 * 100.0f64).sqrt(), 0.08);
}

#[test]
fn compound_gives_the_queue_back() {
    // With gamma = 30 packets in the queue, the window of delay gives up as many.
    let mut path = bottleneck(Algorithm::Compound, Loss::None);
    let mut reno = bottleneck(Algorithm::Reno, Loss::None);
    for path in [&mut path, &mut reno] {
        while path.now < Timestamp::from_secs(6) {
            path.step();
        }
    }
    assert!(path.window.cwnd > 105 && reno.window.cwnd < 75, "{} and {}", path.window.cwnd, reno.window.cwnd);
    for _ in 0..6_000 {
        path.step();
        assert!((95..=140).contains(&path.window.cwnd), "{}", path.window.cwnd);
    }
}

#[test]
fn siad_has_a_loss_every_twenty_round_trips_whatever_the_bandwidth() {
    // The queue holds half of what fills the path; its reductions just empty it.
    for packets in [100, 1_000, 10_000] {
        let mut path = IdealPath::new(Algorithm::Siad, Duration::from_millis(100), Loss::Above(packets * 3 / 2));
        path.packet_time = Duration::from_millis(100) / packets;
        path.control.start(&mut path.window, Duration::ZERO, path.now);
        path.run_until(10);
        let (start, mut floor) = (path.now, u32::MAX);
        while path.reductions < 30 {
            path.step();
            floor = floor.min(path.window.cwnd);
        }
        let rounds = path.now.saturating_since(start).as_secs_f64() / 0.125 / 20.0;
        assert!((14.0..30.0).contains(&rounds), "{rounds} round trips at {packets} packets");
        let floor = f64::from(floor) / f64::from(packets);
        assert!((0.9..1.03).contains(&floor), "{floor} of the path at {packets} packets");
    }
}

/// A bottleneck of 1,000 packets/s: 100 packets fill 100 ms.
pub(super) fn bottleneck(algorithm: Algorithm, loss: Loss) -> IdealPath {
    let mut path = IdealPath::new(algorithm, Duration::from_millis(100), loss);
    path.packet_time = Duration::from_millis(1);
    path
}

#[test]
fn vegas_keeps_two_to_four_packets_in_the_queue() {
    for start in [20, 200] {
        let mut path = bottleneck(Algorithm::Vegas, Loss::None);
        // The least delay must have been seen.
        path.window.cwnd = 20;
        (0..100).for_each(|_| path.step());
        path.window.cwnd = start;
        for packets in 0..60_000 {
            path.step();
            let queued = path.window.cwnd.saturating_sub(100);
            assert!(packets < 30_000 || (2..=4).contains(&queued), "{queued} queued from {start}");
        }
    }
}

#[test]
fn vegas_leaves_slow_start_by_its_delay() {
    let mut path = bottleneck(Algorithm::Vegas, Loss::None);
    path.window.ssthresh = u32::MAX;
    while path.window.in_slow_start() {
        path.step();
        // The delay that a round shows is that of the window one round before, so it overshoots by one doubling.
        assert!(path.window.cwnd <= 400, "{}", path.window.cwnd);
    }
    assert!((100..=200).contains(&path.window.cwnd), "{}", path.window.cwnd);
}

#[test]
fn westwood_returns_to_the_bandwidth_delay_product() {
    let mut path = bottleneck(Algorithm::Westwood, Loss::Above(200));
    path.run_until(6);
    // 100 packets, with the coarse clock's rounding of 100 ms to 25 ticks.
    assert!((94..=106).contains(&path.window.ssthresh), "{}", path.window.ssthresh);
    let mut reno = bottleneck(Algorithm::Reno, Loss::Above(400));
    reno.run_until(6);
    assert_eq!(reno.window.ssthresh, 200, "reno halves, whatever the bandwidth");
}

#[test]
fn htcp_backs_off_by_what_empties_the_queue() {
    let mut path = bottleneck(Algorithm::Htcp, Loss::Above(150));
    path.run_until(8);
    // 100 ms least over 150 ms longest, which fades by 5 % of the difference per reduction and is seen again.
    let factor = f64::from(path.window.ssthresh) / 151.0;
    assert!((0.63..0.69).contains(&factor), "{factor}");
}

/// What may happen to a connection.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Acknowledged { packets: u8, rtt_millis: u16 },
    Duplicate,
    Reduced,
    TimedOut,
    Idle { millis: u16 },
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => (1u8..60, 0u16..3_000).prop_map(|(packets, rtt_millis)| Happening::Acknowledged { packets, rtt_millis }),
        2 => Just(Happening::Duplicate),
        1 => Just(Happening::Reduced),
        1 => Just(Happening::TimedOut),
        1 => (1u16..60_000).prop_map(|millis| Happening::Idle { millis }),
    ]
}

proptest! {
    /// Whatever happens, in whatever order: no window below one packet, no threshold below two.
    #[test]
    fn every_algorithm_survives_everything(happenings in prop::collection::vec(happening(), 1..300)) {
        // BBR sets its window itself; its own tests see to it.
        for &algorithm in Algorithm::ALL.iter().filter(|algorithm| !algorithm.name().starts_with("bbr")) {
            let mut path = IdealPath::new(algorithm, Duration::from_millis(50), Loss::None);
            path.window.ssthresh = u32::MAX;
            let mut number = 1;
            for &happening in &happenings {
                survive(&mut path, happening, &mut number);
                prop_assert!(path.window.cwnd >= 1, "{algorithm}: {:?}", path.window);
                prop_assert!(path.window.ssthresh >= 2, "{algorithm}: {:?}", path.window);
                prop_assert!(path.window.cwnd < 100_000_000, "{algorithm}: {:?}", path.window);
            }
        }
    }
}

fn survive(path: &mut IdealPath, happening: Happening, number: &mut u64) {
    let millis = |count: u64| Duration::from_millis(count);
    let wait = |now: Timestamp, time: Duration| Timestamp::from_nanos(now.as_nanos() + time.as_nanos() as u64);
    match happening {
        Happening::Acknowledged { packets, rtt_millis } => {
            *number += u64::from(packets) * MSS;
            path.now = wait(path.now, millis(u64::from(rtt_millis) / 4));
            let sent = *number + u64::from(path.window.cwnd) * MSS;
            let mut ack = acknowledgement(path.now, millis(u64::from(rtt_millis)), *number, sent);
            (ack.acked, ack.acked_or_sacked) = (u32::from(packets), u32::from(packets));
            path.control.handle_acknowledgement(&mut path.window, &ack);
            path.control.grow(&mut path.window, &ack);
        }
        Happening::Duplicate => {
            let sent = *number + u64::from(path.window.cwnd) * MSS;
            let mut ack = acknowledgement(path.now, millis(1), *number, sent);
            (ack.acked, ack.acked_or_sacked, ack.rtt, ack.state) = (0, 1, None, State::Disorder);
            path.control.handle_acknowledgement(&mut path.window, &ack);
        }
        Happening::Reduced => {
            path.reduce();
            let undone = path.control.undo(&path.window);
            assert!(undone >= path.window.cwnd);
        }
        Happening::TimedOut => {
            path.window.ssthresh = path.control.reduced_threshold(&path.window, path.now);
            path.control.handle_event(&mut path.window, Event::Timeout { now: path.now });
            path.window.cwnd = 1;
            path.window.cwnd_count = 0;
            path.control.handle_state(&mut path.window, State::Loss, path.now);
        }
        Happening::Idle { millis: idle } => {
            let last_sent = Some(path.now);
            path.now = wait(path.now, millis(u64::from(idle)));
            let event = Event::TransmitStart { now: path.now, last_sent, was_app_limited: true };
            path.control.handle_event(&mut path.window, event);
            path.control.handle_event(&mut path.window, Event::WindowRestart);
        }
    }
}
