//! MPEG-4 part 2 video over RTP (RFC 6416, section 5): the elementary stream itself, without a header of the format.
//!
//! A packet has what belongs to one access unit. Headers are never cut: they begin packets, and the picture goes on behind them
//! in the same one. Where a picture is cut is left open (rule 5), as video packets (resynchronisation markers) are found by
//! decoding only. Access units come out to the byte.
//!
//! A frame that comes directly after a loss and begins with a picture may be whole, and is discarded all the same, where by
//! the habit of the sender headers may have been in a packet before it ([`joiner`]).

mod joiner;
mod packer;
#[cfg(test)]
mod tests;

use super::{FIRST_DYNAMIC_PAYLOAD_TYPE, Media, PacketRule, PayloadFormat, Reading, StreamDescription};
use crate::start_code::start_codes;
use joiner::Mpeg4Joiner;
use packer::Mpeg4Packer;

/// The format.
pub static FORMAT: PayloadFormat = PayloadFormat {
    encoding_name: "MP4V-ES",
    document: "RFC 6416",
    media: Media::Video,
    payload_type: FIRST_DYNAMIC_PAYLOAD_TYPE,
    smallest_payload: SMALLEST_PAYLOAD,
    refuses,
    packer: |_, largest_payload| Box::new(Mpeg4Packer::new(largest_payload)),
    reading: Reading::Frames(|| Box::new(Mpeg4Joiner::default())),
    piece: |payload| Some(payload.into()),
    description: |first| Ok(StreamDescription::of_video(Some(parameters(first)))),
    received: &[],
};

/// `visual_object_sequence_start_code`, the highest of all (ISO/IEC 14496-2, table 6-3).
const SEQUENCE: u8 = 0xB0;
/// `group_of_vop_start_code`.
const GROUP: u8 = 0xB3;
/// `vop_start_code`.
const VOP: u8 = 0xB6;

/// `vop_coding_type` of an I-VOP (table 6-20), in the first two bits behind the start code.
const INTRA: u8 = 0;

/// Start codes from here on are of systems and not of video (table 6-3).
const FIRST_OF_SYSTEMS: u8 = 0xB9;

/// A VOP begins with at least so many bytes: its header, which is not cut, is shorter (6.2.5; without sprites some 100 bits).
const SMALLEST_BEGINNING: usize = 32;

/// Of headers most are shorter; those that are not are refused.
const SMALLEST_PAYLOAD: usize = 64;

fn refuses(rule: PacketRule) -> Option<&'static str> {
    match rule {
        PacketRule::Full => None,
        PacketRule::Slices => Some(
            "MPEG-4 part 2 has video packets instead of slices, and where they end only decoding shows: pictures are cut by \
             \"full\"",
        ),
        PacketRule::Thesis => Some(
            "it is the sizes that the thesis' encoder made of the slices of MPEG-2 (RFC 2250); MPEG-4 is packed by \"full\"",
        ),
    }
}

/// RFC 6416, section 7.1: profile and level, and the headers above groups and pictures in hexadecimal digits. Without a sequence
/// header it is the Simple profile at level 1, the default.
fn parameters(first: &[u8]) -> String {
    let codes = || start_codes(first);
    let end = codes().find(|&(_, code)| matches!(code, GROUP | VOP)).map_or(first.len(), |(offset, _)| offset);
    let sequence = codes().find(|&(offset, code)| code == SEQUENCE && offset < end);
    let level = sequence.and_then(|(offset, _)| first.get(offset + 4)).copied().unwrap_or(1);
    let config: String = first[..end].iter().map(|byte| format!("{byte:02X}")).collect();
    if config.is_empty() {
        format!("profile-level-id={level}")
    } else {
        format!("profile-level-id={level};config={config}")
    }
}

/// The code of the header that `video` begins with.
fn first_code(video: &[u8]) -> Option<u8> {
    match video {
        [0, 0, 1, code, ..] if *code < FIRST_OF_SYSTEMS => Some(*code),
        _ => None,
    }
}
