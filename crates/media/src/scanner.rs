//! Access units of an elementary stream, found incrementally; those of MPEG-1 and MPEG-2 video here.

use std::fmt;

use crate::access_unit::Codec;
use crate::error::ScanError;
use crate::headers::{self, BadField, CodedPicture, Extension, Parity, PictureCoding, PictureHeader};
use crate::index::{FrameRate, GopHeader, PictureStructure, PictureType, SequenceHeader};
use crate::start_code::{Unit, UnitCutter, value};

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

/// Finds the access units of one codec; the contract is that of [`Scanner`].
pub(crate) trait StreamScanner: fmt::Debug + Send + Sync {
    fn feed(&mut self, chunk: &[u8], sink: &mut dyn FnMut(CodedFrame));

    /// `frame_rate` is that of a stream that does not state its own.
    fn finish(
        self: Box<Self>,
        frame_rate: Option<FrameRate>,
        sink: &mut dyn FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError>;

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
        self,
        frame_rate: Option<FrameRate>,
        sink: &mut impl FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError> {
        self.0.finish(frame_rate, sink)
    }

    /// Where the last access unit that has a slice begins; `None` while there is none.
    pub(crate) fn last_frame(&self) -> Option<u64> {
        self.0.last_frame()
    }
}

/// The scanner of MPEG-1 and MPEG-2 video.
#[derive(Debug)]
struct MpegVideoScanner {
    cutter: UnitCutter,
    assembler: Assembler,
}

pub(crate) fn mpeg_video() -> Box<dyn StreamScanner> {
    Box::new(MpegVideoScanner { cutter: UnitCutter::new(), assembler: Assembler::default() })
}

impl StreamScanner for MpegVideoScanner {
    fn feed(&mut self, chunk: &[u8], sink: &mut dyn FnMut(CodedFrame)) {
        let assembler = &mut self.assembler;
        self.cutter.feed(chunk, &mut |unit| assembler.take(&unit, sink));
    }

    fn finish(
        self: Box<Self>,
        _frame_rate: Option<FrameRate>,
        sink: &mut dyn FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError> {
        let Self { mut cutter, mut assembler } = *self;
        cutter.finish(&mut |unit| assembler.take(&unit, sink));
        assembler.finish(cutter.length(), sink)
    }

    fn last_frame(&self) -> Option<u64> {
        self.assembler.open.as_ref().map(|open| open.frame.offset)
    }
}

/// Headers seen since the last slice.
#[derive(Debug, Default)]
struct PendingHeaders {
    /// Where the first of them starts.
    start: Option<u64>,
    sequence: Option<SequenceHeader>,
    gop: Option<GopHeader>,
    picture: Option<PictureHeader>,
    coding: Option<PictureCoding>,
}

/// A frame that has slices and whose end is not known yet.
#[derive(Debug)]
struct OpenFrame {
    frame: CodedFrame,
    /// Its first picture.
    first: CodedPicture,
}

impl OpenFrame {
    /// Whether `picture` is the other field of this frame.
    fn is_completed_by(&self, picture: CodedPicture) -> bool {
        self.frame.structure == PictureStructure::SingleField && self.first.is_completed_by(picture)
    }
}

/// Puts units together to access units.
#[derive(Debug, Default)]
struct Assembler {
    pending: PendingHeaders,
    open: Option<OpenFrame>,
    /// The sequence header in force.
    sequence: Option<SequenceHeader>,
    first_sequence: Option<(u64, SequenceHeader)>,
    first_bad_sequence: Option<(u64, BadField)>,
    first_frame: Option<u64>,
    sequence_ended: bool,
    damage: Damage,
}

impl Assembler {
    fn take(&mut self, unit: &Unit, sink: &mut dyn FnMut(CodedFrame)) {
        if unit.value == value::SEQUENCE_HEADER {
            return self.take_sequence_header(unit);
        }
        if self.first_sequence.is_none() {
            return;
        }
        match unit.value {
            value::SLICE_FIRST..=value::SLICE_LAST => self.take_slice(sink),
            value::SEQUENCE_END => self.sequence_ended = true,
            value::PICTURE | value::GROUP | value::EXTENSION | value::USER_DATA => {
                self.pending.start.get_or_insert(unit.offset);
                self.take_header(unit);
            }
            _ => self.damage.foreign_codes += 1,
        }
    }

    fn take_sequence_header(&mut self, unit: &Unit) {
        self.forget_picture();
        match headers::sequence_header(unit.payload()) {
            Ok(header) => {
                self.first_sequence.get_or_insert((unit.offset, header));
                self.pending.sequence = Some(header);
            }
            Err(field) => {
                self.damage.bad_headers += 1;
                self.first_bad_sequence.get_or_insert((unit.offset, field));
            }
        }
        if self.first_sequence.is_some() {
            self.pending.start.get_or_insert(unit.offset);
        }
    }

    fn take_header(&mut self, unit: &Unit) {
        let understood = match unit.value {
            value::GROUP => {
                self.forget_picture();
                replace_if_some(&mut self.pending.gop, headers::gop_header(unit.payload()))
            }
            value::PICTURE => {
                self.forget_picture();
                replace_if_some(&mut self.pending.picture, headers::picture_header(unit.payload()))
            }
            value::EXTENSION => self.take_extension(unit),
            _ => true,
        };
        self.damage.bad_headers += u64::from(!understood);
    }

    /// A picture header whose slices did not come says nothing about later ones.
    fn forget_picture(&mut self) {
        self.pending.picture = None;
        self.pending.coding = None;
    }

    /// An extension belongs to the header it follows (6.2.2.2).
    fn take_extension(&mut self, unit: &Unit) -> bool {
        match headers::extension(unit.payload()) {
            Some(Extension::Sequence(extension)) => {
                let header = self.pending.sequence.filter(|header| !header.mpeg2 && self.pending.picture.is_none());
                replace_if_some(&mut self.pending.sequence, header.map(|header| extension.apply(header)))
            }
            Some(Extension::PictureCoding(coding)) => {
                self.pending.coding = Some(coding);
                true
            }
            Some(Extension::Other) => true,
            None => false,
        }
    }

    fn take_slice(&mut self, sink: &mut dyn FnMut(CodedFrame)) {
        let Some(picture) = self.pending.picture else {
            let within_frame = self.pending.start.is_none() && self.open.is_some();
            self.damage.orphan_slices += u64::from(!within_frame);
            return;
        };
        let start = self.pending.start.expect("invariant: a picture header sets the start of the pending headers");
        let pending = std::mem::take(&mut self.pending);
        let coding = pending.coding.unwrap_or(PictureCoding::MPEG1);
        let has_group_headers = pending.sequence.is_some() || pending.gop.is_some() || self.sequence_ended;
        if !has_group_headers && self.complete_field_pair(CodedPicture { header: picture, parity: coding.parity }) {
            return;
        }
        self.use_sequence(pending.sequence);
        self.close_open_frame(start, sink);
        self.open_frame(start, picture, coding, pending.gop);
    }

    /// Joins the picture to the open frame when it is its second field.
    fn complete_field_pair(&mut self, picture: CodedPicture) -> bool {
        let Some(open) = self.open.as_mut().filter(|open| open.is_completed_by(picture)) else {
            return false;
        };
        open.frame.structure = match open.first.parity {
            Parity::BottomField => PictureStructure::BottomFieldFirst,
            _ => PictureStructure::TopFieldFirst,
        };
        true
    }

    fn use_sequence(&mut self, header: Option<SequenceHeader>) {
        let Some(header) = header else { return };
        self.sequence = Some(header);
        if self.first_frame.is_none()
            && let Some((_, first)) = &mut self.first_sequence
        {
            // With its extension, which came after it was first noted.
            *first = header;
        }
    }

    fn close_open_frame(&mut self, end: u64, sink: &mut dyn FnMut(CodedFrame)) {
        if let Some(OpenFrame { mut frame, .. }) = self.open.take() {
            frame.size = end - frame.offset;
            sink(frame);
        }
    }

    fn open_frame(&mut self, start: u64, picture: PictureHeader, coding: PictureCoding, gop: Option<GopHeader>) {
        self.first_frame.get_or_insert(start);
        let is_frame = coding.parity == Parity::Frame;
        let progressive_sequence = self.sequence.is_some_and(|sequence| sequence.progressive);
        let frame = CodedFrame {
            offset: start,
            size: 0,
            kind: picture.kind,
            temporal_reference: picture.temporal_reference,
            structure: if is_frame { PictureStructure::Frame } else { PictureStructure::SingleField },
            gop_header: gop,
            after_sequence_end: std::mem::take(&mut self.sequence_ended),
            shown_fields: if is_frame { coding.shown_fields(progressive_sequence) } else { 2 },
        };
        self.open = Some(OpenFrame { frame, first: CodedPicture { header: picture, parity: coding.parity } });
    }

    fn finish(mut self, length: u64, sink: &mut dyn FnMut(CodedFrame)) -> Result<ScanSummary, ScanError> {
        self.close_open_frame(length, sink);
        let Some((offset, sequence)) = self.first_sequence else {
            return Err(match self.first_bad_sequence {
                _ if length == 0 => ScanError::Empty,
                Some((offset, BadField { name: field, value })) => ScanError::InvalidSequence { offset, field, value },
                None => ScanError::NotMpegVideo { length },
            });
        };
        let Some(first_frame) = self.first_frame else {
            return Err(ScanError::NoPicture { offset, length });
        };
        let damage = Damage { leading_bytes: first_frame, ..self.damage };
        Ok(ScanSummary { sequence, states_frame_rate: true, length, damage })
    }
}

/// Sets `place` when there is something to set it to, and says whether there was.
fn replace_if_some<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let some = value.is_some();
    *place = value.or(place.take());
    some
}
