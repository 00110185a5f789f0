//! A simulated scenario as a run directory, or as what a campaign keeps of it.

use std::path::Path;

use framewire_recording::ledger::Ledger;
use framewire_recording::record::FlowLog;
use framewire_recording::summary::Summary;
use framewire_recording::tables::{self, LedgerRow, PacketRow, RateRow, SampleRow, TableHash};
use framewire_recording::{CellTables, WriteError, check_records, write_cell, write_run};
use framewire_scenario::Scenario;
use framewire_units::{Duration, Playout};
use framewire_world::{Content, RunDescription, contradiction, failures, write_documents};
use serde_json::{Map, Value, json};

use crate::cancel::Cancel;
use crate::error::SimError;
use crate::progress::Watch;
use crate::simulation::{EarlyEnd, Options, Received, Simulated, Simulation};

/// What a run directory is to hold.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Fill the packet table.
    pub packets: bool,
    /// Keep the movies as received.
    pub received: bool,
    /// Ends the run early, as a partial result.
    pub cancel: Cancel,
    /// Is told now and then where the flows are.
    pub watch: Option<Watch>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// `complete` or `partial`.
    pub status: &'static str,
    /// `interrupted` or `time limit`; `None` when the streams ended by themselves.
    pub ended_by: Option<&'static str>,
    /// Flows that broke, each with its reason.
    pub failures: Vec<String>,
    /// One per flow.
    pub summaries: Vec<Summary>,
    /// Virtual seconds, all networks together.
    pub simulated_s: f64,
}

/// Simulates a scenario and fills `directory`, which exists, with what the emulated world would write there, except
/// captures; the table of release errors is empty.
///
/// # Errors
/// When the scenario asks for what cannot be simulated, or a file cannot be written.
pub fn simulate_run(
    scenario: &Scenario,
    content: &Content,
    directory: &Path,
    options: &RunOptions,
) -> Result<RunReport, SimError> {
    let received = if options.received {
        let received = directory.join("received");
        std::fs::create_dir_all(&received).map_err(|error| WriteError::new(received.clone(), &error))?;
        Received::Directory(received)
    } else {
        Received::Nowhere
    };
    let scratch = Some(directory.into());
    let options = Options {
        packets: options.packets,
        received,
        scratch,
        cancel: options.cancel.clone(),
        watch: options.watch.clone(),
        ..Options::default()
    };
    let simulated = Simulation::run(scenario, content, &options)?;
    let summaries = write_run(directory, &simulated.logs, scenario.playout)?;
    let description = RunDescription {
        world: "simulated",
        scenario,
        content,
        setups: &simulated.setups,
        flows: &simulated.outcomes,
        summaries: &summaries,
        clock_references_seen: Vec::new(),
        ended_by: simulated.ended_by.map(EarlyEnd::name),
        origin_utc: Value::Null,
        kernel: Value::Null,
        accuracy: accuracy(&simulated, &summaries),
        beside: Map::new(),
    };
    write_documents(directory, &description)?;
    Ok(RunReport {
        status: description.status(),
        ended_by: simulated.ended_by.map(EarlyEnd::name),
        failures: failures(&simulated.setups, &simulated.outcomes),
        simulated_s: simulated.simulated.as_secs_f64(),
        summaries,
    })
}

/// Nothing is late in virtual time; what is left to doubt is whether the ledger and the receiver agree.
fn accuracy(simulated: &Simulated, summaries: &[Summary]) -> Map<String, Value> {
    let flows = simulated.setups.iter().zip(summaries).zip(&simulated.outcomes);
    let entries = flows.map(|((setup, summary), outcome)| {
        (setup.name().to_owned(), json!({ "disturbed": contradiction(summary, outcome) }))
    });
    entries.collect()
}

/// What a cell of a campaign is to keep.
#[derive(Clone, Debug, Default)]
pub struct CellOptions {
    /// Keep the packet table and hash it.
    pub packets: bool,
    /// Keep the table of flows' states and hash it. Summaries are the same without it.
    pub flows: bool,
    /// Keep the table of rates, with a sample of each connection so often, and hash it; above zero.
    pub rates: Option<Duration>,
    /// Ends the cell, which then fails.
    pub cancel: Cancel,
}

/// A cell of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// How it ended, and the summaries.
    pub report: RunReport,
    /// Hashes of its tables.
    pub hashes: TableHashes,
}

/// Canonical hashes of the tables that a cell keeps (`docs/results.md`, Equality).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableHashes {
    /// Of `frames`.
    pub frames: TableHash,
    /// Of `summary`.
    pub summary: TableHash,
    /// Of `flows`; `None` where that was not kept.
    pub flows: Option<TableHash>,
    /// Of `packets`; `None` where that was not kept.
    pub packets: Option<TableHash>,
    /// Of `rates`; `None` where that was not kept.
    pub rates: Option<TableHash>,
}

/// Simulates a scenario in memory. With a `directory`, which exists, `frames`, `summary` and, where they were asked for,
/// `packets`, `flows` and `rates` are written there.
///
/// # Errors
/// When the scenario asks for what cannot be simulated, a file cannot be written, or it was asked to end.
pub fn simulate_cell(
    scenario: &Scenario,
    content: &Content,
    directory: Option<&Path>,
    options: &CellOptions,
) -> Result<Cell, SimError> {
    let simulation = Options {
        packets: options.packets,
        samples: options.flows,
        rates: options.rates,
        received: Received::Nowhere,
        scratch: directory.map(Into::into),
        cancel: options.cancel.clone(),
        watch: None,
    };
    let simulated = Simulation::run(scenario, content, &simulation)?;
    if options.cancel.is_raised() {
        return Err(SimError::Cancelled);
    }
    let playout = scenario.playout;
    let (ledgers, summaries) = sum_up(&simulated.logs, playout);
    let tables = CellTables {
        logs: &simulated.logs,
        ledgers: &ledgers,
        summaries: &summaries,
        packets: options.packets,
        flows: options.flows,
        rates: options.rates.map(|_| simulated.rates.as_slice()),
    };
    let hashes = hashes(&tables);
    check_records(&simulated.logs)?;
    if let Some(directory) = directory {
        write_cell(directory, &tables)?;
    }
    let complete = framewire_world::is_complete(&simulated.outcomes);
    let report = RunReport {
        status: if complete { "complete" } else { "partial" },
        ended_by: simulated.ended_by.map(EarlyEnd::name),
        failures: failures(&simulated.setups, &simulated.outcomes),
        summaries,
        simulated_s: simulated.simulated.as_secs_f64(),
    };
    Ok(Cell { report, hashes })
}

fn sum_up(logs: &[FlowLog], playout: Playout) -> (Vec<Ledger>, Vec<Summary>) {
    let ledgers: Vec<Ledger> = logs.iter().map(|log| Ledger::build(log, playout)).collect();
    let summaries = ledgers.iter().zip(logs).map(|(ledger, log)| Summary::build(ledger, log, &playout)).collect();
    (ledgers, summaries)
}

fn hashes(cell: &CellTables<'_>) -> TableHashes {
    let CellTables { logs, ledgers, summaries, .. } = *cell;
    TableHashes {
        frames: tables::frames().hash(ledgers.iter().flat_map(LedgerRow::all)),
        summary: tables::summary().hash(summaries.iter().cloned()),
        flows: cell.flows.then(|| tables::flows().hash(logs.iter().flat_map(SampleRow::all))),
        packets: cell.packets.then(|| tables::packets().hash(logs.iter().flat_map(PacketRow::all))),
        rates: cell.rates.map(|rates| {
            let of_flows = logs.iter().zip(rates);
            tables::rates().hash(of_flows.flat_map(|(log, rates)| RateRow::all(&log.flow, rates)))
        }),
    }
}
