//! A player that waits for frames instead of skipping those that come late (policy `stall`).

use framewire_units::{Duration, Playout, Timestamp};
use serde::Serialize;

use crate::ledger::FrameRow;
use crate::playout::Player;
use crate::spool::{Sorter, Spool};

/// How often, and how long in all, the player stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stalls {
    /// Its pauses: with marks of zero one for each frame that it had to wait for.
    pub stalls: u32,
    /// Their time in all, in seconds.
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

    /// The pauses of a player of this flow; `None` when nothing arrived.
    pub(crate) fn play(mut self, first_arrival: Option<Timestamp>, playout: Playout) -> Option<Stalls> {
        self.0.ready();
        let player = Player::new(playout, first_arrival?);
        let mut stalls = (0, Duration::ZERO);
        for pause in player.pauses(self.0.iter().map(|(display_time, _, ready)| (display_time, ready))) {
            stalls = (stalls.0 + 1, stalls.1 + pause.length());
        }
        Some(Stalls { stalls: stalls.0, stalled_s: stalls.1.as_secs_f64() })
    }
}
