//! Open bitstream units, the packets that AV1 consists of, in the low-overhead format (5.2, 5.3).

use crate::bits::{BadField, BitReader};

/// Values of `obu_type` (6.2.2), up to which all are known but for some before padding.
pub(crate) mod obu_type {
    pub(crate) const SEQUENCE_HEADER: u32 = 1;
    pub(crate) const TEMPORAL_DELIMITER: u32 = 2;
    pub(crate) const FRAME_HEADER: u32 = 3;
    pub(crate) const FRAME: u32 = 6;
    const TILE_LIST: u32 = 8;
    const PADDING: u32 = 15;

    /// Whether it is not reserved.
    pub(crate) fn is_known(obu_type: u32) -> bool {
        matches!(obu_type, SEQUENCE_HEADER..=TILE_LIST | PADDING)
    }
}

/// A unit's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) obu_type: u32,
    pub(crate) layer: Layer,
    /// Bytes of the content; `None` where it goes on to the end.
    pub(crate) size: Option<u32>,
    /// Bytes of the header with the size.
    length: usize,
}

/// One unit without its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Obu<'a> {
    pub(crate) obu_type: u32,
    pub(crate) layer: Layer,
    pub(crate) payload: &'a [u8],
}

/// Which layer a unit belongs to; the lowest where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) temporal: u8,
    pub(crate) spatial: u8,
}

/// The units one after the other. After one that is not well formed, nothing more is found.
pub(crate) fn units(bytes: &[u8]) -> impl Iterator<Item = Result<Obu<'_>, BadField>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let unit = split(rest);
        rest = unit.map_or(&[], |(_, after)| after);
        Some(unit.map(|(unit, _)| unit))
    })
}

/// Splits off the first unit. One without a size goes on to the end.
fn split(bytes: &[u8]) -> Result<(Obu<'_>, &[u8]), BadField> {
    let Header { obu_type, layer, size, length } = header(bytes)?;
    let after = &bytes[length..];
    let (payload, after) = match size {
        Some(size) => {
            let within = usize::try_from(size).ok().and_then(|size| after.split_at_checked(size));
            within.ok_or(BadField { name: "obu_size", value: Some(size) })?
        }
        None => (after, &[][..]),
    };
    Ok((Obu { obu_type, layer, payload }, after))
}

/// Reads a unit's header (5.3.2) and the size behind it.
pub(crate) fn header(bytes: &[u8]) -> Result<Header, BadField> {
    let mut reader = BitReader::new(bytes);
    if reader.flag_of("obu_forbidden_bit")? {
        return Err(BadField { name: "obu_forbidden_bit", value: Some(1) });
    }
    let obu_type = reader.field("obu_type", 4)?;
    let has_extension = reader.flag_of("obu_extension_flag")?;
    let has_size = reader.flag_of("obu_has_size_field")?;
    let _reserved = reader.flag_of("obu_reserved_1bit")?;
    let mut layer = Layer::default();
    if has_extension {
        layer.temporal = reader.field("temporal_id", 3)? as u8;
        layer.spatial = reader.field("spatial_id", 2)? as u8;
        let _reserved = reader.field("extension_header_reserved_3bits", 3)?;
    }
    let after_header = &bytes[1 + usize::from(has_extension)..];
    let (size, after) = match has_size {
        true => leb128(after_header).map(|(size, after)| (Some(size), after))?,
        false => (None, after_header),
    };
    Ok(Header { obu_type, layer, size, length: bytes.len() - after.len() })
}

/// A number of at most 32 bits, seven in each byte, the lowest first (4.10.5).
fn leb128(bytes: &[u8]) -> Result<(u32, &[u8]), BadField> {
    const MOST_BYTES: usize = 8;
    const TOO_LARGE: BadField = BadField { name: "obu_size beyond 32 bits", value: Some(u32::MAX) };
    let mut number = 0u64;
    for (place, &byte) in bytes.iter().take(MOST_BYTES).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return u32::try_from(number).map(|number| (number, &bytes[place + 1..])).map_err(|_| TOO_LARGE);
        }
    }
    Err(if bytes.len() < MOST_BYTES { BadField { name: "obu_size", value: None } } else { TOO_LARGE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_told_apart() {
        // A temporal delimiter; padding in temporal layer 2, spatial layer 1; the last without a size.
        let bytes = [0x12, 0, 0x7e, 0x48, 0x82, 0, 7, 8, 0x30, 9];
        let units: Vec<_> = units(&bytes).map(Result::unwrap).collect();
        let layer = Layer { temporal: 2, spatial: 1 };
        let expected = [
            Obu { obu_type: 2, layer: Layer::default(), payload: &[] },
            Obu { obu_type: 15, layer, payload: &[7, 8] },
            Obu { obu_type: 6, layer: Layer::default(), payload: &[9] },
        ];
        assert_eq!(units, expected);
    }

    #[test]
    fn what_is_not_well_formed_is_told_once() {
        let cases: [(&[u8], &str, Option<u32>); 6] = [
            (&[0x92, 0], "obu_forbidden_bit", Some(1)),
            (&[0x12], "obu_size", None),
            (&[0x16], "temporal_id", None),
            (&[0x12, 3, 0, 0], "obu_size", Some(3)),
            (&[0x12, 0x80], "obu_size", None),
            (&[0x12, 0xff, 0xff, 0xff, 0xff, 0x7f], "obu_size beyond 32 bits", Some(u32::MAX)),
        ];
        for (bytes, name, value) in cases {
            let units: Vec<_> = units(bytes).collect();
            assert_eq!(units, [Err(BadField { name, value })], "{bytes:?}");
        }
    }
}
