//! What is recorded of a flow, and where.

use std::path::Path;
use std::sync::Arc;

use framewire_recording::Samples;
use framewire_recording::spool::{Spool, Spooled};

/// Records of a list that are in memory in real time: a block. A sender writes it to disk between two packets; a longer list
/// would be written all at once when it is full.
const HELD_IN_REAL_TIME: usize = 4_096;

/// What is recorded of a flow, and where.
#[derive(Clone, Debug, Default)]
pub struct FlowRecording {
    directory: Option<Arc<Path>>,
    held: Option<usize>,
    without_samples: bool,
}

impl FlowRecording {
    /// Lists that are too long for the memory go to files without a name in `directory`; `None`: in the system's directory of
    /// temporary files.
    pub fn in_directory(directory: Option<Arc<Path>>) -> Self {
        Self { directory, ..Self::default() }
    }

    /// The same where no thread may wait for a disk for long.
    #[must_use]
    pub fn in_real_time(self) -> Self {
        Self { held: Some(HELD_IN_REAL_TIME), ..self }
    }

    /// The same, but samples of its state are summed up and not kept.
    #[must_use]
    pub fn without_samples(self) -> Self {
        Self { without_samples: true, ..self }
    }

    /// An empty list for records of the flow.
    pub(crate) fn list<T: Spooled>(&self) -> Spool<T> {
        let list = Spool::in_directory(self.directory.clone());
        match self.held {
            Some(held) => list.holding(held),
            None => list,
        }
    }

    /// No samples yet.
    pub(crate) fn samples(&self) -> Samples {
        if self.without_samples { Samples::summed_only() } else { Samples::kept_in(self.list()) }
    }
}
