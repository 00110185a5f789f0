//! The player at a receiver: settings that scenarios write, and that ledgers and elements go by.

use crate::{Duration, words};

words! {
    /// How the player treats what arrives.
    PlayoutPolicy {
        /// A frame after its deadline is late.
        Live = "live",
        /// The player waits; stalls are counted, nothing is late.
        Stall = "stall",
    }
}

words! {
    /// What latencies are counted from.
    Timing {
        /// The time at which a frame was due at the sender.
        Clock = "clock",
        /// The stream's own time codes and the first arrival, as the thesis did.
        Thesis = "thesis",
    }
}

/// The player at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playout {
    /// What happens to a frame after its deadline.
    pub policy: PlayoutPolicy,
    /// Time between the first arrival and the first frame shown.
    pub startup: Duration,
    /// What latencies, and with them the jitter, are counted from.
    pub timing: Timing,
}
