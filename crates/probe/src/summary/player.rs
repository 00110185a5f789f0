//! A player that waits for frames instead of skipping those that come late (policy `stall`).

use framewire_units::{Duration, Timestamp};
use serde::Serialize;

use crate::ledger::Ledger;
use crate::record::FrameFacts;

/// How often, and how long in all, the player stood still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Stalls {
    /// Frames that it had to wait for.
    pub stalls: u32,
    /// Time that it waited, in seconds.
    pub stalled_s: f64,
}

/// Plays the decodable frames in display order and counts the waits; `None` when nothing arrived.
///
/// The player's clock starts at the first arrival of the flow plus the start-up delay. Each frame is due at its
/// display time on that clock. When it, or one that it refers to, is not there by then, the player stands still until
/// it is, and the clock with it. A frame that is lost or undecodable is not waited for: what was shown before stays.
pub(super) fn play(ledger: &Ledger, frames: &[FrameFacts], startup: Duration) -> Option<Stalls> {
    let mut clock_start = ledger.first_arrival? + startup;
    let ready = ready_times(ledger, frames);
    let mut order: Vec<usize> = (0..frames.len()).filter(|&frame| ledger.rows[frame].decodable).collect();
    order.sort_by_key(|&frame| (frames[frame].display_time, frame));
    let (mut stalls, mut stalled) = (0, Duration::ZERO);
    for frame in order {
        let Some(ready) = ready[frame] else { continue };
        let wait = ready.saturating_since(clock_start + frames[frame].display_time);
        if !wait.is_zero() {
            stalls += 1;
            stalled += wait;
            clock_start += wait;
        }
    }
    Some(Stalls { stalls, stalled_s: stalled.as_secs_f64() })
}

/// When each frame can be shown: it and all that it refers to have arrived.
fn ready_times(ledger: &Ledger, frames: &[FrameFacts]) -> Vec<Option<Timestamp>> {
    let mut ready: Vec<Option<Timestamp>> = Vec::with_capacity(frames.len());
    for (row, facts) in ledger.rows.iter().zip(frames) {
        let references =
            facts.references.iter().filter_map(|&reference| ready.get(reference as usize).copied().flatten());
        ready.push(row.arrival.filter(|_| row.decodable).map(|arrival| references.fold(arrival, Timestamp::max)));
    }
    ready
}
