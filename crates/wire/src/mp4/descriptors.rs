//! Descriptors of elementary streams (ISO/IEC 14496-1, 7.2.6), as `esds` holds them (ISO/IEC 14496-14, 5.6).

use super::boxes::{Contents, put_u16};
use super::index::IndexError;

/// ES_DescrTag, DecoderConfigDescrTag, DecSpecificInfoTag, SLConfigDescrTag (ISO/IEC 14496-1, table 1).
const STREAM: u8 = 3;
const DECODER: u8 = 4;
const SPECIFIC: u8 = 5;
const SYNC_LAYER: u8 = 6;

/// Appends a descriptor.
fn put(out: &mut Vec<u8>, tag: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    out.push(tag);
    // Seven bits of the length in a byte, with the highest bit where more follow (ISO/IEC 14496-1, 8.3.3).
    let length = inner.len();
    let more = (1..4).rev().filter(|place| length >> (7 * place) > 0);
    out.extend(more.map(|place| 0x80 | (length >> (7 * place) & 0x7F) as u8));
    out.push((length & 0x7F) as u8);
    out.append(&mut inner);
}

/// Appends the descriptor of a stream by its `objectTypeIndication` (ISO/IEC 14496-1, table 5), with what its decoder needs first.
pub(super) fn put_stream(out: &mut Vec<u8>, object_type: u8, is_video: bool, configuration: &[u8]) {
    put(out, STREAM, |out| {
        put_u16(out, 0); // ES_ID: in a file 0 (ISO/IEC 14496-14, 3.1.2).
        out.push(0); // No dependence, URL or clock of another stream.
        put(out, DECODER, |out| {
            out.push(object_type);
            // streamType, upStream and a reserved bit: visual is 4, audio 5.
            out.push(if is_video { 4 << 2 | 1 } else { 5 << 2 | 1 });
            out.extend([0; 11]); // Buffer and rates are not stated.
            if !configuration.is_empty() {
                put(out, SPECIFIC, |out| out.extend(configuration));
            }
        });
        put(out, SYNC_LAYER, |out| out.push(2)); // As files have it.
    });
}

/// The next descriptor.
fn next<'a>(contents: &mut Contents<'a>) -> Result<(u8, Contents<'a>), IndexError> {
    let tag = contents.u8()?;
    let mut length = 0;
    for _ in 0..4 {
        let byte = contents.u8()?;
        length = length << 7 | usize::from(byte & 0x7F);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Ok((tag, Contents::new(contents.kind(), contents.bytes(length)?)))
}

/// The first descriptor with this tag.
fn find<'a>(mut contents: Contents<'a>, tag: u8) -> Result<Option<Contents<'a>>, IndexError> {
    while !contents.rest().is_empty() {
        let (found, inner) = next(&mut contents)?;
        if found == tag {
            return Ok(Some(inner));
        }
    }
    Ok(None)
}

/// The `objectTypeIndication` of the stream that an `esds` describes, and what its decoder needs first; `None` where it describes none.
pub(super) fn read_stream(mut esds: Contents<'_>) -> Result<Option<(u8, Vec<u8>)>, IndexError> {
    esds.version()?;
    let Some(mut stream) = find(esds, STREAM)? else { return Ok(None) };
    stream.u16()?;
    let flags = stream.u8()?;
    if flags & 0x80 != 0 {
        stream.u16()?;
    }
    if flags & 0x40 != 0 {
        let length = stream.u8()?.into();
        stream.bytes(length)?;
    }
    if flags & 0x20 != 0 {
        stream.u16()?;
    }
    let Some(mut decoder) = find(stream, DECODER)? else { return Ok(None) };
    let object_type = decoder.u8()?;
    decoder.bytes(12)?;
    let specific = find(decoder, SPECIFIC)?.map(|specific| specific.rest().to_vec());
    Ok(Some((object_type, specific.unwrap_or_default())))
}
