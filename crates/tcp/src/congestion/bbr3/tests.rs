use super::super::bbr1::test_path::{Path, START, happenings, survive};
use super::*;

fn path() -> Path<Bbr3, State> {
    Path::new(Bbr3::new(Seed(7)), |bbr| bbr.state)
}

#[test]
fn startup_ends_after_three_flat_rounds_and_drain_empties_the_queue() {
    let mut path = path();
    let first = path.control.pacing_rate().unwrap().as_bps();
    // 10 packets per 40 ms, times 2.77, less a percent.
    assert!((7_900_000..8_000_000).contains(&first), "{first}");
    path.run_for(Duration::from_secs(2));
    let drain = path.entered(|state| state == State::Drain)[0];
    let down = path.entered(State::is_probe_bandwidth)[0];
    let startup = drain.saturating_since(START);
    assert!(startup > Duration::from_millis(250) && startup < Duration::from_millis(700), "{startup:?}");
    assert!(down.saturating_since(drain) < Duration::from_millis(250));
    let estimate = path.control.model.maximum().packets_in_with_gain(Duration::from_secs(1), UNIT);
    assert!((990..=1_030).contains(&estimate), "{estimate} packets per second");
}

#[test]
fn probing_goes_down_cruise_refill_up_every_two_to_three_seconds_and_fills_the_pipe() {
    let mut path = path();
    path.run_for(Duration::from_secs(1));
    let (rate, rtt) = path.measure(Duration::from_secs(8));
    assert!(rate > 0.95 && rate <= 1.001, "{rate} of the link");
    assert!(rtt >= Duration::from_millis(41) && rtt < Duration::from_millis(60), "{rtt:?}");
    let order =
        [State::ProbeBandwidthDown, State::ProbeBandwidthCruise, State::ProbeBandwidthRefill, State::ProbeBandwidthUp];
    let position = |state| order.iter().position(|&other| other == state);
    let states: Vec<usize> = path.log.iter().filter_map(|(_, state)| position(*state)).collect();
    assert!(states.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 4), "{states:?}");
    // The wait is at most what Reno would need: min(40 packets, 63) round trips of 41 ms.
    let probes = path.entered(|state| state == State::ProbeBandwidthUp);
    assert!(probes.len() >= 3, "{probes:?}");
    for pair in probes.windows(2) {
        let apart = pair[1].saturating_since(pair[0]);
        assert!(apart > Duration::from_millis(1_500) && apart < Duration::from_millis(3_600), "{apart:?}");
    }
}

#[test]
fn the_wait_is_drawn_from_the_seed() {
    let refills = |seed| {
        let mut path = Path::new(Bbr3::new(Seed(seed)), |bbr| bbr.state);
        // A long path, where the clock and not the rounds end the wait.
        path.delay = Duration::from_millis(200);
        path.run_for(Duration::from_secs(9));
        path.entered(|state| state == State::ProbeBandwidthRefill)
    };
    assert_eq!(refills(1), refills(1));
    assert_ne!(refills(1), refills(2));
}

#[test]
fn a_shallow_queue_bounds_what_is_in_flight_with_little_loss() {
    let mut path = path();
    path.queue = 8;
    path.run_for(Duration::from_secs(4));
    let (lost, delivered) = (path.lost, path.delivered);
    let (rate, rtt) = path.measure(Duration::from_secs(20));
    assert!(rate > 0.85, "{rate} of the link");
    assert!(rtt < Duration::from_millis(49), "{rtt:?}");
    let share = (path.lost - lost) as f64 / (path.delivered - delivered) as f64;
    assert!(share > 0.0 && share < 0.02, "{share} lost");
    let bound = path.control.model.inflight_longterm.expect("it was found");
    assert!((34..=60).contains(&bound), "{bound} packets of 41 and 8");
}

#[test]
fn a_little_random_loss_does_not_bound_it_and_much_slows_it_down() {
    let run = |loss_interval| {
        let mut path = path();
        path.loss_interval = loss_interval;
        path.run_for(Duration::from_secs(3));
        path.measure(Duration::from_secs(15)).0
    };
    let (tenth, one, five) = (run(1_000), run(100), run(20));
    assert!(tenth > 0.9, "{tenth} at 0.1 %");
    assert!(one > 0.75, "{one} at 1 %");
    assert!(five < one, "{five} at 5 % against {one}");
}

#[test]
fn the_short_term_bounds_follow_what_is_delivered_but_keep_seven_tenths() {
    let mut path = path();
    path.run_for(Duration::from_secs(2));
    path.control.model.reset_signals();
    path.control.model.is_loss_in_round = true;
    let before = path.control.model.maximum();
    path.control.model.adapt_lower_bounds(100);
    assert_eq!(path.control.model.inflight_shortterm, Some(69), "179/256 of 100");
    let bandwidth = path.control.model.bandwidth_shortterm.unwrap();
    assert!(bandwidth >= before.times(178) && bandwidth <= before.times(180));
    path.control.model.inflight_latest = 90;
    path.control.model.adapt_lower_bounds(100);
    assert_eq!(path.control.model.inflight_shortterm, Some(90), "what was delivered is known to fit");
}

#[test]
fn the_round_trip_is_probed_after_ten_seconds_at_half_the_pipe() {
    let mut path = path();
    path.run_for(Duration::from_secs(1));
    path.delay = Duration::from_millis(50);
    path.run_for(Duration::from_secs(24));
    let probes = path.entered(|state| state == State::ProbeRtt);
    assert_eq!(probes.len(), 2, "{probes:?}");
    let end = path.log.iter().find(|(at, state)| *at > probes[0] && *state != State::ProbeRtt).unwrap();
    assert_eq!(end.1, State::ProbeBandwidthCruise);
    let length = end.0.saturating_since(probes[0]);
    assert!(length > Duration::from_millis(220) && length < Duration::from_millis(450), "{length:?}");
    let min_rtt = path.control.min_rtt.value.unwrap();
    assert!(min_rtt >= Duration::from_millis(50) && min_rtt < Duration::from_millis(53), "{min_rtt:?}");
    assert!((15..=30).contains(&path.control.min_rtt.window), "half of 40 to 51: {}", path.control.min_rtt.window);
}

#[test]
fn a_spurious_loss_gives_bounds_and_window_back() {
    let mut path = path();
    path.run_for(Duration::from_secs(2));
    let cwnd = path.window.cwnd;
    path.control.reduced_threshold(&path.window.clone(), path.now);
    path.control.model.inflight_longterm = Some(12);
    path.control.model.inflight_shortterm = Some(10);
    path.window.cwnd = 5;
    assert_eq!(path.control.undo(&path.window), cwnd);
    assert_eq!((path.control.model.inflight_longterm, path.control.model.inflight_shortterm), (None, None));
}

proptest::proptest! {
    #[test]
    fn survives_everything(happenings in happenings()) {
        survive(path(), LEAST_WINDOW, happenings)?;
    }
}
