//! Temporal units of a stream in the low-overhead format (5.2), found incrementally: each begins with its delimiter.

use super::frame_header::{FrameHeader, SLOTS};
use super::obu::{self, Layer, obu_type};
use super::sequence::SequenceHeader;
use crate::bits::BadField;
use crate::codec::Codec;
use crate::error::ScanError;
use crate::picture::{FrameRate, PictureType};
use crate::scanner::{CodedFrame, Damage, ScanSummary, Stated, StreamScanner, Tiling};

/// Bytes of a header that are kept: all of a sequence header with 32 operating points, the most that there are (5.5.1).
const KEPT: usize = 512;

/// A unit's header with its size: one byte, its extension, and at most eight of a leb128() (5.3.2, 4.10.5).
const LONGEST_HEADER: usize = 10;

/// A temporal delimiter with its size, which is 0 (5.6).
const DELIMITER: [u8; 2] = [0x12, 0];

/// Where in the stream the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the header of a unit, of which so many bytes have come.
    Header,
    /// In a unit's content, of which so many bytes are left.
    Content { obu_type: u32, layer: Layer, left: u64 },
    /// Behind something that is no unit: a delimiter is looked for, of which the first byte has come or not.
    Lost { has_first: bool },
}

/// Finds temporal units.
#[derive(Debug)]
pub(super) struct Av1Scanner {
    place: Place,
    offset: u64,
    /// Where the unit begins that is read.
    unit: u64,
    header: Vec<u8>,
    kept: Vec<u8>,
    /// Where the temporal unit begins in which no frame has come yet.
    pending: Option<u64>,
    frames: Tiling,
    sequence: Option<SequenceHeader>,
    /// Of the first frame: that of the sequence is the largest which one may have.
    size: Option<(u16, u16)>,
    damage: Damage,
}

impl Default for Av1Scanner {
    fn default() -> Self {
        Self {
            place: Place::Header,
            offset: 0,
            unit: 0,
            header: Vec::with_capacity(LONGEST_HEADER),
            kept: Vec::new(),
            pending: None,
            frames: Tiling::default(),
            sequence: None,
            size: None,
            damage: Damage::default(),
        }
    }
}

impl Av1Scanner {
    fn take_byte(&mut self, byte: u8, sink: &mut dyn FnMut(CodedFrame)) {
        self.place = match self.place {
            Place::Lost { has_first: true } if byte == DELIMITER[1] => {
                self.unit = self.offset - 1;
                self.pending.get_or_insert(self.unit);
                Place::Header
            }
            Place::Lost { .. } => Place::Lost { has_first: byte == DELIMITER[0] },
            _ => self.take_header_byte(byte, sink),
        };
        self.offset += 1;
    }

    fn take_header_byte(&mut self, byte: u8, sink: &mut dyn FnMut(CodedFrame)) -> Place {
        if self.header.is_empty() {
            self.unit = self.offset;
        }
        self.header.push(byte);
        let place = match obu::header(&self.header) {
            // What has no size would go on to the end of the stream.
            Ok(header) => match header.size {
                Some(size) => self.begin_unit(header, size.into(), sink),
                None => self.lose(),
            },
            Err(BadField { value: None, .. }) if self.header.len() < LONGEST_HEADER => return Place::Header,
            Err(_) => self.lose(),
        };
        self.header.clear();
        place
    }

    fn lose(&mut self) -> Place {
        self.damage.bad_headers += 1;
        Place::Lost { has_first: false }
    }

    fn begin_unit(&mut self, header: obu::Header, size: u64, sink: &mut dyn FnMut(CodedFrame)) -> Place {
        let obu::Header { obu_type, layer, .. } = header;
        self.kept.clear();
        match obu_type {
            obu_type::TEMPORAL_DELIMITER => _ = self.pending.get_or_insert(self.unit),
            obu_type::FRAME | obu_type::FRAME_HEADER => self.take_frame(sink),
            obu_type if !obu_type::is_known(obu_type) => self.damage.foreign_codes += 1,
            _ => {}
        }
        if size == 0 { Place::Header } else { Place::Content { obu_type, layer, left: size } }
    }

    /// The first of its temporal unit begins one of the movie. Before the first sequence header no frame can be read.
    fn take_frame(&mut self, sink: &mut dyn FnMut(CodedFrame)) {
        let start = self.pending.take();
        let (Some(start), Some(_)) = (start, &self.sequence) else {
            self.damage.orphan_slices += u64::from(self.frames.open().is_none());
            return;
        };
        self.frames.begin(CodedFrame::begun_at(start, PictureType::P), sink);
    }

    /// Takes as much of a unit's content as the chunk has; returns the rest.
    fn take_content<'a>(&mut self, obu_type: u32, layer: Layer, left: u64, chunk: &'a [u8]) -> &'a [u8] {
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        let (content, rest) = chunk.split_at(here);
        let wanted = KEPT.saturating_sub(self.kept.len()).min(here);
        self.kept.extend_from_slice(&content[..wanted]);
        self.offset += here as u64;
        let left = left - here as u64;
        self.place = if left == 0 { Place::Header } else { Place::Content { obu_type, layer, left } };
        if left == 0 {
            self.end_unit(obu_type, layer);
        }
        rest
    }

    fn end_unit(&mut self, obu_type: u32, layer: Layer) {
        match (obu_type, &self.sequence) {
            (obu_type::SEQUENCE_HEADER, _) => match SequenceHeader::parse(&self.kept) {
                Ok(sequence) => _ = self.sequence.get_or_insert(sequence),
                Err(_) => self.damage.bad_headers += 1,
            },
            (obu_type::FRAME | obu_type::FRAME_HEADER, Some(sequence)) if self.size.is_none() => {
                if let Ok(FrameHeader::Coded(frame)) = FrameHeader::parse(&self.kept, layer, sequence, &[0; SLOTS]) {
                    self.size = frame.size;
                }
            }
            _ => {}
        }
    }
}

impl StreamScanner for Av1Scanner {
    fn feed(&mut self, mut chunk: &[u8], sink: &mut dyn FnMut(CodedFrame)) {
        while let Some((&byte, rest)) = chunk.split_first() {
            chunk = match self.place {
                Place::Content { obu_type, layer, left } => self.take_content(obu_type, layer, left, chunk),
                Place::Header | Place::Lost { .. } => {
                    self.take_byte(byte, sink);
                    rest
                }
            };
        }
    }

    fn end(&mut self, sink: &mut dyn FnMut(CodedFrame)) {
        self.frames.end(self.offset, sink);
    }

    fn summary(&self, frame_rate: Option<FrameRate>) -> Result<ScanSummary, ScanError> {
        let stated = self.sequence.as_ref().map(|sequence| {
            let (width, height) = self.size.unwrap_or(sequence.size);
            let frame_rate = sequence.frame_rate;
            Stated { width: width.into(), height: height.into(), frame_rate, progressive: true }
        });
        self.frames.summary(Codec::Av1, stated, self.offset, frame_rate, self.damage)
    }

    fn last_frame(&self) -> Option<u64> {
        self.frames.open().map(|frame| frame.offset)
    }
}

/// Whether a stream begins with a temporal delimiter, and a unit with its size behind it.
pub(super) fn recognises(head: &[u8]) -> bool {
    let behind = head.strip_prefix(&DELIMITER).unwrap_or_default();
    obu::header(behind).is_ok_and(|header| header.size.is_some() && obu_type::is_known(header.obu_type))
}
