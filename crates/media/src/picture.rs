//! What headers say of a picture, of its group and of its sequence.

use std::fmt;
use std::time::Duration;

use framewire_units::{Bitrate, DataSize};

use crate::codec::Codec;

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
