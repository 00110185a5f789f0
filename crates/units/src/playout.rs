//! The player at a receiver: settings that scenarios write, and that ledgers and elements go by.

use crate::{Duration, keywords};

keywords! {
    /// How the player treats what arrives.
    PlayoutPolicy {
        /// A frame after its deadline is late.
        Live = "live",
        /// The player waits; its pauses are counted, nothing is late.
        Stall = "stall",
    }
}

keywords! {
    /// What latencies are counted from.
    Timing {
        /// The time at which a frame was due at the sender.
        Clock = "clock",
        /// The stream's own time codes and the first arrival, as the thesis did.
        Thesis = "thesis",
    }
}

/// How much of the movie a player that waits keeps ready, counted from what it shows to the first frame that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferMarks {
    /// It pauses where no more than this is left. Zero: where the next frame is not there when it is due.
    pub low: Duration,
    /// It goes on when this much is there, or all that still comes. No less than `low`.
    pub high: Duration,
}

/// The player at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playout {
    /// What happens to a frame after its deadline.
    pub policy: PlayoutPolicy,
    /// Time between the first arrival and the first frame shown.
    pub startup: Duration,
    /// When a player that waits pauses and goes on.
    pub marks: BufferMarks,
    /// What latencies, and with them the jitter, are counted from.
    pub timing: Timing,
}

impl Playout {
    /// A player that shows a frame when it is due or not at all.
    pub const fn live(startup: Duration) -> Self {
        Self::with_policy(PlayoutPolicy::Live, startup)
    }

    /// A player that waits for each frame, and goes on when it is there.
    pub const fn waiting(startup: Duration) -> Self {
        Self::with_policy(PlayoutPolicy::Stall, startup)
    }

    const fn with_policy(policy: PlayoutPolicy, startup: Duration) -> Self {
        let marks = BufferMarks { low: Duration::ZERO, high: Duration::ZERO };
        Self { policy, startup, marks, timing: Timing::Clock }
    }
}
