//! H.264 over RTP (RFC 6184), without interleaving.
//!
//! Sent are single NAL unit packets, STAP-A and FU-A (sections 5.6, 5.7.1 and 5.8): packetization mode 1. Under
//! [`PacketRule::Slices`](super::PacketRule::Slices) an access unit whose NAL units all fit into packets goes in single NAL
//! unit packets only, as mode 0 has it. Received is what either mode sends; packets of the interleaved mode (section 5.5)
//! are refused.
//!
//! What of an access unit is kept, and which frames are whole after a loss, is the same as of [H.265](super::h265).

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use super::nal::{self, Class, NalCodec, NalJoiner, NalPacker, Role};
use super::{FIRST_DYNAMIC_PAYLOAD_TYPE, Media, PayloadFormat, Reading, StreamDescription};
use crate::sdp::base64;

/// The format.
pub static FORMAT: PayloadFormat = PayloadFormat {
    encoding_name: "H264",
    document: "RFC 6184",
    media: Media::Video,
    payload_type: FIRST_DYNAMIC_PAYLOAD_TYPE,
    smallest_payload: nal::smallest_payload::<H264>(),
    refuses: nal::refuses,
    packer: |rule, largest_payload| Box::new(NalPacker::<H264>::new(rule, largest_payload)),
    reading: Reading::Frames(|| Box::new(NalJoiner::<H264>::default())),
    piece: nal::piece::<H264>,
    description: |first| Ok(StreamDescription::of_video(parameters(first))),
    received: &[("packetization-mode", &["0", "1"])],
};

/// RFC 6184, section 8.1.
fn parameters(first: &[u8]) -> Option<String> {
    let sets: Vec<&[u8]> = nal::parameter_sets::<H264>(first).map(|(_, set)| set).collect();
    let mut text = "packetization-mode=1".to_owned();
    // `profile_idc`, the constraint flags and `level_idc` (ITU-T H.264, 7.3.2.1.1).
    if let Some(&[_, profile, flags, level, ..]) = sets.first() {
        text += &format!(";profile-level-id={profile:02X}{flags:02X}{level:02X}");
    }
    if !sets.is_empty() {
        let coded: Vec<String> = sets.into_iter().map(base64).collect();
        text += &format!(";sprop-parameter-sets={}", coded.join(","));
    }
    Some(text)
}

/// NAL units of H.264 and their packets.
#[derive(Clone, Copy, Debug)]
struct H264;

/// `forbidden_zero_bit`, F in the header of a packet (ITU-T H.264, 7.3.1; RFC 6184, section 5.3).
const FORBIDDEN: u8 = 0x80;
/// `nal_ref_idc`, NRI in the header of a packet.
const IMPORTANCE: u8 = 0x60;
/// `nal_unit_type`, and the type of a packet.
const TYPE: u8 = 0x1F;

impl NalCodec for H264 {
    const HEADER: usize = 1;
    /// RFC 6184, table 1; 24 to 31 are unspecified in ITU-T H.264, table 7-1.
    const CARRIED: RangeInclusive<u8> = 1..=23;
    /// STAP-A.
    const AGGREGATION: u8 = 24;
    /// FU-A.
    const FRAGMENTATION: u8 = 28;
    const FRAGMENT_TYPE: u8 = TYPE;

    fn unit_type(first: u8) -> u8 {
        first & TYPE
    }

    fn with_type([first, second]: [u8; 2], unit_type: u8) -> [u8; 2] {
        [first & !TYPE | unit_type, second]
    }

    /// "The F bit MUST be cleared if all F bits of the aggregated NAL units are zero; otherwise, it MUST be set", and NRI
    /// is the highest of all (section 5.7).
    fn merged([one, _]: [u8; 2], [other, _]: [u8; 2]) -> [u8; 2] {
        [(one | other) & FORBIDDEN | (one & IMPORTANCE).max(other & IMPORTANCE), 0]
    }

    fn refusal(unit_type: u8) -> Option<&'static str> {
        match unit_type {
            25 => Some("STAP-B of the interleaved mode"),
            26 => Some("MTAP16 of the interleaved mode"),
            27 => Some("MTAP24 of the interleaved mode"),
            29 => Some("FU-B of the interleaved mode"),
            _ => None,
        }
    }

    /// ITU-T H.264, B.1.2.
    fn is_parameter_set(unit_type: u8) -> bool {
        matches!(unit_type, 7 | 8)
    }

    /// ITU-T H.264, 7.4.1.2.3 and table 7-1. A slice begins with `first_mb_in_slice` and `slice_type` (7.3.3); where slices
    /// come in any order, which only the Baseline and Extended profiles allow, 0 need not be the first.
    fn role(nal: &[u8]) -> Role {
        let starts = nal.get(1).is_some_and(|byte| byte & 0x80 != 0);
        match nal.first().map(|first| first & TYPE) {
            Some(9) => Role::Delimiter,
            Some(6..=8 | 13..=18) => Role::Before,
            Some(5) if starts => Role::FirstSlice(Class::KeyPicture),
            Some(1 | 2) if starts => Role::FirstSlice(if is_intra(nal[1]) { Class::Intra } else { Class::Inter }),
            Some(1..=5) => Role::Slice,
            _ => Role::Other,
        }
    }
}

/// Whether `slice_type` is one of I and SI slices: 2, 4, 7 and 9 (ITU-T H.264, table 7-6), as ue(v) `011`, `00101`,
/// `0001000` and `0001010` behind the one bit of `first_mb_in_slice` 0.
const fn is_intra(slice_header: u8) -> bool {
    let code = slice_header << 1;
    code >> 5 == 0b011 || code >> 3 == 0b00101 || code >> 1 == 0b0001000 || code >> 1 == 0b0001010
}
