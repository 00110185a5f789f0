//! What a stream is in a file: sample entries, and samples.

use bytes::{Bytes, BytesMut};

use super::nal;
use crate::mpeg_ts::StreamType;

/// What a stream looks or sounds like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Of video.
    Picture {
        /// Width in pixels.
        width: u16,
        /// Height in pixels.
        height: u16,
    },
    /// Of sound.
    Sound {
        /// How many channels.
        channels: u8,
        /// Samples per second and channel.
        sample_rate: u32,
    },
}

/// An access unit that cannot stand in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// It is not NAL units behind start codes.
    #[error("the access unit does not begin with a start code")]
    NoStartCode,
    /// It does not begin with a header of ADTS, or is no longer than that.
    #[error("the packet of AAC has no ADTS header")]
    NoHeader,
    /// It is 4 GiB or more.
    #[error("the access unit is too large")]
    TooLarge,
    /// What a decoder needs first has not come.
    #[error("the stream has no parameter sets, which the index of an MP4 file needs")]
    NoParameterSets,
    /// No access unit came.
    #[error("a track has no access unit")]
    Empty,
    /// Its parameter sets cannot be read.
    #[error("the parameter sets of the stream cannot be read")]
    ParameterSets,
}

/// The bytes of an access unit in the file.
///
/// # Errors
/// When it is not one of this kind of stream.
pub fn sample(coding: StreamType, unit: &Bytes) -> Result<Bytes, SampleError> {
    match coding {
        StreamType::H264 | StreamType::H265 => {
            let mut sample = BytesMut::with_capacity(unit.len() + 16);
            nal::put_lengths(unit, &mut sample)?;
            Ok(sample.freeze())
        }
        StreamType::AacAdts => Ok(unit.slice(adts_header(unit)?..)),
        _ => Ok(unit.clone()),
    }
}

/// Appends the same.
pub(super) fn put_sample(coding: StreamType, unit: &[u8], out: &mut BytesMut) -> Result<(), SampleError> {
    match coding {
        StreamType::H264 | StreamType::H265 => nal::put_lengths(unit, out)?,
        StreamType::AacAdts => out.extend_from_slice(&unit[adts_header(unit)?..]),
        _ => out.extend_from_slice(unit),
    }
    Ok(())
}

/// How many bytes it has there.
pub(super) fn sample_size(coding: StreamType, unit: &[u8]) -> Result<u32, SampleError> {
    let size = match coding {
        StreamType::H264 | StreamType::H265 => nal::size_with_lengths(unit)?,
        StreamType::AacAdts => unit.len() - adts_header(unit)?,
        _ => unit.len(),
    };
    u32::try_from(size).map_err(|_| SampleError::TooLarge)
}

/// Bytes of the header that a packet of AAC begins with (ISO/IEC 14496-3, 1.A.2.2): seven, and two more with a check.
pub(super) fn adts_header(unit: &[u8]) -> Result<usize, SampleError> {
    match unit {
        [0xFF, second, ..] if second & 0xF6 == 0xF0 => {
            let length = if second & 1 == 1 { 7 } else { 9 };
            if unit.len() > length { Ok(length) } else { Err(SampleError::NoHeader) }
        }
        _ => Err(SampleError::NoHeader),
    }
}
