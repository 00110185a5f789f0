//! From payloads to frames.

use super::HEADER;
use super::header::FrameHeader;
use crate::rtp_payload::units::Part;
use crate::rtp_payload::{Contents, UnitReader};

/// Reads payloads.
#[derive(Clone, Copy, Debug)]
pub(super) struct MpegAudioReader;

impl UnitReader for MpegAudioReader {
    fn read<'a>(&self, payload: &'a [u8]) -> Result<Contents<'a>, String> {
        let (header, media) = payload.split_first_chunk::<HEADER>().ok_or("a payload of less than four bytes")?;
        let offset = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if media.is_empty() {
            return Err("a payload without a frame".to_owned());
        }
        if offset > 0 {
            return Ok(Contents::Part(Part { size: None, offset: Some(offset), data: media }));
        }
        let (mut units, mut rest) = (Vec::new(), media);
        while !rest.is_empty() {
            let length = FrameHeader::parse(rest).map_err(|error| error.to_string())?.length;
            match rest.split_at_checked(length) {
                Some((unit, after)) => {
                    units.push(unit);
                    rest = after;
                }
                // "either ... an integral number of frames, or a fragment of one" (section 3.2).
                None if units.is_empty() => {
                    return Ok(Contents::Part(Part { size: Some(length), offset: Some(0), data: media }));
                }
                None => return Err(format!("a frame of {length} bytes of which {} are in the payload", rest.len())),
            }
        }
        Ok(Contents::Whole(units))
    }

    /// It begins a talk-spurt (section 3.3).
    fn marker_ends(&self) -> bool {
        false
    }

    fn ticks(&self, unit: &[u8]) -> u32 {
        FrameHeader::parse(unit).map_or(0, |header| header.ticks)
    }
}
