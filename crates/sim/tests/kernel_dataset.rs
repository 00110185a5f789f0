//! The simulated TCP against the committed dataset of a kernel's, run by run with the same losses. The bounds are those of
//! `docs/validation.md`; the cells that miss one of them are listed here by name.
#![allow(clippy::disallowed_methods, reason = "runs are independent: each thread simulates its own")]

use crate::cells;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cells::{Row, Table};
use framewire_sim::lone_connection::{LoneConnection, TcpOutcome};
use framewire_tcp::congestion::Algorithm;

/// Cells whose retransmissions are off by more than 20 %; `docs/validation.md` says by how much and why.
const KNOWN_RETRANSMISSIONS: [&str; 8] = [
    "bbr,20,20,0,bdp,stream",
    "bbr,20,80,0,bdp,stream",
    "bbr,5,20,0,bdp,bulk",
    "bbr,5,20,0,bdp,stream",
    "bbr,5,20,0.001,bdp,bulk",
    "cubic,20,200,0,bdp,bulk",
    "scalable,5,20,0,bdp,bulk",
    "scalable,5,20,0.001,bdp,bulk",
];

/// Cells whose mean round trip is off by more than 10 %, in the same way.
const KNOWN_ROUND_TRIPS: [&str; 1] = ["vegas,5,20,0,bdp,bulk"];

/// The kernel's own congestion controls, and BPF programs in its TCP.
const KERNEL: &str = "kernel-6.18.csv";
const PROGRAMS: &str = "kernel-6.18-bpf.csv";

/// By how much they may be off.
const KNOWN_AT_MOST: f64 = 0.5;

/// Sums over the repeats of a cell, in the kernel and simulated.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    kernel: f64,
    simulated: f64,
}

impl Pair {
    fn add(&mut self, kernel: f64, simulated: f64) {
        self.kernel += kernel;
        self.simulated += simulated;
    }

    fn error(self) -> f64 {
        self.simulated / self.kernel - 1.0
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    lossy: bool,
    repeats: f64,
    goodput: Pair,
    round_trip: Pair,
    retransmissions: Pair,
    timeouts: Pair,
}

fn dataset(name: &str) -> Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/validation").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Table::parse(&text).expect("the dataset is well formed")
}

/// The rows of an algorithm that are repeated: of those at these rates, in Mbit/s, and of these modes, all that nothing
/// disturbed.
fn chosen<'a>(table: &'a Table, algorithm: &str, rates: &[&str], modes: &[&str]) -> Vec<Row<'a>> {
    let is = |row: &Row<'_>, column, value| row.text(column) == Some(value);
    let is_chosen = |row: &Row<'_>| {
        is(row, "algorithm", algorithm)
            && is(row, "disturbed", "0")
            && row.text("rate_mbps").is_some_and(|rate| rates.contains(&rate))
            && row.text("mode").is_some_and(|mode| modes.contains(&mode))
    };
    table.rows().filter(is_chosen).collect()
}

fn simulate(experiments: &[LoneConnection]) -> Vec<TcpOutcome> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(experiment) = experiments.get(number)
                {
                    let outcome = experiment.run().expect("the cell can be simulated");
                    outcomes.lock().expect("no thread panics").insert(number, outcome);
                }
            });
        }
    });
    outcomes.into_inner().expect("no thread panics").into_values().collect()
}

/// The cells of `algorithm` at these rates and of these modes, simulated with `simulated`.
fn compare(algorithm: &str, simulated: &str, rates: &[&str], modes: &[&str]) -> BTreeMap<String, Cell> {
    compare_with(&dataset(KERNEL), algorithm, simulated, rates, modes)
}

/// The same of a dataset.
fn compare_with(
    table: &Table,
    algorithm: &str,
    simulated: &str,
    rates: &[&str],
    modes: &[&str],
) -> BTreeMap<String, Cell> {
    let rows = chosen(table, algorithm, rates, modes);
    let congestion: Algorithm = simulated.parse().expect("a known algorithm");
    let experiment = |row: &Row<'_>| {
        let mut experiment = row.experiment().expect("the row describes an experiment");
        experiment.sender.congestion = congestion;
        experiment
    };
    let outcomes = simulate(&rows.iter().map(experiment).collect::<Vec<_>>());
    let mut cells: BTreeMap<String, Cell> = BTreeMap::new();
    for (row, outcome) in rows.iter().zip(&outcomes) {
        let number = |column| row.value::<f64>(column).expect("a number");
        let cell = cells.entry(row.cell()).or_default();
        cell.lossy = number("loss") > 0.0;
        cell.repeats += 1.0;
        cell.goodput.add(number("received_bytes"), outcome.received.as_bytes() as f64);
        let round_trip = outcome.mean_srtt().unwrap_or_default();
        cell.round_trip.add(number("srtt_ms"), round_trip.as_secs_f64() * 1e3);
        cell.retransmissions.add(number("retransmissions"), outcome.last.retransmissions as f64);
        cell.timeouts.add(number("timeouts"), outcome.last.timeouts as f64);
    }
    cells
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a set of cells misses; empty when it holds. The bounds of goodput are `scale` times those of reno and cubic.
fn misses(cells: &BTreeMap<String, Cell>, scale: f64) -> Vec<String> {
    let mut misses = Vec::new();
    for lossy in [false, true] {
        let group: Vec<_> = cells.iter().filter(|(_, cell)| cell.lossy == lossy).collect();
        let middle = median(group.iter().map(|(_, cell)| cell.goodput.error().abs()).collect());
        if middle > 0.05 * scale {
            misses.push(format!("lossy {lossy}: the median error of goodput is {:.1} %", 100.0 * middle));
        }
        for (name, cell) in &group {
            if cell.goodput.error().abs() > 0.12 * scale {
                misses.push(format!("{name}: goodput is off by {:+.1} %", 100.0 * cell.goodput.error()));
            }
            if cell.round_trip.error().abs() > 0.10 && !KNOWN_ROUND_TRIPS.contains(&name.as_str()) {
                misses.push(format!("{name}: the mean RTT is off by {:+.1} %", 100.0 * cell.round_trip.error()));
            }
            let timeouts = (cell.timeouts.simulated - cell.timeouts.kernel).abs();
            if timeouts > (0.2 * cell.timeouts.kernel).max(0.5 * cell.repeats) {
                misses.push(format!("{name}: timeouts {:?} in {} runs", cell.timeouts, cell.repeats));
            }
        }
        let few = |cell: &Cell| 2.0 * cell.repeats;
        let agrees = |cell: &Cell| {
            let Pair { kernel, simulated } = cell.retransmissions;
            (simulated - kernel).abs() <= (0.2 * kernel).max(few(cell))
        };
        for (name, cell) in &group {
            let known = KNOWN_RETRANSMISSIONS.contains(&name.as_str());
            let error = cell.retransmissions.error();
            match (agrees(cell), known) {
                (true, false) => {}
                (false, true) if error.abs() <= KNOWN_AT_MOST => {}
                (false, _) => misses.push(format!("{name}: retransmissions are off by {:+.0} %", 100.0 * error)),
                (true, true) => misses.push(format!("{name}: retransmissions agree; strike it from the list")),
            }
        }
    }
    misses
}

fn holds(algorithm: &str, scale: f64) {
    let cells = compare(algorithm, algorithm, &["5", "20"], &["bulk", "stream"]);
    assert_eq!(cells.len(), 72, "the whole grid");
    let misses = misses(&cells, scale);
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}

#[test]
fn reno_does_what_the_kernel_did() {
    holds("reno", 1.0);
}

#[test]
fn cubic_does_what_the_kernel_did() {
    holds("cubic", 1.0);
}

#[test]
fn bbr_does_what_the_kernel_did() {
    holds("bbr", 2.0);
}

/// The bounds are narrow enough to distinguish one algorithm from another, also by some of the cells: those that take little
/// time to simulate.
#[test]
fn another_algorithm_misses_the_bounds() {
    for (measured, simulated) in [("reno", "cubic"), ("cubic", "reno"), ("bbr", "cubic")] {
        let scale = if measured == "bbr" { 2.0 } else { 1.0 };
        let misses = misses(&compare(measured, simulated, &["5"], &["stream"]), scale);
        println!("{simulated} for {measured}: {}", misses.join(", "));
        assert!(misses.iter().any(|miss| miss.contains("goodput")), "{simulated} passes for {measured}");
    }
}

#[test]
fn what_the_kernel_lacks_does_what_programs_did_in_its_tcp() {
    let table = dataset(PROGRAMS);
    for algorithm in ["illinois", "vegas", "westwood", "veno", "scalable", "highspeed", "htcp"] {
        let cells = compare_with(&table, algorithm, algorithm, &["5", "20"], &["bulk"]);
        assert_eq!(cells.len(), 8, "the whole grid of {algorithm}");
        let misses = misses(&cells, 1.0);
        assert!(misses.is_empty(), "{}", misses.join("\n"));
    }
    // The bounds distinguish them.
    for (measured, simulated) in [("illinois", "reno"), ("vegas", "reno"), ("scalable", "veno"), ("htcp", "westwood")] {
        let misses = misses(&compare_with(&table, measured, simulated, &["5", "20"], &["bulk"]), 1.0);
        println!("{simulated} for {measured}: {}", misses.join(", "));
        assert!(misses.len() > 2, "{simulated} passes for {measured}");
    }
}
