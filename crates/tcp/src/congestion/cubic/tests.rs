//! CUBIC's curve, the limits of its growth, and the end of its slow start.

use super::super::tests::{IdealPath, Loss, assert_near, bottleneck};
use super::*;
use crate::congestion::Algorithm;

#[test]
fn cubic_follows_its_curve() {
    for (rtt_millis, maximum) in [(50, 500u32), (100, 2_000), (200, 1_000)] {
        let mut path = IdealPath::new(Algorithm::Cubic, Duration::from_millis(rtt_millis), Loss::None);
        path.window.cwnd = maximum;
        path.reduce();
        let start = path.now;
        let reduced = f64::from(path.window.cwnd);
        assert_near(reduced, 0.7 * f64::from(maximum), 0.002);
        // RFC 9438, equations 1 and 2.
        let k = ((f64::from(maximum) - reduced) / 0.4).cbrt();
        let mut worst = 0.0f64;
        loop {
            path.step();
            let t = path.now.saturating_since(start).as_secs_f64();
            if t > 2.0 * k {
                break;
            }
            let wanted = 0.4 * (t - k).powi(3) + f64::from(maximum);
            worst = worst.max((f64::from(path.window.cwnd) / wanted - 1.0).abs());
        }
        assert!(worst < 0.02, "{rtt_millis} ms, {maximum} packets: {worst} off");
        assert!(f64::from(path.window.cwnd) > 1.25 * f64::from(maximum), "the curve was followed to its convex end");
    }
}

#[test]
fn cubic_gives_up_ground_by_fast_convergence() {
    // RFC 9438, section 4.7: the second reduction comes below the first maximum, so the plateau is (1 + 0.7)/2 of it.
    let mut path = IdealPath::new(Algorithm::Cubic, Duration::from_millis(100), Loss::None);
    path.window.cwnd = 1_000;
    path.reduce();
    path.window.cwnd = 900;
    path.reduce();
    let start = path.now;
    let k = ((0.85 * 900.0 - 0.7 * 900.0) / 0.4f64).cbrt();
    while path.now.saturating_since(start).as_secs_f64() < k {
        path.step();
    }
    assert_near(f64::from(path.window.cwnd), 0.85 * 900.0, 0.02);
}

/// 70 packets, reduced from 100, on a path of 100 ms.
fn reduced() -> IdealPath {
    let mut path = IdealPath::new(Algorithm::Cubic, Duration::from_millis(100), Loss::None);
    path.window.cwnd = 100;
    path.reduce();
    path
}

#[test]
fn however_far_the_curve_is_ahead_the_window_grows_by_half_per_round_trip() {
    // RFC 9438, section 4.2: the target is at most 1.5 times the window.
    let mut path = reduced();
    path.step();
    // A minute in which something else was the limit: the curve is at 0.4 * 60^3 = 86,400 packets.
    path.now += Duration::from_secs(60);
    for _ in 0..8 {
        let before = f64::from(path.window.cwnd);
        path.round_trip();
        assert_near(f64::from(path.window.cwnd) / before, 1.5, 0.02);
    }
}

#[test]
fn the_window_grows_by_a_twentieth_per_round_trip_until_a_loss_tells_a_maximum() {
    let mut path = IdealPath::new(Algorithm::Cubic, Duration::from_millis(100), Loss::None);
    (path.window.cwnd, path.window.ssthresh) = (1_000, 1_000);
    for round in 1..=10 {
        path.round_trip();
        // The curve itself has risen by half a packet in this second, Reno's window by five.
        assert_near(f64::from(path.window.cwnd), 1_000.0 * 1.05_f64.powi(round), 0.01);
    }
    // Once one is known, the plateau is kept: K = cbrt(0.3 * 1000 / 0.4) = 9.1 s.
    path.window.cwnd = 1_000;
    path.reduce();
    let at_plateau = path.now + Duration::from_millis(9_100);
    while path.now < at_plateau {
        path.step();
    }
    let before = path.window.cwnd;
    (0..10).for_each(|_| path.round_trip());
    assert!(path.window.cwnd <= before + 5, "from {before} to {}", path.window.cwnd);
}

/// The window at which slow start ends, if that is below 3,000 packets, on a path that 100 packets fill.
fn end_of_slow_start(path: &mut IdealPath) -> Option<u32> {
    path.window.ssthresh = u32::MAX;
    while path.window.cwnd < 3_000 {
        path.step();
        if !path.window.in_slow_start() {
            return Some(path.window.cwnd);
        }
    }
    None
}

#[test]
fn slow_start_ends_without_a_loss() {
    // HyStart: from 50 packets on, acknowledgements are 2 ms apart and make a train; half of the least delay is half of
    // a window, so it is found in the first round that begins with 50 packets or more.
    let hystart = end_of_slow_start(&mut bottleneck(Algorithm::Cubic, Loss::None));
    assert!(hystart.is_some_and(|cwnd| (75..=150).contains(&cwnd)), "{hystart:?}");
    // HyStart++: the first round whose least delay is 112.5 ms or more begins with 113 to 225 packets; five rounds at a
    // quarter of the pace make 1.25^5, or 3, of that.
    let plus_plus = end_of_slow_start(&mut bottleneck(Algorithm::CubicHyStartPlusPlus, Loss::None));
    assert!(plus_plus.is_some_and(|cwnd| (340..=690).contains(&cwnd)), "{plus_plus:?}");
    assert_eq!(end_of_slow_start(&mut bottleneck(Algorithm::Reno, Loss::None)), None, "what they are there for");
}

/// A path whose flow had a timeout in its slow start.
fn timed_out(algorithm: Algorithm) -> IdealPath {
    let mut path = bottleneck(algorithm, Loss::None);
    path.window.ssthresh = u32::MAX;
    (0..40).for_each(|_| path.step());
    path.control.reduced_threshold(&path.window, path.now);
    path.control.handle_state(&mut path.window, State::Loss, path.now);
    path.window.cwnd = 1;
    path
}

#[test]
fn the_slow_start_after_a_timeout_is_watched_by_hystart_only() {
    let mut path = bottleneck(Algorithm::Cubic, Loss::None);
    let first = end_of_slow_start(&mut path);
    path.control.handle_state(&mut path.window, State::Loss, path.now);
    path.window.cwnd = 1;
    let second = end_of_slow_start(&mut path);
    assert!(first.zip(second).is_some_and(|(first, second)| second.abs_diff(first) <= 50), "{first:?}, {second:?}");
    // RFC 9406, section 4.3: HyStart++ is for the first slow start.
    assert_eq!(end_of_slow_start(&mut timed_out(Algorithm::CubicHyStartPlusPlus)), None);
}
