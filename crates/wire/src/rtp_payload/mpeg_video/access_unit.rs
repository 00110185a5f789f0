//! What the packetizer must know of an access unit: where its headers and slices lie, and what its picture headers
//! say (ISO/IEC 13818-2, 6.2; ISO/IEC 11172-2, 2.4.2).

use std::ops::Range;

use super::header::{CodingType, MotionVectorCodes};
use crate::start_code::{self, EXTENSION, GROUP, PICTURE, SEQUENCE_HEADER, start_codes};

/// Bytes of a picture header behind its start code that are always there, up to `vbv_delay` and the codes after it.
const SHORTEST_PICTURE_HEADER: usize = 4;

/// Zero bytes that may stand before the first header: so few that they and the header fit into any packet
/// ([`LARGEST_STREAM_HEADER`](super::LARGEST_STREAM_HEADER); a sequence header has at most 140 bytes).
const MOST_LEADING_ZEROS: usize = 64;

/// What a start code begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    SequenceHeader,
    GroupHeader,
    PictureHeader,
    Slice,
    /// An extension, user data, a sequence end code, or a code that is reserved.
    Other,
}

impl UnitKind {
    fn of(code: u8) -> Self {
        match code {
            SEQUENCE_HEADER => Self::SequenceHeader,
            GROUP => Self::GroupHeader,
            PICTURE => Self::PictureHeader,
            _ if start_code::is_slice(code) => Self::Slice,
            _ => Self::Other,
        }
    }
}

/// From one start code to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub kind: UnitKind,
    pub code: u8,
    pub start: usize,
    pub end: usize,
    /// Index of the picture that the unit belongs to; headers belong to the picture after them.
    pub picture: usize,
}

/// The fields of a picture header that every packet of the picture repeats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picture {
    pub temporal_reference: u16,
    pub kind: CodingType,
    pub motion_vector_codes: MotionVectorCodes,
    /// A picture coding extension follows: this is MPEG-2.
    pub mpeg2: bool,
}

/// The units and pictures of one access unit. The memory is kept from frame to frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessUnit {
    pub units: Vec<Unit>,
    pub pictures: Vec<Picture>,
}

impl AccessUnit {
    /// Reads a frame into `self`; what was there before is gone.
    pub(super) fn read(&mut self, frame: &[u8]) -> Result<(), AccessUnitError> {
        self.units.clear();
        self.pictures.clear();
        for (offset, code) in start_codes(frame) {
            self.end_last_unit(offset);
            self.begin_unit(frame, offset, code)?;
        }
        self.end_last_unit(frame.len());
        self.check_ends(frame)
    }

    fn end_last_unit(&mut self, offset: usize) {
        if let Some(last) = self.units.last_mut() {
            last.end = offset;
        }
    }

    fn begin_unit(&mut self, frame: &[u8], offset: usize, code: u8) -> Result<(), AccessUnitError> {
        let kind = UnitKind::of(code);
        let headers_of_next = self.units.last().is_some_and(|last| last.picture == self.pictures.len());
        let picture = match kind {
            UnitKind::PictureHeader => {
                self.pictures
                    .push(read_picture_header(&frame[offset..]).ok_or(AccessUnitError::PictureHeader { offset })?);
                self.pictures.len() - 1
            }
            UnitKind::SequenceHeader | UnitKind::GroupHeader => self.pictures.len(),
            UnitKind::Slice | UnitKind::Other if headers_of_next => self.pictures.len(),
            UnitKind::Slice | UnitKind::Other => self.pictures.len().saturating_sub(1),
        };
        if kind == UnitKind::Slice && picture == self.pictures.len() {
            return Err(AccessUnitError::SliceWithoutPicture { offset });
        }
        if code == EXTENSION
            && is_picture_coding_extension(&frame[offset..])
            && let Some(described) = self.pictures.get_mut(picture)
        {
            described.mpeg2 = true;
        }
        self.units.push(Unit { kind, code, start: offset, end: offset, picture });
        Ok(())
    }

    fn check_ends(&mut self, frame: &[u8]) -> Result<(), AccessUnitError> {
        let last_picture = self.pictures.len().checked_sub(1).ok_or(AccessUnitError::NoPicture)?;
        let first = self.units.first_mut().expect("invariant: a picture is a unit");
        let starts_with_header = !matches!(first.kind, UnitKind::Slice | UnitKind::Other);
        let only_zeros = first.start <= MOST_LEADING_ZEROS && frame[..first.start].iter().all(|&byte| byte == 0);
        if !starts_with_header || !only_zeros {
            return Err(AccessUnitError::Start);
        }
        // Zero bytes may stand before any start code (`next_start_code`, 5.2.3); here no unit precedes them.
        first.start = 0;
        for unit in self.units.iter_mut().rev().take_while(|unit| unit.picture > last_picture) {
            unit.picture = last_picture;
        }
        Ok(())
    }
}

/// Reads the fields after a picture start code (ISO/IEC 13818-2, 6.2.3).
fn read_picture_header(bytes: &[u8]) -> Option<Picture> {
    let body = bytes.get(start_code::LENGTH..)?;
    let fixed = body.first_chunk::<SHORTEST_PICTURE_HEADER>()?;
    let temporal_reference = u16::from(fixed[0]) << 2 | u16::from(fixed[1]) >> 6;
    let kind = CodingType::from_code(fixed[1] >> 3 & 7)?;
    let mut motion_vector_codes = MotionVectorCodes::default();
    if matches!(kind, CodingType::P | CodingType::B) {
        let fifth = *body.get(SHORTEST_PICTURE_HEADER)?;
        motion_vector_codes.full_pel_forward_vector = fixed[3] & 0x04 != 0;
        motion_vector_codes.forward_f_code = (fixed[3] & 0x03) << 1 | fifth >> 7;
        if kind == CodingType::B {
            motion_vector_codes.full_pel_backward_vector = fifth & 0x40 != 0;
            motion_vector_codes.backward_f_code = fifth >> 3 & 7;
        }
    }
    Some(Picture { temporal_reference, kind, motion_vector_codes, mpeg2: false })
}

/// `extension_start_code_identifier` 8 (ISO/IEC 13818-2, table 6-2).
pub(crate) fn is_picture_coding_extension(bytes: &[u8]) -> bool {
    bytes.get(start_code::LENGTH).is_some_and(|byte| byte >> 4 == 8)
}

/// Where the parameters of the picture are that N refers to: from the picture header to its first slice.
pub(crate) fn parameter_units(units: &[Unit], picture: usize) -> Range<usize> {
    let of_picture = |unit: &Unit| unit.picture == picture && unit.kind == UnitKind::PictureHeader;
    let start = units.iter().position(of_picture).unwrap_or(units.len());
    let length = units[start..].iter().position(|unit| unit.kind == UnitKind::Slice);
    start..length.map_or(units.len(), |length| start + length)
}

/// Bytes that are not one access unit of MPEG video.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessUnitError {
    /// There is no picture header.
    #[error("the frame has no picture header: an access unit has one, or two for a pair of fields")]
    NoPicture,
    /// The frame does not start with a header.
    #[error(
        "the frame does not start with a sequence, group or picture header (after up to {MOST_LEADING_ZEROS} zero bytes)"
    )]
    Start,
    /// A picture header is cut short, or its picture type is forbidden or reserved.
    #[error("the picture header at byte {offset} is cut short or has a picture type that is not I, P, B or D")]
    PictureHeader {
        /// Byte offset in the frame.
        offset: usize,
    },
    /// A slice stands before the picture header that it needs.
    #[error("the slice at byte {offset} has no picture header before it")]
    SliceWithoutPicture {
        /// Byte offset in the frame.
        offset: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE_AND_SLICE: [u8; 14] = [0, 0, 1, 0, 0, 0x0F, 0xFF, 0xF8, 0, 0, 1, 1, 0x88, 0x99];

    fn read(frame: &[u8]) -> Result<AccessUnit, AccessUnitError> {
        let mut access_unit = AccessUnit::default();
        access_unit.read(frame).map(|()| access_unit)
    }

    #[test]
    fn leading_zeros_are_part_of_the_first_header_and_nothing_else_may_lead() {
        let with_zeros = |count: usize| [&vec![0; count][..], &PICTURE_AND_SLICE].concat();
        let access_unit = read(&with_zeros(MOST_LEADING_ZEROS)).unwrap();
        assert_eq!((access_unit.units[0].start, access_unit.units[0].end), (0, MOST_LEADING_ZEROS + 8));
        assert_eq!(read(&with_zeros(MOST_LEADING_ZEROS + 1)).unwrap_err(), AccessUnitError::Start);
        assert_eq!(read(&[&[7][..], &PICTURE_AND_SLICE].concat()).unwrap_err(), AccessUnitError::Start);
    }

    #[test]
    fn what_is_no_access_unit_is_refused_with_the_reason() {
        assert_eq!(read(&[]).unwrap_err(), AccessUnitError::NoPicture);
        assert_eq!(read(&[0, 0, 1, 0xB3, 1, 2, 3]).unwrap_err(), AccessUnitError::NoPicture);
        assert_eq!(read(&PICTURE_AND_SLICE[8..]).unwrap_err(), AccessUnitError::SliceWithoutPicture { offset: 0 });
        assert_eq!(read(&PICTURE_AND_SLICE[..7]).unwrap_err(), AccessUnitError::PictureHeader { offset: 0 });
        assert_eq!(read(&[0, 0, 1, 0, 0, 0x3F, 0xFF, 0xF8]).unwrap_err(), AccessUnitError::PictureHeader { offset: 0 });
    }
}
