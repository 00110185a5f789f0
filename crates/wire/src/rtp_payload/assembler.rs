//! From packets in order to frames: where a frame starts and ends, and whether it is whole.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use bytes::{Bytes, BytesMut};
use framewire_units::{DataSize, Timestamp};

use super::Joiner;

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

/// How sure it is that a frame's first packet is the first one that was sent of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Nothing is missing before it.
    Known,
    /// Something is missing before it: its bytes must show it.
    AfterLoss,
    /// It cannot be the first one.
    Missing,
}

/// Puts packets, in order and with gaps reported, together to frames.
#[derive(Debug)]
pub(crate) struct Assembler {
    joiner: Box<dyn Joiner>,
    largest_frame: usize,
    frame: Option<OpenFrame>,
    /// Memory for the bytes of the open frame.
    bytes: BytesMut,
    /// Nothing is missing before the next packet.
    contiguous: bool,
    /// This sender marks the last packet of a frame; one marker shows it.
    marks_ends: bool,
}

#[derive(Debug)]
struct OpenFrame {
    timestamp: u32,
    start: Start,
    whole: bool,
    sequences: RangeInclusive<u64>,
    /// Bytes of it before a packet that did not go on from them.
    intact: Option<usize>,
    /// What is missing directly before the first packet.
    missing_before: Option<RangeInclusive<u64>>,
    /// What is missing after it.
    missing: Option<RangeInclusive<u64>>,
    first_arrival: Timestamp,
    last_arrival: Timestamp,
}

impl Assembler {
    /// With `from_first_packet`, the first packet added is the first one sent unless a loss is reported before it.
    pub(super) fn new(joiner: Box<dyn Joiner>, largest_frame: DataSize, from_first_packet: bool) -> Self {
        Self {
            joiner,
            largest_frame: usize::try_from(largest_frame.as_bytes()).unwrap_or(usize::MAX),
            frame: None,
            bytes: BytesMut::new(),
            contiguous: from_first_packet,
            marks_ends: false,
        }
    }

    /// The first packet added is the first one sent unless a loss is reported before it.
    pub(super) fn begin_with_first_packet(&mut self) {
        self.contiguous = true;
    }

    /// What of a payload is of use; or, in words, why it is none.
    pub(super) fn open<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], String> {
        self.joiner.open(payload)
    }

    /// Adds the next packet; `lost` are the sequence numbers directly before it that were given up.
    ///
    /// Packets without media belong to their frame, but begin none: FFmpeg sends such where a slice of MPEG video is
    /// larger than a packet.
    pub(super) fn add(
        &mut self,
        sequence: u64,
        fragment: &Fragment<'_>,
        lost: Option<RangeInclusive<u64>>,
        ready: &mut VecDeque<ReceivedFrame>,
    ) {
        self.contiguous &= lost.is_none();
        let mut lost = lost;
        if self.frame.as_ref().is_some_and(|frame| frame.timestamp != fragment.timestamp) {
            ready.extend(self.end_frame(lost.clone()));
            // Its end was not seen and was lost: where one packet is lost, that was it, and none before this frame.
            if self.marks_ends && lost.as_ref().is_some_and(|lost| lost.start() == lost.end()) {
                self.contiguous = true;
                lost = None;
            }
        }
        if self.frame.is_none() && fragment.media.is_empty() {
            return;
        }
        if self.frame.is_none() {
            self.begin_frame(sequence, fragment, lost);
        } else if let Some(lost) = lost {
            self.note_missing(lost);
        }
        self.append(sequence, fragment);
        self.contiguous = true;
        if fragment.marker {
            self.marks_ends = true;
            ready.extend(self.end_frame(None));
        }
    }

    /// Ends the open frame, if there is one, without having seen its end.
    pub(super) fn abandon(&mut self) -> Option<ReceivedFrame> {
        self.contiguous = false;
        self.frame.as_mut()?.whole = false;
        self.end_frame(None)
    }

    fn begin_frame(&mut self, sequence: u64, fragment: &Fragment<'_>, lost: Option<RangeInclusive<u64>>) {
        let start = match self.joiner.begin(fragment.media, self.contiguous) {
            false => Start::Missing,
            true if self.contiguous => Start::Known,
            true => Start::AfterLoss,
        };
        self.bytes.clear();
        self.frame = Some(OpenFrame {
            timestamp: fragment.timestamp,
            start,
            whole: start != Start::Missing,
            intact: None,
            sequences: sequence..=sequence,
            missing_before: lost,
            missing: None,
            first_arrival: fragment.arrived_at,
            last_arrival: fragment.arrived_at,
        });
    }

    fn note_missing(&mut self, lost: RangeInclusive<u64>) {
        let Some(frame) = &mut self.frame else { return };
        frame.whole = false;
        frame.missing = span(frame.missing.take(), Some(lost));
    }

    fn append(&mut self, sequence: u64, fragment: &Fragment<'_>) {
        let Some(frame) = &mut self.frame else { return };
        frame.sequences = *frame.sequences.start()..=sequence;
        frame.first_arrival = frame.first_arrival.min(fragment.arrived_at);
        frame.last_arrival = frame.last_arrival.max(fragment.arrived_at);
        if frame.whole {
            let before = self.bytes.len();
            frame.whole = self.joiner.append(fragment.media, &mut self.bytes) && self.bytes.len() <= self.largest_frame;
            if !frame.whole {
                frame.intact = Some(before);
            }
        }
    }

    /// Ends the open frame; `lost` is what is missing between its last packet and the next one that arrived.
    fn end_frame(&mut self, lost: Option<RangeInclusive<u64>>) -> Option<ReceivedFrame> {
        if let Some(lost) = lost {
            self.note_missing(lost);
        }
        let frame = self.frame.take()?;
        let is_whole = frame.whole && !self.joiner.is_open();
        if frame.start == Start::Known {
            self.joiner.learn(&self.bytes, is_whole);
        }
        let has_start =
            frame.start == Start::Known || (frame.start == Start::AfterLoss && self.joiner.has_beginning(&self.bytes));
        let complete = is_whole && has_start;
        let is_beginning_open = is_whole && !has_start && frame.start == Start::AfterLoss;
        let missing_before = if has_start { None } else { frame.missing_before };
        if !complete {
            self.bytes.truncate(frame.intact.unwrap_or(usize::MAX));
            self.joiner.cut_off(&mut self.bytes);
        }
        Some(ReceivedFrame {
            track: 0,
            rtp_timestamp: frame.timestamp,
            complete,
            bytes: if complete { self.bytes.split().freeze() } else { Bytes::new() },
            beginning: if !complete && has_start { self.bytes.split().freeze() } else { Bytes::new() },
            sequences: frame.sequences,
            missing: span(missing_before, frame.missing),
            is_beginning_open,
            first_arrival: frame.first_arrival,
            last_arrival: frame.last_arrival,
        })
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
