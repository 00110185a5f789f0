//! From frames of ADTS to payloads.

use super::adts::AdtsFrame;
use super::{HEADER, HEADERS_LENGTH, LARGEST_UNIT, SAMPLES};
use crate::rtp_payload::packets::Packets;
use crate::rtp_payload::{FrameError, Packer};

/// Packs access units.
#[derive(Clone, Copy, Debug)]
pub(super) struct AacPacker {
    largest_payload: usize,
}

impl AacPacker {
    pub(super) fn new(largest_payload: usize) -> Self {
        Self { largest_payload }
    }

    /// How many of the first units fit into one payload; 0 where not even the first does.
    fn fitting(self, units: &[&[u8]]) -> usize {
        let mut size = HEADERS_LENGTH;
        let fits = |unit: &&&[u8]| {
            size += HEADER + unit.len();
            size <= self.largest_payload
        };
        units.iter().take_while(fits).count()
    }

    /// A unit that is larger than a payload, in parts: each says how large all of it is (section 3.2.1.1), and the last one
    /// has the marker (section 3.1).
    fn put_parts(self, unit: &[u8], ticks: u32, packets: &mut Packets) {
        let parts = unit.chunks(self.largest_payload - HEADERS_LENGTH - HEADER);
        let last = parts.len() - 1;
        for (number, part) in parts.enumerate() {
            packets.begin_at(ticks, number == last);
            put_headers(&[unit], packets);
            packets.put_media(part);
        }
    }
}

/// The AU Header Section. `AU-Index` and every `AU-Index-delta` are 0: nothing is interleaved.
fn put_headers(units: &[&[u8]], packets: &mut Packets) {
    let bits = u16::try_from(units.len() * HEADER * 8).expect("invariant: headers fit into a packet of IP");
    packets.put_header(&bits.to_be_bytes());
    for unit in units {
        let size = u16::try_from(unit.len()).expect("invariant: an access unit has at most 8,191 bytes");
        packets.put_header(&(size << 3).to_be_bytes());
    }
}

impl Packer for AacPacker {
    fn pack(&mut self, frame: &[u8], packets: &mut Packets) -> Result<(), FrameError> {
        let (mut units, mut rest) = (Vec::new(), frame);
        while !rest.is_empty() || units.is_empty() {
            let (frame, after) = AdtsFrame::split(rest)?;
            debug_assert!(frame.unit.len() <= LARGEST_UNIT);
            units.push(frame.unit);
            rest = after;
        }
        packets.reserve(units.len(), frame.len());
        let (mut left, mut ticks) = (&units[..], 0_u32);
        while let Some(first) = left.first() {
            let count = self.fitting(left);
            if count == 0 {
                self.put_parts(first, ticks, packets);
            } else {
                packets.begin_at(ticks, true);
                put_headers(&left[..count], packets);
                left[..count].iter().for_each(|unit| packets.put_media(unit));
            }
            let taken = count.max(1);
            ticks = ticks.wrapping_add(SAMPLES * taken as u32);
            left = &left[taken..];
        }
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Packer> {
        Box::new(*self)
    }
}
