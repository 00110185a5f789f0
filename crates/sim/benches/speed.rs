//! How fast the simulated world runs on one thread: simulated seconds per second of CPU time, beside ns-3.
//!
//! `cargo bench -p framewire-sim --bench speed`, with a word of a row's name to run that row alone. ns-3's figures are
//! those of release 3.44 built optimised, on the machine for which the project's bound was set; `docs/validation.md` has
//! both measured in turn on one machine.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark reads the clock")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::fmt::Write as _;
use std::time::Instant;

use framewire_link::{LossConfig, QueueLimit};
use framewire_sim::lone_connection::{LoneConnection, bottleneck};
use framewire_sim::{Options, Simulation};
use framewire_units::{Bitrate, Duration, Probability};

/// Every row is measured so often; the fastest counts, because whatever else runs only makes it slower.
const ROUNDS: usize = 5;

/// A row: its name, simulated seconds per second of ns-3, and one round, which says how many seconds it simulated and
/// how many packets.
struct Row {
    name: &'static str,
    ns3: f64,
    round: Box<dyn Fn() -> (f64, u64)>,
}

fn main() {
    let word = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    println!("{:<44}{:>12}{:>10}{:>8}{:>12}", "", "simulated s", "ns-3", "times", "packets/s");
    for row in rows().into_iter().filter(|row| row.name.contains(&word)) {
        let speed = |_| {
            let began = Instant::now();
            let (seconds, packets) = (row.round)();
            let took = began.elapsed().as_secs_f64();
            (seconds / took, packets as f64 / took)
        };
        let best = (0..ROUNDS).map(speed).max_by(|one, other| one.0.total_cmp(&other.0));
        let (speed, packets) = best.expect("invariant: there is at least one round");
        println!("{:<44}{speed:>10.1}/s{:>8}/s{:>8.1}{packets:>12.0}", row.name, row.ns3, speed / row.ns3);
    }
}

fn rows() -> Vec<Row> {
    let tcp = |name, ns3, mbps, millis, queue, loss, seconds| {
        let loss = Probability::new(loss).expect("invariant: a probability");
        let loss = if loss == Probability::ZERO { LossConfig::None } else { LossConfig::Bernoulli(loss) };
        let rate = Bitrate::from_mbps(mbps);
        let network = bottleneck(rate, Duration::from_millis(millis), loss, QueueLimit::Packets(queue));
        let cubic = "cubic".parse().expect("invariant: the default algorithm");
        let experiment =
            LoneConnection { duration: Duration::from_secs(seconds), ..LoneConnection::new(cubic, network) };
        let round = Box::new(move || {
            let outcome = experiment.run().expect("invariant: the network can be");
            (seconds as f64, outcome.segments + outcome.acknowledgements)
        });
        Row { name, ns3, round }
    };
    vec![
        wifi("802.11b, UDP, 1 saturated station", 60.0, 1, 20),
        wifi("802.11b, UDP, 5 saturated stations", 10.7, 5, 20),
        wifi("802.11b, UDP, 20 saturated stations", 3.0, 20, 8),
        tcp("CUBIC, 10 Mbit/s, 120 ms, 0.1 % loss", 138.0, 10, 120, 100, 0.001, 400),
        tcp("CUBIC, 20 Mbit/s, 40 ms", 24.5, 20, 40, 100, 0.0, 200),
        tcp("CUBIC, 100 Mbit/s, 40 ms", 3.4, 100, 40, 333, 0.0, 40),
        tcp("CUBIC, 1 Gbit/s, 40 ms", 0.035, 1_000, 40, 3_333, 0.0, 4),
    ]
}

/// The whole simulated world: as many movies as stations, each with packetiser, blocking socket and ledger, faster than
/// the medium carries them.
fn wifi(name: &'static str, ns3: f64, stations: usize, seconds: usize) -> Row {
    let content = common::content(&common::movie(7.5, seconds));
    let mut text = format!("layout = \"together\"\nlimit = \"{seconds} s\"\n[network]\nkind = \"wifi\"\n");
    text += "[network.wifi]\nrate = \"11 Mbit/s\"\nerror_floor = \"0 %\"\nretry = 7\n";
    for station in 0..stations {
        let flow = format!("[[flow]]\nname = \"f{station}\"\ntransport = \"udp-blocking\"\npacing = \"none\"\n");
        writeln!(text, "{flow}station = {station}").expect("invariant: a text takes all");
    }
    let scenario = common::scenario(&text);
    let round = Box::new(move || {
        let run = Simulation::run(&scenario, &content, &Options::default()).expect("invariant: the network can be");
        (run.simulated.as_secs_f64(), run.packets)
    });
    Row { name, ns3, round }
}
