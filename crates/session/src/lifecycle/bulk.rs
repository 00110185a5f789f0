//! The application of connections that always have data: when it begins and ends, its samples, totals and status.

use framewire_recording::Samples;
use framewire_recording::record::{BulkTotals, FlowSample, FlowStatus};
use framewire_units::Timestamp;

use super::outcome::{FlowOutcome, joined};
use super::sampling::Sampling;

/// The sender's application of a bulk flow.
///
/// Contract: between [`start`](Self::start) and [`ended`](Self::ended) the world writes whatever the connections take. At
/// [`next_timeout`](Self::next_timeout) it calls [`poll_end`](Self::poll_end), which says once that the application ends its
/// streams, and [`sample`](Self::sample) where that is due; when the run is over, [`end`](Self::end).
#[derive(Debug)]
pub struct BulkSending {
    start: Timestamp,
    stop: Option<Timestamp>,
    sampling: Sampling,
    ended: Option<Timestamp>,
    cut_short: bool,
    failure: Option<String>,
}

impl BulkSending {
    /// An application that begins at `start` and ends at `stop`, or with the run; `samples` is where they go.
    pub fn new(start: Timestamp, stop: Option<Timestamp>, samples: Samples) -> Self {
        let sampling = Sampling::starting_at(start, samples);
        Self { start, stop, sampling, ended: None, cut_short: false, failure: None }
    }

    /// When its connections are opened.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// When it has written its last, if it has.
    pub fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// When it has something to do by itself; `None` once it has ended and nothing `is_left` in its sockets.
    pub fn next_timeout(&self, is_left: impl FnOnce() -> bool) -> Option<Timestamp> {
        let stop = self.stop.filter(|_| self.ended.is_none());
        let sample = (self.ended.is_none() || is_left()).then(|| self.sampling.next());
        stop.into_iter().chain(sample).min()
    }

    /// True once, when the time has come at which it ends its streams.
    pub fn poll_end(&mut self, now: Timestamp) -> bool {
        let ends = self.ended.is_none() && self.stop.is_some_and(|stop| now >= stop);
        if ends {
            self.ended = Some(now);
        }
        ends
    }

    /// True where the state is to be noted: it is due, and it has not ended or something `is_left` in its sockets.
    pub fn is_sample_due(&self, now: Timestamp, is_left: impl FnOnce() -> bool) -> bool {
        self.sampling.is_due(now) && (self.ended.is_none() || is_left())
    }

    /// Notes the state of its connections.
    pub fn sample(&mut self, now: Timestamp, samples: impl IntoIterator<Item = FlowSample>) {
        self.sampling.take(now, samples);
    }

    /// Adds samples that were taken elsewhere, in order of time.
    pub fn record(&mut self, samples: impl IntoIterator<Item = FlowSample>) {
        self.sampling.record(samples);
    }

    /// The run is over, and it with it; `cut_short` where that was not planned.
    pub fn end(&mut self, now: Timestamp, cut_short: bool) {
        self.ended.get_or_insert(now);
        self.cut_short |= cut_short;
    }

    /// It broke.
    pub fn fail(&mut self, error: impl ToString) {
        self.failure.get_or_insert_with(|| error.to_string());
    }

    /// What the flow leaves behind: `received` were the bytes that the receiver's application had when this one ended, and
    /// `receiver` is why that one broke, if it did.
    pub fn into_outcome(self, received: u64, receiver: Option<String>) -> FlowOutcome {
        let status = match self.failure {
            Some(reason) => FlowStatus::Failed(reason),
            None if self.cut_short => FlowStatus::Partial,
            None => FlowStatus::Complete,
        };
        let totals = |end| BulkTotals { start: self.start.min(end), end, received };
        FlowOutcome {
            samples: self.sampling.into_samples(),
            bulk: self.ended.map(totals),
            ..FlowOutcome::of_status(joined(status, receiver))
        }
    }
}
