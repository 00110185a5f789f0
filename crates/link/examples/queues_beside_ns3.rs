//! Figures of queue disciplines beside ns-3's, as CSV, for `docs/validation.md`.
//!
//! ```text
//! cargo run --release -p framewire-link --example queues_beside_ns3
//! ```
#![allow(missing_docs, reason = "a program")]

#[path = "../tests/common/ns3_queues.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod ns3_traffic;

use framewire_link::Discipline;
use framewire_link::disciplines::{CodelSettings, FqCodelSettings, PieSettings, RedSettings};
use framewire_units::{Duration, Timestamp};
use ns3_traffic::{ALONE, Left, SHARED, Source, What, figures_here, figures_of_ns3, mean, ns3, run};

/// As many as ns-3's side has.
const SEEDS: u64 = 30;

fn main() {
    println!("discipline,case,quantity,here,here_error,ns3,ns3_error");
    fair();
    let fq = Discipline::FqCodel(FqCodelSettings::default());
    let of_fq = ns3(include_str!("../tests/data/ns3_queues_fq_codel.csv"), SHARED);
    counts("fq-codel", &run(fq, 10_240, SHARED, 1), &of_fq, SHARED);
    let codel = Discipline::Codel(CodelSettings { ecn: true, ..CodelSettings::default() });
    let of_codel = ns3(include_str!("../tests/data/ns3_queues_codel.csv"), ALONE);
    counts("codel", &run(codel, 1_000, ALONE, 1), &of_codel, ALONE);
    drawn("red", Discipline::Red(RedSettings::default()));
    drawn("pie", Discipline::Pie(PieSettings::default()));
}

/// How many packets left FQ-CoDel at the nanosecond at which they left ns-3's.
fn fair() {
    let settings = FqCodelSettings { target: Duration::from_secs(50), ..FqCodelSettings::default() };
    let here = run(Discipline::FqCodel(settings), 100, SHARED, 1);
    let theirs = ns3(include_str!("../tests/data/ns3_queues_fair.csv"), SHARED);
    let until = |left: &&Left| left.at < Timestamp::from_millis(1_500);
    let same = here.iter().filter(until).filter(|left| theirs.contains(left)).count();
    println!("fq-codel,turns and limit,packets at the same nanosecond,{same},0,{},0", theirs.len());
}

/// Marks and drops of each connection.
fn counts(discipline: &str, here: &[Left], theirs: &[Left], sources: &[Source]) {
    for (what, name) in [(What::Marked, "marked"), (What::Dropped, "dropped")] {
        let count = |all: &[Left], source: usize| {
            let of_source = |left: &&Left| ns3_traffic::source_of(left, sources) == source;
            all.iter().filter(|left| left.what == what).filter(of_source).count()
        };
        for source in 0..sources.len() {
            let (here, theirs) = (count(here, source), count(theirs, source));
            if here + theirs > 0 {
                println!("{discipline},source {},{name},{here},0,{theirs},0", source + 1);
            }
        }
    }
}

/// Shares and waits of what draws, with the standard errors of their means over the seeds.
fn drawn(name: &str, discipline: Discipline) {
    let (here, theirs) = (figures_here(discipline, SEEDS), figures_of_ns3(name));
    for (phase, rows) in &theirs {
        for (n, quantity) in ["dropped", "mean wait", "median wait", "95th percentile"].into_iter().enumerate() {
            let (ours, our_error) = mean(here[phase].iter().map(|row| row[n]));
            let (ns3, ns3_error) = mean(rows.iter().map(|row| row[n]));
            println!("{name},phase {},{quantity},{ours},{our_error},{ns3},{ns3_error}", phase + 1);
        }
    }
}
