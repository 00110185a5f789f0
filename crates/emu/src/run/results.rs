//! The run directory: every flow's log becomes tables, and the ledger is held against what the receiver kept.

use std::mem::take;
use std::path::Path;

use framewire_emu::{Clock, LaneRecord};
use framewire_media::Movie;
use framewire_probe::record::{FlowLog, FlowSample, FlowStatus, Playout, PlayoutPolicy};
use framewire_probe::summary::Summary;
use framewire_probe::write_run;
use framewire_scenario as scenario;
use framewire_session::{FlowSetup, ReceiverLog, SenderLog};
use serde_json::Value;

use super::description::run_json;
use super::events::{Event, emit};
use super::failure::Failure;
use super::packets::FlowPackets;
use super::plan::Plan;
use super::port;

/// What one flow recorded.
pub struct FlowOutcome {
    /// The sender's log.
    pub sent: SenderLog,
    /// Samples of the flow's state.
    pub samples: Vec<FlowSample>,
    /// The receiver's log.
    pub received: ReceiverLog,
    /// Bytes of the movie as received.
    pub kept_bytes: u64,
    /// How it ended.
    pub status: FlowStatus,
}

/// What the run recorded.
pub struct RunOutcome<'a> {
    /// Flow by flow, in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// Lane by lane.
    pub lanes: Vec<LaneRecord>,
    /// The run's clock.
    pub clock: Clock,
    /// The kernel and its settings.
    pub kernel: Value,
    /// What was sent.
    pub movie: &'a Movie,
    /// A signal ended it.
    pub interrupted: bool,
    /// The time limit ended it.
    pub limit_hit: bool,
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
    let mut packets: Vec<FlowPackets> = Vec::new();
    let sniffed = plan.scenario.network.wifi.as_ref().is_some_and(|wifi| wifi.sniffer.is_some());
    packets.extend((0..setups.len()).map(|flow| FlowPackets::new(port(flow), sniffed)));
    for (group, lane) in groups.iter().zip(&outcome.lanes) {
        for packet in &lane.packets {
            // What belongs to no flow (ICMP, for instance) is shown with the first one, so that nothing is hidden.
            let owner = group.iter().copied().find(|&flow| packets[flow].owns(packet)).unwrap_or(group[0]);
            packets[owner].add(packet);
        }
    }
    let failures = failures(setups, &outcome.flows);
    let logs: Vec<FlowLog> = setups
        .iter()
        .zip(&mut outcome.flows)
        .zip(packets)
        .map(|((setup, flow), packets)| flow_log(setup, flow, packets))
        .collect();
    let summaries = write_run(&plan.directory, &logs, playout(&plan.scenario.playout))?;
    let contradictions: Vec<Option<String>> =
        summaries.iter().zip(&outcome.flows).map(|(summary, flow)| contradiction(summary, flow)).collect();
    let json = run_json(plan, groups, setups, &outcome, &contradictions);
    let status = json["status"].as_str().unwrap_or("partial").to_owned();
    write_text(&plan.directory.join("scenario.toml"), &plan.scenario.to_toml())?;
    write_text(&plan.directory.join("run.json"), &format!("{json:#}\n"))?;
    emit(&Event::Finished { directory: &plan.directory.to_string_lossy(), status: &status, failures: &failures });
    Ok(())
}

/// Moves a flow's records into its log; what run.json needs stays.
fn flow_log(setup: &FlowSetup, flow: &mut FlowOutcome, packets: FlowPackets) -> FlowLog {
    FlowLog {
        flow: setup.name().to_owned(),
        transport: setup.kind().to_string(),
        status: flow.status.clone(),
        frames: setup.plan().facts(),
        frame_events: take(&mut flow.sent.frame_events),
        datagrams_sent: take(&mut flow.sent.datagrams),
        datagrams_received: take(&mut flow.received.datagrams),
        stream_reads: take(&mut flow.received.reads),
        packets: packets.records,
        samples: take(&mut flow.samples),
        releases: packets.releases,
    }
}

/// The ledger is made of packets and sizes; the receiver put frames together on its own. Where a stream ended well,
/// both must have found the same frames: says how they differ, or nothing.
fn contradiction(summary: &Summary, flow: &FlowOutcome) -> Option<String> {
    let whole = summary.frames - summary.fates.lost;
    let ended_well = flow.status == FlowStatus::Complete;
    ended_well.then(|| difference(whole, flow.received.complete_frames)).flatten()
}

fn difference(whole: u32, kept: u32) -> Option<String> {
    (whole != kept).then(|| {
        format!("the ledger has {whole} whole frames, the receiver put {kept} together; please report this defect")
    })
}

fn playout(playout: &scenario::Playout) -> Playout {
    let policy = match playout.policy {
        scenario::PlayoutPolicy::Live => PlayoutPolicy::Live,
        scenario::PlayoutPolicy::Stall => PlayoutPolicy::Stall,
    };
    Playout { policy, startup: playout.startup }
}

fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::run(format!("{}: cannot be written: {error}", path.display())))
}

fn failures(setups: &[FlowSetup], flows: &[FlowOutcome]) -> Vec<String> {
    let failed = setups.iter().zip(flows).filter_map(|(setup, flow)| match &flow.status {
        FlowStatus::Failed(reason) => Some(format!("flow {}: {reason}", setup.name())),
        FlowStatus::Complete | FlowStatus::Partial => None,
    });
    failed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_only_one_of_the_two_found_is_told() {
        assert_eq!(difference(1_499, 1_499), None);
        for kept in [1_498, 1_500] {
            assert!(difference(1_499, kept).unwrap().contains(&kept.to_string()));
        }
    }
}
