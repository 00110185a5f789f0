//! How accurate and how fast the emulator is on this machine, against stated bounds.
//!
//! ```sh
//! cargo bench -p framewire-emu --bench emulator              # everything, about two minutes
//! cargo bench -p framewire-emu --bench emulator -- rate      # cases whose name contains "rate"
//! cargo bench -p framewire-emu --bench emulator -- --json results.json
//! ```
//! The figures mean little while other programs keep the processors busy, so the load is printed beside them. The
//! exit code is 1 when a bound was not met.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark of a world reads the clock and opens sockets"
)]

mod delay;
mod load;
mod rate;
mod report;
mod streams;
mod traffic;

use std::process::ExitCode;

use report::{Case, Results};

type Measure = fn() -> Vec<Case>;

const GROUPS: [(&str, Measure); 7] = [
    ("delay-idle", delay::idle),
    ("delay-tcp", delay::under_tcp),
    ("rate", rate::configured),
    ("rate-tbf", rate::token_bucket),
    ("load-bits", load::gigabit),
    ("load-packets", load::packets),
    ("streams", streams::seven),
];

fn main() -> ExitCode {
    // `cargo bench` adds --bench.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let (filters, json) = match arguments.iter().position(|argument| argument == "--json") {
        Some(at) => (arguments[..at].to_vec(), arguments.get(at + 1).cloned()),
        None => (arguments, None),
    };
    let mut results = Results::begin();
    for (name, measure) in GROUPS {
        if filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str())) {
            results.add(measure());
        }
    }
    results.end(json.as_deref())
}
