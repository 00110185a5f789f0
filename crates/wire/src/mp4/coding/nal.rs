//! NAL units behind their lengths (ISO/IEC 14496-15, 5.3.2 and 8.3.1), and behind start codes.

use bytes::{BufMut, Bytes, BytesMut};

use super::{Coding, Configuration, SampleError};
use crate::rtp_payload::byte_stream::{LONG_START_CODE, START_CODE, check_beginning, nal_units};

/// Bytes of a length, as they are written here.
pub(super) const LENGTH_SIZE: usize = 4;

/// NAL units of an access unit with start codes; an empty one, which start codes allow, is left out.
fn units(unit: &[u8]) -> Result<impl Iterator<Item = &[u8]>, SampleError> {
    check_beginning(unit).map_err(|_| SampleError::NoStartCode)?;
    Ok(nal_units(unit).map(|(_, nal)| nal).filter(|nal| !nal.is_empty()))
}

/// The same behind lengths, piece by piece.
pub(super) fn put_lengths(unit: &[u8], put: &mut dyn FnMut(&[u8])) -> Result<(), SampleError> {
    for nal in units(unit)? {
        put(&u32::try_from(nal.len()).map_err(|_| SampleError::TooLarge)?.to_be_bytes());
        put(nal);
    }
    Ok(())
}

/// The parameter sets of an access unit with start codes.
pub(super) fn parameter_sets(coding: Coding, unit: &[u8]) -> Result<Vec<&[u8]>, SampleError> {
    Ok(units(unit)?.filter(|nal| is_parameter_set(coding, nal)).collect())
}

/// The type of a NAL unit, which is not empty (ITU-T H.264, 7.3.1; ITU-T H.265, 7.3.1.2).
pub(super) fn unit_type(coding: Coding, nal: &[u8]) -> u8 {
    match coding {
        Coding::H265 => nal[0] >> 1 & 0x3F,
        _ => nal[0] & 0x1F,
    }
}

/// True for those before which annex B demands a long start code (ITU-T H.264, B.1.2; ITU-T H.265, B.2.2).
pub(super) fn is_parameter_set(coding: Coding, nal: &[u8]) -> bool {
    match coding {
        Coding::H265 => matches!(unit_type(coding, nal), 32..=34),
        _ => matches!(unit_type(coding, nal), 7 | 8),
    }
}

/// A sample as an access unit with start codes, behind the parameter sets of the index where they are wanted and it has none of its
/// own; `None` where lengths do not fit it.
pub(super) fn with_start_codes(
    coding: Coding,
    configuration: &Configuration,
    sample: &[u8],
    wants_headers: bool,
) -> Option<Bytes> {
    let nals = with_lengths(configuration.length_size, sample)?;
    let has_own = nals.iter().any(|nal| is_parameter_set(coding, nal));
    let mut unit = BytesMut::with_capacity(sample.len() + 16);
    let before = configuration.headers.iter().filter(|_| wants_headers && !has_own).map(|nal| &nal[..]);
    for nal in before.chain(nals.iter().copied()) {
        let is_long = unit.is_empty() || is_parameter_set(coding, nal);
        unit.put_slice(if is_long { &LONG_START_CODE } else { &START_CODE });
        unit.put_slice(nal);
    }
    Some(unit.freeze())
}

fn with_lengths(length_size: usize, mut rest: &[u8]) -> Option<Vec<&[u8]>> {
    let mut nals = Vec::new();
    while !rest.is_empty() {
        let (length, behind) = rest.split_at_checked(length_size)?;
        let length = length.iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
        let (nal, behind) = behind.split_at_checked(length).filter(|_| length > 0)?;
        nals.push(nal);
        rest = behind;
    }
    Some(nals)
}
