//! A frame as it was received, and what its packets say of it.

use std::ops::RangeInclusive;

use bytes::Bytes;
use framewire_units::Timestamp;

/// One frame as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// Which track of its program it is of, by its place there; 0 where there is one.
    pub track: u8,
    /// RTP time stamp.
    pub rtp_timestamp: u32,
    /// True when the frame is whole.
    pub complete: bool,
    /// The access unit as its format carries it; empty when not complete.
    pub bytes: Bytes,
    /// Of one that is not complete, what came of it up to its first gap; empty where its beginning did not come, and of sound.
    pub beginning: Bytes,
    /// Extended sequence numbers of the first and the last packet of it that arrived.
    pub sequences: RangeInclusive<u64>,
    /// Extended sequence numbers from the first to the last packet that is known to be missing and belongs, or may
    /// belong, to this frame; packets in between may have arrived. A frame can be incomplete without: when its end
    /// was never seen, when the stream was joined in its middle, or when it was too large.
    pub missing: Option<RangeInclusive<u64>>,
    /// True of a frame that would be whole if it began with the first packet of it that arrived, which packets missing
    /// before it leave open, and its bytes do not show.
    pub is_beginning_open: bool,
    /// When the first of its packets to arrive did.
    pub first_arrival: Timestamp,
    /// When the last of its packets to arrive did.
    pub last_arrival: Timestamp,
}

/// What the assembler needs of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment<'a> {
    pub timestamp: u32,
    pub marker: bool,
    pub arrived_at: Timestamp,
    /// The payload, behind the header of its format.
    pub media: &'a [u8],
}

/// The packets of a frame that arrived, and what is missing among them.
#[derive(Debug)]
pub(super) struct PacketsOfFrame {
    pub(super) timestamp: u32,
    sequences: RangeInclusive<u64>,
    missing: Option<RangeInclusive<u64>>,
    first_arrival: Timestamp,
    last_arrival: Timestamp,
}

impl PacketsOfFrame {
    /// With its first packet.
    pub(super) fn new(sequence: u64, fragment: &Fragment<'_>) -> Self {
        Self {
            timestamp: fragment.timestamp,
            sequences: sequence..=sequence,
            missing: None,
            first_arrival: fragment.arrived_at,
            last_arrival: fragment.arrived_at,
        }
    }

    /// Adds the next packet.
    pub(super) fn add(&mut self, sequence: u64, fragment: &Fragment<'_>) {
        self.sequences = *self.sequences.start()..=sequence;
        self.first_arrival = self.first_arrival.min(fragment.arrived_at);
        self.last_arrival = self.last_arrival.max(fragment.arrived_at);
    }

    /// These are missing, behind what is missing already.
    pub(super) fn note_missing(&mut self, lost: RangeInclusive<u64>) {
        self.missing = span(self.missing.take(), Some(lost));
    }

    /// What is missing belongs to another frame: all of this one came.
    pub(super) fn miss_nothing(&mut self) {
        self.missing = None;
    }

    /// The frame: complete with these bytes, or without.
    pub(super) fn into_frame(self, whole: Option<Bytes>) -> ReceivedFrame {
        ReceivedFrame {
            track: 0,
            rtp_timestamp: self.timestamp,
            complete: whole.is_some(),
            bytes: whole.unwrap_or_default(),
            beginning: Bytes::new(),
            sequences: self.sequences,
            missing: self.missing,
            is_beginning_open: false,
            first_arrival: self.first_arrival,
            last_arrival: self.last_arrival,
        }
    }
}

/// From the start of the earlier range to the end of the later one.
pub(super) fn span(
    earlier: Option<RangeInclusive<u64>>,
    later: Option<RangeInclusive<u64>>,
) -> Option<RangeInclusive<u64>> {
    match (earlier, later) {
        (Some(earlier), Some(later)) => Some(*earlier.start()..=*later.end()),
        (earlier, later) => earlier.or(later),
    }
}
