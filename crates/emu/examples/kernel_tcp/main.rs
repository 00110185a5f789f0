//! This kernel's TCP over a grid of emulated networks, as a dataset that the simulated TCP is held against.
//!
//! ```sh
//! cargo run --release -p framewire-emu --example kernel_tcp -- --out benches/validation/kernel-6.18.csv
//! ```
//! With `--grid programs` the congestion controls are those of `crates/bpf`, over a small grid
//! (`benches/validation/kernel-6.18-bpf.csv`).
//!
//! Needs root: cubic may be a restricted congestion control inside a namespace, and real-time priority keeps the
//! emulator punctual. The file grows by one row per run; started again, the program goes on where it was. Every cell
//! is repeated until the 95 % confidence interval of its goodput is within 7 % of its mean. A run that the machine
//! disturbed is kept, marked, and repeated.
//!
//! What a run is: at time 0 the client calls connect. `bulk` always has data to write; `stream` gets a frame of 37,500
//! bytes every 40 ms from time 0 on, and writes what it has whenever the socket takes it. The receiver reads at once.
//! Everything is counted from 0 to the end, slow start included. Repeat r has the seed r, so that a simulation meets
//! the same loss draws.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program of a world reads the clock and opens sockets"
)]

mod cell;
mod counters;
mod dataset;
mod experiment;
mod plan;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use dataset::Dataset;
use plan::{Limits, next_batch};

const USAGE: &str = "usage: kernel_tcp --out FILE.csv [--curves FILE.csv] [--minutes N] [--seconds N] [--lanes N]
       [--load MBPS] [--repeats N] [--at-least N] [--grid kernel|programs] [--only WORD]...
  --out      the dataset; rows are added to it
  --curves   windows and round-trip times every 100 ms of each cell's first repeat
  --minutes  begin no batch after so long (default: until every cell is done)
  --seconds  length of each run (default 40)
  --lanes    runs at once at most (default 24)
  --load     Mbit/s that all runs together are expected to carry at most (default 150)
  --repeats  of one cell at most (default 120)
  --at-least repeats that every cell gets (default 8)
  --grid     whose congestion controls: the kernel's own (default), or BPF programs
  --only     cells whose name contains the word";

struct Options {
    out: PathBuf,
    curves: Option<PathBuf>,
    minutes: Option<u64>,
    seconds: u64,
    limits: Limits,
    only: Vec<String>,
    programs: bool,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match collect(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let limits = Limits { lanes: 24, load_mbps: 150.0, repeats: 120, at_least: 8 };
    let mut options = Options {
        out: PathBuf::new(),
        curves: None,
        minutes: None,
        seconds: 40,
        limits,
        only: Vec::new(),
        programs: false,
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || match value.parse::<u32>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("{name} {value}: a whole number above 0 is allowed")),
        };
        match name.as_str() {
            "--out" => options.out = value.into(),
            "--curves" => options.curves = Some(value.into()),
            "--minutes" => options.minutes = Some(number()?.into()),
            "--seconds" => options.seconds = number()?.into(),
            "--lanes" => options.limits.lanes = number()? as usize,
            "--load" => options.limits.load_mbps = number()?.into(),
            "--repeats" => options.limits.repeats = number()?,
            "--at-least" => options.limits.at_least = number()? as usize,
            "--grid" => {
                options.programs = match value.as_str() {
                    "programs" => true,
                    "kernel" => false,
                    _ => return Err(format!("--grid {value}: kernel and programs are allowed")),
                }
            }
            "--only" => options.only.push(value),
            _ => return Err(format!("{name}: no such option")),
        }
    }
    if options.out.as_os_str().is_empty() { Err("--out is missing".to_owned()) } else { Ok(options) }
}

fn collect(options: &Options) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let mut cells = if options.programs { cell::programs() } else { cell::grid() };
    cells.retain(|cell| options.only.iter().all(|word| cell.to_string().contains(word.as_str())));
    // Held to the end, before any namespace is entered.
    let programs = if options.programs { load(&cells)? } else { Vec::new() };
    let mut dataset = Dataset::open(&options.out, options.curves.as_deref(), Duration::from_secs(options.seconds))?;
    dataset.write_settings(&options.out, &experiment::settings()?)?;
    let in_time = || options.minutes.is_none_or(|minutes| began.elapsed() < Duration::from_secs(60 * minutes));
    while in_time() {
        let (batch, left) = next_batch(&cells, &dataset, &options.limits);
        if batch.is_empty() {
            println!("every cell is done");
            break;
        }
        let outcomes = experiment::run(&batch, dataset.length(), &programs)?;
        let disturbed = outcomes.iter().filter(|outcome| outcome.disturbed.is_some()).count();
        let latest = batch.iter().map(|run| run.repeat).max().unwrap_or(0);
        for (run, outcome) in batch.iter().zip(&outcomes) {
            dataset.add(run, outcome)?;
        }
        println!(
            "{:>5} s: {} runs up to repeat {latest}, {disturbed} disturbed, {left} cells not yet done",
            began.elapsed().as_secs(),
            batch.len()
        );
    }
    Ok(())
}

/// The BPF programs of these cells.
fn load(cells: &[cell::Cell]) -> Result<Vec<framewire_bpf::Loaded>, framewire_bpf::LoadError> {
    let names: BTreeSet<&str> = cells.iter().map(|cell| cell.algorithm).collect();
    names.into_iter().map(framewire_bpf::load).collect()
}
