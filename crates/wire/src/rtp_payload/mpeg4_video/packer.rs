//! From access units to payloads.

use super::{SMALLEST_BEGINNING, VOP, first_code};
use crate::rtp_payload::packets::Packets;
use crate::rtp_payload::{FrameError, Packer};
use crate::start_code::start_codes;

/// Bytes that are not an access unit as this format packs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mpeg4Error {
    /// It does not begin as one.
    #[error("an access unit of MPEG-4 part 2 begins with a start code")]
    Beginning,
    /// There is no picture in it.
    #[error("an access unit of MPEG-4 part 2 without a picture (start code 0xB6)")]
    NoPicture,
    /// A header is larger than a packet.
    #[error("a header of {size} bytes, which must not be cut, in payloads of {room}")]
    Header {
        /// Its size.
        size: usize,
        /// Of a payload.
        room: usize,
    },
}

/// Packs access units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mpeg4Packer {
    largest_payload: usize,
}

impl Mpeg4Packer {
    pub(super) fn new(largest_payload: usize) -> Self {
        Self { largest_payload }
    }

    /// Where packets end.
    fn ends(self, frame: &[u8]) -> Result<Vec<usize>, Mpeg4Error> {
        first_code(frame).ok_or(Mpeg4Error::Beginning)?;
        let starts: Vec<(usize, u8)> = start_codes(frame).collect();
        let picture = starts.iter().position(|&(_, code)| code == VOP).ok_or(Mpeg4Error::NoPicture)?;
        let room = self.largest_payload;
        let (mut ends, mut begin) = (Vec::new(), 0);
        for pair in starts[..=picture].windows(2) {
            let (start, end) = (pair[0].0, pair[1].0);
            if end - start > room {
                return Err(Mpeg4Error::Header { size: end - start, room });
            }
            // A packet begins with the highest header in it (rule 2), as these come from the highest down.
            if end - begin > room {
                ends.push(start);
                begin = start;
            }
        }
        let vop = starts[picture].0;
        if vop > begin && begin + room < frame.len().min(vop + SMALLEST_BEGINNING) {
            ends.push(vop);
            begin = vop;
        }
        while frame.len() - begin > room {
            begin += room;
            ends.push(begin);
        }
        ends.push(frame.len());
        Ok(ends)
    }
}

impl Packer for Mpeg4Packer {
    fn pack(&mut self, frame: &[u8], packets: &mut Packets) -> Result<(), FrameError> {
        let ends = self.ends(frame)?;
        packets.reserve(ends.len(), frame.len());
        let mut begin = 0;
        for end in ends {
            packets.begin();
            packets.put_media(&frame[begin..end]);
            begin = end;
        }
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Packer> {
        Box::new(*self)
    }
}
