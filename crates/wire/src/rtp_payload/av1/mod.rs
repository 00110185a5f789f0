//! AV1 over RTP (AOMedia, RTP Payload Format For AV1, version 1.0): open bitstream units (OBUs), several in a packet or one in
//! several.
//!
//! A frame is a temporal unit in the low-overhead format (AV1 bitstream specification, 5.2). What packets do not carry is its
//! temporal delimiter, the sizes in the units' headers, and tile lists. What comes out has a delimiter and every unit with its
//! size in the fewest bytes, as FFmpeg and libaom write it: a temporal unit that was written so comes out to the byte, any other
//! with the same units.
//!
//! # Frames after a loss
//! Whether the first packet that arrives of a temporal unit is the first one that was sent, packets do not say, unless it has a
//! sequence header or begins a coded video sequence (N). Others are taken for whole where all temporal units so far had one frame
//! and nothing before it.
//!
//! It is experimental: neither FFmpeg 5.1 nor GStreamer 1.22 can send or receive it. FFmpeg 9.0 can; a test asks it where
//! `FRAMEWIRE_NEWER_FFMPEG` names that program.

mod joiner;
pub(crate) mod obu;
mod packer;
#[cfg(test)]
mod tests;

use super::{FIRST_DYNAMIC_PAYLOAD_TYPE, Media, PacketRule, PayloadFormat, Reading, StreamDescription};
use joiner::Av1Joiner;
use packer::Av1Packer;

/// The format.
pub static FORMAT: PayloadFormat = PayloadFormat {
    encoding_name: "AV1",
    document: "AOMedia's RTP Payload Format For AV1",
    media: Media::Video,
    payload_type: FIRST_DYNAMIC_PAYLOAD_TYPE,
    smallest_payload: SMALLEST_PAYLOAD,
    refuses,
    packer: |rule, largest_payload| Box::new(Av1Packer::new(rule, largest_payload)),
    reading: Reading::Frames(|| Box::new(Av1Joiner::default())),
    // An open bitstream unit has no start code, and may be cut anywhere.
    piece: |_| None,
    // Profile, level and tier say what a receiver takes (section 7.1), and not what is sent.
    description: |_| Ok(StreamDescription::of_video(None)),
    received: &[],
};

/// Z of the aggregation header: the first element goes on from the packet before (section 4.4).
const GOES_ON: u8 = 0x80;
/// Y: the last element goes on in the next packet.
const IS_CUT: u8 = 0x40;
/// W: the number of elements where it is 1 to 3, and the last one then has no length.
const COUNT_SHIFT: u8 = 4;
const MOST_COUNTED: usize = 3;
/// N: the packet is the first one of a coded video sequence.
const BEGINS_SEQUENCE: u8 = 0x08;

/// The aggregation header and an element of some bytes, whose header is not cut from all of its content.
const SMALLEST_PAYLOAD: usize = 1 + 16;

fn refuses(rule: PacketRule) -> Option<&'static str> {
    match rule {
        PacketRule::Full | PacketRule::Slices => None,
        PacketRule::Thesis => Some(
            "it is the sizes that the thesis' encoder made of the slices of MPEG-2 (RFC 2250); AV1 is packed by \"full\" or \
             \"slices\"",
        ),
    }
}

/// A payload taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Payload<'a> {
    goes_on: bool,
    is_cut: bool,
    begins_sequence: bool,
    elements: Vec<&'a [u8]>,
}

impl<'a> Payload<'a> {
    /// Reads the aggregation header and the elements behind it (sections 4.4 and 4.5).
    fn parse(payload: &'a [u8]) -> Result<Self, String> {
        let (&header, mut rest) = payload.split_first().ok_or("a payload without an aggregation header")?;
        let counted = usize::from(header >> COUNT_SHIFT & 3);
        let mut elements = Vec::new();
        while !rest.is_empty() {
            let is_last = elements.len() + 1 == counted;
            let (length, after) =
                if is_last { (rest.len(), rest) } else { obu::leb128(rest).ok_or("a length without end")? };
            let (element, after) = after
                .split_at_checked(length)
                .ok_or_else(|| format!("an element of {length} bytes of which {} are there", after.len()))?;
            if element.is_empty() {
                return Err("an element without a byte".to_owned());
            }
            elements.push(element);
            rest = after;
        }
        if elements.is_empty() || counted != 0 && elements.len() != counted {
            return Err(format!("{} elements, and W is {counted}", elements.len()));
        }
        let is = |flag| header & flag != 0;
        if is(GOES_ON) && is(BEGINS_SEQUENCE) {
            return Err("a coded video sequence that goes on from the packet before (Z and N)".to_owned());
        }
        Ok(Self { goes_on: is(GOES_ON), is_cut: is(IS_CUT), begins_sequence: is(BEGINS_SEQUENCE), elements })
    }
}
