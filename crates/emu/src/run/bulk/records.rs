//! What both sides of a bulk flow noted, put together.

use framewire_recording::record::{FlowSample, StreamRead};
use framewire_session::lifecycle::FlowOutcome;
use framewire_units::Timestamp;

use super::BulkPlan;
use super::receiving::BulkReceived;
use super::sending::BulkSent;

/// What came of a bulk flow: the state of each connection over time is in order of time.
pub fn outcome(plan: &BulkPlan, sent: BulkSent, received: BulkReceived) -> FlowOutcome {
    let BulkSent { mut sending, connections } = sent;
    let reads_of = |port| {
        let found = received.connections.iter().find(|(from, _)| *from == port);
        found.map_or(&[][..], |(_, reads)| reads.as_slice())
    };
    let mut samples = Vec::new();
    for (number, (port, of_sender)) in (0u8..).zip(connections) {
        let connection = (plan.connections > 1).then_some(number);
        samples.extend(with_received(of_sender, connection, reads_of(port)));
    }
    samples.sort_by_key(|sample| (sample.at, sample.connection));
    sending.record(samples);
    let by_the_end = |end| received.connections.iter().map(|(_, reads)| received_by(reads, end)).sum();
    let read = sending.ended().map_or(0, by_the_end);
    sending.into_outcome(read, received.failure)
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
