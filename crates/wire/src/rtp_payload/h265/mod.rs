//! H.265 over RTP (RFC 7798), in the order of transmission.
//!
//! Sent and received are single NAL unit packets, aggregation packets and fragmentation units (sections 4.4.1 to 4.4.3)
//! without decoding order numbers: `sprop-max-don-diff` is 0, its default (section 7.1). What a sender with another value
//! sends cannot be told from these by a packet alone: [`sdp::check_parameters`](crate::sdp::check_parameters) refuses it.
//! Packets that carry PACI (section 4.4.4) are refused.
//!
//! What of an access unit is kept, and which frames are whole after a loss, is the same as of [H.264](super::h264).

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use super::nal::{self, Class, NalCodec, NalJoiner, NalPacker, Role};
use super::{FIRST_DYNAMIC_PAYLOAD_TYPE, Media, PayloadFormat, Reading, StreamDescription};
use crate::sdp::base64;

/// The format.
pub static FORMAT: PayloadFormat = PayloadFormat {
    encoding_name: "H265",
    document: "RFC 7798",
    media: Media::Video,
    payload_type: FIRST_DYNAMIC_PAYLOAD_TYPE,
    smallest_payload: nal::smallest_payload::<H265>(),
    refuses: nal::refuses,
    packer: |rule, largest_payload| Box::new(NalPacker::<H265>::new(rule, largest_payload)),
    reading: Reading::Frames(|| Box::new(NalJoiner::<H265>::default())),
    piece: nal::piece::<H265>,
    description: |first| Ok(StreamDescription::of_video(parameters(first))),
    received: &[("sprop-max-don-diff", &["0"]), ("tx-mode", &["SRST"])],
};

/// RFC 7798, section 7.1.
fn parameters(first: &[u8]) -> Option<String> {
    let sets: Vec<(u8, &[u8])> = nal::parameter_sets::<H265>(first).collect();
    let of_type = |(name, wanted): (&str, u8)| {
        let coded: Vec<String> =
            sets.iter().filter(|(unit_type, _)| *unit_type == wanted).map(|(_, set)| base64(set)).collect();
        (!coded.is_empty()).then(|| format!("{name}={}", coded.join(",")))
    };
    let all: Vec<String> =
        [("sprop-vps", 32), ("sprop-sps", 33), ("sprop-pps", 34)].into_iter().filter_map(of_type).collect();
    (!all.is_empty()).then(|| all.join(";"))
}

/// NAL units of H.265 and their packets.
#[derive(Clone, Copy, Debug)]
struct H265;

/// `forbidden_zero_bit`, F in the header of a packet (ITU-T H.265, 7.3.1.2; RFC 7798, section 1.1.4).
const FORBIDDEN: u16 = 0x8000;
/// `nal_unit_type`, and the type of a packet, in the first byte of the header.
const TYPE: u8 = 0x7E;
/// `nuh_layer_id`.
const LAYER: u16 = 0x01F8;
/// `nuh_temporal_id_plus1`.
const TEMPORAL_ID: u16 = 0x0007;

impl NalCodec for H265 {
    const HEADER: usize = 2;
    /// ITU-T H.265, table 7-1: 48 to 63 are unspecified, and RFC 7798 has 48 to 50 for its packets.
    const CARRIED: RangeInclusive<u8> = 0..=47;
    /// AP.
    const AGGREGATION: u8 = 48;
    /// FU.
    const FRAGMENTATION: u8 = 49;
    const FRAGMENT_TYPE: u8 = 0x3F;

    fn unit_type(first: u8) -> u8 {
        (first & TYPE) >> 1
    }

    fn with_type([first, second]: [u8; 2], unit_type: u8) -> [u8; 2] {
        [first & !TYPE | unit_type << 1, second]
    }

    /// F is set where it is in one of them; layer and temporal identifier are the lowest of all (section 4.4.2).
    fn merged(one: [u8; 2], other: [u8; 2]) -> [u8; 2] {
        let (one, other) = (u16::from_be_bytes(one), u16::from_be_bytes(other));
        let lowest = |field: u16| (one & field).min(other & field);
        ((one | other) & FORBIDDEN | lowest(LAYER) | lowest(TEMPORAL_ID)).to_be_bytes()
    }

    fn refusal(unit_type: u8) -> Option<&'static str> {
        (unit_type == 50).then_some("PACI")
    }

    /// ITU-T H.265, B.2.2: video, sequence and picture parameter sets.
    fn is_parameter_set(unit_type: u8) -> bool {
        matches!(unit_type, 32..=34)
    }

    /// ITU-T H.265, 7.4.2.4.4 and table 7-1. A slice segment begins with `first_slice_segment_in_pic_flag` (7.3.6.1).
    fn role(nal: &[u8]) -> Role {
        let &[first, second, ref payload @ ..] = nal else { return Role::Other };
        let is_base_layer = u16::from_be_bytes([first, second]) & LAYER == 0;
        let starts = is_base_layer && payload.first().is_some_and(|byte| byte & 0x80 != 0);
        match Self::unit_type(first) {
            35 => Role::Delimiter,
            32..=34 | 39 | 41..=44 => Role::Before,
            16..=23 if starts => Role::FirstSlice(Class::KeyPicture),
            0..=15 if starts => Role::FirstSlice(Class::Inter),
            0..=31 => Role::Slice,
            _ => Role::Other,
        }
    }
}
