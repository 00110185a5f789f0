//! A player that waits for frames instead of skipping those that come late (policy `stall`).

use framewire_units::{Duration, PlayoutPolicy, Timestamp};
use serde::Serialize;

use crate::ledger::FrameRow;
use crate::playout::Player;
use crate::spool::{Sorter, Spool};

/// How often, and how long in all, the player stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stalls {
    /// Frames that it had to wait for.
    pub stalls: u32,
    /// Time that it waited, in seconds.
    pub stalled_s: f64,
}

/// A decodable frame: when it is due on the player's clock, its number, and when it can be shown.
type Playable = (Duration, u32, Timestamp);

/// Collects the frames that a player shows, in decode order, and plays them in display order.
pub(super) struct WaitingPlayer(Sorter<Playable, (Duration, u32)>);

impl WaitingPlayer {
    /// None yet; `list` is an empty one.
    pub(crate) fn new(list: Spool<Playable>) -> Self {
        Self(Sorter::new(list, |&(due, frame, _)| (due, frame)))
    }

    /// Takes the next frame. One that cannot be decoded is not waited for: what was shown before stays.
    pub(crate) fn take(&mut self, row: &FrameRow) {
        if let Some(ready) = row.ready {
            self.0.push((row.display_time, row.frame, ready));
        }
    }

    /// The waits of a player of this flow; `None` when nothing arrived.
    pub(crate) fn play(mut self, first_arrival: Option<Timestamp>, startup: Duration) -> Option<Stalls> {
        self.0.ready();
        let mut player = Player::new(PlayoutPolicy::Stall, startup, first_arrival?);
        for (due, _, ready) in self.0.iter() {
            player.show(due, ready);
        }
        Some(Stalls { stalls: player.waits(), stalled_s: player.waited().as_secs_f64() })
    }
}
