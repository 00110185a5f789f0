//! From payloads to frames of ADTS.

use bytes::{Bytes, BytesMut};

use super::adts;
use super::config::Config;
use super::{HEADER, HEADERS_LENGTH, SAMPLES};
use crate::rtp_payload::units::Part;
use crate::rtp_payload::{Contents, UnitReader};

/// Reads payloads of a stream with this configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct AacReader {
    config: Config,
}

impl AacReader {
    pub(super) fn new(config: Config) -> Self {
        Self { config }
    }
}

/// The headers of the access units of a payload, and their data.
fn sections(payload: &[u8]) -> Result<(&[[u8; HEADER]], &[u8]), String> {
    let (length, rest) = payload.split_first_chunk::<HEADERS_LENGTH>().ok_or("a payload of less than two bytes")?;
    let bits = usize::from(u16::from_be_bytes(*length));
    let headers = rest.split_at_checked(bits.div_ceil(8));
    let is_of_headers = bits > 0 && bits.is_multiple_of(HEADER * 8);
    let Some((headers, data)) = headers.filter(|_| is_of_headers) else {
        return Err(format!("AU-headers of {bits} bits, 16 for each, in a payload of {} bytes", payload.len()));
    };
    let (headers, _) = headers.as_chunks::<HEADER>();
    Ok((headers, data))
}

/// The data of a payload's access units; `None` where it is none.
pub(super) fn data(payload: &[u8]) -> Option<&[u8]> {
    sections(payload).ok().map(|(_, data)| data)
}

impl UnitReader for AacReader {
    fn read<'a>(&self, payload: &'a [u8]) -> Result<Contents<'a>, String> {
        let (headers, data) = sections(payload)?;
        if headers.iter().any(|header| header[1] & 7 != 0) {
            return Err("access units that are interleaved (AU-Index is not 0)".to_owned());
        }
        let mut sizes = headers.iter().map(|header| usize::from(u16::from_be_bytes(*header) >> 3));
        if sizes.clone().any(|size| size == 0 || size + adts::HEADER > adts::LARGEST_FRAME) {
            return Err("an access unit of 0 bytes, or one larger than a frame of ADTS".to_owned());
        }
        let sum: usize = sizes.clone().sum();
        if sum == data.len() {
            let mut rest = data;
            let split = |size| {
                let (unit, after) = rest.split_at(size);
                rest = after;
                unit
            };
            return Ok(Contents::Whole(sizes.map(split).collect()));
        }
        // "only one fragment": a packet with a part of an access unit has nothing else (section 3.1).
        match sizes.next() {
            Some(size) if headers.len() == 1 && !data.is_empty() && data.len() < size => {
                Ok(Contents::Part(Part { size: Some(size), offset: None, data }))
            }
            _ => Err(format!("access units of {sum} bytes in {} bytes", data.len())),
        }
    }

    fn marker_ends(&self) -> bool {
        true
    }

    fn ticks(&self, _unit: &[u8]) -> u32 {
        SAMPLES
    }

    fn finished(&self, unit: Bytes) -> Bytes {
        let header = adts::header(self.config, unit.len()).expect("invariant: larger access units were refused");
        let mut frame = BytesMut::with_capacity(adts::HEADER + unit.len());
        frame.extend_from_slice(&header);
        frame.extend_from_slice(&unit);
        frame.freeze()
    }
}
