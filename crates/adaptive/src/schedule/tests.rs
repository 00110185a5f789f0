use proptest::prelude::*;

use super::*;

const ONE_PER_SECOND: FrameRate = FrameRate { numerator: 1, denominator: 1 };
const FILM: FrameRate = FrameRate { numerator: 24_000, denominator: 1_001 };
const SECOND: Duration = Duration::from_secs(1);

fn consumption(sizes: &[u32]) -> Consumption {
    Consumption::new(sizes, ONE_PER_SECOND, SECOND).unwrap()
}

fn schedule(sizes: &[u32], method: Method) -> Result<Schedule, ScheduleError> {
    Schedule::of_sizes(ONE_PER_SECOND, &[sizes.to_vec()], ScheduleSettings { method, startup: SECOND })
}

fn segments(count: usize, pre_send: PreSend) -> Method {
    Method::Segments { count, pre_send }
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

// By hand: frames of 10, 10, 40 and 20 bytes, one a second, taken at 1, 2, 3 and 4 s.
const SIZES: [u32; 4] = [10, 10, 40, 20];

#[test]
fn what_the_player_takes() {
    let taken = consumption(&SIZES);
    let at = [0.0, 0.999, 1.0, 2.5, 3.0, 4.0, 9.0].map(|seconds| taken.at(seconds).as_bytes());
    assert_eq!(at, [0, 0, 10, 20, 60, 80, 80]);
    assert_eq!((taken.total(), taken.duration()), (DataSize::from_bytes(80), 4.0));
}

#[test]
fn the_constant_rate_of_figure_9() {
    let taken = consumption(&SIZES);
    let plan = equal_segments(&taken, 1).unwrap();
    assert_eq!(plan.steps(), [Step { start: 0.0, sent: 0.0, rate: 20.0 }]);
    let buffer = Occupancy::of(&plan, &taken);
    // 60 bytes sent and 20 taken, just before the third frame is taken.
    assert_eq!(buffer.max, Extreme { time: 3.0, bytes: 40.0 });
    assert_eq!((buffer.min.bytes, buffer.first_underflow), (0.0, None));
    assert_eq!(buffer.client_buffer(), DataSize::from_bytes(40));
}

#[test]
fn segments_and_bytes_sent_ahead() {
    let plan = &schedule(&SIZES, segments(2, PreSend::Until(Duration::from_secs(2)))).unwrap().levels[0];
    // 10 and 30 bytes/s: 50 bytes by the time 60 are taken.
    assert_eq!(plan.base.steps().iter().map(|step| step.rate).collect::<Vec<_>>(), [10.0, 30.0]);
    assert_eq!(plan.base_occupancy.min, Extreme { time: 3.0, bytes: -10.0 });
    assert_eq!(plan.base_occupancy.max, Extreme { time: 3.0, bytes: 30.0 });
    assert_eq!(plan.base_occupancy.first_underflow, Some(3.0));
    // Equation 5.
    assert_eq!(plan.client_buffer, DataSize::from_bytes(40));
    // 10 bytes in 2 s more, by which the end comes earlier: 80 bytes after 30 + 30 (t - 2).
    let steps = plan.profile.steps();
    assert_eq!(steps.iter().map(|step| step.start).collect::<Vec<_>>(), [0.0, 2.0]);
    assert!(close(steps[0].rate, 15.0) && close(steps[1].rate, 30.0), "{steps:?}");
    assert!(close(plan.profile.end(), 2.0 + 50.0 / 30.0), "{}", plan.profile.end());
    assert_eq!((plan.occupancy.min.bytes, plan.occupancy.max.bytes), (0.0, 40.0));
}

#[test]
fn rates_by_time() {
    let plan = schedule(&SIZES, segments(2, PreSend::Until(Duration::from_secs(2)))).unwrap();
    let rate = |millis| plan.rate_at(0, Duration::from_millis(millis)).as_bps();
    assert_eq!([0, 1_999, 2_000, 3_600, 3_700].map(rate), [120, 120, 240, 240, 0]);
    assert_eq!(plan.levels[0].profile.peak_rate().as_bps(), 240);
}

#[test]
fn a_pre_send_interval_after_the_first_underflow_is_refused() {
    let never_late = schedule(&SIZES, segments(1, PreSend::Until(Duration::from_secs(9)))).unwrap();
    assert_eq!(never_late.pre_send_until(), None);
    // Segments of 2 s underflow at 3 s and at 7 s, at 7 s worst.
    let sizes = [10, 10, 40, 20, 10, 10, 90, 20];
    let plan = |pre_send| schedule(&sizes, segments(4, pre_send));
    let first = plan(PreSend::Never).unwrap().levels[0].base_occupancy;
    assert_eq!((first.first_underflow, first.min.time), (Some(3.0), 7.0));
    // Before the worst, and yet too late.
    let refused = plan(PreSend::Until(Duration::from_secs(5))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "bytes are to be sent ahead until 5.000 s, but level 0 runs out of bytes at 3.000 s: until 3.000 s at the \
         latest is allowed"
    );
    for (pre_send, until) in [(PreSend::Latest, 3), (PreSend::AtMost(PAPER_PRE_SEND), 3), (PreSend::AtMost(SECOND), 1)]
    {
        let plan = plan(pre_send).unwrap();
        assert_eq!(plan.pre_send_until(), Some(Duration::from_secs(until)));
        assert!(plan.levels[0].occupancy.is_enough());
    }
    assert_eq!(plan(PreSend::Until(Duration::ZERO)).unwrap_err(), ScheduleError::PreSendAtOnce);
}

#[test]
fn the_taut_string_by_hand() {
    // Frames of 10, 40, 10 and 20 bytes, 40 bytes of buffer: the second frame has to be whole when the first is gone,
    // so 50 bytes in 2 s, then 30 in 2 s.
    let plan = smoothed(&consumption(&[10, 40, 10, 20]), DataSize::from_bytes(40)).unwrap();
    let steps: Vec<_> = plan.steps().iter().map(|step| (step.start, step.rate)).collect();
    assert_eq!(steps, [(0.0, 25.0), (2.0, 15.0)]);
    let refused = schedule(&[10, 40], Method::Smoothed { buffer: DataSize::from_bytes(39) }).unwrap_err();
    assert!(matches!(refused, ScheduleError::BufferTooSmall { level: 0, frame: 1, .. }), "{refused}");
}

#[test]
fn what_cannot_be_planned() {
    let of = |sizes: &[u32], startup| Consumption::new(sizes, FILM, startup).unwrap_err();
    assert_eq!(of(&[], SECOND), ScheduleError::NoBytes);
    assert_eq!(of(&[0, 0], SECOND), ScheduleError::NoBytes);
    assert_eq!(of(&[5], Duration::ZERO), ScheduleError::NoStartup);
    assert_eq!(
        schedule(&SIZES, segments(5, PreSend::Never)).unwrap_err(),
        ScheduleError::Segments { count: 5, frames: 4 }
    );
    assert!(schedule(&SIZES, segments(0, PreSend::Never)).is_err());
    assert_eq!(Schedule::of_sizes(FILM, &[], ScheduleSettings::PAPER).unwrap_err(), ScheduleError::NoLevel);
}

#[test]
fn the_largest_buffer_of_all_levels_counts() {
    let levels = [SIZES.to_vec(), SIZES.map(|size| 3 * size).to_vec()];
    let settings = ScheduleSettings { method: segments(2, PreSend::Latest), startup: SECOND };
    let plan = Schedule::of_sizes(ONE_PER_SECOND, &levels, settings).unwrap();
    assert_eq!(plan.client_buffer(), DataSize::from_bytes(120));
}

/// Sizes as of groups of pictures, with bursts.
fn any_sizes() -> impl Strategy<Value = Vec<u32>> {
    let scene = (1_u32..60, 1_u32..8, 1_usize..40);
    prop::collection::vec(scene, 1..12).prop_map(|scenes| {
        let frames = scenes.into_iter().flat_map(|(size, intra, frames)| {
            (0..frames).map(move |frame| if frame % 12 == 0 { 100 * size * intra } else { 100 * size })
        });
        frames.collect()
    })
}

/// U(t) at many times, from C(t) and V(t) alone: just before and at every frame, and in between.
fn buffer_over_time<'a>(profile: &'a Profile, taken: &'a Consumption) -> impl Iterator<Item = f64> + 'a {
    const BEFORE: f64 = 1e-6;
    let times = (0..taken.frames()).flat_map(|frame| {
        let time = taken.time_of(frame);
        [time - BEFORE, time, time + 0.011]
    });
    times.map(|time| profile.at(time) - taken.at(time).as_bytes() as f64)
}

proptest! {
    #[test]
    fn no_plan_underflows_or_overflows(
        sizes in any_sizes(), count in 1_usize..20, startup in 42_u64..3_000, at_most in prop::option::of(1_u64..8_000),
    ) {
        let pre_send = at_most.map_or(PreSend::Latest, |millis| PreSend::AtMost(Duration::from_millis(millis)));
        let method = segments(count.min(sizes.len()), pre_send);
        let settings = ScheduleSettings { method, startup: Duration::from_millis(startup) };
        let schedule = Schedule::of_sizes(FILM, std::slice::from_ref(&sizes), settings).unwrap();
        let plan = &schedule.levels[0];
        prop_assert!(plan.occupancy.is_enough());
        let most = plan.client_buffer.as_bytes() as f64 + 1e-3;
        for bytes in buffer_over_time(&plan.profile, &plan.consumption) {
            prop_assert!((-1e-3..=most).contains(&bytes), "{bytes} bytes of {most}");
        }
        let total: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
        prop_assert!((plan.profile.total() - total as f64).abs() < 1e-6);
        prop_assert!(plan.profile.end() <= plan.consumption.duration() + 1e-9);
        prop_assert!((plan.occupancy.max.bytes) <= plan.client_buffer.as_bytes() as f64 + 1e-6);
    }

    #[test]
    fn a_taut_string_keeps_within_the_buffer_at_the_lowest_peak(
        sizes in any_sizes(), startup in 42_u64..3_000, more in 0_u64..200_000,
    ) {
        let taken = Consumption::new(&sizes, FILM, Duration::from_millis(startup)).unwrap();
        let buffer = DataSize::from_bytes(u64::from(*sizes.iter().max().unwrap()) + more);
        let plan = smoothed(&taken, buffer).unwrap();
        let held = Occupancy::of(&plan, &taken);
        prop_assert!(held.min.bytes > -1e-3 && held.max.bytes < buffer.as_bytes() as f64 + 1e-3, "{held:?}");
        // No plan has a lower peak: from the most that can be there at one time, enough has to come by another.
        let mut least_peak: f64 = 0.0;
        let total = taken.total().as_bytes();
        for frame in 0..sizes.len() {
            let (time, needed) = (taken.time_of(frame), taken.bytes_of(frame + 1) as f64);
            least_peak = least_peak.max(needed / time);
            for before in 0..frame {
                let most = (taken.bytes_of(before) + buffer.as_bytes()).min(total) as f64;
                least_peak = least_peak.max((needed - most) / (time - taken.time_of(before)));
            }
        }
        let peak = plan.steps().iter().map(|step| step.rate).fold(0.0, f64::max);
        prop_assert!((peak / least_peak - 1.0).abs() < 1e-9, "{peak} and {least_peak}");
    }

    #[test]
    fn smoothing_has_no_higher_peak_than_segments_with_their_buffer(sizes in any_sizes(), count in 1_usize..20) {
        let method = segments(count.min(sizes.len()), PreSend::Latest);
        let settings = ScheduleSettings { method, startup: SECOND };
        let schedule = Schedule::of_sizes(FILM, std::slice::from_ref(&sizes), settings).unwrap();
        let plan = &schedule.levels[0];
        let smooth = smoothed(&plan.consumption, plan.client_buffer).unwrap();
        prop_assert!(smooth.peak_rate().as_bps() <= plan.profile.peak_rate().as_bps() + 1);
    }
}
