//! The dataset: one row per run, added as runs end.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use framewire_units::Duration;

use crate::cell::Cell;
use crate::counters::KEPT;
use crate::experiment::Outcome;
use crate::plan::Run;

/// Columns that name a cell, a repeat and its conditions; then what was measured.
const CELL_COLUMNS: &str = "algorithm,rate_mbps,rtt_ms,loss,queue,mode";
const RUN_COLUMNS: &str = "queue_bytes,seconds,seed,kernel,disturbed,received_bytes,segments,retransmissions,srtt_ms,\
                           min_rtt_ms,forward_delay_ms,queue_drops,random_losses,release_p99_us,release_max_us";
const CURVE_COLUMNS: &str = "seed,time_ms,cwnd,ssthresh,srtt_ms,unacked";
/// Position of columns among all.
const SECONDS: usize = 7;
const SEED: usize = 8;
const DISTURBED: usize = 10;
const RECEIVED: usize = 11;

/// What is known of a cell.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Received bytes of each undisturbed repeat.
    pub received: BTreeMap<u32, f64>,
    /// Disturbed attempts of each repeat.
    pub disturbed: BTreeMap<u32, u32>,
}

/// The rows so far, and the files that they go to.
pub struct Dataset {
    cells: BTreeMap<String, Known>,
    rows: File,
    curves: Option<File>,
    length: Duration,
    kernel: String,
}

impl Dataset {
    /// Opens or creates the files.
    ///
    /// # Errors
    /// When they cannot be read or written, or hold runs of another length.
    pub fn open(path: &Path, curves: Option<&Path>, length: Duration) -> Result<Self, Box<dyn Error>> {
        let counters: Vec<&str> = KEPT.iter().map(|(_, column)| *column).collect();
        let header = format!("{CELL_COLUMNS},{RUN_COLUMNS},{}", counters.join(","));
        let rows = open_with_header(path, &header)?;
        let curves =
            curves.map(|path| open_with_header(path, &format!("{CELL_COLUMNS},{CURVE_COLUMNS}"))).transpose()?;
        let mut dataset = Self { cells: BTreeMap::new(), rows, curves, length, kernel: kernel_version() };
        for (number, line) in fs::read_to_string(path)?.lines().enumerate().skip(1) {
            dataset.learn(line).ok_or_else(|| {
                format!("{}, line {}: no row of runs of {} s", path.display(), number + 1, length.as_secs())
            })?;
        }
        Ok(dataset)
    }

    /// How long a run is.
    pub fn length(&self) -> Duration {
        self.length
    }

    /// What is known of a cell.
    pub fn known(&self, cell: &Cell) -> Known {
        self.cells.get(&cell.to_string()).cloned().unwrap_or_default()
    }

    /// Writes the kernel's TCP settings beside the dataset.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_settings(&self, path: &Path, settings: &str) -> Result<(), Box<dyn Error>> {
        let text = format!("Linux {}\n{settings}", self.kernel);
        Ok(fs::write(path.with_extension("settings"), text)?)
    }

    /// Adds a run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn add(&mut self, run: &Run, outcome: &Outcome) -> Result<(), Box<dyn Error>> {
        let line = self.row(run, outcome);
        self.rows.write_all(format!("{line}\n").as_bytes())?;
        self.learn(&line).ok_or("a row that was just written is not understood")?;
        if let (Some(curves), 1, None) = (&mut self.curves, run.repeat, &outcome.disturbed) {
            curves.write_all(curve(run, outcome).as_bytes())?;
        }
        Ok(())
    }

    fn row(&self, run: &Run, outcome: &Outcome) -> String {
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let measured: Vec<f64> =
            outcome.samples.iter().map(|sample| millis(sample.info.srtt)).filter(|srtt| *srtt > 0.0).collect();
        let srtt = measured.iter().sum::<f64>() / measured.len().max(1) as f64;
        let counters: Vec<String> = outcome.counters.iter().map(u64::to_string).collect();
        format!(
            "{},{},{},{},{},{},{},{},{},{srtt:.3},{:.3},{:.3},{},{},{},{},{}",
            run.cell,
            run.cell.queue_bytes(),
            self.length.as_secs(),
            run.repeat,
            self.kernel,
            u8::from(outcome.disturbed.is_some()),
            outcome.received,
            outcome.segments,
            outcome.last.total_retransmissions,
            millis(outcome.last.min_rtt.unwrap_or_default()),
            millis(outcome.forward_delay),
            outcome.queue_drops,
            outcome.random_losses,
            outcome.release_p99_ns / 1_000,
            outcome.release_max_ns / 1_000,
            counters.join(","),
        )
    }

    /// Takes note of a row; `None` when it is none, or of a run of another length.
    fn learn(&mut self, line: &str) -> Option<()> {
        let fields: Vec<&str> = line.split(',').collect();
        let repeat: u32 = fields.get(SEED)?.parse().ok()?;
        let received: f64 = fields.get(RECEIVED)?.parse().ok()?;
        if fields.get(SECONDS)?.parse() != Ok(self.length.as_secs()) {
            return None;
        }
        let known = self.cells.entry(fields[..6].join(",")).or_default();
        if fields[DISTURBED] == "0" {
            known.received.insert(repeat, received);
        } else {
            *known.disturbed.entry(repeat).or_default() += 1;
        }
        Some(())
    }
}

fn open_with_header(path: &Path, header: &str) -> Result<File, Box<dyn Error>> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if file.metadata()?.len() == 0 {
        writeln!(file, "{header}")?;
    } else if fs::read_to_string(path)?.lines().next() != Some(header) {
        return Err(format!("{}: not a dataset of this version of the program", path.display()).into());
    }
    Ok(file)
}

fn curve(run: &Run, outcome: &Outcome) -> String {
    let line = |sample: &crate::experiment::Sample| {
        let info = &sample.info;
        let threshold = info.ssthresh_packets.map_or(String::new(), |packets| packets.to_string());
        let (millis, srtt) = (sample.at.as_millis(), info.srtt.as_secs_f64() * 1e3);
        let (cwnd, unacked) = (info.cwnd_packets, info.unacked_packets);
        format!("{},{},{millis},{cwnd},{threshold},{srtt:.1},{unacked}\n", run.cell, run.repeat)
    };
    outcome.samples.iter().map(line).collect()
}

/// The numbers of the kernel's release, without what its builder added.
fn kernel_version() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect()
}
