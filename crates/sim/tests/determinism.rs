//! The same seed gives the same result: on any number of threads, in every build, and as it did when it was written down.
//!
//! The snapshot holds the summaries and the canonical hashes of the tables of whole runs. When a change in behaviour is
//! intended, write it anew with `FRAMEWIRE_UPDATE_SNAPSHOTS=1 cargo test -p framewire-sim --test determinism`, read the
//! difference, and say in the commit why.
#![allow(clippy::disallowed_methods, reason = "results must be the same on many threads")]

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{movie, scenario};
use framewire_media::Movie;
use framewire_scenario::Scenario;
use framewire_sim::{Cell, CellOptions, simulate_cell};

const TRANSPORTS: [&str; 7] = ["udp-blocking", "udp", "udp-whole", "udp+ifd", "tcp", "tcp+ifd", "tcp+ifd-optimised"];

/// The networks of the snapshot: everything that draws, delays or drops is in one of them.
const NETWORKS: [(&str, &str); 4] = [
    (
        "802.11b with an oven and a sniffer",
        "[network]\nkind = \"wifi\"\n[network.wifi]\nretry = 3\n[network.wifi.oven]\non = [[\"1 s\", \"4 s\"]]\n\
         [network.wifi.sniffer]\ncapture = \"65 %\"\n",
    ),
    (
        "802.11b at the receiver",
        "[network]\nkind = \"wifi\"\nbottleneck = \"remote\"\n[network.wifi]\nretry = 2\nerror_floor = \"10 %\"\n",
    ),
    (
        "a remote bottleneck with loss and jitter",
        "[network]\nkind = \"wired\"\n[network.wire]\nrate = \"5 Mbit/s\"\ndelay = \"30 ms\"\njitter = \"5 ms\"\n\
         queue = \"50 ms\"\nloss = \"1 %\"\n",
    ),
    (
        "a local device, loss in bursts and an outage",
        "[network]\nkind = \"wired\"\nbottleneck = \"local-device\"\n[network.wire]\nrate = \"5 Mbit/s\"\n\
         delay = \"10 ms\"\nloss = { good_to_bad = \"1 %\", bad_to_good = \"30 %\" }\noutages = [[\"2 s\", \"2500 ms\"]]\n",
    ),
];

fn of(network: &str, layout: &str) -> Scenario {
    let flow = |name: &&str| format!("[[flow]]\ntransport = \"{name}\"\n");
    let flows: String = TRANSPORTS.iter().map(flow).collect();
    scenario(&format!("name = \"snapshot\"\nseed = 7\nlayout = \"{layout}\"\n{network}{flows}"))
}

fn cell(scenario: &Scenario, movie: &Movie) -> Cell {
    simulate_cell(scenario, movie, None, &CellOptions { packets: true, ..CellOptions::default() }).unwrap()
}

fn described(movie: &Movie) -> String {
    let mut text = String::new();
    for (name, network) in NETWORKS {
        for layout in ["side-by-side", "together"] {
            let cell = cell(&of(network, layout), movie);
            writeln!(text, "{name}, {layout}: {:.9} s simulated", cell.report.simulated_s).unwrap();
            for summary in &cell.report.summaries {
                let (fates, lost) = (summary.fates, summary.types);
                writeln!(
                    text,
                    "  {:<18} {:>8} shown {:>3} late {:>3} undecodable {:>3} lost {:>2}/{:>2}/{:>3}  {:>7.3} s  {:>9.3} ms",
                    summary.flow,
                    summary.status,
                    fates.shown,
                    fates.late,
                    fates.undecodable,
                    lost.lost_i,
                    lost.lost_p,
                    lost.lost_b,
                    summary.duration_s.unwrap_or_default(),
                    summary.latency_ms.unwrap_or_default()[1],
                )
                .unwrap();
            }
            let hashes = cell.hashes;
            writeln!(text, "  frames {}  flows {}", hashes.frames, hashes.flows).unwrap();
            writeln!(text, "  summary {}  packets {}", hashes.summary, hashes.packets.unwrap()).unwrap();
        }
    }
    text
}

#[test]
fn results_are_those_that_were_written_down() {
    let now = described(&movie(6.0, 6));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/runs.txt");
    if std::env::var_os("FRAMEWIRE_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let then = std::fs::read_to_string(&path).unwrap_or_default();
    for (line, (now, then)) in now.lines().zip(then.lines().chain(std::iter::repeat(""))).enumerate() {
        assert_eq!(now, then, "line {} of {}", line + 1, path.display());
    }
    assert_eq!(now.lines().count(), then.lines().count());
}

#[test]
fn results_do_not_depend_on_threads_or_on_what_else_runs() {
    let movie = movie(6.0, 4);
    let scenarios: Vec<Scenario> = NETWORKS.iter().map(|(_, network)| of(network, "side-by-side")).collect();
    let alone: Vec<Cell> = scenarios.iter().map(|scenario| cell(scenario, &movie)).collect();
    let together: Vec<Cell> = std::thread::scope(|scope| {
        let movie = &movie;
        let run = |scenario| scope.spawn(move || cell(scenario, movie));
        let threads: Vec<_> = scenarios.iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn another_seed_is_another_channel() {
    let movie = movie(3.0, 3);
    for (name, network) in &NETWORKS[..3] {
        let one = of(network, "side-by-side");
        let mut other = one.clone();
        other.seed = 8;
        assert_ne!(cell(&one, &movie).hashes, cell(&other, &movie).hashes, "{name}");
    }
}
