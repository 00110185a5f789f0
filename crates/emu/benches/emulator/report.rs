//! The table and the file.

use std::fs;
use std::process::ExitCode;

use framewire_emu::{Distribution, LaneRecord, Scheduling};
use serde::Serialize;

/// One measured figure beside its bound.
#[derive(Debug, Serialize)]
pub struct Case {
    /// What was measured.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The largest value that is good enough; `None` for figures that are only reported.
    pub at_most: Option<f64>,
    /// The smallest value that is good enough.
    pub at_least: Option<f64>,
    /// What else is to be known.
    pub note: String,
}

impl Case {
    /// A figure without a bound.
    pub fn unbounded(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit, at_most: None, at_least: None, note: String::new() }
    }

    /// The figure must not exceed this.
    pub fn at_most(mut self, bound: f64) -> Self {
        self.at_most = Some(bound);
        self
    }

    /// The figure must reach this.
    pub fn at_least(mut self, bound: f64) -> Self {
        self.at_least = Some(bound);
        self
    }

    /// Adds a remark.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    fn holds(&self) -> bool {
        self.at_most.is_none_or(|bound| self.value <= bound) && self.at_least.is_none_or(|bound| self.value >= bound)
    }
}

/// Median, 99th percentile and maximum of errors, with the bounds of the first two in microseconds.
pub fn errors(name: &str, errors: Distribution, p50_us: Option<f64>, p99_us: Option<f64>) -> Vec<Case> {
    let case = |what: &str, nanos: i64, bound: Option<f64>| {
        let case = Case::unbounded(format!("{name}: {what}"), nanos as f64 / 1e3, "us");
        Case { at_most: bound, ..case }
    };
    vec![
        case("release error p50", errors.p50_ns, p50_us),
        case("release error p99", errors.p99_ns, p99_us),
        case("release error max", errors.max_ns, None).note(format!("{} packets", errors.count)),
    ]
}

/// Packets lost outside the model: none may be.
pub fn losses(name: &str, record: &LaneRecord) -> Case {
    let lost = record.accuracy.lost_outside_model;
    let note = record.evidence.disagreement().unwrap_or_else(|| "devices and log agree".to_owned());
    Case::unbounded(format!("{name}: lost outside the model"), lost as f64, "packets").at_most(0.0).note(note)
}

/// All figures of one run of the benchmark.
#[derive(Debug, Serialize)]
pub struct Results {
    kernel: String,
    processors: usize,
    load_before: String,
    load_after: String,
    cases: Vec<Case>,
}

impl Results {
    /// Starts with the state of the machine.
    pub fn begin() -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { kernel, processors, load_before: load(), load_after: String::new(), cases: Vec::new() }
    }

    /// Prints and keeps cases.
    pub fn add(&mut self, cases: Vec<Case>) {
        for case in &cases {
            print(case);
        }
        self.cases.extend(cases);
    }

    /// Prints the summary and writes the file.
    pub fn end(mut self, json: Option<&str>) -> ExitCode {
        self.load_after = load();
        println!(
            "Linux {}, {} processors; load before {}, after {}",
            self.kernel, self.processors, self.load_before, self.load_after
        );
        if let Some(path) = json {
            let text = serde_json::to_string_pretty(&self).expect("invariant: the results are plain data");
            if let Err(error) = fs::write(path, text) {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        }
        let missed = self.cases.iter().filter(|case| !case.holds()).count();
        println!("{missed} of {} bounds missed", self.cases.iter().filter(|case| case.is_bounded()).count());
        if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

impl Case {
    fn is_bounded(&self) -> bool {
        self.at_most.is_some() || self.at_least.is_some()
    }
}

fn print(case: &Case) {
    let bound = match (case.at_most, case.at_least) {
        (Some(bound), _) => format!("<= {bound}"),
        (_, Some(bound)) => format!(">= {bound}"),
        _ => String::new(),
    };
    let verdict = match (case.is_bounded(), case.holds()) {
        (true, true) => "ok",
        (true, false) => "MISSED",
        (false, _) => "",
    };
    println!("{:<58} {:>12.3} {:<9} {:<10} {:<6} {}", case.name, case.value, case.unit, bound, verdict, case.note);
}

/// The machine's load averages over 1, 5 and 15 minutes.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Says under which priority the pump ran.
pub fn scheduling(scheduling: Scheduling) -> String {
    format!("{scheduling} priority")
}
