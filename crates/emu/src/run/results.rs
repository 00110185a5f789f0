//! The run directory: every flow's log becomes tables, and the ledger is held against what the receiver kept.

use std::mem::take;

use framewire_emu::{Clock, Headers, LaneRecord, PacketLog, Protocol};
use framewire_probe::record::{FlowLog, ReleaseRecord};
use framewire_probe::write_run;
use framewire_session::FlowSetup;
use framewire_units::Timestamp;
use framewire_world::{
    Content, FlowOutcome, FlowPackets, PacketDescription, RunDescription, Sequence, contradiction, failures, flow_log,
    playout, port, write_documents,
};
use serde_json::Value;

use super::description::accuracy;
use super::events::{Event, emit};
use super::failure::Failure;
use super::plan::Plan;
use super::utc::utc;

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
    let packets = packet_tables(plan, groups, setups.len(), &mut outcome.lanes)?;
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
    let description = RunDescription {
        world: "emulated",
        scenario: &plan.scenario,
        content: outcome.content,
        setups,
        flows: &outcome.flows,
        ended_by: outcome.ended_by(),
        origin_utc: utc(outcome.clock.to_unix(Timestamp::ZERO)).into(),
        accuracy: accuracy(groups, setups, &outcome.lanes, &contradictions),
        kernel: outcome.kernel.clone(),
    };
    write_documents(&plan.directory, &description)?;
    let directory = plan.directory.to_string_lossy();
    emit(&Event::Finished { directory: &directory, status: description.status(), failures: &failures });
    Ok(())
}

/// The packet table of each flow, from the logs of the lanes, which are let go of lane by lane.
fn packet_tables(
    plan: &Plan,
    groups: &[Vec<usize>],
    flows: usize,
    lanes: &mut [LaneRecord],
) -> Result<Vec<FlowPackets>, Failure> {
    let sniffed = plan.scenario.network.wifi.as_ref().is_some_and(|wifi| wifi.sniffer.is_some());
    let scratch = plan.directory.as_path().into();
    let mut packets: Vec<FlowPackets> =
        (0..flows).map(|flow| FlowPackets::new(port(flow), sniffed, Some(&scratch))).collect();
    for (group, lane) in groups.iter().zip(lanes) {
        let logged = take(&mut lane.packets);
        for packet in &logged {
            let description = describe(&packet);
            // What belongs to no flow (ICMP, for instance) is shown with the first one, so that nothing is hidden.
            let owner = group.iter().copied().find(|&flow| packets[flow].owns(&description)).unwrap_or(group[0]);
            packets[owner].add(&description, &packet.hops);
            packets[owner].releases.extend(packet.delivered.map(|release| ReleaseRecord {
                packet: packet.id.0,
                intended: release.intended,
                actual: release.actual,
            }));
        }
        logged.failure().map_or(Ok(()), Err)?;
    }
    Ok(packets)
}

fn describe(packet: &PacketLog) -> PacketDescription {
    let headers = &packet.headers;
    PacketDescription {
        id: packet.id,
        from: packet.from,
        protocol: match headers.protocol {
            Protocol::Udp => "udp",
            Protocol::Tcp => "tcp",
            Protocol::Other(_) => "other",
        },
        source_port: headers.source_port,
        destination_port: headers.destination_port,
        size: packet.size,
        payload: headers.payload,
        sequence: match headers {
            Headers { rtp_sequence: Some(number), .. } => Sequence::Rtp(*number),
            Headers { video_sequence: Some(number), .. } => Sequence::Unbounded((*number).into()),
            Headers { tcp_sequence: Some(number), .. } => Sequence::Tcp(*number),
            _ => Sequence::None,
        },
        sniffed: packet.sniffed,
    }
}
