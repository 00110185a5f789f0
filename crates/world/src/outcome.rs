//! The log of a flow for the tables, and the ledger held against what the receiver kept.

use std::mem::take;

use framewire_recording::record::{FlowLog, FlowStatus};
use framewire_recording::summary::Summary;
use framewire_session::lifecycle::FlowOutcome;
use framewire_session::{FlowSetup, rtcp_records};

use crate::packets::FlowPackets;

/// Moves a flow's records into its log; what describes the run stays.
pub fn flow_log(setup: &FlowSetup, flow: &mut FlowOutcome, packets: FlowPackets) -> FlowLog {
    FlowLog {
        flow: setup.name().to_owned(),
        transport: setup.transport().to_owned(),
        status: flow.status.clone(),
        frames: setup.facts_as_sent(&mut flow.sent),
        stuffing: flow.sent.stuffing,
        bulk: flow.bulk,
        rtcp: rtcp_records(&flow.sent, &flow.received),
        frame_events: take(&mut flow.sent.frame_events),
        datagrams_sent: take(&mut flow.sent.datagrams),
        datagrams_received: take(&mut flow.received.datagrams),
        discarded: take(&mut flow.received.discarded),
        handed_on: take(&mut flow.received.handed_on),
        stream_reads: take(&mut flow.received.reads),
        frame_ends: take(&mut flow.sent.frame_ends),
        found: take(&mut flow.received.found),
        packets: packets.records,
        samples: take(&mut flow.samples),
        releases: packets.releases,
        air: None,
        ahead: None,
    }
}

/// True when every flow came to its end.
pub fn is_complete(flows: &[FlowOutcome]) -> bool {
    flows.iter().all(|flow| flow.status == FlowStatus::Complete)
}

/// The flows that broke, each with its reason.
pub fn failures(setups: &[FlowSetup], flows: &[FlowOutcome]) -> Vec<String> {
    let failed = setups.iter().zip(flows).filter_map(|(setup, flow)| match &flow.status {
        FlowStatus::Failed(reason) => Some(format!("flow {}: {reason}", setup.name())),
        FlowStatus::Complete | FlowStatus::Partial => None,
    });
    failed.collect()
}

/// The ledger is made of packets and sizes; the receiver put frames together on its own. Where a stream ended well,
/// both must have found the same frames: says how they differ, or else what makes the flow doubtful, or nothing.
pub fn contradiction(summary: &Summary, flow: &FlowOutcome) -> Option<String> {
    let (whole, sound) = (summary.fates.map(|fates| fates.whole()), summary.sound.map(|sound| sound.fates.whole()));
    let ended_well = flow.status == FlowStatus::Complete;
    let of_movie = whole.and_then(|whole| difference("frames", whole, flow.received.complete_frames));
    let of_sound = sound.and_then(|whole| difference("packets of sound", whole, flow.received.complete_sound));
    of_movie.or(of_sound).filter(|_| ended_well).or_else(|| flow.doubt.clone())
}

fn difference(what: &str, whole: u32, kept: u32) -> Option<String> {
    (whole != kept).then(|| {
        format!("the ledger has {whole} whole {what}, the receiver put {kept} together; please report this defect")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_only_one_of_the_two_found_is_told() {
        assert_eq!(difference("frames", 1_499, 1_499), None);
        for kept in [1_498, 1_500] {
            assert!(difference("frames", 1_499, kept).unwrap().contains(&kept.to_string()));
        }
    }
}
