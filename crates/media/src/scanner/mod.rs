//! Access units of an elementary stream, found incrementally: the same for every codec here, and its own in a file of each.

mod mpeg_video;
mod start_codes;
mod tiling;

use std::fmt;

use crate::access_unit::Codec;
use crate::error::ScanError;
use crate::index::{FrameRate, GopHeader, PictureStructure, PictureType, SequenceHeader};

pub(crate) use mpeg_video::mpeg_video;
pub(crate) use start_codes::{StartCodeScanner, UnitAssembler};
pub(crate) use tiling::{Stated, Tiling};

/// One access unit as it stands in the stream: a frame picture, or the field pictures of one frame, with the
/// headers before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodedFrame {
    /// Byte offset in the stream.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Coding type; of two paired fields, the first one's.
    pub kind: PictureType,
    /// Temporal reference, modulo 1024 (6.3.9).
    pub temporal_reference: u16,
    /// Whether fields were paired.
    pub structure: PictureStructure,
    /// The GOP header before the picture, where there is one.
    pub gop_header: Option<GopHeader>,
    /// True when the sequence before ended with a `sequence_end_code`.
    pub after_sequence_end: bool,
    /// For how many fields it is shown: 2, or more with `repeat_first_field` (6.3.10). Two make a frame period.
    pub shown_fields: u8,
}

impl CodedFrame {
    /// A whole frame without a group of its own, whose end is not known yet.
    pub(crate) fn begun_at(offset: u64, kind: PictureType) -> Self {
        Self {
            offset,
            size: 0,
            kind,
            temporal_reference: 0,
            structure: PictureStructure::Frame,
            gop_header: None,
            after_sequence_end: false,
            shown_fields: 2,
        }
    }
}

/// What was wrong with a stream that could be read nevertheless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Bytes before the first valid sequence header, which belong to no frame.
    pub leading_bytes: u64,
    /// Headers that are cut off or hold forbidden values.
    pub bad_headers: u64,
    /// Slices without a picture header. They belong to the frame around them or, after its headers, to the next.
    pub orphan_slices: u64,
    /// Start codes that have no place in a video elementary stream.
    pub foreign_codes: u64,
}

/// What is known when the stream has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanSummary {
    /// The first valid sequence header.
    pub sequence: SequenceHeader,
    /// Its frame rate is what the stream states, not what was given.
    pub states_frame_rate: bool,
    /// Bytes of the stream.
    pub length: u64,
    /// What was wrong with it.
    pub damage: Damage,
}

/// An incremental scanner: bytes in, access units out. [`new`](Self::new) makes one of MPEG-1 and MPEG-2 video,
/// [`of`](Self::of) one of another codec.
///
/// Call [`feed`](Self::feed) with the stream in chunks of any size, then [`finish`](Self::finish) once. Each calls
/// `sink` for every access unit whose end has become known, in decode order; how the stream was cut into chunks
/// makes no difference. Memory is constant whatever arrives, and nothing in a stream is a reason to stop:
/// the scanner goes on at the next start code that makes sense.
///
/// A frame starts with the first header after the last slice of the frame before it, so frames tile the stream from
/// the first valid sequence header to the end; a `sequence_end_code` and whatever no picture follows belong to the
/// frame before. Two field pictures are one frame when they have the same temporal reference and opposite parity and
/// no header but the picture header is between them (6.1.1.4.1). Access units of H.264 and H.265 begin where their
/// standards say (7.4.1.2.3 and 7.4.2.4.4); of H.264, the fields of a frame are one frame here, too. Of MPEG-4 part 2 each
/// VOP is one with the headers before it, of AV1 each temporal unit that has a frame.
#[derive(Debug)]
pub struct Scanner(Box<dyn StreamScanner>);

/// Finds the access units of one codec: [`feed`](Self::feed) with the stream in chunks, then [`end`](Self::end) and
/// [`summary`](Self::summary), once each.
pub(crate) trait StreamScanner: fmt::Debug + Send + Sync {
    fn feed(&mut self, chunk: &[u8], sink: &mut dyn FnMut(CodedFrame));

    /// Ends the stream, and with it the last access unit.
    fn end(&mut self, sink: &mut dyn FnMut(CodedFrame));

    /// What is known at the end; `frame_rate` is that of a stream that does not state its own.
    fn summary(&self, frame_rate: Option<FrameRate>) -> Result<ScanSummary, ScanError>;

    /// Where the last access unit that has a slice begins; `None` while there is none.
    fn last_frame(&self) -> Option<u64>;
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner at the start of a stream of MPEG-1 or MPEG-2 video.
    pub fn new() -> Self {
        Self(mpeg_video())
    }

    /// A scanner at the start of a stream of `codec`; `None` when streams of it are not scanned.
    pub fn of(codec: Codec) -> Option<Self> {
        codec.profile().scanner.map(|scanner| Self(scanner()))
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, chunk: &[u8], sink: &mut impl FnMut(CodedFrame)) {
        self.0.feed(chunk, sink);
    }

    /// Ends the stream, and with it the last access unit.
    ///
    /// # Errors
    /// When there was no access unit: [`ScanError::Empty`], [`ScanError::NotMpegVideo`],
    /// [`ScanError::InvalidSequence`], [`ScanError::NoPicture`] or [`ScanError::NoAccessUnit`]; or when the stream
    /// does not state its frame rate ([`ScanError::NoFrameRate`]).
    pub fn finish(self, sink: &mut impl FnMut(CodedFrame)) -> Result<ScanSummary, ScanError> {
        self.finish_at(None, sink)
    }

    /// As [`finish`](Self::finish), with the frame rate of a stream that does not state its own.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub(crate) fn finish_at(
        mut self,
        frame_rate: Option<FrameRate>,
        sink: &mut impl FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError> {
        self.0.end(sink);
        self.0.summary(frame_rate)
    }

    /// Where the last access unit that has a slice begins; `None` while there is none.
    pub(crate) fn last_frame(&self) -> Option<u64> {
        self.0.last_frame()
    }
}
