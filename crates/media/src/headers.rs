//! The headers above the slices, as far as the frame index needs them.

use crate::bits::{BadField, BitReader};
use crate::codec::Codec;
use crate::picture::{FrameRate, GopHeader, PictureType, SequenceHeader, TimeCode};
use crate::start_code::{self, value};

/// Frame rates by `frame_rate_code` (table 6-4); codes 0 and 9 to 15 are forbidden or reserved.
const FRAME_RATES: [(u32, u32); 8] =
    [(24_000, 1001), (24, 1), (25, 1), (30_000, 1001), (30, 1), (50, 1), (60_000, 1001), (60, 1)];

/// `bit_rate` counts units of this many bit/s (6.3.3).
const BIT_RATE_UNIT: u64 = 400;

/// `bit_rate` of an MPEG-1 stream of variable rate (ISO/IEC 11172-2, 2.4.3.2).
const VARIABLE_BIT_RATE: u64 = 0x3_ffff;

/// Values of `extension_start_code_identifier` (table 6-2).
const SEQUENCE_EXTENSION: u32 = 1;
const PICTURE_CODING_EXTENSION: u32 = 8;

const CUT_OFF: BadField = BadField { name: "sequence header", value: None };

/// Reads a `sequence_header()` (6.2.2.1).
pub(crate) fn sequence_header(payload: &[u8]) -> Result<SequenceHeader, BadField> {
    let mut reader = BitReader::new(payload);
    let mut field = |bits| reader.bits(bits).ok_or(CUT_OFF);
    let (width, height, _aspect, rate_code) = (field(12)?, field(12)?, field(4)?, field(4)?);
    let bit_rate = u64::from(field(18)?);
    for (name, value) in [("horizontal_size", width), ("vertical_size", height)] {
        if value == 0 {
            return Err(BadField { name, value: Some(value) });
        }
    }
    let (numerator, denominator) = *(rate_code as usize)
        .checked_sub(1)
        .and_then(|row| FRAME_RATES.get(row))
        .ok_or(BadField { name: "frame_rate_code", value: Some(rate_code) })?;
    Ok(SequenceHeader {
        codec: Codec::MpegVideo,
        width: width as u16,
        height: height as u16,
        frame_rate: FrameRate { numerator, denominator },
        bit_rate: (bit_rate != 0 && bit_rate != VARIABLE_BIT_RATE).then_some(bit_rate * BIT_RATE_UNIT),
        mpeg2: false,
        progressive: true,
    })
}

/// What the sequence header in an access unit says, with its extension (6.2.2): every group may begin with one.
///
/// ```
/// use framewire_media::{FrameRate, sequence_of};
///
/// let header = [0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18, 0, 0, 1, 0xb8];
/// let sequence = sequence_of(&header).expect("there is one");
/// assert_eq!((sequence.width, sequence.height), (352, 288));
/// assert_eq!(sequence.frame_rate, FrameRate { numerator: 25, denominator: 1 });
/// assert_eq!(sequence_of(&header[12..]), None);
/// ```
pub fn sequence_of(unit: &[u8]) -> Option<SequenceHeader> {
    let mut stated = None;
    for part in start_code::parts(unit) {
        match (part.split_first()?, stated) {
            ((&value::SEQUENCE_HEADER, payload), _) => stated = sequence_header(payload).ok(),
            ((&value::EXTENSION, payload), Some(header)) => {
                if let Some(Extension::Sequence(extension)) = extension(payload) {
                    stated = Some(extension.apply(header));
                }
            }
            ((&(value::PICTURE | value::GROUP), _), _) => break,
            _ => {}
        }
    }
    stated
}

/// What an `extension_data()` holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extension {
    Sequence(SequenceExtension),
    PictureCoding(PictureCoding),
    /// One that the frame index does not need.
    Other,
}

/// The fields of a `sequence_extension()` (6.2.2.3) that extend the sequence header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceExtension {
    progressive: bool,
    width: u16,
    height: u16,
    bit_rate: u64,
    /// `frame_rate_extension_n` and `frame_rate_extension_d`.
    frame_rate: (u32, u32),
}

impl SequenceExtension {
    /// The sequence header with this extension applied (6.3.5). The low bits come from the header.
    pub(crate) fn apply(&self, header: SequenceHeader) -> SequenceHeader {
        let low_bit_rate = header.bit_rate.map_or(0, |rate| rate / BIT_RATE_UNIT);
        let bit_rate = (self.bit_rate << 18 | low_bit_rate) * BIT_RATE_UNIT;
        let numerator = header.frame_rate.numerator * (self.frame_rate.0 + 1);
        let denominator = header.frame_rate.denominator * (self.frame_rate.1 + 1);
        SequenceHeader {
            codec: header.codec,
            width: header.width | self.width << 12,
            height: header.height | self.height << 12,
            frame_rate: FrameRate::reduced(numerator.into(), denominator.into()).unwrap_or(header.frame_rate),
            bit_rate: (bit_rate != 0).then_some(bit_rate),
            mpeg2: true,
            progressive: self.progressive,
        }
    }
}

/// `picture_structure` (table 6-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parity {
    TopField,
    BottomField,
    Frame,
}

impl Parity {
    /// Whether these are the two fields of one frame.
    pub(crate) fn is_opposite_of(self, other: Self) -> bool {
        matches!((self, other), (Self::TopField, Self::BottomField) | (Self::BottomField, Self::TopField))
    }
}

/// A coded picture, as far as fields are paired by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodedPicture {
    pub(crate) header: PictureHeader,
    pub(crate) parity: Parity,
}

impl CodedPicture {
    /// Whether `second` is the second field of the frame that this is the first field of: the second field of an I
    /// frame may be P, and a B field pairs with a B field only (6.1.1.4.1).
    pub(crate) fn is_completed_by(self, second: Self) -> bool {
        self.parity.is_opposite_of(second.parity)
            && self.header.temporal_reference == second.header.temporal_reference
            && (self.header.kind == PictureType::B) == (second.header.kind == PictureType::B)
    }
}

/// The fields of a `picture_coding_extension()` (6.2.3.1) that the frame index needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PictureCoding {
    pub(crate) parity: Parity,
    pub(crate) top_field_first: bool,
    pub(crate) repeat_first_field: bool,
}

impl PictureCoding {
    /// What holds where there is no extension (MPEG-1): frames, none repeated.
    pub(crate) const MPEG1: Self = Self { parity: Parity::Frame, top_field_first: false, repeat_first_field: false };

    /// For how many fields the picture is shown (6.3.10, `repeat_first_field`); two make a frame period.
    pub(crate) fn shown_fields(&self, progressive_sequence: bool) -> u8 {
        match (self.repeat_first_field, progressive_sequence, self.top_field_first) {
            (false, ..) => 2,
            (true, false, _) => 3,
            (true, true, false) => 4,
            (true, true, true) => 6,
        }
    }
}

/// Reads the identifier and the fields of an extension; `None` when it is cut off.
pub(crate) fn extension(payload: &[u8]) -> Option<Extension> {
    let mut reader = BitReader::new(payload);
    match reader.bits(4)? {
        SEQUENCE_EXTENSION => sequence_extension(&mut reader).map(Extension::Sequence),
        PICTURE_CODING_EXTENSION => picture_coding_extension(&mut reader).map(Extension::PictureCoding),
        _ => Some(Extension::Other),
    }
}

fn sequence_extension(reader: &mut BitReader) -> Option<SequenceExtension> {
    let _profile_and_level = reader.bits(8)?;
    let progressive = reader.flag()?;
    let _chroma_format = reader.bits(2)?;
    let (width, height) = (reader.bits(2)? as u16, reader.bits(2)? as u16);
    let bit_rate = u64::from(reader.bits(12)?);
    let _marker_vbv_low_delay = reader.bits(1 + 8 + 1)?;
    let frame_rate = (reader.bits(2)?, reader.bits(5)?);
    Some(SequenceExtension { progressive, width, height, bit_rate, frame_rate })
}

fn picture_coding_extension(reader: &mut BitReader) -> Option<PictureCoding> {
    let _f_codes = reader.bits(16)?;
    let _intra_dc_precision = reader.bits(2)?;
    let parity = match reader.bits(2)? {
        1 => Parity::TopField,
        2 => Parity::BottomField,
        // 0 is reserved: what it says is unknown, so the common case is assumed.
        _ => Parity::Frame,
    };
    let top_field_first = reader.flag()?;
    let _frame_pred_to_alternate_scan = reader.bits(5)?;
    let repeat_first_field = reader.flag()?;
    Some(PictureCoding { parity, top_field_first, repeat_first_field })
}

/// Reads a `group_of_pictures_header()` (6.2.2.6); `None` when it is cut off.
pub(crate) fn gop_header(payload: &[u8]) -> Option<GopHeader> {
    let mut reader = BitReader::new(payload);
    let drop_frame = reader.flag()?;
    let (hours, minutes) = (reader.bits(5)? as u8, reader.bits(6)? as u8);
    let _marker = reader.flag()?;
    let (seconds, pictures) = (reader.bits(6)? as u8, reader.bits(6)? as u8);
    let time_code = TimeCode { drop_frame, hours, minutes, seconds, pictures };
    Some(GopHeader { time_code, closed: reader.flag()?, broken_link: reader.flag()? })
}

/// The fields of a `picture_header()` (6.2.3) that the frame index needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PictureHeader {
    pub(crate) temporal_reference: u16,
    pub(crate) kind: PictureType,
}

/// Reads a picture header; `None` when it is cut off or its coding type is forbidden or reserved (table 6-12).
pub(crate) fn picture_header(payload: &[u8]) -> Option<PictureHeader> {
    let mut reader = BitReader::new(payload);
    let temporal_reference = reader.bits(10)? as u16;
    let kind = match reader.bits(3)? {
        1 => PictureType::I,
        2 => PictureType::P,
        3 => PictureType::B,
        4 => PictureType::D,
        _ => return None,
    };
    let _vbv_delay = reader.bits(16)?;
    Some(PictureHeader { temporal_reference, kind })
}
