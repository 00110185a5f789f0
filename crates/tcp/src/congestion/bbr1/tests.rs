use super::test_path::{Path, START, happenings, survive};
use super::*;

fn path() -> Path<Bbr1, Mode> {
    Path::new(Bbr1::new(Seed(7)), |bbr| bbr.mode)
}

/// The acknowledgement of the first packet in flight comes.
fn arrive(path: &mut Path<Bbr1, Mode>, lost: u32, state: State) {
    path.now = path.flight[0].arrival;
    path.acknowledge_in(lost, state);
}

#[test]
fn startup_ends_after_three_flat_rounds_and_drain_empties_the_queue() {
    let mut path = path();
    let first = path.control.pacing_rate().unwrap().as_bps();
    // 10 packets per 40 ms, times 2/ln 2, less a percent.
    assert!((8_200_000..8_300_000).contains(&first), "{first}");
    path.run_for(Duration::from_secs(2));
    let drain = path.entered(|mode| mode == Mode::Drain)[0];
    let cruise = path.entered(|mode| matches!(mode, Mode::ProbeBandwidth { .. }))[0];
    // The window of 10 doubles twice to reach 40 packets per round, and three rounds of up to 115 ms are flat.
    let startup = drain.saturating_since(START);
    assert!(startup > Duration::from_millis(250) && startup < Duration::from_millis(700), "{startup:?}");
    assert!(cruise.saturating_since(drain) < Duration::from_millis(250));
    assert_eq!(path.control.flat_rounds, 3);
    let estimate = path.control.maximum_bandwidth().packets_in_with_gain(Duration::from_secs(1), UNIT);
    assert!((990..=1_030).contains(&estimate), "{estimate} packets per second");
    // What was in flight when PROBE_BW began is the delay's worth, and the bursts' of both ends.
    assert!(path.window.ssthresh >= 40 && path.window.ssthresh <= 50, "{}", path.window.ssthresh);
}

#[test]
fn the_gain_cycles_through_eight_phases_and_the_pipe_stays_full() {
    let mut path = path();
    path.run_for(Duration::from_secs(1));
    let (rate, rtt) = path.measure(Duration::from_secs(8));
    assert!(rate > 0.97 && rate <= 1.001, "{rate} of the link");
    assert!(rtt >= Duration::from_millis(41) && rtt < Duration::from_millis(60), "{rtt:?}");
    let phase = |(_, mode): &(Timestamp, Mode)| match mode {
        Mode::ProbeBandwidth { phase } => Some(*phase),
        _ => None,
    };
    let phases: Vec<usize> = path.log.iter().filter_map(phase).collect();
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
    let seen: Vec<_> = (0..200).map(first).collect();
    for phase in [0, 2, 3, 4, 5, 6, 7] {
        assert!(seen.contains(&Mode::ProbeBandwidth { phase }), "{phase}");
    }
    assert!(!seen.contains(&Mode::ProbeBandwidth { phase: 1 }));
}

#[test]
fn the_round_trip_is_probed_every_ten_seconds_for_200_ms() {
    let mut path = path();
    path.run_for(Duration::from_secs(1));
    // The way gets longer: the least round-trip time is never seen again.
    path.delay = Duration::from_millis(50);
    path.run_for(Duration::from_secs(24));
    let probes = path.entered(|mode| mode == Mode::ProbeRtt);
    assert_eq!(probes.len(), 2, "{probes:?}");
    let apart = probes[1].saturating_since(probes[0]);
    assert!(apart > Duration::from_secs(10) && apart < Duration::from_millis(11_000), "{apart:?}");
    let end = path.log.iter().find(|(at, mode)| *at > probes[0] && *mode != Mode::ProbeRtt).unwrap().0;
    let length = end.saturating_since(probes[0]);
    assert!(length > Duration::from_millis(250) && length < Duration::from_millis(450), "{length:?}");
    let min_rtt = path.control.min_rtt.unwrap();
    assert!(min_rtt >= Duration::from_millis(50) && min_rtt < Duration::from_millis(53), "{min_rtt:?}");
    assert!(path.window.cwnd > 80, "the window is back: {}", path.window.cwnd);
}

#[test]
fn recovery_conserves_packets_for_a_round_and_then_restores_the_window() {
    let mut path = path();
    path.run_for(Duration::from_secs(2));
    let before = path.window.cwnd;
    path.control.reduced_threshold(&path.window.clone(), path.now);
    arrive(&mut path, 3, State::Recovery);
    // One for each that arrived: no more in flight than before the acknowledgement, less what was lost.
    let conserved = path.window.cwnd;
    assert_eq!(conserved, path.in_flight() + 1);
    for _ in 0..10 {
        arrive(&mut path, 0, State::Recovery);
        assert_eq!(path.window.cwnd, conserved);
    }
    arrive(&mut path, 2, State::Recovery);
    assert_eq!(path.window.cwnd, conserved - 2);
    arrive(&mut path, 0, State::Open);
    assert!(path.window.cwnd + 4 >= before, "{} of {before}", path.window.cwnd);
}

#[test]
fn random_loss_costs_little() {
    let mut path = path();
    path.loss_interval = 100;
    path.run_for(Duration::from_secs(2));
    let (rate, _) = path.measure(Duration::from_secs(8));
    assert!(rate > 0.93, "{rate} of the link at 1 % loss");
}

#[test]
fn what_the_application_limits_does_not_lower_the_estimate() {
    let mut path = path();
    path.run_for(Duration::from_secs(2));
    let estimate = path.control.maximum_bandwidth();
    for _ in 0..40 {
        path.is_idle = true;
        path.limit();
        path.run_for(Duration::from_millis(96));
        path.limit();
        path.is_idle = false;
        path.run_for(Duration::from_millis(4));
    }
    let now = path.control.maximum_bandwidth();
    assert!(now >= estimate.times(250) && now <= estimate.times(262), "{now:?} {estimate:?}");
}

#[test]
fn an_undone_reduction_looks_for_the_full_pipe_again() {
    let mut path = path();
    path.run_for(Duration::from_millis(300));
    path.control.flat_rounds = 2;
    assert_eq!(path.control.undo(&path.window), path.window.cwnd);
    assert_eq!((path.control.flat_rounds, path.control.full_bandwidth), (0, Bandwidth::default()));
}

proptest::proptest! {
    #[test]
    fn survives_everything(happenings in happenings()) {
        survive(path(), 1, happenings)?;
    }
}
