//! When the state of a flow is noted.

use framewire_recording::Samples;
use framewire_recording::record::FlowSample;
use framewire_units::{Duration, Timestamp};

/// How often a flow's state is sampled: fine enough to see a congestion window move, at 20 rows a second.
pub const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// Samples of a flow's state, and when the next is due.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    next: Timestamp,
    samples: Samples,
}

impl Sampling {
    /// The first sample is due at `start`; they go to `samples`.
    pub(crate) fn starting_at(start: Timestamp, samples: Samples) -> Self {
        Self { next: start, samples }
    }

    /// When the next sample is due.
    pub(crate) fn next(&self) -> Timestamp {
        self.next
    }

    /// True when a sample is due.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        now >= self.next
    }

    /// Takes the samples of `now`, if there are any; the next is due an interval later.
    pub(crate) fn take(&mut self, now: Timestamp, samples: impl IntoIterator<Item = FlowSample>) {
        self.samples.extend(samples);
        self.next = now + SAMPLE_INTERVAL;
    }

    /// Adds samples of times that have passed.
    pub(crate) fn record(&mut self, samples: impl IntoIterator<Item = FlowSample>) {
        self.samples.extend(samples);
    }

    /// All samples.
    pub(crate) fn into_samples(self) -> Samples {
        self.samples
    }
}
