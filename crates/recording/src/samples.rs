//! Samples of a flow's state: summed up as they come, and kept where that is asked for.

use crate::record::FlowSample;
use crate::run::WriteError;
use crate::spool::{self, Spool};
use crate::summary::{Connection, ConnectionTotals};

/// Samples of a flow's state, in order of time.
///
/// What a summary says of connections is summed up with each sample, so that no list is needed where there is no table of
/// them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    totals: ConnectionTotals,
    summed_only: bool,
    list: Spool<FlowSample>,
}

impl Samples {
    /// No samples yet; `list`, which is empty, is where they are kept.
    pub fn kept_in(list: Spool<FlowSample>) -> Self {
        Self { list, ..Self::default() }
    }

    /// No samples yet, and none is kept.
    pub fn summed_only() -> Self {
        Self { summed_only: true, ..Self::default() }
    }

    /// Adds a sample.
    pub fn push(&mut self, sample: FlowSample) {
        self.totals.take(&sample);
        if !self.summed_only {
            self.list.push(sample);
        }
    }

    /// What they say of the flow's connections.
    pub(crate) fn connection(&self) -> Connection {
        self.totals.connection()
    }

    /// Those that were kept.
    pub fn iter(&self) -> spool::Records<'_, FlowSample> {
        self.list.iter()
    }

    /// Those that were kept, in memory.
    pub fn to_vec(&self) -> Vec<FlowSample> {
        self.list.to_vec()
    }

    /// Number of those that were kept.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True when none was kept.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What the disk refused of them.
    pub(crate) fn failure(&self) -> Option<WriteError> {
        self.list.failure()
    }
}

impl Extend<FlowSample> for Samples {
    fn extend<I: IntoIterator<Item = FlowSample>>(&mut self, samples: I) {
        samples.into_iter().for_each(|sample| self.push(sample));
    }
}

impl FromIterator<FlowSample> for Samples {
    fn from_iter<I: IntoIterator<Item = FlowSample>>(samples: I) -> Self {
        let mut list = Self::default();
        list.extend(samples);
        list
    }
}
