//! MPEG video, MPEG-4 part 2 and MPEG audio (ISO/IEC 14496-14, 5.6): samples are access units.

use bytes::Bytes;

use super::{Coding, Configuration, ConfigurationBox, HeadersBefore, Row, SampleError, Samples, Shape};
use crate::start_code;

/// `vop_start_code` and `group_of_vop_start_code` (ISO/IEC 14496-2, table 6-3).
const VOP: [u8; 2] = [0xB3, 0xB6];

const VIDEO: Row = Row {
    coding: Coding::Mpeg1Video,
    is_video: true,
    entries: &[(b"mp4v", HeadersBefore::First)],
    brand: None,
    configuration: ConfigurationBox::Descriptors(&[0x6A]),
    of_unit: |unit, _| Ok(Some(headers_before(unit, &[start_code::GROUP, start_code::PICTURE]))),
    samples: Samples::Without(|_| Ok(0)),
    unit: with_headers,
};

const AUDIO: Row = Row {
    coding: Coding::Mpeg1Audio,
    is_video: false,
    entries: &[(b"mp4a", HeadersBefore::None)],
    configuration: ConfigurationBox::Descriptors(&[0x6B]),
    of_unit: no_configuration,
    ..VIDEO
};

pub(super) static MPEG_1_VIDEO: Row = VIDEO;

/// Of a profile each; main profile is written.
pub(super) static MPEG_2_VIDEO: Row = Row {
    coding: Coding::Mpeg2Video,
    configuration: ConfigurationBox::Descriptors(&[0x61, 0x60, 0x62, 0x63, 0x64, 0x65]),
    ..VIDEO
};

pub(super) static MPEG_4_PART_2: Row = Row {
    coding: Coding::Mpeg4Part2,
    configuration: ConfigurationBox::Descriptors(&[0x20]),
    of_unit: |unit, _| Ok(Some(headers_before(unit, &VOP))),
    ..VIDEO
};

pub(super) static MPEG_1_AUDIO: Row = AUDIO;

pub(super) static MPEG_2_AUDIO: Row =
    Row { coding: Coding::Mpeg2Audio, configuration: ConfigurationBox::Descriptors(&[0x69]), ..AUDIO };

/// MPEG audio says all in its headers.
#[allow(clippy::unnecessary_wraps, reason = "others have none, or fail")]
fn no_configuration(_unit: &[u8], _shape: Shape) -> Result<Option<Vec<u8>>, SampleError> {
    Ok(Some(Vec::new()))
}

/// What stands before the first of these start codes.
fn headers_before(unit: &[u8], codes: &[u8]) -> Vec<u8> {
    let end = start_code::start_codes(unit).find(|(_, code)| codes.contains(code)).map_or(0, |(offset, _)| offset);
    unit[..end].to_vec()
}

/// A sample behind the headers of the index, unless it begins with its own.
#[allow(clippy::unnecessary_wraps, reason = "samples of others may be no access units")]
fn with_headers(configuration: &Configuration, sample: &Bytes, wants_headers: bool) -> Option<Bytes> {
    let headers = configuration.headers.first().filter(|headers| wants_headers && !headers.is_empty());
    let headers = headers.filter(|headers| sample.first_chunk::<4>() != headers.first_chunk());
    Some(headers.map_or_else(|| sample.clone(), |headers| [&headers[..], &sample[..]].concat().into()))
}
