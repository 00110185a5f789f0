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

/// Flows: every transport's own kind of records, also with reports, with sound, and where the receiver asks for the movie.
const FLOWS: [(&str, &str); 36] = [
    ("udp", "transport = \"udp\""),
    ("udp-whole", "transport = \"udp-whole\""),
    ("udp-blocking", "transport = \"udp-blocking\""),
    ("udp-ifd", "transport = \"udp+ifd\""),
    ("udp-dependency", "transport = \"udp+dependency\""),
    ("udp-unpaced", "transport = \"udp-blocking\"\npacing = \"none\""),
    ("udp-even", "transport = \"udp\"\nspread = \"frame-interval\""),
    ("udp-rtcp", "transport = \"udp\"\nrtcp = \"full\""),
    ("udp-dependency-rtcp", "transport = \"udp+dependency\"\nrtcp = \"no-receiver-reports\""),
    ("udp-sound", "transport = \"udp\""),
    ("udp-dependency-rtcp-sound", "transport = \"udp+dependency\"\nrtcp = \"full\""),
    ("ts", "transport = \"ts\""),
    ("ts-rtp-rtcp-sound", "transport = \"ts+rtp\"\nrtcp = \"full\""),
    ("ts-tcp-sound", "transport = \"ts+tcp+dependency\""),
    ("tcp", "transport = \"tcp\""),
    ("tcp-paced", "transport = \"tcp\"\npacing = \"receiver\""),
    ("tcp-unpaced", "transport = \"tcp\"\npacing = \"none\""),
    ("tcp-ifd", "transport = \"tcp+ifd\""),
    ("tcp-dependency", "transport = \"tcp+dependency\""),
    ("tcp-leaky", "transport = \"tcp+leaky\""),
    ("tcp-obs", "transport = \"tcp+obs\""),
    ("rtp-tcp", "transport = \"rtp+tcp\""),
    ("rtp-tcp-sound", "transport = \"rtp+tcp+dependency\""),
    ("http", "transport = \"http\""),
    ("http-ts-sound", "transport = \"http+ts+dependency\""),
    ("rtsp", "transport = \"rtsp\""),
    ("rtsp-dependency", "transport = \"rtsp+dependency\"\nrtcp = \"none\""),
    ("slices", "transport = \"udp\"\npackets = \"slices\""),
    ("vtp", "transport = \"vtp\""),
    ("vtp-hybrid", "transport = \"vtp-hybrid\""),
    ("vtp-ticks", "transport = \"vtp\"\nsend_tick = \"10 ms\"\nreceive_tick = \"10 ms\""),
    ("tfrc", "transport = \"tfrc\""),
    ("rap", "transport = \"rap\"\nstart = \"2 s\""),
    ("two", "transport = \"udp\"\n[[flow]]\ntransport = \"bulk\""),
    (
        "many",
        "transport = \"tcp\"\n[[flow]]\ntransport = \"vtp\"\n[[flow]]\ntransport = \"rtsp\"\n[[flow]]\ntransport = \"bulk\"\nconnections = 2",
    ),
    (
        "cut",
        "transport = \"tcp\"\n[[flow]]\ntransport = \"udp\"\nrtcp = \"full\"\n[[flow]]\ntransport = \"vtp\"\n[[flow]]\ntransport = \"rtsp\"",
    ),
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
    let silent = common::content(&common::movie(1.0, seconds)).with_ladder("ladder.vtp", common::ladder(seconds));
    let sounding = silent.clone().with_sound("sound.mp2", common::sound(seconds));
    for (network, description) in NETWORKS {
        for (flow, settings) in FLOWS {
            for (timing, packets) in [("clock", true), ("thesis", false)] {
                let is_adaptive = ["vtp", "tfrc", "rap"].iter().any(|adaptive| settings.contains(adaptive));
                let ladder = if is_adaptive { "movie.ladder = \"ladder.vtp\"\n" } else { "" };
                let limit = if flow == "cut" { format!("limit = \"{} s\"\n", seconds / 2) } else { String::new() };
                let description =
                    if limit.is_empty() { description.to_owned() } else { description.replace("60 s", "20 s") };
                let content = if flow.ends_with("sound") { &sounding } else { &silent };
                let text = format!(
                    "seed = 7\nlayout = \"together\"\n{limit}{ladder}[playout]\ntiming = \"{timing}\"\n[network]\n{description}\n[[flow]]\n{settings}\n"
                );
                let run = Path::new(directory).join(format!("{network}-{flow}-{timing}"));
                simulate(&run, &text, content, packets)?;
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
