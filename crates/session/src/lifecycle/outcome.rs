//! What one flow leaves behind.

use framewire_recording::Samples;
use framewire_recording::record::{BulkTotals, FlowStatus};

use crate::receiver::ReceiverLog;
use crate::sender::SenderLog;

/// What one flow recorded.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// The sender's log.
    pub sent: SenderLog,
    /// Samples of the flow's state.
    pub samples: Samples,
    /// The receiver's log.
    pub received: ReceiverLog,
    /// Bytes of the movie as received.
    pub kept_bytes: u64,
    /// What a bulk flow carried; `None` for others.
    pub bulk: Option<BulkTotals>,
    /// How it ended.
    pub status: FlowStatus,
    /// What makes its results doubtful, if anything does.
    pub doubt: Option<String>,
}

impl FlowOutcome {
    /// Of a flow that recorded nothing and ended so.
    pub fn of_status(status: FlowStatus) -> Self {
        Self {
            sent: SenderLog::default(),
            samples: Samples::default(),
            received: ReceiverLog::default(),
            kept_bytes: 0,
            bulk: None,
            status,
            doubt: None,
        }
    }
}

/// How a flow ended whose sender ended so, and whose receiver broke for this reason, if it did. What broke first counts:
/// the sender.
pub(super) fn joined(sender: FlowStatus, receiver: Option<String>) -> FlowStatus {
    match (sender, receiver) {
        (FlowStatus::Failed(reason), _) => FlowStatus::Failed(format!("sender: {reason}")),
        (_, Some(reason)) => FlowStatus::Failed(format!("receiver: {reason}")),
        (status, None) => status,
    }
}
