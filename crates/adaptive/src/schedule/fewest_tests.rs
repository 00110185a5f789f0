//! The plan with the fewest changes of rate, against every path along lines through two corners of the corridor.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const RATE: FrameRate = FrameRate { numerator: 1, denominator: 1 };
const NEAR: f64 = 1e-7;

fn consumption(sizes: &[u32], startup_s: u64) -> Consumption {
    Consumption::new(sizes, RATE, Duration::from_secs(startup_s)).unwrap()
}

fn rates(taken: &Consumption, buffer: u64) -> Vec<(f64, f64)> {
    let plan = fewest_changes(taken, DataSize::from_bytes(buffer)).unwrap();
    plan.steps().iter().map(|step| (step.start, step.rate)).collect()
}

/// Gates as times with least and most bytes, from V(t) alone, up to the frame with the last byte. Where all that is left
/// of the file fits, there is no most: a line that is beyond the file has ended.
fn gates(taken: &Consumption, buffer: u64) -> Vec<(f64, f64, f64)> {
    const BEFORE: f64 = 1e-6;
    let total = taken.total().as_bytes();
    let gate = |frame| {
        let time = taken.time_of(frame);
        let (before, after) = (taken.at(time - BEFORE).as_bytes(), taken.at(time).as_bytes());
        (time, after as f64, if before + buffer >= total { f64::INFINITY } else { (before + buffer) as f64 })
    };
    let all: Vec<_> = (0..taken.frames()).map(gate).collect();
    let last = all.iter().position(|gate| gate.1 == total as f64).unwrap();
    all[..=last].to_vec()
}

/// The number of rates of the best plan, by trying. There is a best plan on lines through two corners of the corridor
/// (or a corner and the first byte), so these lines are all that is tried: from each line every other that crosses it,
/// as long as both are within the corridor.
fn fewest_by_trying(gates: &[(f64, f64, f64)]) -> usize {
    let mut corners = vec![(0.0, 0.0)];
    corners.extend(gates.iter().flat_map(|&(time, least, most)| [(time, least), (time, most)]));
    let mut lines: Vec<(f64, f64)> = Vec::new();
    for (index, one) in corners.iter().enumerate().filter(|(_, one)| one.1.is_finite()) {
        for other in corners[index + 1..].iter().filter(|other| other.0 > one.0 && other.1.is_finite()) {
            let slope = (other.1 - one.1) / (other.0 - one.0);
            if slope >= 0.0 {
                lines.push((slope, one.1 - slope * one.0));
            }
        }
    }
    let at = |line: usize, time: f64| lines[line].0 * time + lines[line].1;
    let passes = |line: usize, gate: usize| {
        let (time, least, most) = gates[gate];
        (least - NEAR..=most + NEAR).contains(&at(line, time))
    };
    // Places in the corridor: a line and the gate before which it is, with the earliest time of it.
    let mut places: BTreeMap<(usize, usize), f64> =
        (0..lines.len()).filter(|&line| at(line, 0.0).abs() < NEAR).map(|line| ((line, 0), 0.0)).collect();
    for count in 1.. {
        let mut open: Vec<_> = places.keys().copied().collect();
        while let Some((line, gate)) = open.pop() {
            if passes(line, gate) {
                if gate + 1 == gates.len() {
                    return count;
                }
                if places.get(&(line, gate + 1)).is_none_or(|&earliest| earliest > gates[gate].0) {
                    places.insert((line, gate + 1), gates[gate].0);
                    open.push((line, gate + 1));
                }
            }
        }
        let mut next = places.clone();
        for (&(line, gate), &earliest) in &places {
            for other in 0..lines.len() {
                let (slope, offset) = (lines[line].0 - lines[other].0, lines[other].1 - lines[line].1);
                if slope.abs() < NEAR {
                    continue;
                }
                let time = offset / slope;
                if (earliest - NEAR..=gates[gate].0 + NEAR).contains(&time) {
                    let place = next.entry((other, gate)).or_insert(f64::INFINITY);
                    *place = place.min(time.max(earliest));
                }
            }
        }
        places = next;
    }
    unreachable!("the counts do not end")
}

#[test]
fn one_rate_where_one_is_enough() {
    // 80 bytes by 4 s and 20 by 1 s: 20 bytes/s, for which 40 bytes of buffer are needed.
    let [(start, rate)] = rates(&consumption(&[20, 20, 20, 20], 1), 20)[..] else { panic!("more than one rate") };
    assert!(start == 0.0 && (rate - 20.0).abs() < 1e-6, "{rate}");
    assert_eq!(rates(&consumption(&[10, 10, 40, 20], 1), 40).len(), 1);
}

#[test]
fn a_change_may_come_between_two_frames() {
    // Frames of 10, 10, 10, 40, 40, 40 bytes, the last by 6 s. A buffer of 40 holds 30 + 40 before 4 s at most; two
    // rates do, where the smoothest plan with that buffer has more.
    let taken = consumption(&[10, 10, 10, 40, 40, 40], 1);
    let found = rates(&taken, 40);
    assert_eq!(found.len(), fewest_by_trying(&gates(&taken, 40)));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].1 < found[1].1);
}

#[test]
fn frames_without_bytes_at_the_end_ask_for_nothing() {
    let (with, without) = (consumption(&[10, 30, 5, 0, 0], 1), consumption(&[10, 30, 5], 1));
    assert_eq!(rates(&with, 30), rates(&without, 30));
    let plan = fewest_changes(&with, DataSize::from_bytes(30)).unwrap();
    assert!(plan.end() <= 3.0 && (plan.total() - 45.0).abs() < 1e-9);
}

#[test]
fn what_does_not_fit_is_refused() {
    let method = Method::FewestChanges { buffer: DataSize::from_bytes(39) };
    let settings = ScheduleSettings { method, startup: Duration::from_secs(1) };
    let refused = Schedule::of_sizes(RATE, &[vec![1, 1], vec![10, 40]], settings).unwrap_err();
    assert!(matches!(refused, ScheduleError::BufferTooSmall { level: 1, frame: 1, .. }), "{refused}");
}

fn scenes() -> impl Strategy<Value = Vec<u32>> {
    let scene = (1_u32..60, 1_u32..8, 1_usize..40);
    prop::collection::vec(scene, 1..8).prop_map(|scenes| {
        let frames = scenes.into_iter().flat_map(|(size, intra, frames)| {
            (0..frames).map(move |frame| if frame % 12 == 0 { 100 * size * intra } else { 100 * size })
        });
        frames.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Small numbers, so that many corners are in a row.
    #[test]
    fn no_plan_has_fewer_rates(
        sizes in prop::collection::vec(0_u32..9, 1..9), more in 0_u64..12, startup in 1_u64..4,
    ) {
        prop_assume!(sizes.iter().any(|&size| size > 0));
        let taken = consumption(&sizes, startup);
        let buffer = u64::from(*sizes.iter().max().unwrap()) + more;
        let found = rates(&taken, buffer);
        prop_assert_eq!(found.len(), fewest_by_trying(&gates(&taken, buffer)), "{:?}", found);
    }
}

proptest! {
    #[test]
    fn it_keeps_within_the_buffer_and_has_no_more_rates_than_the_others(
        sizes in scenes(), startup in 42_u64..3_000, more in 0_u64..200_000, count in 1_usize..12,
    ) {
        let film = FrameRate { numerator: 24_000, denominator: 1_001 };
        let startup = Duration::from_millis(startup);
        let taken = Consumption::new(&sizes, film, startup).unwrap();
        let buffer = DataSize::from_bytes(u64::from(*sizes.iter().max().unwrap()) + more);
        let plan = fewest_changes(&taken, buffer).unwrap();
        let held = Occupancy::of(&plan, &taken);
        prop_assert!(held.is_enough() && held.max.bytes < buffer.as_bytes() as f64 + 1e-3, "{held:?}");
        prop_assert!((plan.total() - taken.total().as_bytes() as f64).abs() < 1e-6);
        prop_assert!(plan.steps().len() <= smoothed(&taken, buffer).unwrap().steps().len());
        // And than the paper's plan, with the buffer that this one needs.
        let method = Method::Segments { count: count.min(sizes.len()), pre_send: PreSend::Latest };
        let settings = ScheduleSettings { method, startup };
        let paper = &Schedule::of_sizes(film, std::slice::from_ref(&sizes), settings).unwrap().levels[0];
        let fewest = fewest_changes(&taken, paper.client_buffer).unwrap();
        prop_assert!(fewest.steps().len() <= paper.profile.steps().len());
    }
}
