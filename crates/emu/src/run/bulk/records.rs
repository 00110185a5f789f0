//! What both sides of a bulk flow noted, put together.

use framewire_recording::record::{BulkTotals, FlowSample, FlowStatus, StreamRead};
use framewire_units::Timestamp;

use super::BulkPlan;
use super::receiving::BulkReceived;
use super::sending::BulkSent;

/// What came of a bulk flow.
#[derive(Debug)]
pub struct BulkOutcome {
    /// The state of each connection over time, in order of time.
    pub samples: Vec<FlowSample>,
    /// What was carried.
    pub totals: BulkTotals,
    /// How it ended.
    pub status: FlowStatus,
}

impl BulkOutcome {
    pub(super) fn new(plan: &BulkPlan, sent: BulkSent, received: BulkReceived) -> Self {
        let reads_of = |port| {
            let found = received.connections.iter().find(|(from, _)| *from == port);
            found.map_or(&[][..], |(_, reads)| reads.as_slice())
        };
        let mut samples = Vec::new();
        for (number, (port, of_sender)) in (0u8..).zip(sent.connections) {
            let connection = (plan.connections > 1).then_some(number);
            samples.extend(with_received(of_sender, connection, reads_of(port)));
        }
        samples.sort_by_key(|sample| (sample.at, sample.connection));
        let by_the_end = |(_, reads): &(u16, Vec<StreamRead>)| received_by(reads, sent.ended);
        let totals = BulkTotals {
            start: plan.start.min(sent.ended),
            end: sent.ended,
            received: received.connections.iter().map(by_the_end).sum(),
        };
        let status = match (sent.status, received.failure) {
            (FlowStatus::Failed(reason), _) => FlowStatus::Failed(format!("sender: {reason}")),
            (_, Some(reason)) => FlowStatus::Failed(format!("receiver: {reason}")),
            (status, None) => status,
        };
        Self { samples, totals, status }
    }
}

/// What had been read of a connection at a time.
fn received_by(reads: &[StreamRead], at: Timestamp) -> u64 {
    let read = reads.partition_point(|read| read.at <= at);
    read.checked_sub(1).map_or(0, |last| reads[last].total)
}

/// The sender's samples of one connection, each with what the receiver had read by then.
fn with_received(samples: Vec<FlowSample>, connection: Option<u8>, reads: &[StreamRead]) -> Vec<FlowSample> {
    let complete = |sample: FlowSample| {
        let received_bytes = Some(received_by(reads, sample.at));
        FlowSample { connection, received_bytes, ..sample }
    };
    samples.into_iter().map(complete).collect()
}
