use super::*;
use crate::congestion::RateSample;

/// A pipe of one packet per millisecond and 40 ms, as BBR sees it: what the pacer and the window let go arrives in
/// order, and each acknowledgement covers one packet.
struct Path {
    bbr: Bbr1,
    window: Window,
    now: Timestamp,
    delay: Duration,
    service: Duration,
    /// Packets in flight: when sent, when acknowledged, packets delivered before, limited by the application.
    flight: std::collections::VecDeque<(Timestamp, Timestamp, u64, Timestamp, bool)>,
    delivered: u64,
    delivered_time: Timestamp,
    lost: u64,
    link_free: Timestamp,
    next_send: Timestamp,
    app_limited: u64,
    modes: Vec<(Timestamp, Mode)>,
    rtts: Vec<Duration>,
    /// The application has nothing to send.
    is_idle: bool,
}

impl Path {
    fn new() -> Self {
        let mut window = Window { cwnd: 10, ssthresh: u32::MAX, cwnd_count: 0, prior_cwnd: 0, maximum_segment: 1_448 };
        let mut bbr = Bbr1::new(Seed(7));
        let start = Timestamp::from_secs(1);
        bbr.start(&mut window, Duration::from_millis(40), start);
        Self {
            bbr,
            window,
            now: start,
            delay: Duration::from_millis(40),
            service: Duration::from_millis(1),
            flight: Default::default(),
            delivered: 1,
            delivered_time: start,
            lost: 0,
            link_free: start,
            next_send: start,
            app_limited: 0,
            modes: vec![(start, Mode::Startup)],
            rtts: Vec::new(),
            is_idle: false,
        }
    }

    fn in_flight(&self) -> u32 {
        self.flight.len() as u32
    }

    fn run_until(&mut self, end: Timestamp) {
        while self.now < end {
            let can_send = !self.is_idle && self.in_flight() < self.window.cwnd;
            let send = can_send.then_some(self.next_send.max(self.now));
            let arrive = self.flight.front().map(|packet| packet.1);
            match (send, arrive) {
                (Some(send), arrive) if arrive.is_none_or(|arrive| send <= arrive) => {
                    self.now = send;
                    self.send();
                }
                (_, Some(arrive)) => {
                    self.now = arrive;
                    self.acknowledge(0);
                }
                _ => self.now = end,
            }
        }
    }

    fn send(&mut self) {
        if self.flight.is_empty() {
            self.delivered_time = self.now;
            let event = Event::TransmitStart { now: self.now, last_sent: None, was_app_limited: self.app_limited > 0 };
            self.bbr.handle_event(&mut self.window, event);
        }
        self.link_free = self.link_free.max(self.now) + self.service;
        let arrival = self.link_free + self.delay;
        self.flight.push_back((self.now, arrival, self.delivered, self.delivered_time, self.app_limited > 0));
        let rate = self.bbr.pacing_rate().unwrap();
        let time = Duration::from_nanos(1_448 * 8 * 1_000_000_000 / rate.as_bps());
        self.next_send = self.next_send.max(self.now) + time;
        self.bbr.handle_departure(self.next_send);
    }

    /// The first packet in flight is acknowledged, after `lost` were found lost.
    fn acknowledge(&mut self, lost: u32) -> Acknowledgement {
        self.acknowledge_in(lost, State::Open)
    }

    fn acknowledge_in(&mut self, lost: u32, state: State) -> Acknowledgement {
        let prior_in_flight = self.in_flight();
        let (sent, _, prior_delivered, prior_time, is_app_limited) = self.flight.pop_front().unwrap();
        (0..lost).for_each(|_| drop(self.flight.pop_front()));
        self.delivered += 1;
        self.lost += u64::from(lost);
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        self.delivered_time = self.now;
        let rtt = self.now.saturating_since(sent);
        self.rtts.push(rtt);
        let interval = self.now.saturating_since(prior_time);
        let ack = Acknowledgement {
            now: self.now,
            acked: 1,
            acked_or_sacked: 1,
            newly_lost: lost,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: None,
            prior_in_flight,
            in_flight: self.in_flight(),
            is_cwnd_limited: true,
            delivered: self.delivered,
            lost: self.lost,
            next_sequence: 0,
            first_unacknowledged: 0,
            rate: RateSample {
                delivered: (self.delivered - prior_delivered) as u32,
                prior_delivered,
                prior_time,
                interval: Some(interval),
                is_app_limited,
                in_flight_at_send: 0,
                lost_at_send: 0,
                delivered_ce: 0,
            },
            ecn_echo: false,
            state,
        };
        assert_eq!(self.bbr.control(&mut self.window, &ack), Control::Own);
        if self.bbr.is_holding_back() {
            self.app_limited = (self.delivered + u64::from(self.in_flight())).max(1);
        }
        if self.modes.last().unwrap().1 != self.bbr.mode {
            self.modes.push((self.now, self.bbr.mode));
        }
        ack
    }

    fn entered(&self, mode: impl Fn(Mode) -> bool) -> Vec<Timestamp> {
        self.modes.iter().filter(|(_, entered)| mode(*entered)).map(|(at, _)| *at).collect()
    }
}

const SECOND: Timestamp = Timestamp::from_secs(1);

#[test]
fn startup_ends_after_three_flat_rounds_and_drain_empties_the_queue() {
    let mut path = Path::new();
    let first = path.bbr.pacing_rate().unwrap().as_bps();
    // 10 packets per 40 ms, times 2/ln 2, less a percent.
    assert!((8_200_000..8_300_000).contains(&first), "{first}");
    path.run_until(SECOND + Duration::from_secs(2));
    let drain = path.entered(|mode| mode == Mode::Drain)[0];
    let cruise = path.entered(|mode| matches!(mode, Mode::ProbeBandwidth { .. }))[0];
    // The window of 10 doubles twice to reach 40 packets per round, and three rounds of up to 115 ms are flat.
    let startup = drain.saturating_since(SECOND);
    assert!(startup > Duration::from_millis(250) && startup < Duration::from_millis(700), "{startup:?}");
    assert!(cruise.saturating_since(drain) < Duration::from_millis(250));
    assert_eq!(path.bbr.flat_rounds, FLAT_ROUNDS);
    let estimate = path.bbr.maximum_bandwidth().packets_in_with_gain(Duration::from_secs(1), UNIT);
    assert!((990..=1_030).contains(&estimate), "{estimate} packets per second");
    // What was in flight when PROBE_BW began is the delay's worth, and the bursts' of both ends.
    assert!(path.window.ssthresh >= 40 && path.window.ssthresh <= 50, "{}", path.window.ssthresh);
}

#[test]
fn the_gain_cycles_through_eight_phases_and_the_pipe_stays_full() {
    let mut path = Path::new();
    path.run_until(SECOND + Duration::from_secs(1));
    let (delivered, seen) = (path.delivered, path.rtts.len());
    path.run_until(SECOND + Duration::from_secs(9));
    let rate = (path.delivered - delivered) as f64 / 8_000.0;
    assert!(rate > 0.97 && rate <= 1.001, "{rate} of the link");
    let mean = path.rtts[seen..].iter().sum::<Duration>() / (path.rtts.len() - seen) as u32;
    assert!(mean >= Duration::from_millis(41) && mean < Duration::from_millis(60), "{mean:?}");
    let phases: Vec<usize> = path
        .modes
        .iter()
        .filter_map(|(_, mode)| if let Mode::ProbeBandwidth { phase } = mode { Some(*phase) } else { None })
        .collect();
    assert!(phases.len() > 100, "a phase lasts a round trip or less: {}", phases.len());
    assert!(phases.windows(2).all(|pair| pair[1] == (pair[0] + 1) % PHASES));
    assert_ne!(phases[0], 1, "the cycle does not begin with draining");
}

#[test]
fn the_first_phase_is_drawn_from_the_seed() {
    let first = |seed| {
        let mut bbr = Bbr1::new(Seed(seed));
        bbr.enter_probe_bandwidth();
        bbr.mode
    };
    assert_eq!(first(3), first(3));
    let mut seen: Vec<_> = (0..200).map(first).collect();
    seen.dedup();
    for phase in [0, 2, 3, 4, 5, 6, 7] {
        assert!(seen.contains(&Mode::ProbeBandwidth { phase }), "{phase}");
    }
    assert!(!seen.contains(&Mode::ProbeBandwidth { phase: 1 }));
}

#[test]
fn the_round_trip_is_probed_every_ten_seconds_for_200_ms() {
    let mut path = Path::new();
    // A queue that others keep hides the delay from now on.
    path.run_until(SECOND + Duration::from_secs(1));
    path.delay = Duration::from_millis(50);
    path.run_until(SECOND + Duration::from_secs(25));
    let probes = path.entered(|mode| mode == Mode::ProbeRtt);
    assert_eq!(probes.len(), 2, "{probes:?}");
    let apart = probes[1].saturating_since(probes[0]);
    assert!(apart > Duration::from_secs(10) && apart < Duration::from_millis(11_000), "{apart:?}");
    let end = path.modes.iter().find(|(at, mode)| *at > probes[0] && *mode != Mode::ProbeRtt).unwrap().0;
    let length = end.saturating_since(probes[0]);
    assert!(length > Duration::from_millis(250) && length < Duration::from_millis(450), "{length:?}");
    let min_rtt = path.bbr.min_rtt.unwrap();
    assert!(min_rtt >= Duration::from_millis(50) && min_rtt < Duration::from_millis(53), "{min_rtt:?}");
    assert!(path.window.cwnd > 80, "the window is back: {}", path.window.cwnd);
}

#[test]
fn recovery_conserves_packets_for_a_round_and_then_restores_the_window() {
    let mut path = Path::new();
    path.run_until(SECOND + Duration::from_secs(2));
    let before = path.window.cwnd;
    path.now = path.flight[0].1;
    path.bbr.reduced_threshold(&path.window.clone(), path.now);
    path.acknowledge_in(3, State::Recovery);
    // One for each that arrived: no more in flight than before the acknowledgement, less what was lost.
    let conserved = path.window.cwnd;
    assert_eq!(conserved, path.in_flight() + 1);
    for _ in 0..10 {
        path.now = path.flight[0].1;
        path.acknowledge_in(0, State::Recovery);
        assert_eq!(path.window.cwnd, conserved);
    }
    path.now = path.flight[0].1;
    path.acknowledge_in(2, State::Recovery);
    assert_eq!(path.window.cwnd, conserved - 2);
    path.now = path.flight[0].1;
    path.acknowledge_in(0, State::Open);
    assert!(path.window.cwnd + 4 >= before, "{} of {before}", path.window.cwnd);
}

#[test]
fn what_the_application_limits_does_not_lower_the_estimate() {
    let mut path = Path::new();
    path.run_until(SECOND + Duration::from_secs(2));
    let estimate = path.bbr.maximum_bandwidth();
    for tenth in 20..60 {
        path.is_idle = true;
        path.run_until(SECOND + Duration::from_millis(100 * tenth + 90));
        path.app_limited = (path.delivered + u64::from(path.in_flight())).max(1);
        path.is_idle = false;
        path.run_until(SECOND + Duration::from_millis(100 * tenth + 94));
        path.app_limited = (path.delivered + u64::from(path.in_flight())).max(1);
    }
    assert!(path.bbr.maximum_bandwidth() >= estimate.times(250), "{:?} {estimate:?}", path.bbr.maximum_bandwidth());
}

#[test]
fn an_undone_reduction_looks_for_the_full_pipe_again() {
    let mut path = Path::new();
    path.run_until(SECOND + Duration::from_millis(300));
    path.bbr.flat_rounds = 2;
    assert_eq!(path.bbr.undo(&path.window), path.window.cwnd);
    assert_eq!((path.bbr.flat_rounds, path.bbr.full_bandwidth), (0, Bandwidth::default()));
}

proptest::proptest! {
    /// Whatever the samples: no panic, a window of one packet at least, a rate that is never zero.
    #[test]
    fn survives_everything(
        happenings in proptest::collection::vec((0u32..40, 0u64..2_000, 0u32..5, 0u8..8), 1..300),
    ) {
        let mut path = Path::new();
        for (acked, millis, lost, kind) in happenings {
            path.now += Duration::from_millis(millis);
            path.is_idle = true;
            for _ in 0..=acked + lost {
                path.send();
            }
            match kind {
                0 => path.bbr.handle_state(&mut path.window, State::Loss, path.now),
                1 => path.window.cwnd = path.bbr.undo(&path.window),
                2 => drop(path.bbr.reduced_threshold(&path.window.clone(), path.now)),
                _ => {}
            }
            let state = if kind > 4 { State::Open } else { State::Recovery };
            path.now = path.now.max(path.flight[0].0);
            path.acknowledge_in(lost, state);
            proptest::prop_assert!(path.window.cwnd >= 1);
            proptest::prop_assert!(path.window.cwnd < 100_000, "{}", path.window.cwnd);
            proptest::prop_assert!(path.bbr.pacing_rate().is_some_and(|rate| rate.as_bps() > 0));
        }
    }
}
