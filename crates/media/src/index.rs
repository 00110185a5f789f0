//! The frame index: what is known of every access unit of a movie.

use std::fmt;
use std::time::Duration;

use framewire_units::{Bitrate, DataSize};

use crate::access_unit::{AccessUnit, Codec, KeyKind};
use crate::frame_references::References;
use crate::picture_order::PictureOrder;
use crate::recovery::Recovery;
use crate::scanner::CodedFrame;

/// Coding type of a picture (ISO/IEC 13818-2, table 6-12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PictureType {
    /// Intra coded: needs no other picture.
    I,
    /// Predicted from the last I or P picture.
    P,
    /// Predicted from the I or P pictures around it; nothing refers to it.
    B,
    /// DC-intra coded (ISO/IEC 11172-2 only).
    D,
}

impl fmt::Display for PictureType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::I => "I",
            Self::P => "P",
            Self::B => "B",
            Self::D => "D",
        })
    }
}

/// What a coded picture holds (ISO/IEC 13818-2, table 6-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureStructure {
    /// One picture for the whole frame.
    Frame,
    /// Two field pictures, paired into this frame; the top field came first.
    TopFieldFirst,
    /// Two field pictures, paired into this frame; the bottom field came first.
    BottomFieldFirst,
    /// One field picture whose partner is missing.
    SingleField,
}

/// Frames per second as the stream states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    /// Numerator.
    pub numerator: u32,
    /// Denominator.
    pub denominator: u32,
}

impl FrameRate {
    /// `numerator` / `denominator` in lowest terms; `None` when one is 0 or does not fit.
    pub(crate) fn reduced(numerator: u64, denominator: u64) -> Option<Self> {
        let (mut divisor, mut rest) = (numerator, denominator);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let reduce = |term: u64| u32::try_from(term.checked_div(divisor)?).ok().filter(|term| *term > 0);
        Some(Self { numerator: reduce(numerator)?, denominator: reduce(denominator)? })
    }

    /// When frame `count` starts, counted from frame 0, to the nearest nanosecond.
    pub fn time_of(self, count: u64) -> Duration {
        let nanos = u128::from(count) * u128::from(self.denominator) * 1_000_000_000;
        let rate = u128::from(self.numerator);
        Duration::from_nanos(u64::try_from((nanos + rate / 2) / rate).unwrap_or(u64::MAX))
    }

    /// Mean rate of so many bytes in `frames` frames, at least one, to the nearest bit/s.
    pub(crate) fn mean_of(self, size: DataSize, frames: usize) -> Bitrate {
        let bits = u128::from(size.as_bits()) * u128::from(self.numerator);
        let per_second = u128::from(self.denominator) * frames as u128;
        Bitrate::from_bps(u64::try_from((bits + per_second / 2) / per_second).unwrap_or(u64::MAX))
    }
}

/// Time code of a group of pictures (ISO/IEC 13818-2, 6.3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeCode {
    /// True when frame numbers are dropped to follow the clock at 29.97 Hz.
    pub drop_frame: bool,
    /// Hours, 0 to 23.
    pub hours: u8,
    /// Minutes, 0 to 59.
    pub minutes: u8,
    /// Seconds, 0 to 59.
    pub seconds: u8,
    /// Pictures since the start of the second, 0 to 59.
    pub pictures: u8,
}

impl TimeCode {
    /// The time that it stands for, from 00:00:00, at the frame rate that it counts with.
    ///
    /// A time code counts whole frames, so 29.97 Hz are counted as 30; with `drop_frame`, the first two numbers of every
    /// minute but each tenth are left out (IEC 60461; ISO/IEC 13818-2, 6.3.8).
    pub fn time_at(self, rate: FrameRate) -> Duration {
        let counted = u64::from(rate.numerator.div_ceil(rate.denominator));
        let minutes = u64::from(self.hours) * 60 + u64::from(self.minutes);
        let numbers = (minutes * 60 + u64::from(self.seconds)) * counted + u64::from(self.pictures);
        let left_out = if self.drop_frame { 2 * (minutes - minutes / 10) } else { 0 };
        rate.time_of(numbers.saturating_sub(left_out))
    }
}

/// A group-of-pictures header (ISO/IEC 13818-2, 6.2.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GopHeader {
    /// Time code of the first displayed picture.
    pub time_code: TimeCode,
    /// The leading B pictures do not refer to the group before.
    pub closed: bool,
    /// The leading B pictures cannot be decoded: what they refer to is gone.
    pub broken_link: bool,
}

/// What the (first) sequence header, or sequence parameter set, says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceHeader {
    /// The codec.
    pub codec: Codec,
    /// Width in pixels.
    pub width: u16,
    /// Height in pixels.
    pub height: u16,
    /// Frame rate.
    pub frame_rate: FrameRate,
    /// Stated bit rate in bit/s, where one is stated.
    pub bit_rate: Option<u64>,
    /// True for MPEG-2 (a sequence extension follows), false for MPEG-1 and other codecs.
    pub mpeg2: bool,
    /// True when all frames are progressive.
    pub progressive: bool,
}

/// One access unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Number in decode order, from 0.
    pub decode_index: u32,
    /// Number in display order, from 0.
    pub display_index: u32,
    /// Coding type; of two paired fields, the first one's.
    pub kind: PictureType,
    /// Set where decoding can begin.
    pub key: Option<KeyKind>,
    /// True for a frame that is shown before the key frame it follows, and may refer to what came before that.
    pub leading: bool,
    /// False when the stream states that no other frame refers to it.
    pub referenced: bool,
    /// Temporal layer; 0 where the stream has none.
    pub temporal_layer: u8,
    /// Temporal reference, modulo 1024 (ISO/IEC 13818-2, 6.3.9); 0 where the codec has none.
    pub temporal_reference: u16,
    /// Number of the group of pictures, from 0; of H.264 and H.265 every key frame begins one.
    pub gop: u32,
    /// The group's header, on the first picture after one.
    pub gop_header: Option<GopHeader>,
    /// Whether fields were paired.
    pub structure: PictureStructure,
    /// Byte offset in the file. A frame starts with the headers before its picture, so frames tile the file.
    pub offset: u64,
    /// Size in bytes.
    pub size: u32,
    /// When it is to be sent and decoded, from the first frame.
    pub decode_time: Duration,
    /// When it is shown, from the first frame shown.
    pub display_time: Duration,
    /// Decode indices of the frames it cannot be decoded without, ascending. B pictures at the start of an open group
    /// refer to the last I or P picture of the group before as well.
    pub references: References,
    /// True when it also refers to something that is not in the stream, as the leading frames of its start or of a broken
    /// link.
    pub missing_reference: bool,
    /// What a decoder derives its place in display order from (H.264, H.265).
    pub picture_order: Option<PictureOrder>,
    /// Whether gradual intra refresh has made it independent of what came before (H.264, H.265), by decode indices.
    pub recovery: Recovery,
}

impl Frame {
    /// What is known of the frame of this number in decode order where it stands: numbers, times and references are
    /// still to come.
    pub(crate) fn at(number: usize, offset: u64, size: u32) -> Self {
        Self {
            decode_index: number as u32,
            display_index: 0,
            kind: PictureType::P,
            key: None,
            leading: false,
            referenced: true,
            temporal_layer: 0,
            temporal_reference: 0,
            gop: 0,
            gop_header: None,
            structure: PictureStructure::Frame,
            offset,
            size,
            decode_time: Duration::ZERO,
            display_time: Duration::ZERO,
            references: References::default(),
            missing_reference: false,
            picture_order: None,
            recovery: Recovery::default(),
        }
    }

    /// The frame of this number as the scanner found it.
    pub(crate) fn of(number: usize, coded: &CodedFrame) -> Self {
        Self {
            kind: coded.kind,
            temporal_reference: coded.temporal_reference,
            gop_header: coded.gop_header,
            structure: coded.structure,
            ..Self::at(number, coded.offset, coded.size as u32)
        }
    }

    /// What the reader of access units returns of it.
    pub(crate) fn take(&mut self, unit: &AccessUnit) {
        self.kind = unit.kind;
        self.key = unit.key;
        self.leading = unit.leading;
        self.referenced = unit.referenced;
        self.temporal_layer = unit.temporal_layer;
        self.gop_header = unit.gop_header;
        self.references = unit.references.iter().map(|&other| other as u32).collect();
        self.missing_reference = unit.missing_reference;
        self.picture_order = unit.picture_order;
        self.recovery = unit.recovery;
    }
}

/// The numbers of `keys` in the order in which these sort: decode indices in display order.
pub(crate) fn sorted_by<K: Ord + Copy>(keys: &[K]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by_key(|&number| keys[number as usize]);
    order
}

/// Every access unit of a movie, in decode order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameIndex {
    /// The first sequence header.
    pub sequence: SequenceHeader,
    /// Frames in decode order.
    pub frames: Vec<Frame>,
}
