//! What a player does with frames: when each is due by its clock, whether it comes in time, when the player pauses, and which
//! picture stands in each slot of the movie.
//!
//! There is one: the deadlines and fates of the ledger, the pauses of the summary, and what reports and studies say was on
//! a screen, also of players with another start-up delay, are made of it.

mod display;
mod pauses;

use framewire_units::{Duration, Playout, Timestamp};

pub use display::Display;
pub use pauses::{Pause, Pauses};

/// A player's clock. It starts at the first arrival of the flow plus the start-up delay; a frame is due at its display time
/// on it. That of a player of the policy `live` runs evenly; that of one of the policy `stall` stands still in its
/// [pauses](Self::pauses).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player {
    playout: Playout,
    /// When a frame is due whose display time is zero.
    start: Timestamp,
}

impl Player {
    /// A player of a flow whose first datagram, or first bytes, came at `first_arrival`.
    pub fn new(playout: Playout, first_arrival: Timestamp) -> Self {
        Self { playout, start: first_arrival + playout.startup }
    }

    /// When a frame is due where nothing was waited for.
    pub(crate) fn due(&self, display_time: Duration) -> Timestamp {
        self.start + display_time
    }

    /// When a player that never waits shows a frame that is there from `ready` on; `None` where that is too late. One that
    /// comes at the very moment when it is due is in time.
    pub(crate) fn shown_live(&self, display_time: Duration, ready: Timestamp) -> Option<Timestamp> {
        Some(self.due(display_time)).filter(|&due| ready <= due)
    }

    /// The times at which it stands still where it waits, whatever its policy is: the same movie, watched so. It is given the
    /// frames that it shows, in display order, with their display times, and when each is there.
    pub fn pauses<I: Iterator<Item = (Duration, Timestamp)>>(&self, frames: I) -> Pauses<I> {
        Pauses::new(self.start, self.playout.marks, frames)
    }
}
