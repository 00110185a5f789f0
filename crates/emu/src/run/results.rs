//! The run directory: every flow's log becomes tables, and the ledger is held against what the receiver kept.

use framewire_emu::{Clock, LaneRecord};
use framewire_kernel::FlowLateness;
use framewire_recording::record::FlowLog;
use framewire_recording::write_run;
use framewire_session::FlowSetup;
use framewire_session::lifecycle::FlowOutcome;
use framewire_units::Timestamp;
use framewire_world::{Content, Event, RunDescription, contradiction, failures, flow_log, utc, write_documents};
use serde_json::{Map, Value};

use super::description::{FlowProof, accuracy};
use super::plan::Plan;
use super::tables::FlowTables;
use crate::control::{Failure, emit};

/// What the run recorded.
pub struct RunOutcome<'a> {
    /// Flow by flow, in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// Lane by lane.
    pub lanes: Vec<LaneRecord>,
    /// The tables of their packets, flow by flow.
    pub tables: Vec<FlowTables>,
    /// How late the threads of each flow were woken.
    pub lateness: Vec<FlowLateness>,
    /// The run's clock.
    pub clock: Clock,
    /// The kernel and its settings.
    pub kernel: Value,
    /// What was sent.
    pub content: &'a Content,
    /// A signal ended it.
    pub interrupted: bool,
    /// The time limit ended it.
    pub limit_hit: bool,
}

impl RunOutcome<'_> {
    fn ended_by(&self) -> Option<&'static str> {
        match (self.interrupted, self.limit_hit) {
            (true, _) => Some("interrupted"),
            (false, true) => Some("time limit"),
            (false, false) => None,
        }
    }
}

/// Writes the run directory and says so.
///
/// # Errors
/// When a file cannot be written; the error names it.
pub fn write(
    plan: &Plan,
    groups: &[Vec<usize>],
    setups: &[FlowSetup],
    mut outcome: RunOutcome<'_>,
) -> Result<(), Failure> {
    let ended_by = outcome.ended_by();
    let failures = failures(setups, &outcome.flows);
    let left_out: Vec<u64> = outcome.tables.iter().map(|tables| tables.ahead.left_out).collect();
    let clock_references_seen = outcome.tables.iter().map(|tables| tables.packets.has_clock_references()).collect();
    let logs: Vec<FlowLog> = setups
        .iter()
        .zip(&mut outcome.flows)
        .zip(outcome.tables)
        .map(|((setup, flow), tables)| FlowLog {
            air: Some(tables.air),
            ahead: Some(tables.ahead),
            ..flow_log(setup, flow, tables.packets)
        })
        .collect();
    let summaries = write_run(&plan.directory, &logs, plan.scenario.playout)?;
    let proofs = summaries.iter().zip(&outcome.flows).zip(left_out.into_iter().zip(outcome.lateness));
    let proofs: Vec<FlowProof> = proofs
        .map(|((summary, flow), (left_out, lateness))| FlowProof {
            left_out,
            lateness,
            contradiction: contradiction(summary, flow),
        })
        .collect();
    let description = RunDescription {
        world: "emulated",
        scenario: &plan.scenario,
        content: outcome.content,
        setups,
        flows: &outcome.flows,
        summaries: &summaries,
        clock_references_seen,
        ended_by,
        origin_utc: utc(outcome.clock.to_unix(Timestamp::ZERO)).into(),
        accuracy: accuracy(groups, setups, &outcome.lanes, &proofs),
        kernel: outcome.kernel.clone(),
        beside: Map::new(),
    };
    write_documents(&plan.directory, &description)?;
    let directory = plan.directory.to_string_lossy();
    emit(&Event::Finished { directory: &directory, status: description.status(), failures: &failures });
    Ok(())
}
