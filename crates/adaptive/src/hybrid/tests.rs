use std::sync::Arc;

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::vtp::ControlPacket;
use proptest::prelude::*;

use super::*;
use crate::controller::{Controller, Decision, Feedback, PlanRates};
use crate::path_reports::testing::control;
use crate::server::Cursor;
use crate::source::Plan;
use crate::testing::Steps;

const RATES: [Bitrate; 3] = [Bitrate::from_kbps(100), Bitrate::from_kbps(200), Bitrate::from_kbps(400)];
const PAYLOAD: DataSize = DataSize::from_bytes(1_000);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn plan_at(seconds: u64) -> PlanRates<'static> {
    PlanRates { now_in_stream: Duration::from_secs(seconds), rates: &RATES }
}

mod queue {
    use super::super::queue::Queue;
    use super::*;

    fn after(samples: &[u64]) -> Queue {
        let mut queue = Queue::default();
        for (&millis, number) in samples.iter().zip(0..) {
            queue.update(at(100 * number), Duration::from_millis(millis));
        }
        queue
    }

    #[test]
    fn the_delay_is_what_is_beyond_the_least_round_trip() {
        // 0, then halfway to 40, then halfway to 80.
        assert!((after(&[20, 60, 100]).delay() - 0.050).abs() < 1e-9);
        assert_eq!(after(&[20, 60, 10]).least_round_trip(), Some(Duration::from_millis(10)));
        assert!(after(&[20, 60, 100]).is_not_falling());
        let full_and_empty = [[20].as_slice(), &[200; 20], &[20; 3]].concat();
        assert!(!after(&full_and_empty).is_not_falling());
    }

    #[test]
    fn a_loss_is_congestion_when_the_queue_is_near_its_longest() {
        assert!(after(&[20, 220, 180]).is_nearly_full());
        assert!(!after(&[20, 220, 60]).is_nearly_full());
        assert!(!after(&[20, 22, 25]).is_nearly_full(), "no queue at all");
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut queue = after(&[20, 500]);
        queue.update(at(9_000), Duration::from_millis(80));
        assert!(!queue.is_nearly_full());
        queue.update(at(10_300), Duration::from_millis(80));
        assert!(queue.is_nearly_full());
    }
}

mod losses {
    use super::super::losses::Losses;
    use super::super::rivals::Rivals;
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(100);

    fn limit(losses: &Losses, round_trip: Duration) -> f64 {
        losses.limit(round_trip, &Rivals::default())
    }

    #[test]
    fn only_losses_of_a_full_queue_lower_the_limit() {
        let mut losses = Losses::default();
        assert!(!losses.update(at(0), (4, 1), true, false, (50.0, ROUND_TRIP)));
        assert_eq!(limit(&losses, ROUND_TRIP), f64::INFINITY);
        assert!(losses.update(at(100), (4, 1), true, true, (50.0, ROUND_TRIP)));
        let limit = limit(&losses, ROUND_TRIP);
        assert!((24.9..25.1).contains(&limit), "half of the rate by the equation, not {limit}");
    }

    #[test]
    fn very_many_losses_are_congestion_whatever_the_queue_says() {
        let mut losses = Losses::default();
        let begun = (0..40).any(|report| losses.update(at(report), (4, 1), true, false, (50.0, ROUND_TRIP)));
        assert!(!begun || losses.share() > 0.15);
        assert!((0..40).any(|report| losses.update(at(report), (3, 2), true, false, (50.0, ROUND_TRIP))));
    }

    /// RFC 9438, section 5.1, has the response function for C = 0.4; at 1 s and a loss in 10,000 packets its window is
    /// 1,054 packets, and reno's, with an acknowledgement for two, is 87: 1054^0.8 87^0.2 are 640, and 1054^0.4 87^0.6
    /// are 236.
    #[test]
    fn on_a_long_path_the_limit_lies_between_reno_and_cubic() {
        let mut losses = Losses::default();
        let second = Duration::from_secs(1);
        for event in 0..12 {
            losses.update(at(event), (9_999, 1), true, true, (1_000.0, second));
        }
        let cubic = limit(&losses, second);
        assert!((620.0..660.0).contains(&cubic), "{cubic}");
        let reno = losses.limit(second, &rivals::saw(0.5, 1));
        assert!((228.0..244.0).contains(&reno), "{reno}");
    }

    /// 3 % of the packets are lost, from which on they get all of it.
    #[test]
    fn beside_bbr_flows_the_limit_is_two_and_a_half_times_as_high() {
        let mut losses = Losses::default();
        (0..12).for_each(|event| _ = losses.update(at(event), (960, 40), true, true, (100.0, ROUND_TRIP)));
        let limit = |millis| losses.limit(ROUND_TRIP, &rivals::drained_for(millis, 0.95));
        assert!((limit(500) / limit(0) - 2.5).abs() < 1e-9, "{} and {}", limit(500), limit(0));
    }

    #[test]
    fn on_a_short_path_cubic_is_reno() {
        let mut losses = Losses::default();
        (0..12).for_each(|event| _ = losses.update(at(event), (99, 1), true, true, (100.0, ROUND_TRIP)));
        assert!((limit(&losses, ROUND_TRIP) / losses.limit(ROUND_TRIP, &rivals::saw(0.5, 1)) - 1.0).abs() < 1e-9);
    }
}

mod rivals {
    use super::super::rivals::Rivals;
    use super::*;

    /// A minute of round trips of at most 400 ms that fall to `beta` every 4 s, and rise from there as
    /// 1 - (1 - beta)(1 - t)^power.
    pub(super) fn saw(beta: f64, power: i32) -> Rivals {
        let mut rivals = Rivals::default();
        for report in 0..600u32 {
            let left = 1.0 - f64::from(report % 40) / 40.0;
            let round_trip = 0.4 * (1.0 - (1.0 - beta) * left.powi(power));
            rivals.update(at(u64::from(report) * 100), round_trip, 0.5);
        }
        rivals
    }

    /// In step they are (1 - 1/2) / sqrt(12) / 0.75 = 0.19 and 0.3 (1/7 - 1/16)^(1/2) / 0.925 = 0.09.
    #[test]
    fn windows_that_halve_sway_twice_as_much_as_those_of_cubic() {
        let (reno, cubic) = (saw(0.5, 1), saw(0.7, 3));
        assert!((0.17..0.21).contains(&reno.sway()), "{}", reno.sway());
        assert!((0.08..0.10).contains(&cubic.sway()), "{}", cubic.sway());
        assert!((reno.cubic_weight() - 0.4).abs() < 1e-9);
        assert!((0.72..=0.8).contains(&cubic.cubic_weight()), "{}", cubic.cubic_weight());
        assert!((saw(0.1, 1).cubic_weight() - 0.8).abs() < 1e-9, "a path whose rate changes: {}", saw(0.1, 1).sway());
    }

    /// A minute of a queue that is full but for so many milliseconds of each 10 s, in which it drains.
    pub(super) fn drained_for(millis: u64, filled: f64) -> Rivals {
        let mut rivals = Rivals::default();
        for now in (0..60_000).step_by(50) {
            rivals.update(at(now), 0.2, if now % 10_000 < millis { 0.1 } else { filled });
        }
        rivals
    }

    #[test]
    fn a_full_queue_that_drains_now_and_then_is_one_of_bbr() {
        let over = |rivals: Rivals| rivals.over_equation(0.1);
        assert!((over(drained_for(500, 0.95)) - 2.5).abs() < 1e-9);
        assert_eq!(over(drained_for(500, 0.65)), 1.0, "it is half full most of the time");
        assert_eq!(over(drained_for(0, 0.95)), 1.0, "it never drains");
        assert_eq!(over(drained_for(4_000, 0.95)), 1.0, "it often drains");
        assert_eq!(drained_for(500, 0.95).over_equation(0.009), 1.0, "little is lost in it");
    }
}

mod levels {
    use super::super::levels::{Levels, Position};
    use super::*;

    /// 100 and 200 kbit/s, and the second one at 400 from 10 s on.
    struct Wall;

    impl Plan for Wall {
        fn levels(&self) -> usize {
            2
        }

        fn rate_at(&self, level: usize, at: Duration) -> Bitrate {
            RATES[if level == 1 && at >= Duration::from_secs(10) { 2 } else { level }]
        }
    }

    fn position(seconds: u64, buffer_level: f64, kbps: f64) -> Position {
        Position {
            now: Timestamp::from_secs(seconds),
            buffer_level,
            steady: kbps * 1e3,
            rate: kbps * 1e3,
            is_starting: false,
        }
    }

    fn levels() -> Levels {
        Levels::new(Duration::from_secs(20))
    }

    #[test]
    fn a_level_is_taken_when_the_rate_covers_it() {
        for (kbps, expected) in [(205.0, 0), (215.0, 1), (415.0, 1), (425.0, 2)] {
            assert_eq!(levels().update(&position(0, 1.0, kbps), &plan_at(0), None), expected, "{kbps} kbit/s");
        }
    }

    #[test]
    fn a_level_whose_plan_soon_exceeds_the_rate_is_not_entered() {
        let here = |seconds| PlanRates { now_in_stream: Duration::from_secs(seconds), rates: &RATES[..2] };
        assert_eq!(levels().update(&position(0, 1.0, 220.0), &here(0), None), 1, "without the plan");
        assert_eq!(levels().update(&position(0, 1.0, 220.0), &here(0), Some(&Wall)), 0, "with it");
        assert_eq!(
            levels().update(&position(0, 30.0, 220.0), &here(0), Some(&Wall)),
            1,
            "with enough in the playout buffer"
        );
    }

    #[test]
    fn a_full_buffer_is_spent_before_the_level_falls() {
        let mut levels = levels();
        levels.update(&position(0, 1.0, 500.0), &plan_at(0), None);
        assert_eq!(levels.level(), 2);
        // At half of the rate each second of video costs one of the playout buffer, and two of them are looked ahead.
        for buffer_level in [20.0, 10.0, 3.0] {
            assert_eq!(levels.update(&position(30, buffer_level, 200.0), &plan_at(0), None), 2);
        }
        assert_eq!(levels.update(&position(60, 2.0, 200.0), &plan_at(0), None), 1);
    }

    #[test]
    fn a_climb_that_failed_is_not_tried_again_for_longer_each_time() {
        let (mut levels, mut now, mut waits) = (levels(), 0, vec![]);
        for _ in 0..4 {
            let fell = now;
            while levels.update(&position(now, 1.0, 215.0), &plan_at(0), None) == 0 {
                now += 1;
            }
            waits.push(now - fell);
            now += 1;
            assert_eq!(levels.update(&position(now, 0.2, 150.0), &plan_at(0), None), 0);
        }
        assert_eq!(waits, [0, 5, 10, 20]);
    }
}

mod allowance {
    use super::super::allowance::{Allowance, Reading};
    use super::super::queue::Queue;
    use super::*;

    /// A path of 500 kbit/s and 20 ms whose queue only the stream fills, or which others keep at 150 ms.
    fn run(rivals: bool, seconds: u64) -> (Allowance, f64, Vec<&'static str>) {
        let (mut allowance, mut queue) = (Allowance::new(Duration::from_millis(100)), Queue::default());
        let (mut waiting, mut longest, mut names) = (0.0f64, 0.0f64, vec![]);
        for step in 0..seconds * 20 {
            let now = at(1_000 + 50 * step);
            let rate = allowance.rate().unwrap_or(100e3);
            waiting = if rivals {
                if step < 20 { 0.0 } else { 0.150 }
            } else {
                (waiting + 0.05 * (rate / 500e3 - 1.0)).max(0.0)
            };
            let round_trip = Duration::from_secs_f64(0.020 + waiting);
            queue.update(now, round_trip);
            let delivered = Some(if !rivals && waiting > 0.0 { 500e3 } else { rate });
            let bounds = (50e3, 1e6);
            let reading = Reading { now, round_trip, delivered, limit: f64::INFINITY, packet_bits: 8e3, bounds };
            allowance.handle_report(&reading, &queue, 100e3);
            longest = if step > 100 { longest.max(waiting) } else { longest };
            names.push(allowance.name());
        }
        (allowance, longest, names)
    }

    #[test]
    fn a_queue_of_its_own_is_kept_short_and_the_path_used() {
        let (allowance, longest, names) = run(false, 60);
        assert!(longest < 0.2, "{longest} s");
        assert!(names[200..].iter().all(|&name| name != "rivals"));
        assert!(allowance.owns_queue());
        assert!((420e3..560e3).contains(&allowance.sustained().unwrap()), "{allowance:?}");
    }

    #[test]
    fn a_queue_of_others_does_not_starve_it() {
        let (allowance, _, names) = run(true, 60);
        assert!(names.contains(&"trial"), "it was tried whose queue it is");
        let tried = names.iter().filter(|&&name| name == "trial").count();
        assert!(tried * 10 < names.len(), "{tried} of {}", names.len());
        assert_eq!(allowance.sustained(), Some(1e6), "it grows to what there is a use for");
    }

    /// Reports 50 ms apart, each of a queue of so many seconds; the path carries what is sent.
    struct Reports {
        allowance: Allowance,
        queue: Queue,
        now: Timestamp,
    }

    impl Reports {
        fn new() -> Self {
            let allowance = Allowance::new(Duration::from_millis(100));
            Self { allowance, queue: Queue::default(), now: at(1_000) }
        }

        fn take(&mut self, number: usize, waiting: f64, delivered: f64) -> &'static str {
            for _ in 0..number {
                self.now += Duration::from_millis(50);
                let round_trip = Duration::from_secs_f64(0.020 + waiting);
                self.queue.update(self.now, round_trip);
                let bounds = (50e3, 1e6);
                let (now, delivered) = (self.now, Some(delivered));
                let reading = Reading { now, round_trip, delivered, limit: f64::INFINITY, packet_bits: 8e3, bounds };
                self.allowance.handle_report(&reading, &self.queue, 400e3);
            }
            self.allowance.name()
        }
    }

    /// The longest queue is 0.6 s, and a third of it 0.2.
    #[test]
    fn a_trial_ends_when_a_third_of_the_longest_queue_is_left() {
        for (left, expected) in [(0.215, "trial"), (0.185, "alone")] {
            let mut reports = Reports::new();
            reports.take(1, 0.0, 400e3);
            assert_eq!(reports.take(20, 0.6, 400e3), "trial");
            assert_eq!(reports.take(15, left, 400e3), expected, "{left} s");
        }
    }

    /// The floor is 50 kbit/s, and 0.7 of it 35: where the path carries less, its queue drains at that and not before.
    #[test]
    fn a_trial_goes_below_the_floor_by_its_share_and_comes_back() {
        for (delivered, expected) in [(60e3, 42e3), (40e3, 35e3)] {
            let mut reports = Reports::new();
            reports.take(1, 0.0, delivered);
            assert_eq!(reports.take(20, 0.6, delivered), "trial");
            assert_eq!(reports.allowance.rate(), Some(expected));
            assert_eq!(reports.take(80, 0.6, delivered), "rivals", "it did not drain");
            assert!(reports.allowance.rate() >= Some(50e3), "{:?}", reports.allowance);
        }
    }

    #[test]
    fn silence_halves_the_rate_down_to_the_floor_and_ends_the_doubling() {
        let mut reports = Reports::new();
        assert_eq!(reports.take(20, 0.0, 400e3), "startup");
        let before = reports.allowance.rate().unwrap();
        assert!(before > 400e3, "{before}");
        reports.allowance.handle_silence(50e3);
        assert_eq!((reports.allowance.rate(), reports.allowance.name()), (Some(before / 2.0), "alone"));
        (0..5).for_each(|_| reports.allowance.handle_silence(50e3));
        assert_eq!(reports.allowance.rate(), Some(50e3));
    }

    #[test]
    fn near_what_the_path_carried_it_grows_slowly() {
        let mut reports = Reports::new();
        reports.take(1, 0.0, 400e3);
        reports.take(20, 0.6, 400e3);
        // As long as a queue of its own takes to drain: earlier, the path would only have paused.
        assert_eq!(reports.take(30, 0.3, 400e3), "trial");
        assert_eq!(reports.take(5, 0.0, 400e3), "alone");
        reports.take(20, 0.0, 400e3);
        let before = reports.allowance.rate().unwrap();
        assert!((360e3..400e3).contains(&before), "0.9 of what the path carried, and a little more: {before}");
        reports.take(20, 0.0, 400e3);
        let growth = reports.allowance.rate().unwrap() / before;
        assert!((1.018..1.022).contains(&growth), "{growth} in a second");
    }
}

fn controller() -> HybridController {
    HybridController::new(HybridSettings::default(), None).unwrap()
}

/// After one report, of a round trip of 40 ms.
fn reported(packet: impl FnOnce(ControlPacket) -> ControlPacket) -> HybridController {
    let mut hybrid = controller();
    hybrid.handle_sent(at(0), 0, PAYLOAD, true);
    hybrid.handle_feedback(at(40), &Feedback::Control(packet(control(0, 0, 1, at(0)))), &plan_at(0));
    hybrid
}

#[test]
fn it_begins_at_the_lowest_level() {
    let mut hybrid = controller();
    let decision = hybrid.decision(at(0), &plan_at(0));
    assert_eq!((decision.rate, decision.level), (RATES[0], 0));
    assert_eq!(hybrid.state().name, "start");
}

/// After two seconds in which 800 kbit/s arrived.
fn grown(free: Option<u64>) -> HybridController {
    let mut hybrid = controller();
    for number in 0..20 {
        let sent = u64::from(number) * 100;
        (0..10).for_each(|index| hybrid.handle_sent(at(sent), 10 * number + index, PAYLOAD, index == 9));
        let packet = ControlPacket {
            buffer_free: free.map(DataSize::from_bytes),
            ..control(number, 10 * number + 9, 10, at(sent))
        };
        hybrid.handle_feedback(at(sent + 40), &Feedback::Control(packet), &plan_at(0));
    }
    hybrid
}

/// A second is waited before the first frame is shown.
#[test]
fn at_the_highest_level_a_playout_buffer_of_ten_seconds_is_enough() {
    let decision_with = |buffer_level: u64| grown(None).decision(at(2_000), &plan_at(buffer_level + 1));
    assert_eq!(decision_with(9), Decision { rate: Bitrate::from_kbps(500), level: 2 });
    assert_eq!(decision_with(11), Decision { rate: RATES[2], level: 2 });
}

#[test]
fn a_player_without_room_gets_no_more_than_it_shows() {
    let after_growth = |free: Option<u64>| grown(free).decision(at(2_000), &plan_at(0)).rate;
    assert_eq!(after_growth(None), Bitrate::from_kbps(500));
    assert_eq!(after_growth(Some(1_000_000)), Bitrate::from_kbps(500));
    assert_eq!(after_growth(Some(40_000)), RATES[2], "less than a second of the highest level: its plan");
    assert_eq!(after_growth(Some(3_000)), RATES[0], "less than four packets: the floor");
}

/// What has arrived for 2 s at 125 kbit/s allows twice that. Looked at for ten minutes, the highest level does not fit.
#[test]
fn no_more_than_half_a_minute_is_sent_ahead() {
    let rate_with = |buffer_level: u64| {
        let settings = HybridSettings { horizon: Duration::from_secs(600), ..Default::default() };
        let mut hybrid = HybridController::new(settings, None).unwrap();
        for number in 0..20 {
            let sent = u64::from(number) * 100;
            let size = DataSize::from_bytes(1_562);
            hybrid.handle_sent(at(sent), number, size, true);
            let packet = ControlPacket { size, ..control(number, number, 1, at(sent)) };
            hybrid.handle_feedback(at(sent + 40), &Feedback::Control(packet), &plan_at(0));
        }
        let decision = hybrid.decision(at(2_000), &plan_at(buffer_level + 1));
        (decision.level, decision.rate.as_bps() / 1_000)
    };
    assert!(matches!(rate_with(29), (1, 245..=255)), "{:?}", rate_with(29));
    assert_eq!(rate_with(31), (1, 200), "the plan of the level");
}

/// The server leaves out what is not kept, but never a frame at which a level may be entered, nor part of a frame.
#[test]
fn only_whole_frames_within_a_group_are_left_out() {
    let mut cursor = Cursor::new(Arc::new(Steps { levels: 2, frames: 30, payload: 10 }));
    let mut taken = vec![];
    while let Some(next) = cursor.take(1).unwrap() {
        taken.push((next.frame, next.index));
        while next.frame % 12 == 3 && cursor.may_skip() {
            cursor.skip_frame();
        }
    }
    let frames: Vec<u32> = (0..4).chain(12..16).chain(24..28).collect();
    assert_eq!(taken, frames.iter().flat_map(|&frame| [(frame, 0), (frame, 1)]).collect::<Vec<_>>());
    assert!(cursor.is_at_end() && !cursor.may_skip());
}

#[test]
fn frames_that_would_be_late_are_left_out_to_the_end_of_their_group() {
    let mut hybrid = reported(|packet| packet);
    let early = "a little more than 0.4 of the player's second and a round trip of 40 ms before it is due";
    assert!(hybrid.keeps_frame(at(550), &plan_at(0)), "{early}");
    assert!(!hybrid.keeps_frame(at(570), &plan_at(0)));
    assert!(!hybrid.keeps_frame(at(650), &plan_at(5)), "the rest of the group, though there is time again");
    hybrid.handle_sent(at(660), 1, PAYLOAD, false);
    assert!(hybrid.keeps_frame(at(660), &plan_at(5)), "the next group");
}

#[test]
fn silence_halves_the_rate_and_no_more_than_to_the_floor() {
    let mut hybrid = reported(|packet| packet);
    for sequence in 1..20 {
        let now = hybrid.next_timeout().unwrap_or(at(100));
        hybrid.handle_sent(now, sequence, PAYLOAD, true);
        let due = hybrid.next_timeout().unwrap();
        hybrid.handle_timeout(due, &plan_at(0));
    }
    assert_eq!(hybrid.decision(at(1_000_000), &plan_at(0)).rate, RATES[0]);
}

#[test]
fn settings_out_of_range_are_named() {
    let refused = |settings| HybridController::new(settings, None).err().unwrap().to_string();
    assert!(refused(HybridSettings { least_share: 0.0, ..Default::default() }).contains("least_share = 0"));
    assert!(refused(HybridSettings { horizon: Duration::ZERO, ..Default::default() }).contains("horizon"));
    assert!(refused(HybridSettings { queue_target: Duration::ZERO, ..Default::default() }).contains("queue_target"));
}

proptest! {
    /// Whatever is reported and however the clock jumps, the rate is a number between half of the floor and a quarter
    /// more than the cap, and the level exists. Some reports are about anything, and some answer the last that asked.
    #[test]
    fn any_reports_leave_it_within_its_bounds(
        steps in proptest::collection::vec((0u64..5_000, any::<[u32; 3]>(), any::<u64>(), 0u8..5), 1..200),
    ) {
        let mut hybrid = HybridController::new(HybridSettings::default(), Some(Arc::new(Constant))).unwrap();
        let (mut asked, mut answers) = ((0, at(0)), 0);
        for (millis, [sequence, report, packets], size, kind) in steps {
            let (now, plan) = (at(millis), plan_at(millis % 100));
            match kind {
                0 => {
                    let asks = packets % 5 == 0;
                    hybrid.handle_sent(now, sequence % 300, DataSize::from_bytes(size % 1_400), asks);
                    asked = if asks { (sequence % 300, now) } else { asked };
                }
                1 => hybrid.handle_timeout(now, &plan),
                2 => {
                    let packet = ControlPacket {
                        size: DataSize::from_bytes(size % 700),
                        ..control(answers, asked.0, packets % 2, asked.1)
                    };
                    answers += 1;
                    hybrid.handle_feedback(now, &Feedback::Control(packet), &plan);
                }
                _ => {
                    let packet = ControlPacket {
                        size: DataSize::from_bytes(size >> 4),
                        buffer_free: (size % 2 == 0).then(|| DataSize::from_bytes(size >> 8)),
                        ..control(report % 300, sequence % 300, packets, at(millis / 2))
                    };
                    hybrid.handle_feedback(now, &Feedback::Control(packet), &plan);
                }
            }
            hybrid.keeps_frame(now, &plan);
            let decision = hybrid.decision(now, &plan);
            prop_assert!(decision.rate >= Bitrate::from_kbps(35) && decision.rate <= Bitrate::from_kbps(500));
            prop_assert!(decision.level <= 2);
        }
    }
}

struct Constant;

impl Plan for Constant {
    fn levels(&self) -> usize {
        3
    }

    fn rate_at(&self, level: usize, _at: Duration) -> Bitrate {
        RATES[level]
    }
}
