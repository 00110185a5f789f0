//! What a run says while it goes on: the same in every world.

use framewire_session::FrameFates;
use framewire_units::Timestamp;
use serde::Serialize;

/// What is said, as JSON with the kind in `event`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// The networks stand and the streams begin.
    Started {
        /// Names of the flows, in the scenario's order.
        flows: Vec<&'a str>,
        /// Frames of the movie.
        frames: u32,
        /// Length of the movie in seconds.
        movie_s: f64,
    },
    /// Where one flow is; a few per second.
    Progress(FlowReport<'a>),
    /// Everything was written.
    Finished {
        /// The run directory.
        directory: &'a str,
        /// `complete` or `partial`.
        status: &'a str,
        /// Flows that broke, each with its reason; the others' results are valid.
        failures: &'a [String],
    },
    /// The run failed; nothing follows.
    Error {
        /// What went wrong, naming the thing and what is allowed.
        message: &'a str,
    },
}

/// Where one flow is.
#[derive(Debug, Serialize)]
pub struct FlowReport<'a> {
    /// Name of the flow.
    pub flow: &'a str,
    /// Seconds since the first frame was due.
    pub elapsed_s: f64,
    /// Frames of the movie.
    pub frames: u32,
    /// Where they are.
    #[serde(flatten)]
    pub counts: Counts,
    /// Payload received since the last report, in bit/s.
    pub throughput_bps: u64,
    /// Where it is.
    pub state: FlowState,
}

/// Where the frames of a flow are. Those that were offered are those that arrived, were given up, were lost or are under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Given to the transport; null for a bulk flow and for an application that reads the movie itself.
    pub offered: Option<u32>,
    /// Arrived whole.
    pub arrived: u32,
    /// Given up by the sender, by a rule; null for bulk flows and applications, as what follows.
    pub given_up: Option<u32>,
    /// Known to be lost: something of them had no room at the sender, or did not arrive. When the flow is done, all that were
    /// neither given up nor arrived whole.
    pub lost: Option<u32>,
    /// Given up or lost.
    pub dropped: Option<u32>,
    /// Waiting at the sender or in the network; or lost as a whole, which nobody knows yet.
    pub under_way: Option<u32>,
}

impl From<Option<FrameFates>> for Counts {
    fn from(fates: Option<FrameFates>) -> Self {
        let Some(FrameFates { offered, arrived, given_up, lost, under_way }) = fates else { return Self::default() };
        Self {
            offered: Some(offered),
            arrived,
            given_up: Some(given_up),
            lost: Some(lost),
            dropped: Some(given_up + lost),
            under_way: Some(under_way),
        }
    }
}

/// Where a flow is; it only moves on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum FlowState {
    /// Frames are offered.
    #[default]
    Streaming,
    /// All were offered; data is still on the way.
    Draining,
    /// The receiver has ended.
    Done,
}

/// The throughput between two reports of a flow.
#[derive(Debug, Default)]
pub struct Throughput {
    bytes: u64,
    at: Timestamp,
}

impl Throughput {
    /// Bits per second since the last report, of all bytes received so far; of a flow that is done, since its beginning:
    /// nothing comes in its last moments.
    pub fn since_last(&mut self, bytes: u64, state: FlowState, now: Timestamp) -> u64 {
        let (before, since) = if state == FlowState::Done { (0, Timestamp::ZERO) } else { (self.bytes, self.at) };
        (self.bytes, self.at) = (bytes, now);
        let seconds = now.saturating_since(since).as_secs_f64();
        if seconds > 0.0 { (bytes.saturating_sub(before) as f64 * 8.0 / seconds) as u64 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_is_done_has_its_mean_rate() {
        let (mut meter, at) = (Throughput::default(), Timestamp::from_millis);
        assert_eq!(meter.since_last(1_000, FlowState::Streaming, at(1_000)), 8_000);
        assert_eq!(meter.since_last(1_000, FlowState::Streaming, at(2_000)), 0);
        assert_eq!(meter.since_last(2_000, FlowState::Draining, at(3_000)), 8_000);
        assert_eq!(meter.since_last(2_000, FlowState::Done, at(4_000)), 4_000);
        assert_eq!(Throughput::default().since_last(1, FlowState::Streaming, Timestamp::ZERO), 0);
    }
}
