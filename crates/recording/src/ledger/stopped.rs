//! What a run that was stopped does not decide: frames that were still under way, and could have come in time.

use framewire_units::{Playout, PlayoutPolicy, Timestamp};

use super::{END_OF_RUN, Transfer};
use crate::record::{FlowLog, FlowStatus};

/// The rule by which a sender that is stopped gives up what it holds (`framewire_transport`).
const STOPPED: &str = "pipeline: stopped before it was written";

/// That a flow was stopped before its end, and until when it was seen.
pub(super) struct Stopped {
    until: Timestamp,
    waits: bool,
}

impl Stopped {
    /// `None` of a flow that ended by itself or failed: what did not come there is lost.
    pub(crate) fn of(log: &FlowLog, playout: Playout) -> Option<Self> {
        (log.status == FlowStatus::Partial)
            .then(|| Self { until: last_seen(log), waits: playout.policy == PlayoutPolicy::Stall })
    }

    /// True of a frame that only the end of the run kept from coming: its `deadline` had not passed yet, or its player waits
    /// for it however long that takes.
    pub(crate) fn spares(&self, transfer: &Transfer, deadline: Option<Timestamp>) -> bool {
        let cut_off = transfer.loss.as_ref().is_some_and(|loss| [END_OF_RUN, STOPPED].contains(&loss.cause.as_str()));
        transfer.arrival.is_none() && cut_off && (self.waits || deadline.is_some_and(|deadline| deadline > self.until))
    }
}

/// The last moment of which something was recorded: an event at the sender, a sample, or something that came.
fn last_seen(log: &FlowLog) -> Timestamp {
    let events = log.frame_events.iter().map(|event| event.at);
    let samples = log.samples.iter().map(|sample| sample.at);
    let datagrams = log.datagrams_received.iter().map(|datagram| datagram.at);
    let reads = log.stream_reads.iter().map(|read| read.at);
    events.chain(samples).chain(datagrams).chain(reads).max().unwrap_or(Timestamp::ZERO)
}
