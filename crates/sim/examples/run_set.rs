//! A set of runs, one of each way in which frames are recorded, each into a directory of its own: to hold the results of
//! two versions against each other.
//!
//! ```sh
//! cargo run --release -p framewire-sim --example run_set -- before --minutes 2
//! # ... after the change:
//! cargo run --release -p framewire-sim --example run_set -- after --minutes 2
//! diff -r before after
//! ```
#![allow(clippy::disallowed_methods, reason = "a program of its own reads its arguments")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::fs;
use std::path::Path;

use framewire_sim::{Content, RunOptions, simulate_run};

/// Networks: a line that loses packets, one that is too narrow, and Wi-Fi in the sender's own device, with a sniffer.
const NETWORKS: [(&str, &str); 3] = [
    (
        "wire",
        "kind = \"wired\"\n[network.wire]\nrate = \"2 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"50 packets\"\nloss = \"1 %\"\n",
    ),
    ("narrow", "kind = \"wired\"\n[network.wire]\nrate = \"900 kbit/s\"\ndelay = \"20 ms\"\nqueue = \"50 packets\"\n"),
    (
        "wifi",
        "kind = \"wifi\"\n[network.wifi]\nretry = 3\n[network.wifi.oven]\non = [[\"10 s\", \"60 s\"]]\n\
         [network.wifi.sniffer]\ncapture = \"65 %\"\n",
    ),
];

/// Flows: every transport's own kind of records.
const FLOWS: [(&str, &str); 12] = [
    ("udp", "transport = \"udp\""),
    ("udp-ifd", "transport = \"udp+ifd\""),
    ("udp-dependency", "transport = \"udp+dependency\""),
    ("tcp", "transport = \"tcp\""),
    ("tcp-paced", "transport = \"tcp\"\npacing = \"receiver\""),
    ("tcp-ifd", "transport = \"tcp+ifd\""),
    ("tcp-dependency", "transport = \"tcp+dependency\""),
    ("slices", "transport = \"udp\"\npackets = \"slices\""),
    ("vtp", "transport = \"vtp\""),
    ("vtp-hybrid", "transport = \"vtp-hybrid\""),
    ("tfrc", "transport = \"tfrc\""),
    ("two", "transport = \"udp\"\n[[flow]]\ntransport = \"bulk\""),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let directory =
        arguments.first().filter(|word| !word.starts_with('-')).ok_or("usage: run_set DIRECTORY [--minutes N]")?;
    let minutes: usize = match arguments.iter().position(|word| word == "--minutes") {
        Some(position) => arguments.get(position + 1).ok_or("--minutes needs a value")?.parse()?,
        None => 2,
    };
    let seconds = 60 * minutes;
    let content = common::content(&common::movie(1.0, seconds)).with_ladder("ladder.vtp", common::ladder(seconds));
    for (network, description) in NETWORKS {
        for (flow, settings) in FLOWS {
            for (timing, packets) in [("clock", true), ("thesis", false)] {
                let is_adaptive = ["vtp", "vtp-hybrid", "tfrc"].contains(&flow);
                let ladder = if is_adaptive { "movie.ladder = \"ladder.vtp\"\n" } else { "" };
                let text = format!(
                    "seed = 7\nlayout = \"together\"\n{ladder}[playout]\ntiming = \"{timing}\"\n[network]\n{description}\n[[flow]]\n{settings}\n"
                );
                let run = Path::new(directory).join(format!("{network}-{flow}-{timing}"));
                simulate(&run, &text, &content, packets)?;
            }
        }
    }
    Ok(())
}

fn simulate(run: &Path, text: &str, content: &Content, packets: bool) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(run)?;
    let options = RunOptions { packets, ..RunOptions::default() };
    let report = simulate_run(&common::scenario(text), content, run, &options)?;
    println!("{}: {}", run.display(), report.status);
    Ok(())
}
