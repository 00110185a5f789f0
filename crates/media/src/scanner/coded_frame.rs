//! What a scanner finds, and what every scanner does.

use std::fmt;

use crate::error::ScanError;
use crate::picture::{FrameRate, GopHeader, PictureStructure, PictureType, SequenceHeader};

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
