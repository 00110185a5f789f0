//! Packets that came and wait: for those before them, or for another one that confirms them.

use framewire_units::{DataSize, Timestamp};

use super::received::Fragment;
use super::rejected::RejectReason;

/// A packet that waits for those before it.
#[derive(Debug)]
pub(super) struct HeldPacket {
    pub(super) timestamp: u32,
    marker: bool,
    pub(super) arrived_at: Timestamp,
    media: Box<[u8]>,
}

impl HeldPacket {
    pub(super) fn new(fragment: &Fragment<'_>) -> Self {
        let Fragment { timestamp, marker, arrived_at, media } = *fragment;
        Self { timestamp, marker, arrived_at, media: media.into() }
    }

    pub(super) fn fragment(&self) -> Fragment<'_> {
        let Self { timestamp, marker, arrived_at, ref media } = *self;
        Fragment { timestamp, marker, arrived_at, media }
    }
}

/// A packet that waits for another one to confirm it.
#[derive(Debug)]
pub(super) struct Probation {
    pub(super) doubt: Doubt,
    pub(super) sequence: u64,
    pub(super) size: DataSize,
    pub(super) packet: HeldPacket,
}

/// Why a packet is not believed before another one confirms it (RFC 3550, appendix A.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It is far ahead.
    Jump,
    /// Its time stamp is so far ahead.
    Leap { ticks: u32 },
}

impl Probation {
    /// Whether a packet can be in flight together with it: no further apart than the reorder window lets a packet be late.
    pub(super) fn is_near(&self, sequence: u64, reorder_window: u16) -> bool {
        let window = u64::from(reorder_window);
        self.sequence < sequence + window && sequence <= self.sequence + window
    }

    /// Why it is refused where nothing confirms it.
    pub(super) fn refusal(&self) -> RejectReason {
        match self.doubt {
            Doubt::Jump => RejectReason::Unconfirmed { sequence: self.sequence },
            Doubt::Leap { ticks } => RejectReason::Unnumbered { ticks },
        }
    }
}
