//! From which levels of a ladder the frames of an adaptive stream came.

use serde::Serialize;

use crate::ledger::{Fate, FrameRow};

/// The levels of an adaptive stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Levels {
    /// Mean level of the frames that were shown; `None` when none was.
    pub mean: Option<f64>,
    /// How often a frame was sent from another level than the one sent before it.
    pub switches: u32,
}

/// Counts them, row by row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LevelCounts {
    has_levels: bool,
    shown: u64,
    sum: u64,
    last_sent: Option<u8>,
    switches: u32,
}

impl LevelCounts {
    /// Takes the next frame.
    pub(crate) fn take(&mut self, row: &FrameRow) {
        let Some(level) = row.level else { return };
        self.has_levels = true;
        if row.fate == Fate::Shown {
            self.shown += 1;
            self.sum += u64::from(level);
        }
        if row.packets.is_some() {
            self.switches += u32::from(self.last_sent.is_some_and(|last| last != level));
            self.last_sent = Some(level);
        }
    }

    /// `None` for a movie that has no levels.
    pub(crate) fn levels(&self) -> Option<Levels> {
        let mean = (self.shown > 0).then(|| self.sum as f64 / self.shown as f64);
        self.has_levels.then_some(Levels { mean, switches: self.switches })
    }
}
