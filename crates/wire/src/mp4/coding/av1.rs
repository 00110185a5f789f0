//! AV1 (AV1 Codec ISO Media File Format Binding): samples are temporal units without their delimiters.

use bytes::{Bytes, BytesMut};

use super::{Coding, Configuration, ConfigurationBox, HeadersBefore, Row, SampleError, Samples};
use crate::mp4::bits::Bits;
use crate::mp4::boxes::Contents;
use crate::mp4::index::IndexError;
use crate::rtp_payload::obu::{DELIMITER, Obu, SEQUENCE_HEADER, TEMPORAL_DELIMITER, TILE_LIST, units};

pub(super) static AV1: Row = Row {
    coding: Coding::Av1,
    is_video: true,
    // Sync samples have a sequence header of their own (2.4).
    entries: &[(b"av01", HeadersBefore::First)],
    brand: Some(b"av01"),
    configuration: ConfigurationBox::Own(b"av1C", read),
    of_unit: |unit, _| configuration(unit),
    samples: Samples::Pieces(put_units),
    unit: temporal_unit,
};

/// Marker and version of a record (2.3.3).
const MARKER_AND_VERSION: u8 = 0x81;

/// Bytes of a record before its units.
const RECORD: usize = 4;

/// Units that do not stand in samples (2.4).
fn stays_out(unit: &Obu<'_>) -> bool {
    matches!(unit.kind(), TEMPORAL_DELIMITER | TILE_LIST)
}

/// The units of a sample, each with its size.
fn put_units(bytes: &[u8], put: &mut dyn FnMut(&[u8])) -> Result<(), SampleError> {
    for unit in units(bytes) {
        let unit = unit.ok_or(SampleError::NoUnits)?;
        if !stays_out(&unit) {
            unit.put_sized(&mut *put);
        }
    }
    Ok(())
}

/// `AV1CodecConfigurationRecord` (2.3.3) by the first sequence header of a unit, which stands in it.
fn configuration(bytes: &[u8]) -> Result<Option<Vec<u8>>, SampleError> {
    for unit in units(bytes) {
        let unit = unit.ok_or(SampleError::NoUnits)?;
        if unit.kind() == SEQUENCE_HEADER {
            let [profile_and_level, others] =
                sequence(&mut Bits::new(unit.payload)).ok_or(SampleError::ParameterSets)?;
            // No initial presentation delay is said.
            let mut record = vec![MARKER_AND_VERSION, profile_and_level, others, 0];
            unit.put_sized(|piece| record.extend_from_slice(piece));
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// The second and third byte of a record, of a sequence header (AV1 bitstream specification, 5.5.1).
fn sequence(bits: &mut Bits<'_>) -> Option<[u8; 2]> {
    let profile = bits.take(3)?;
    let _still_picture = bits.flag()?;
    let is_reduced = bits.flag()?;
    let (level, tier) = if is_reduced { (bits.take(5)?, 0) } else { operating_points(bits)? };
    let (width_bits, height_bits) = (bits.take(4)? + 1, bits.take(4)? + 1);
    bits.skip((width_bits + height_bits) as usize)?;
    if !is_reduced && bits.flag()? {
        bits.skip(4 + 3)?; // Lengths of frame numbers.
    }
    bits.skip(3)?; // Superblocks, intra filter and edges.
    if !is_reduced {
        skip_tools(bits)?;
    }
    bits.skip(3)?; // Super-resolution, CDEF, restoration.
    let color = color_configuration(bits, profile)?;
    Some([(profile << 5 | level) as u8, (tier << 7) as u8 | color])
}

/// Level and tier of the first operating point, up to the last of them.
fn operating_points(bits: &mut Bits<'_>) -> Option<(u32, u32)> {
    const HIGHEST_LEVEL_WITHOUT_TIER: u32 = 7;
    let mut delay_bits = None;
    if bits.flag()? {
        bits.skip(32 + 32)?; // num_units_in_display_tick, time_scale
        if bits.flag()? {
            bits.unsigned()?;
        }
        if bits.flag()? {
            delay_bits = Some(bits.take(5)? + 1);
            bits.skip(32 + 5 + 5)?; // num_units_in_decoding_tick, and lengths of two times.
        }
    }
    let has_display_delay = bits.flag()?;
    let count = bits.take(5)? + 1;
    let mut first = None;
    for _ in 0..count {
        bits.skip(12)?; // operating_point_idc
        let level = bits.take(5)?;
        let tier = if level > HIGHEST_LEVEL_WITHOUT_TIER { bits.take(1)? } else { 0 };
        if let Some(delay_bits) = delay_bits
            && bits.flag()?
        {
            bits.skip(2 * delay_bits as usize + 1)?;
        }
        if has_display_delay && bits.flag()? {
            bits.skip(4)?;
        }
        first.get_or_insert((level, tier));
    }
    first
}

/// From `enable_interintra_compound` to `order_hint_bits_minus_1`.
fn skip_tools(bits: &mut Bits<'_>) -> Option<()> {
    bits.skip(4)?;
    let has_order_hints = bits.flag()?;
    if has_order_hints {
        bits.skip(2)?;
    }
    // Either flag is followed by what is forced, where nothing is chosen.
    let screen_content_tools = bits.flag()? || bits.flag()?;
    if screen_content_tools && !bits.flag()? {
        bits.skip(1)?;
    }
    if has_order_hints {
        bits.skip(3)?;
    }
    Some(())
}

/// What a record says of `color_config()` (5.5.2): depth of bits, monochrome, subsampling and the place of chroma, each as there.
fn color_configuration(bits: &mut Bits<'_>, profile: u32) -> Option<u8> {
    /// BT.709, sRGB and the identity matrix (6.4.2), which are always 4:4:4.
    const RGB: [u32; 3] = [1, 13, 0];
    let is_high = bits.flag()?;
    let is_twelve = profile == 2 && is_high && bits.flag()?;
    let is_monochrome = profile != 1 && bits.flag()?;
    let description = match bits.flag()? {
        true => Some([bits.take(8)?, bits.take(8)?, bits.take(8)?]),
        false => None,
    };
    let (mut horizontal, mut vertical, mut place) = (true, true, 0);
    if is_monochrome {
        bits.skip(1)?;
    } else if description == Some(RGB) {
        (horizontal, vertical) = (false, false);
    } else {
        bits.skip(1)?;
        (horizontal, vertical) = match profile {
            0 => (true, true),
            1 => (false, false),
            _ if is_twelve => {
                let horizontal = bits.flag()?;
                (horizontal, horizontal && bits.flag()?)
            }
            _ => (true, false),
        };
        if horizontal && vertical {
            place = bits.take(2)? as u8;
        }
    }
    let flags = [is_high, is_twelve, is_monochrome, horizontal, vertical];
    Some(flags.into_iter().fold(0, |flags, flag| flags << 1 | u8::from(flag)) << 2 | place)
}

/// The units of a record.
fn read(record: Contents<'_>) -> Result<Configuration, IndexError> {
    let mut record = record;
    record.bytes(RECORD)?;
    Ok(Configuration { headers: vec![Bytes::copy_from_slice(record.rest())], ..Configuration::default() })
}

/// A sample as a temporal unit: behind a delimiter, and behind the units of the record where they are wanted and it has no sequence
/// header of its own.
fn temporal_unit(configuration: &Configuration, sample: &Bytes, wants_headers: bool) -> Option<Bytes> {
    let found: Option<Vec<Obu<'_>>> = units(sample).collect();
    let found = found?;
    let has_own = found.iter().any(|unit| unit.kind() == SEQUENCE_HEADER);
    let before = configuration.headers.first().filter(|_| wants_headers && !has_own);
    let mut unit = BytesMut::with_capacity(sample.len() + 16);
    unit.extend_from_slice(&DELIMITER);
    unit.extend_from_slice(before.map_or(&[], |headers| &headers[..]));
    for one in found.iter().filter(|one| !stays_out(one)) {
        one.put_sized(|piece| unit.extend_from_slice(piece));
    }
    Some(unit.freeze())
}
