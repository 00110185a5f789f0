//! One test per row of the table in `docs/vtp.md`, on a plan of 100, 200 and 300 kbit/s and a round trip of 10 ms.

use proptest::prelude::*;

use super::*;

const RATES: [Bitrate; 3] = [Bitrate::from_kbps(100), Bitrate::from_kbps(200), Bitrate::from_kbps(300)];
const PLAN: PlanRates<'static> = PlanRates { now_in_stream: Duration::ZERO, rates: &RATES };
const ROUND_TRIP: Duration = Duration::from_millis(10);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn start() -> Machine {
    Machine::new(&VtpSettings::paper(), at(0), &PLAN)
}

/// A machine in Qi at R, its timer set at 0.
fn resting(level: usize, kbps: f64) -> Machine {
    Machine { level, rate: kbps * 1_000.0, ..start() }
}

fn estimate(machine: &mut Machine, millis: u64, kbps: f64) -> (State, State, f64) {
    let transition = machine.handle_estimate(at(millis), kbps * 1_000.0, ROUND_TRIP, &PLAN);
    (transition.through, transition.to, machine.rate / 1_000.0)
}

use State::{DecreaseRate, IncreaseRate, Quality};

#[test]
fn row_1_a_session_starts_in_q0_at_the_plan() {
    assert_eq!((start().state(), start().rate()), (Quality(0), RATES[0]));
}

#[test]
fn rows_2_and_4_before_one_round_trip_nothing_changes() {
    assert_eq!(estimate(&mut start(), 9, 100.0), (IncreaseRate(0), Quality(0), 100.0));
}

#[test]
fn row_5_after_one_round_trip_the_rate_rises_by_a_packet() {
    let mut machine = start();
    assert_eq!(estimate(&mut machine, 10, 100.0), (IncreaseRate(0), Quality(0), 108.0));
    assert_eq!(estimate(&mut machine, 19, 200.0), (IncreaseRate(0), Quality(0), 108.0), "the timer was set anew");
    assert_eq!(estimate(&mut machine, 20, 200.0), (IncreaseRate(0), Quality(0), 116.0));
}

#[test]
fn rows_6_and_7_the_heuristic_holds_the_level_for_two_round_trips() {
    let mut machine = resting(0, 200.0);
    assert_eq!(estimate(&mut machine, 10, 300.0), (IncreaseRate(0), Quality(0), 208.0));
    assert_eq!(estimate(&mut machine, 20, 300.0), (IncreaseRate(0), Quality(0), 216.0));
    assert_eq!(estimate(&mut machine, 30, 300.0), (IncreaseRate(0), Quality(1), 224.0));
}

#[test]
fn row_6_the_heuristic_begins_anew_after_a_decrease() {
    let mut machine = resting(0, 200.0);
    estimate(&mut machine, 10, 300.0);
    assert_eq!(estimate(&mut machine, 11, 200.0), (DecreaseRate, Quality(0), 200.0));
    assert_eq!(estimate(&mut machine, 30, 300.0).1, Quality(0));
    assert_eq!(estimate(&mut machine, 49, 300.0).1, Quality(0));
    assert_eq!(estimate(&mut machine, 59, 300.0).1, Quality(1));
}

/// The plan rises above the rate and falls again: what was waited before that does not count.
#[test]
fn row_6_the_heuristic_begins_anew_when_the_rate_no_longer_covers_the_next_level() {
    let higher = [Bitrate::from_kbps(100), Bitrate::from_kbps(250), Bitrate::from_kbps(300)];
    for (rises, expected) in [(false, Quality(1)), (true, Quality(0))] {
        let mut machine = resting(0, 200.0);
        assert_eq!(estimate(&mut machine, 10, 300.0), (IncreaseRate(0), Quality(0), 208.0));
        let plan = if rises { PlanRates { rates: &higher, ..PLAN } } else { PLAN };
        machine.handle_estimate(at(20), 300e3, ROUND_TRIP, &plan);
        assert_eq!((machine.state(), machine.rate / 1_000.0), (Quality(0), 216.0));
        assert_eq!(estimate(&mut machine, 30, 300.0).1, expected, "the plan rose: {rises}");
        // Two round trips after it covers the level again.
        assert_eq!(estimate(&mut machine, 40, 300.0).1, expected);
        assert_eq!(estimate(&mut machine, 50, 300.0).1, Quality(1));
    }
}

/// Gap: at the top the rate rises to the plan and stays there, and follows it down.
#[test]
fn row_8_at_the_top_the_rate_is_that_of_the_plan() {
    let mut machine = resting(2, 300.0);
    assert_eq!(estimate(&mut machine, 10, 400.0), (IncreaseRate(2), Quality(2), 300.0));
    let lower = [Bitrate::from_kbps(100), Bitrate::from_kbps(150), Bitrate::from_kbps(250)];
    machine.handle_plan(&PlanRates { rates: &lower, ..PLAN });
    assert_eq!((machine.state(), machine.rate()), (Quality(2), lower[2]));
}

#[test]
fn rows_3_and_9_a_decrease_is_immediate_and_goes_to_the_level_that_fits() {
    assert_eq!(estimate(&mut resting(2, 300.0), 0, 299.0), (DecreaseRate, Quality(1), 299.0));
    assert_eq!(estimate(&mut resting(2, 300.0), 0, 200.0), (DecreaseRate, Quality(1), 200.0));
    assert_eq!(estimate(&mut resting(2, 300.0), 0, 150.0), (DecreaseRate, Quality(0), 150.0));
}

/// Gap: the heuristic is not got round by a decrease.
#[test]
fn row_9_a_decrease_never_raises_the_level() {
    assert_eq!(estimate(&mut resting(0, 300.0), 0, 250.0), (DecreaseRate, Quality(0), 250.0));
}

#[test]
fn row_10_the_rate_never_falls_below_the_lowest_level() {
    assert_eq!(estimate(&mut resting(2, 300.0), 0, 40.0), (DecreaseRate, Quality(0), 100.0));
}

#[test]
fn row_11_a_large_rise_of_the_plan_costs_a_level_and_is_probed_for() {
    let mut machine = resting(2, 300.0);
    let higher = [Bitrate::from_kbps(100), Bitrate::from_kbps(200), Bitrate::from_bps(301_001)];
    machine.handle_plan(&PlanRates { rates: &higher, ..PLAN });
    assert_eq!((machine.state(), machine.rate()), (Quality(1), RATES[2]));
    // At level 1 the rise is within the threshold of row 12 of nothing: the rate stays above that level's plan.
    let transition = machine.handle_estimate(at(10), 500e3, ROUND_TRIP, &PlanRates { rates: &higher, ..PLAN });
    assert_eq!(transition.to, Quality(1));
    assert_eq!(machine.rate(), Bitrate::from_bps(301_001), "one packet more, up to the cap");
}

#[test]
fn row_12_a_small_rise_of_the_plan_is_followed_at_once() {
    let mut machine = resting(2, 300.0);
    let higher = [Bitrate::from_kbps(100), Bitrate::from_kbps(200), Bitrate::from_kbps(301)];
    machine.handle_plan(&PlanRates { rates: &higher, ..PLAN });
    assert_eq!((machine.state(), machine.rate()), (Quality(2), higher[2]));
}

#[test]
fn rows_10_and_12_at_level_0_the_plan_is_the_floor_however_far_it_rises() {
    let mut machine = start();
    let higher = [Bitrate::from_kbps(180), Bitrate::from_kbps(200), Bitrate::from_kbps(300)];
    machine.handle_plan(&PlanRates { rates: &higher, ..PLAN });
    assert_eq!((machine.state(), machine.rate()), (Quality(0), higher[0]));
}

#[test]
fn a_clock_that_goes_back_does_not_stop_the_timer() {
    let mut machine = Machine::new(&VtpSettings::paper(), Timestamp::from_secs(1_000), &PLAN);
    estimate(&mut machine, 5, 100.0);
    assert_eq!(estimate(&mut machine, 15, 100.0), (IncreaseRate(0), Quality(0), 108.0));
}

#[test]
fn silence_leads_to_the_floor() {
    let mut machine = resting(2, 300.0);
    machine.handle_silence(at(1), &PLAN);
    assert_eq!((machine.state(), machine.rate()), (Quality(0), RATES[0]));
}

proptest! {
    /// Whatever the plans, the estimates and the clock do: the rate is within the plan, the level exists, and the
    /// level's reference rate is covered up to the threshold.
    #[test]
    fn the_rate_stays_within_the_plan(
        steps in proptest::collection::vec(
            (proptest::collection::vec(1u64..5_000_000, 1..6), 0.0f64..1e9, any::<u32>(), 0u64..1_000), 1..60),
    ) {
        let mut machine = start();
        for (rates, estimate, now, round_trip) in steps {
            let rates: Vec<_> = rates.into_iter().map(Bitrate::from_bps).collect();
            let plan = PlanRates { now_in_stream: Duration::ZERO, rates: &rates };
            machine.handle_plan(&plan);
            prop_assert!(machine.rate() >= plan.rate(machine.level()).min(plan.cap()));
            let now = Timestamp::from_micros(u64::from(now));
            let before = machine.level();
            let transition = machine.handle_estimate(now, estimate, Duration::from_millis(round_trip), &plan);
            prop_assert!(machine.rate() >= plan.floor() && machine.rate() <= plan.cap());
            prop_assert!(machine.level() < rates.len() && machine.level() <= before + 1);
            prop_assert!(!(transition.through == DecreaseRate && machine.level() > before));
        }
    }
}
