//! How much memory a simulated run needs by its length: one run into a temporary directory, and the peak of this process.
//!
//! ```sh
//! cargo run --release -p framewire-sim --example memory -- bulk --minutes 60 --packets
//! cargo run --release -p framewire-sim --example memory -- udp --minutes 60
//! ```
//! The flow is of the transport named, at about 1 Mbit/s. The movie is a file in the temporary directory, 450 MB of an hour,
//! of which the index is in memory; a bulk flow has none.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark reads the clock")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::fs;
use std::time::Instant;

use framewire_sim::{Content, RunOptions, simulate_run};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let transport = arguments
        .first()
        .filter(|word| !word.starts_with('-'))
        .ok_or("usage: memory TRANSPORT [--minutes N] [--packets]")?;
    let minutes: usize = match arguments.iter().position(|word| word == "--minutes") {
        Some(position) => arguments.get(position + 1).ok_or("--minutes needs a value")?.parse()?,
        None => 30,
    };
    let packets = arguments.iter().any(|word| word == "--packets");
    let seconds = 60 * minutes;
    let directory = std::env::temp_dir().join(format!("framewire-memory-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let content = match transport.as_str() {
        "bulk" => Content::default(),
        _ => common::content(&common::movie_file(&directory, 1.0, seconds)),
    };
    let rate = if transport == "bulk" { "1 Mbit/s" } else { "1200 kbit/s" };
    let text = format!(
        "limit = \"{seconds} s\"\n[network]\nkind = \"wired\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"20 ms\"\n\
         queue = \"50 packets\"\nloss = \"0.5 %\"\n[[flow]]\ntransport = \"{transport}\"\n"
    );
    let before = peak()?;
    let began = Instant::now();
    let options = RunOptions { packets, ..RunOptions::default() };
    let report = simulate_run(&common::scenario(&text), &content, &directory, &options);
    let took = began.elapsed().as_secs_f64();
    fs::remove_dir_all(&directory)?;
    println!(
        "{transport}, {minutes} min, packet table {}: {:.0} s simulated in {took:.1} s, peak {} MB, {} MB of it before the run",
        if packets { "on" } else { "off" },
        report?.simulated_s,
        peak()? / 1_000,
        before / 1_000,
    );
    Ok(())
}

/// The largest resident size of this process so far (VmHWM of proc(5)), in kB.
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("/proc/self/status: no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
