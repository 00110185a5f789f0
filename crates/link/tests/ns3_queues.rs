//! Queue disciplines against those of ns-3: the same packets at the same times.
//!
//! `data/ns3_queues_*.csv` is what `benches/validation/ns3/queues.cc` printed with ns-3 3.37. Where no draw and no square root
//! decides, each packet leaves at the same nanosecond. CoDel has the arithmetic of Linux there (`codel_reference.rs`), so that
//! its drops come earlier or later; RED and PIE draw, so that shares and waits are compared over 30 seeds.

use framewire_link::Discipline;
use framewire_link::disciplines::{CodelSettings, FqCodelSettings, PieSettings, RedSettings};
use framewire_units::{Duration, Timestamp};

use crate::ns3_traffic::{
    ALONE, Figures, Left, SHARED, Source, What, figures_here, figures_of_ns3, flow_of, mean, ns3, run,
};
use std::collections::BTreeMap;

#[test]
fn fq_codel_shares_and_drops_from_the_fattest_queue_as_ns3_does_to_the_nanosecond() {
    let settings = FqCodelSettings { target: Duration::from_secs(50), ..FqCodelSettings::default() };
    let here = run(Discipline::FqCodel(settings), 100, SHARED, 1);
    let expected = ns3(include_str!("data/ns3_queues_fair.csv"), SHARED);
    let end = Timestamp::from_millis(1_500);
    let here: Vec<Left> = here.into_iter().filter(|left| left.at < end).collect();
    let first = here.iter().zip(&expected).position(|(here, ns3)| here != ns3);
    assert_eq!(first, None, "{:?}, ns-3 {:?}", first.map(|at| here[at]), first.map(|at| expected[at]));
    assert_eq!(here.len(), expected.len());
    assert!(expected.iter().filter(|left| left.what == What::Dropped).count() > 500);
}

/// Until each time, as many of a kind within a few, because their times differ by the arithmetic of the square root.
fn assert_alike(here: &[Left], ns3: &[Left], what: What, sources: &[Source], flow: u32, bound: usize) {
    for half_seconds in 1..=12 {
        let end = Timestamp::from_millis(500 * half_seconds);
        let count = |all: &[Left]| {
            let of_flow = |left: &&Left| flow_of(left, sources) == flow;
            all.iter().filter(|left| left.what == what && left.at < end).filter(of_flow).count()
        };
        let (here, ns3) = (count(here), count(ns3));
        assert!(here.abs_diff(ns3) <= bound, "{what:?} of {flow}: {here} until {end}, ns-3 {ns3}");
    }
}

#[test]
fn fq_codel_marks_and_drops_each_connection_as_often_as_ns3_does() {
    let here = run(Discipline::FqCodel(FqCodelSettings::default()), 10_240, SHARED, 1);
    let expected = ns3(include_str!("data/ns3_queues_fq_codel.csv"), SHARED);
    let first = |all: &[Left], what| all.iter().find(|left| left.what == what).copied();
    for what in [What::Marked, What::Dropped] {
        assert_eq!(first(&here, what), first(&expected, what));
    }
    for flow in [2, 3] {
        assert_alike(&here, &expected, What::Marked, SHARED, flow, 0);
        assert_alike(&here, &expected, What::Dropped, SHARED, flow, 8);
    }
    // Marks of the connection that sends too much, until another joins it: on the packet of its turn that the law asks for.
    // Here, as in Linux, the next mark is due from when the last one was, so that waiting for turns adds
    // nothing; in ns-3 it is due from when the last one happened.
    let turn = Duration::from_micros(3_200);
    let of_first = |all: &[Left]| -> Vec<Timestamp> {
        let marks = all.iter().filter(|left| left.what == What::Marked && left.at < Timestamp::from_secs(2));
        marks.filter(|left| flow_of(left, SHARED) == 1).map(|left| left.at).collect()
    };
    let law = |count: usize| Duration::from_secs_f64(0.1 / (count as f64).sqrt());
    let (marks, theirs) = (of_first(&here), of_first(&expected));
    assert!(marks.len() > 90 && theirs.len() > 80, "{} and {}", marks.len(), theirs.len());
    let mut due = marks[0];
    for (count, &mark) in marks.iter().enumerate().skip(1) {
        due += law(count);
        assert!(mark >= due && mark < due + turn, "mark {count} at {mark}, due {due}");
    }
    for (count, pair) in theirs.windows(2).enumerate().skip(5) {
        let gap = pair[1].saturating_since(pair[0]);
        let law = law(count + 1);
        // Its square root has 16 bits.
        assert!(gap >= law.mul_f64(0.99) && gap < law + turn, "ns-3's gap {count}: {gap:?}, law {law:?}");
    }
}

#[test]
fn codel_marks_what_knows_ecn_as_ns3_does() {
    let codel = Discipline::Codel(CodelSettings { ecn: true, ..CodelSettings::default() });
    let here: Vec<Left> = run(codel, 1_000, ALONE, 1).into_iter().filter(|left| left.what != What::Sent).collect();
    let expected = ns3(include_str!("data/ns3_queues_codel.csv"), ALONE);
    assert_eq!(here[..2], expected[..2]);
    assert_alike(&here, &expected, What::Marked, ALONE, 1, 8);
    assert_alike(&here, &expected, What::Dropped, ALONE, 1, 8);
}

/// Every figure of every phase, within this share of ns-3's and four standard errors of the difference.
fn assert_close(here: &BTreeMap<usize, Vec<Figures>>, ns3: &BTreeMap<usize, Vec<Figures>>, bounds: [f64; 4]) {
    let mut apart = Vec::new();
    for (phase, expected) in ns3 {
        for (n, name) in ["dropped", "mean wait", "median wait", "95th percentile"].into_iter().enumerate() {
            let (theirs, their_error) = mean(expected.iter().map(|row| row[n]));
            let (ours, our_error) = mean(here[phase].iter().map(|row| row[n]));
            let room = bounds[n] * theirs + 4.0 * our_error.hypot(their_error) + if n == 0 { 0.0005 } else { 5.0 };
            println!("phase {phase}, {name}: {ours:.5} +- {our_error:.5}, ns-3 {theirs:.5} +- {their_error:.5}");
            if (ours - theirs).abs() > room {
                apart.push(format!("phase {phase}, {name}: {ours:.4}, ns-3 {theirs:.4}, room {room:.4}"));
            }
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}

#[test]
fn red_drops_and_delays_as_ns3_does() {
    let here = figures_here(Discipline::Red(RedSettings::default()), 30);
    assert_close(&here, &figures_of_ns3("red"), [0.001; 4]);
}

#[test]
fn pie_drops_and_delays_as_ns3_does() {
    let here = figures_here(Discipline::Pie(PieSettings::default()), 30);
    assert_close(&here, &figures_of_ns3("pie"), [0.005; 4]);
}
