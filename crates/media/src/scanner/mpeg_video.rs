//! Access units of MPEG-1 and MPEG-2 video: frame pictures, or the field pictures of one frame, with the headers before them.

use super::{CodedFrame, Damage, ScanSummary, StartCodeScanner, StreamScanner, Tiling, UnitAssembler};
use crate::bits::BadField;
use crate::error::ScanError;
use crate::headers::{self, CodedPicture, Extension, Parity, PictureCoding, PictureHeader};
use crate::picture::{FrameRate, GopHeader, PictureStructure, SequenceHeader};
use crate::start_code::{KEPT_OF_HEADERS, Unit, value};

/// The scanner of MPEG-1 and MPEG-2 video.
pub(crate) fn mpeg_video() -> Box<dyn StreamScanner> {
    Box::new(StartCodeScanner::new(Assembler::default()))
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

/// Puts units together to access units.
#[derive(Debug, Default)]
struct Assembler {
    pending: PendingHeaders,
    frames: Tiling,
    /// The first picture of the frame whose end is not known yet.
    first_picture: Option<CodedPicture>,
    /// The sequence header in force.
    sequence: Option<SequenceHeader>,
    first_sequence: Option<(u64, SequenceHeader)>,
    first_bad_sequence: Option<(u64, BadField)>,
    sequence_ended: bool,
    damage: Damage,
}

impl UnitAssembler<KEPT_OF_HEADERS> for Assembler {
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

    fn frames(&self) -> &Tiling {
        &self.frames
    }

    fn frames_mut(&mut self) -> &mut Tiling {
        &mut self.frames
    }

    fn summary(&self, length: u64, _frame_rate: Option<FrameRate>) -> Result<ScanSummary, ScanError> {
        let Some((offset, sequence)) = self.first_sequence else {
            return Err(match self.first_bad_sequence {
                _ if length == 0 => ScanError::Empty,
                Some((offset, BadField { name: field, value })) => ScanError::InvalidSequence { offset, field, value },
                None => ScanError::NotMpegVideo { length },
            });
        };
        let Some(leading_bytes) = self.frames.first() else {
            return Err(ScanError::NoPicture { offset, length });
        };
        Ok(ScanSummary { sequence, states_frame_rate: true, length, damage: Damage { leading_bytes, ..self.damage } })
    }
}

impl Assembler {
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
            let within_frame = self.pending.start.is_none() && self.frames.open().is_some();
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
        let frame = self.frame_at(start, picture, coding, pending.gop);
        self.first_picture = Some(CodedPicture { header: picture, parity: coding.parity });
        self.frames.begin(frame, sink);
    }

    /// Joins the picture to the open frame when it is its second field.
    fn complete_field_pair(&mut self, picture: CodedPicture) -> bool {
        let (Some(frame), Some(first)) = (self.frames.open_mut(), self.first_picture) else { return false };
        if frame.structure != PictureStructure::SingleField || !first.is_completed_by(picture) {
            return false;
        }
        frame.structure = match first.parity {
            Parity::BottomField => PictureStructure::BottomFieldFirst,
            _ => PictureStructure::TopFieldFirst,
        };
        true
    }

    fn use_sequence(&mut self, header: Option<SequenceHeader>) {
        let Some(header) = header else { return };
        self.sequence = Some(header);
        if self.frames.first().is_none()
            && let Some((_, first)) = &mut self.first_sequence
        {
            // With its extension, which came after it was first noted.
            *first = header;
        }
    }

    fn frame_at(
        &mut self,
        start: u64,
        picture: PictureHeader,
        coding: PictureCoding,
        gop_header: Option<GopHeader>,
    ) -> CodedFrame {
        let is_frame = coding.parity == Parity::Frame;
        let progressive_sequence = self.sequence.is_some_and(|sequence| sequence.progressive);
        CodedFrame {
            temporal_reference: picture.temporal_reference,
            structure: if is_frame { PictureStructure::Frame } else { PictureStructure::SingleField },
            gop_header,
            after_sequence_end: std::mem::take(&mut self.sequence_ended),
            shown_fields: if is_frame { coding.shown_fields(progressive_sequence) } else { 2 },
            ..CodedFrame::begun_at(start, picture.kind)
        }
    }
}

/// Sets `place` when there is something to set it to, and says whether there was.
fn replace_if_some<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let some = value.is_some();
    *place = value.or(place.take());
    some
}
