//! From packets in order to frames: where a frame starts and ends, and whether it is whole.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use bytes::{Bytes, BytesMut};
use framewire_units::DataSize;

use super::Joiner;
use super::received::{Fragment, PacketsOfFrame, ReceivedFrame, span};

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
    packets: PacketsOfFrame,
    start: Start,
    whole: bool,
    /// Bytes of it before a packet that did not go on from them.
    intact: Option<usize>,
    /// What is missing directly before the first packet.
    missing_before: Option<RangeInclusive<u64>>,
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
        if self.frame.as_ref().is_some_and(|frame| frame.packets.timestamp != fragment.timestamp) {
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
            packets: PacketsOfFrame::new(sequence, fragment),
            start,
            whole: start != Start::Missing,
            intact: None,
            missing_before: lost,
        });
    }

    fn note_missing(&mut self, lost: RangeInclusive<u64>) {
        let Some(frame) = &mut self.frame else { return };
        frame.whole = false;
        frame.packets.note_missing(lost);
    }

    fn append(&mut self, sequence: u64, fragment: &Fragment<'_>) {
        let Some(frame) = &mut self.frame else { return };
        frame.packets.add(sequence, fragment);
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
        let whole = complete.then(|| self.bytes.split().freeze());
        let received = frame.packets.into_frame(whole);
        Some(ReceivedFrame {
            beginning: if !complete && has_start { self.bytes.split().freeze() } else { Bytes::new() },
            missing: span(missing_before, received.missing),
            is_beginning_open,
            ..received
        })
    }
}
