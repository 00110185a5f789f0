//! Access units of an H.264 or H.265 byte stream (annex B of either), found incrementally.

use crate::access_unit::Codec;
use crate::error::ScanError;
use crate::headers::BadField;
use crate::index::{FrameRate, PictureStructure, PictureType, SequenceHeader};
use crate::scanner::{CodedFrame, Damage, ScanSummary, StreamScanner};
use crate::start_code::{self, Unit, UnitCutter};
use crate::{h264, h265};

/// How many bytes of a NAL unit are kept: parameter sets and slice headers are shorter, but for a sequence parameter
/// set with many scaling lists or reference picture sets, of which no encoder at hand writes so many.
const KEPT: usize = 1024;

/// What a NAL unit is to the access units around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// After the last slice of a picture it begins the next access unit.
    Before,
    /// As `Before`, and it cannot be read.
    BadBefore,
    /// It belongs to the access unit that it stands in, wherever that is.
    Within,
    /// A slice, or slice segment.
    Slice(Slice),
    /// A slice whose header cannot be read.
    BadSlice,
}

impl Role {
    /// Of a parameter set that could be read, or not.
    pub(crate) fn of_parameter_set(taken: Result<(), BadField>) -> Self {
        if taken.is_ok() { Self::Before } else { Self::BadBefore }
    }
}

/// A slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// It is the first of its picture.
    pub(crate) begins_picture: bool,
    /// Its picture is the second field of the frame before.
    pub(crate) completes_frame: bool,
    pub(crate) kind: PictureType,
    /// Of the frame, with this picture in it.
    pub(crate) structure: PictureStructure,
}

/// What the stream states of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    pub(crate) codec: Codec,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) frame_rate: Option<FrameRate>,
    pub(crate) progressive: bool,
}

#[derive(Debug)]
enum Finder {
    H264(h264::Finder),
    H265(h265::Finder),
}

impl Finder {
    fn role_of(&mut self, nal: &[u8]) -> Role {
        match self {
            Self::H264(finder) => finder.role_of(nal),
            Self::H265(finder) => finder.role_of(nal),
        }
    }

    fn stated(&self) -> Option<Stated> {
        match self {
            Self::H264(finder) => finder.stated(),
            Self::H265(finder) => finder.stated(),
        }
    }
}

/// The scanner of either codec; its contract is that of [`Scanner`](crate::Scanner).
#[derive(Debug)]
struct NalScanner {
    cutter: UnitCutter<KEPT>,
    assembler: Assembler,
}

/// Puts NAL units together to access units.
#[derive(Debug)]
struct Assembler {
    codec: Codec,
    finder: Finder,
    /// Where what precedes the next picture begins.
    pending: Option<u64>,
    open: Option<CodedFrame>,
    first_frame: Option<u64>,
    damage: Damage,
}

/// That of H.264.
pub(crate) fn h264() -> Box<dyn StreamScanner> {
    Box::new(NalScanner::new(Codec::H264, Finder::H264(h264::Finder::default())))
}

/// That of H.265.
pub(crate) fn h265() -> Box<dyn StreamScanner> {
    Box::new(NalScanner::new(Codec::H265, Finder::H265(h265::Finder::default())))
}

impl NalScanner {
    fn new(codec: Codec, finder: Finder) -> Self {
        let damage = Damage::default();
        let assembler = Assembler { codec, finder, pending: None, open: None, first_frame: None, damage };
        Self { cutter: UnitCutter::new(), assembler }
    }
}

impl StreamScanner for NalScanner {
    fn feed(&mut self, chunk: &[u8], sink: &mut dyn FnMut(CodedFrame)) {
        let assembler = &mut self.assembler;
        self.cutter.feed(chunk, &mut |unit| assembler.take(&unit, sink));
    }

    fn finish(
        self: Box<Self>,
        frame_rate: Option<FrameRate>,
        sink: &mut dyn FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError> {
        let Self { mut cutter, mut assembler } = *self;
        cutter.finish(&mut |unit| assembler.take(&unit, sink));
        assembler.finish(cutter.length(), frame_rate, sink)
    }

    fn last_frame(&self) -> Option<u64> {
        self.assembler.open.as_ref().map(|frame| frame.offset)
    }
}

impl Assembler {
    fn take(&mut self, unit: &Unit<KEPT>, sink: &mut dyn FnMut(CodedFrame)) {
        // `zero_byte` belongs to the NAL unit that it stands before (B.1).
        let start = unit.offset - u64::from(unit.zero_before);
        let nal = [&[unit.value], unit.payload()].concat();
        match self.finder.role_of(&nal) {
            Role::Before => _ = self.pending.get_or_insert(start),
            Role::BadBefore => {
                self.damage.bad_headers += 1;
                self.pending.get_or_insert(start);
            }
            Role::BadSlice => self.damage.orphan_slices += 1,
            Role::Slice(slice) => self.take_slice(start, slice, sink),
            Role::Within => {}
        }
    }

    fn take_slice(&mut self, start: u64, slice: Slice, sink: &mut dyn FnMut(CodedFrame)) {
        let before = self.pending.take();
        match &mut self.open {
            Some(frame) if !slice.begins_picture => frame.kind = frame.kind.max(slice.kind),
            Some(frame) if slice.completes_frame => frame.structure = slice.structure,
            // The first slices are lost.
            None if !slice.begins_picture => self.damage.orphan_slices += 1,
            _ => {
                let start = before.unwrap_or(start);
                self.close_open_frame(start, sink);
                self.first_frame.get_or_insert(start);
                self.open = Some(CodedFrame {
                    offset: start,
                    size: 0,
                    kind: slice.kind,
                    temporal_reference: 0,
                    structure: slice.structure,
                    gop_header: None,
                    after_sequence_end: false,
                    shown_fields: 2,
                });
            }
        }
    }

    fn close_open_frame(&mut self, end: u64, sink: &mut dyn FnMut(CodedFrame)) {
        if let Some(mut frame) = self.open.take() {
            frame.size = end - frame.offset;
            sink(frame);
        }
    }

    fn finish(
        mut self,
        length: u64,
        frame_rate: Option<FrameRate>,
        sink: &mut dyn FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError> {
        self.close_open_frame(length, sink);
        let (Some(stated), Some(first_frame)) = (self.finder.stated(), self.first_frame) else {
            return Err(if length == 0 {
                ScanError::Empty
            } else {
                ScanError::NoAccessUnit { codec: self.codec, length }
            });
        };
        let frame_rate = stated.frame_rate.or(frame_rate).ok_or(ScanError::NoFrameRate { codec: self.codec })?;
        let side = |samples: u32| u16::try_from(samples).unwrap_or(u16::MAX);
        let sequence = SequenceHeader {
            codec: self.codec,
            width: side(stated.width),
            height: side(stated.height),
            frame_rate,
            bit_rate: None,
            mpeg2: false,
            progressive: stated.progressive,
        };
        Ok(ScanSummary {
            sequence,
            states_frame_rate: stated.frame_rate.is_some(),
            length,
            damage: Damage { leading_bytes: first_frame, ..self.damage },
        })
    }
}

/// Start codes that are looked at to recognise what a stream is.
const START_CODES_CHECKED: usize = 4_096;

/// NAL unit headers begin with a zero bit; the headers of MPEG video have start codes from here on.
const FIRST_THAT_IS_NO_NAL_UNIT: u8 = 0x80;

/// Which of the two a byte stream is: the first sequence parameter set that is well formed decides. `None` for MPEG
/// video and anything else.
pub(crate) fn codec_of(stream: &[u8]) -> Option<Codec> {
    let nals = start_code::parts(stream).filter(|nal| !nal.is_empty()).take(START_CODES_CHECKED);
    let mut nals = nals.take_while(|nal| nal[0] < FIRST_THAT_IS_NO_NAL_UNIT);
    nals.find_map(|nal| match () {
        () if h265::is_sequence_parameter_set(nal) => Some(Codec::H265),
        () if h264::is_sequence_parameter_set(nal) => Some(Codec::H264),
        () => None,
    })
}
