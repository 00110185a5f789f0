//! AAC: samples without ADTS headers (ISO/IEC 14496-14, 5.6), and its configuration (ISO/IEC 14496-3, 1.6.2.1).

use super::{Coding, ConfigurationBox, HeadersBefore, Row, SampleError, Samples};

pub(super) static AAC: Row = Row {
    coding: Coding::Aac,
    is_video: false,
    entries: &[(b"mp4a", HeadersBefore::None)],
    brand: None,
    configuration: ConfigurationBox::Descriptors(&[0x40, 0x66, 0x67, 0x68]),
    of_unit: |unit, _| {
        adts_header(unit)?;
        let (object_type, rate) = (1 + u16::from(unit[2] >> 6), u16::from(unit[2] >> 2 & 15));
        let channels = u16::from((unit[2] & 1) << 2 | unit[3] >> 6);
        Ok(Some((object_type << 11 | rate << 7 | channels << 3).to_be_bytes().to_vec()))
    },
    samples: Samples::Without(adts_header),
    unit: |configuration, sample, _| {
        let header = adts_of(configuration.headers.first()?, sample.len())?;
        Some([&header, &sample[..]].concat().into())
    },
};

/// Bytes of the header that a packet of AAC begins with (ISO/IEC 14496-3, 1.A.2.2): seven, and two more with a check.
fn adts_header(unit: &[u8]) -> Result<usize, SampleError> {
    match unit {
        [0xFF, second, ..] if second & 0xF6 == 0xF0 => {
            let length = if second & 1 == 1 { 7 } else { 9 };
            if unit.len() > length { Ok(length) } else { Err(SampleError::NoHeader) }
        }
        _ => Err(SampleError::NoHeader),
    }
}

/// A header of ADTS, without a check, for a packet of `length` bytes by the first two bytes of its configuration; `None` where
/// such a header cannot say it (ISO/IEC 14496-3, 1.A.2.2).
fn adts_of(configuration: &[u8], length: usize) -> Option<[u8; 7]> {
    let &[high, low, ..] = configuration else { return None };
    let word = u16::from_be_bytes([high, low]);
    let (object_type, rate, channels) = (word >> 11, (word >> 7 & 15) as u8, (word >> 3 & 15) as u8);
    let length = length + 7;
    if !(1..=4).contains(&object_type) || rate > 12 || channels > 7 || length > 8_191 {
        return None;
    }
    let profile = object_type as u8 - 1;
    // A buffer fullness of 0x7FF is that of a variable rate.
    Some([
        0xFF,
        0xF1,
        profile << 6 | rate << 2 | channels >> 2,
        channels << 6 | (length >> 11) as u8,
        (length >> 3) as u8,
        ((length & 7) << 5) as u8 | 0x1F,
        0xFC,
    ])
}
