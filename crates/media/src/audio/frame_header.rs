//! Headers of frames: MPEG audio (ISO/IEC 11172-3, 2.4.1.3; 13818-3, 2.4.2.3) and ADTS (ISO/IEC 14496-3, 1.A.2.2).

use crate::audio::{AudioCodec, AudioError, AudioFormat};

/// What the header of a frame states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) format: AudioFormat,
    /// Bytes, with the header.
    pub(super) length: usize,
    /// Samples of each channel.
    pub(super) samples: u32,
}

const MPEG_HEADER: usize = 4;
const ADTS_HEADER: usize = 7;

/// Bytes of the longer one.
pub(super) const LONGEST: usize = ADTS_HEADER;

/// ISO/IEC 14496-3, table 1.18.
const ADTS_RATES: [u32; 13] =
    [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];

/// ISO/IEC 11172-3, 2.4.2.3: kbit/s of MPEG-1 layers II and III, from index 1 on.
const LAYER_2: [u32; 14] = [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384];
const LAYER_3: [u32; 14] = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
/// ISO/IEC 13818-3, 2.4.2.3: the same of both at the lower sample rates.
const LOW_RATES: [u32; 14] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

impl FrameHeader {
    /// The frame that begins here, whole or not; `None` where none does.
    pub(super) fn begins(bytes: &[u8]) -> Option<Self> {
        Self::read(bytes, 0).ok()
    }

    /// The frame that begins at a place of a stream, and is whole.
    pub(super) fn parse(stream: &[u8], at: usize) -> Result<Self, AudioError> {
        let (header, left) = (Self::read(stream, at)?, stream.len() - at);
        if header.length > left {
            return Err(AudioError::CutOff { offset: at as u64, needed: header.length, left });
        }
        Ok(header)
    }

    fn read(stream: &[u8], at: usize) -> Result<Self, AudioError> {
        let left = &stream[at..];
        let Some(&[first, second, ..]) = left.first_chunk::<MPEG_HEADER>() else {
            return Err(AudioError::CutOff { offset: at as u64, needed: MPEG_HEADER, left: left.len() });
        };
        let refused = |field, value, allowed| {
            Err(AudioError::Frame { offset: at as u64, field, value: u32::from(value), allowed })
        };
        let sync = u16::from_be_bytes([first, second]) >> 5;
        if sync != 0x7FF {
            return refused("sync word", sync, "2047");
        }
        // The layer 0 is ADTS, which has one more bit of sync word.
        match second >> 1 & 3 {
            0 => adts(left, at),
            layer @ (1 | 2) => mpeg(left, at, layer == 2),
            _ => refused("layer", 1, "II or III"),
        }
    }
}

fn mpeg(bytes: &[u8], at: usize, is_layer_2: bool) -> Result<FrameHeader, AudioError> {
    let refused = |field, value, allowed| Err(AudioError::Frame { offset: at as u64, field, value, allowed });
    let is_mpeg_1 = bytes[1] >> 3 & 3 == 3;
    let divisor = match bytes[1] >> 3 & 3 {
        3 => 1,
        2 => 2,
        0 if !is_layer_2 => 4, // "MPEG-2.5", of layer III only
        version => return refused("version", u32::from(version), "0, 2 or 3"),
    };
    let rate_index = bytes[2] >> 4;
    let rates = match (is_mpeg_1, is_layer_2) {
        (true, true) => LAYER_2,
        (true, false) => LAYER_3,
        (false, _) => LOW_RATES,
    };
    let Some(&kbps) = usize::from(rate_index).checked_sub(1).and_then(|index| rates.get(index)) else {
        return refused("bit rate index", u32::from(rate_index), "1 to 14");
    };
    let rate_of_samples = bytes[2] >> 2 & 3;
    let Some(&sample_rate) = [44_100, 48_000, 32_000].get(usize::from(rate_of_samples)) else {
        return refused("sampling frequency", u32::from(rate_of_samples), "0 to 2");
    };
    let sample_rate = sample_rate / divisor;
    let samples = if is_mpeg_1 || is_layer_2 { 1_152 } else { 576 };
    let padding = u32::from(bytes[2] >> 1 & 1);
    let channels = if bytes[3] >> 6 == 3 { 1 } else { 2 };
    let codec = if is_layer_2 { AudioCodec::Mp2 } else { AudioCodec::Mp3 };
    Ok(FrameHeader {
        format: AudioFormat { codec, sample_rate, channels, pre_skip: 0 },
        length: (samples / 8 * kbps * 1_000 / sample_rate + padding) as usize,
        samples,
    })
}

fn adts(bytes: &[u8], at: usize) -> Result<FrameHeader, AudioError> {
    let refused = |field, value, allowed| Err(AudioError::Frame { offset: at as u64, field, value, allowed });
    let Some(header) = bytes.first_chunk::<ADTS_HEADER>() else {
        return Err(AudioError::CutOff { offset: at as u64, needed: ADTS_HEADER, left: bytes.len() });
    };
    let numbers = header.map(u32::from);
    if numbers[1] & 0x10 == 0 {
        return refused("sync word of ADTS", numbers[0] << 4 | numbers[1] >> 4, "4095");
    }
    let index = numbers[2] >> 2 & 15;
    let Some(&sample_rate) = ADTS_RATES.get(index as usize) else {
        return refused("sampling frequency index", index, "0 to 12");
    };
    let channels = match (numbers[2] & 1) << 2 | numbers[3] >> 6 {
        0 => return refused("channel configuration", 0, "1 to 7"),
        7 => 8,
        channels => channels as u8,
    };
    let length = (numbers[3] & 3) << 11 | numbers[4] << 3 | numbers[5] >> 5;
    if length <= ADTS_HEADER as u32 {
        return refused("frame length", length, "8 to 8191");
    }
    Ok(FrameHeader {
        format: AudioFormat { codec: AudioCodec::Aac, sample_rate, channels, pre_skip: 0 },
        length: length as usize,
        samples: 1_024 * ((numbers[6] & 3) + 1),
    })
}

/// Bytes of an ID3v2 tag at the start (ID3v2.4.0, section 3.1); 0 without one.
pub(super) fn tag_in_front(stream: &[u8]) -> usize {
    const HEADER: usize = 10;
    let Some(header) = stream.first_chunk::<HEADER>().filter(|header| header.starts_with(b"ID3")) else { return 0 };
    let size = header[6..].iter().fold(0, |size, &byte| size << 7 | usize::from(byte & 0x7F));
    (HEADER + size).min(stream.len())
}

/// Whether an ID3v1 tag begins here.
pub(super) fn is_tag_behind(rest: &[u8]) -> bool {
    rest.len() == 128 && rest.starts_with(b"TAG")
}
