//! The simulated side of the validation: simulates every row of a file of cells, on all processors.
//!
//! ```sh
//! cargo run --release -p framewire-sim --example tcp_grid -- \
//!     --cells benches/validation/kernel-6.18.csv --out target/validation/simulated.csv
//! ```
//! A row needs the columns algorithm, rate_mbps, rtt_ms, loss, queue, mode, seconds, seed, and queue_bytes or
//! queue_packets; others are ignored, so that the kernel's own dataset is such a file.
#![allow(clippy::disallowed_methods, reason = "runs are independent: each thread simulates its own")]

mod cells;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cells::{CELL_COLUMNS, Row, Table};
use framewire_sim::lone_connection::{LoneConnection, TcpOutcome};
use framewire_units::Duration;

const COLUMNS: &str = "seconds,seed,received_bytes,segments,retransmissions,srtt_ms,min_rtt_ms,forward_delay_ms,\
                       queue_drops,random_losses,timeouts,loss_probes,recoveries,undone";
const CURVE_COLUMNS: &str = "seed,time_ms,cwnd,ssthresh,srtt_ms,unacked";
const USAGE: &str = "usage: tcp_grid --cells FILE.csv --out FILE.csv [--curves FILE.csv]
  --cells   one run per row
  --out     one row per run
  --curves  windows and round-trip times every 100 ms of the runs with seed 1";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let (mut cells, mut out, mut curves) = (None, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--cells" => cells = Some(value),
            "--out" => out = Some(value),
            "--curves" => curves = Some(value),
            _ => return Err(format!("{name}: no such option\n{USAGE}").into()),
        }
    }
    let (Some(cells), Some(out)) = (cells, out) else { return Err(USAGE.into()) };
    let table = Table::parse(&fs::read_to_string(&cells).map_err(|error| format!("{cells}: {error}"))?)?;
    let rows: Vec<Row<'_>> = table.rows().collect();
    let experiments: Result<Vec<LoneConnection>, String> = rows.iter().map(Row::experiment).collect();
    let outcomes = simulate(&experiments?)?;
    let mut text = format!("{},{COLUMNS}\n", CELL_COLUMNS.join(","));
    for (row, outcome) in rows.iter().zip(&outcomes) {
        writeln!(text, "{}", line(row, outcome)?)?;
    }
    fs::write(&out, text).map_err(|error| format!("{out}: {error}"))?;
    if let Some(path) = curves {
        let mut text = format!("{},{CURVE_COLUMNS}\n", CELL_COLUMNS.join(","));
        let first = rows.iter().zip(&outcomes).filter(|(row, _)| row.text("seed") == Some("1"));
        first.for_each(|(row, outcome)| text += &curve(row, outcome));
        fs::write(&path, text).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// Simulates all, in the order given.
fn simulate(experiments: &[LoneConnection]) -> Result<Vec<TcpOutcome>, Box<dyn Error>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && let Some(experiment) = experiments.get(number)
        {
            done.push((number, experiment.run()));
        }
        done
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let parts: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().map_err(|_| "a simulation panicked")).collect()
    });
    let mut done = Vec::new();
    for part in parts {
        done.extend(part?);
    }
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, outcome)| outcome.map_err(Into::into)).collect()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn line(row: &Row<'_>, outcome: &TcpOutcome) -> Result<String, String> {
    let last = &outcome.last;
    Ok(format!(
        "{},{},{},{},{},{},{:.3},{:.3},{:.3},{},{},{},{},{},{}",
        row.cell(),
        outcome.duration.as_secs(),
        row.value::<u64>("seed")?,
        outcome.received.as_bytes(),
        outcome.segments,
        last.retransmissions,
        millis(outcome.mean_srtt().unwrap_or_default()),
        millis(last.min_rtt.unwrap_or_default()),
        millis(outcome.forward_delay),
        outcome.queue_drops,
        outcome.random_losses,
        last.timeouts,
        last.loss_probes,
        last.recoveries,
        last.undone,
    ))
}

fn curve(row: &Row<'_>, outcome: &TcpOutcome) -> String {
    let mut text = String::new();
    for sample in &outcome.samples {
        let (at, info) = (sample.at.as_nanos() / 1_000_000, &sample.info);
        let threshold = info.ssthresh.map_or(String::new(), |packets| packets.to_string());
        let (cell, srtt) = (row.cell(), millis(info.srtt));
        text += &format!("{cell},1,{at},{},{threshold},{srtt:.1},{}\n", info.cwnd, info.in_flight);
    }
    text
}
