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

impl Levels {
    /// `None` for a movie that has no levels.
    pub(super) fn of(rows: &[FrameRow]) -> Option<Self> {
        rows.iter().find(|row| row.level.is_some())?;
        let shown = || rows.iter().filter(|row| row.fate == Fate::Shown).filter_map(|row| row.level);
        let count = shown().count();
        let sum: u64 = shown().map(u64::from).sum();
        let sent: Vec<u8> = rows.iter().filter(|row| row.packets.is_some()).filter_map(|row| row.level).collect();
        let switches = sent.windows(2).filter(|pair| pair[0] != pair[1]).count();
        Some(Self { mean: (count > 0).then(|| sum as f64 / count as f64), switches: switches as u32 })
    }
}
