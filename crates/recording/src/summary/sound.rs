//! What became of the sound of a flow.

use serde::Serialize;

use super::FateCounts;
use crate::ledger::FrameRow;

/// What became of the packets of sound of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sound {
    /// By fate; none is undecodable, as packets of sound are decoded one by one.
    pub fates: FateCounts,
    /// The longest that one waited from when it was offered to its first byte in the socket, in milliseconds: as long as what
    /// was being sent kept it. `None` where none was sent.
    pub longest_wait_ms: Option<f64>,
}

impl Sound {
    /// Takes the next packet.
    pub(super) fn take(&mut self, row: &FrameRow) {
        self.fates.count(row.fate);
        if let (Some(offered), Some(first_byte)) = (row.offered, row.first_byte) {
            let wait = first_byte.saturating_since(offered).as_secs_f64() * 1e3;
            self.longest_wait_ms = Some(self.longest_wait_ms.map_or(wait, |longest| longest.max(wait)));
        }
    }
}
