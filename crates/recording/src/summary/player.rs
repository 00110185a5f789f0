//! A player that waits for frames instead of skipping those that come late (policy `stall`).

use framewire_units::{Duration, Timestamp};
use serde::Serialize;

use crate::ledger::FrameRow;
use crate::record::FrameFacts;
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

/// Collects the frames that a player shows, in decode order, and plays them.
pub(super) struct Player {
    playable: Sorter<Playable, (Duration, u32)>,
    /// When each frame so far can be shown: it and all that it refers to have arrived. All ones where it cannot.
    ready: Vec<u64>,
}

/// Never: no run lasts so long.
const NEVER: u64 = u64::MAX;

impl Player {
    /// None yet; `list` is an empty one.
    pub fn new(list: Spool<Playable>) -> Self {
        Self { playable: Sorter::new(list, |&(due, frame, _)| (due, frame)), ready: Vec::new() }
    }

    /// Takes the next frame.
    pub fn take(&mut self, row: &FrameRow, facts: &FrameFacts) {
        let Some(arrival) = row.arrival.filter(|_| row.decodable) else { return self.ready.push(NEVER) };
        let references = facts.references.iter().filter_map(|&reference| self.ready.get(reference as usize));
        let references = references.copied().filter(|&ready| ready != NEVER).map(Timestamp::from_nanos);
        let ready = references.fold(arrival, Timestamp::max);
        self.ready.push(ready.as_nanos());
        self.playable.push((facts.display_time, row.frame, ready));
    }

    /// Plays the decodable frames in display order and counts the waits; `None` when nothing arrived.
    ///
    /// The player's clock starts at the first arrival of the flow plus the start-up delay. Each frame is due at its
    /// display time on that clock. When it, or one that it refers to, is not there by then, the player stands still until
    /// it is, and the clock with it. A frame that is lost or undecodable is not waited for: what was shown before stays.
    pub fn play(mut self, first_arrival: Option<Timestamp>, startup: Duration) -> Option<Stalls> {
        self.playable.ready();
        let mut clock_start = first_arrival? + startup;
        let (mut stalls, mut stalled) = (0, Duration::ZERO);
        for (due, _, ready) in self.playable.iter() {
            let wait = ready.saturating_since(clock_start + due);
            if !wait.is_zero() {
                stalls += 1;
                stalled += wait;
                clock_start += wait;
            }
        }
        Some(Stalls { stalls, stalled_s: stalled.as_secs_f64() })
    }
}
