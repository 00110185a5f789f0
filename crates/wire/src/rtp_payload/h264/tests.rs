//! H.264 by hand: packets as RFC 6184 draws them, and what comes out of them.

use framewire_units::{DataSize, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::rtp_payload::testing::{self, HEADERS, ORIGIN};
use crate::rtp_payload::{Depacketizer, Limits, PacketRule, Packetizer};

fn packetizer(rule: PacketRule, largest_payload: u64) -> Packetizer {
    Packetizer::new(&FORMAT, rule, DataSize::from_bytes(HEADERS + largest_payload), ORIGIN).unwrap()
}

/// The payloads of one access unit's packets.
fn payloads(rule: PacketRule, largest_payload: u64, frame: &[u8]) -> Vec<Vec<u8>> {
    let packets = packetizer(rule, largest_payload).packetize(frame, 9).unwrap();
    packets.iter().map(|packet| packet.bytes[12..].to_vec()).collect()
}

fn joined(payloads: &[&[u8]]) -> Option<Vec<u8>> {
    testing::joined(&FORMAT, payloads)
}

fn refused(payload: &[u8]) -> String {
    testing::refused(&FORMAT, payload)
}

/// Parameter sets, and two slices of 5 and 30 bytes.
fn access_unit() -> Vec<u8> {
    let sets = [0, 0, 0, 1, 0x67, 0x42, 0, 0, 0, 1, 0x68, 0xCE, 0, 0, 1, 0x65, 0x88, 1, 2, 3, 0, 0, 1, 0x45];
    [&sets[..], &[0x99; 29]].concat()
}

#[test]
fn small_units_share_a_packet_and_large_ones_are_cut() {
    // NRI of the aggregation packet is the highest in it, 3; sizes are of 16 bits.
    let aggregated = [0x78, 0, 2, 0x67, 0x42, 0, 2, 0x68, 0xCE, 0, 5, 0x65, 0x88, 1, 2, 3];
    // 29 bytes behind the header: 14 and 14 and 1. The indicator has its NRI, 2; the type is 5.
    let fragments = [0x85, 0x05, 0x45].map(|header| [&[0x5C, header][..], &[0x99; 14]].concat());
    let [first, second, third] = &fragments;
    let expected = [&aggregated[..], first, second, &third[..3]];
    assert_eq!(payloads(PacketRule::Full, 16, &access_unit()), expected);
}

#[test]
fn under_slices_every_unit_has_a_packet_of_its_own() {
    let packets = payloads(PacketRule::Slices, 1_000, &access_unit());
    assert_eq!(packets, [&[0x67, 0x42][..], &[0x68, 0xCE], &[0x65, 0x88, 1, 2, 3], &access_unit()[23..]]);
}

#[test]
fn a_forbidden_bit_is_carried_and_marks_the_aggregation_packet() {
    let frame = [0, 0, 0, 1, 0x09, 0x10, 0, 0, 1, 0x81, 0x88];
    assert_eq!(payloads(PacketRule::Full, 100, &frame), [[0x98, 0, 2, 0x09, 0x10, 0, 2, 0x81, 0x88]]);
    assert_eq!(joined(&[&[0x98, 0, 2, 0x09, 0x10, 0, 2, 0x81, 0x88]]).unwrap(), frame);
}

#[test]
fn headers_are_what_is_not_of_the_access_unit() {
    let packets = packetizer(PacketRule::Full, 16).packetize(&access_unit(), 9).unwrap();
    let headers: Vec<u16> = packets.iter().map(|packet| packet.headers).collect();
    assert_eq!(headers, [12 + 1 + 3 * 2, 12 + 2, 12 + 2, 12 + 2]);
    let media: usize = packets.iter().map(|packet| packet.bytes.len() - usize::from(packet.headers)).sum();
    // The header of the unit that was cut is in the headers of its fragments.
    assert_eq!(media, 2 + 2 + 5 + 29);
}

#[test]
fn what_comes_out_has_the_start_codes_of_annex_b() {
    let frame = access_unit();
    let packets = payloads(PacketRule::Full, 16, &frame);
    assert_eq!(joined(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap(), frame);
    // Short before parameter sets and long before the others, with zeros all around.
    let other = [0, 0, 1, 0x67, 0x42, 0, 0, 1, 0x68, 0xCE, 0, 0, 0, 0, 1, 0x65, 0x88, 1, 2, 3, 0, 0, 0, 0, 0, 1, 0x45];
    let other = [&other[..], &[0x99; 29], &[0, 0, 0]].concat();
    assert_eq!(payloads(PacketRule::Full, 16, &other), packets);
}

#[test]
fn units_of_one_byte_and_of_no_slice_are_carried() {
    // End of sequence, end of stream, and a message.
    let frame = [0, 0, 0, 1, 0x06, 5, 0x80, 0, 0, 1, 0x41, 0x9A, 0, 0, 1, 0x0A, 0, 0, 1, 0x0B];
    for rule in [PacketRule::Full, PacketRule::Slices] {
        let packets = payloads(rule, 100, &frame);
        assert_eq!(joined(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap(), frame, "{rule}");
    }
}

#[test]
fn the_smallest_packets_take_a_byte_along() {
    let frame = access_unit();
    let packets = payloads(PacketRule::Full, 3, &frame);
    assert!(packets.iter().all(|packet| (2..=3).contains(&packet.len())));
    assert_eq!(joined(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap(), frame);
    let too_small = Packetizer::new(&FORMAT, PacketRule::Full, DataSize::from_bytes(HEADERS + 2), ORIGIN);
    assert!(too_small.unwrap_err().to_string().contains("43 B to 65535 B"));
}

#[test]
fn the_rule_of_the_thesis_is_refused() {
    let refused = Packetizer::new(&FORMAT, PacketRule::Thesis, DataSize::from_bytes(1_500), ORIGIN).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("packets = \"thesis\"") && text.contains("\"full\" or \"slices\""), "{text}");
}

#[test]
fn what_is_no_access_unit_is_refused_with_the_reason() {
    let refused = |frame: &[u8]| {
        let mut packetizer = packetizer(PacketRule::Full, 100);
        let error = packetizer.packetize(frame, 0).unwrap_err().to_string();
        assert_eq!(packetizer.next_sequence(), 0);
        assert_eq!(packetizer.packetize(&access_unit(), 0).unwrap()[0].sequence, 0, "nothing of it is left");
        error
    };
    assert!(refused(&[]).contains("no start code"));
    assert!(refused(&[0x65, 1, 2]).contains("no start code"));
    assert!(refused(&[9, 0, 0, 1, 0x65, 1, 2]).contains("not begin with a start code, but with 0x09"));
    assert!(refused(&[0, 0, 1, 0, 0, 1, 0x65]).contains("at byte 3 has 0 bytes"));
    assert!(refused(&[0, 0, 1, 0x65, 0, 0, 1, 0x7C, 1]).contains("at byte 7 is of type 28"));
}

#[test]
fn fragments_are_joined_only_where_they_go_on() {
    let whole = joined(&[&[0x7C, 0x85, 1], &[0x7C, 0x05, 2], &[0x7C, 0x45, 3]]);
    assert_eq!(whole.unwrap(), [0, 0, 0, 1, 0x65, 1, 2, 3]);
    assert_eq!(joined(&[&[0x7C, 0xC5, 1, 2]]).unwrap(), [0, 0, 0, 1, 0x65, 1, 2], "no sender may, and some do");
    assert_eq!(joined(&[&[0x7C, 0x85, 1], &[0x7C, 0x45]]).unwrap(), [0, 0, 0, 1, 0x65, 1], "fragments may be empty");
    for wrong in [
        &[&[0x7C, 0x05, 1][..], &[0x7C, 0x45, 2]][..], // its first one is missing
        &[&[0x7C, 0x85, 1], &[0x7C, 0x05, 2]],         // its last one
        &[&[0x7C, 0x85, 1], &[0x7C, 0x41, 2]],         // of another type
        &[&[0x7C, 0x85, 1], &[0x41, 2]],               // another unit in between
        &[&[0x7C, 0x85, 1], &[0x7C, 0x85, 2], &[0x7C, 0x45, 3]],
        &[&[0x41, 2], &[0x7C, 0x45, 2]],
    ] {
        assert_eq!(joined(wrong), None, "{wrong:02x?}");
    }
}

#[test]
fn packets_without_a_payload_belong_to_their_frame() {
    assert_eq!(joined(&[&[], &[0x41, 2], &[]]).unwrap(), [0, 0, 0, 1, 0x41, 2]);
}

#[test]
fn what_is_not_received_is_refused_by_name() {
    for (unit_type, name) in [(25, "STAP-B"), (26, "MTAP16"), (27, "MTAP24"), (29, "FU-B")] {
        let reason = refused(&[0x60 | unit_type, 0, 0, 0, 2, 0x41, 1]);
        assert!(reason.contains(name) && reason.contains("interleaved"), "{reason}");
    }
    for reserved in [0, 30, 31] {
        assert!(refused(&[reserved, 1, 2]).contains("no packet and no NAL unit"));
    }
    assert!(refused(&[24]).contains("nothing"));
    assert!(refused(&[24, 0, 9, 0x67]).contains("cut off"));
    assert!(refused(&[24, 0, 1, 0x67, 0]).contains("cut off"));
    assert!(refused(&[24, 0, 0]).contains("no header"));
    assert!(refused(&[24, 0, 2, 0x78, 1]).contains("type 24 in an aggregation packet"));
    assert!(refused(&[0x7C]).contains("header of the fragment"));
    assert!(refused(&[0x7C, 0x80 | 24, 1]).contains("type 24, which is none"));
}

#[test]
fn pieces_of_a_stream_have_short_start_codes() {
    let piece = |payload: &[u8]| FORMAT.piece(payload).map(|piece| piece.into_owned());
    assert_eq!(piece(&[0x65, 1, 2]).unwrap(), [0, 0, 1, 0x65, 1, 2]);
    assert_eq!(piece(&[24, 0, 2, 0x67, 9, 0, 1, 0x68]).unwrap(), [0, 0, 1, 0x67, 9, 0, 0, 1, 0x68]);
    let parts = [&[0x7C, 0x85, 1, 2][..], &[0x7C, 0x05, 3], &[0x7C, 0x45, 4]].map(|part| piece(part).unwrap());
    assert_eq!(parts.concat(), [0, 0, 1, 0x65, 1, 2, 3, 4]);
    assert_eq!(piece(&[24, 0, 9, 0x67]), None);
    assert_eq!(piece(&[]), None);
}

#[test]
fn slices_are_told_by_their_type() {
    // first_mb_in_slice 0, then slice_type: P, B, I, SP, SI, and the same plus 5.
    let codes = ["1", "010", "011", "00100", "00101", "00110", "00111", "0001000", "0001001", "0001010"];
    for (slice_type, code) in codes.iter().enumerate() {
        let bits = format!("1{code}0000000");
        let byte = u8::from_str_radix(&bits[..8], 2).unwrap();
        let class = if matches!(slice_type % 5, 2 | 4) { Class::Intra } else { Class::Inter };
        assert_eq!(H264::role(&[0x41, byte]), Role::FirstSlice(class), "slice_type {slice_type}");
    }
    assert_eq!(H264::role(&[0x41, 0x40]), Role::Slice);
}

proptest! {
    #[test]
    fn any_payload_is_read_without_harm(payload in proptest::collection::vec(any::<u8>(), 0..100)) {
        if let Some(piece) = FORMAT.piece(&payload) {
            prop_assert!(piece.len() <= 3 * payload.len() + 3);
        }
        let mut receiver = Depacketizer::new(&FORMAT, Some(ORIGIN), Limits::default());
        let _ = receiver.handle_datagram(Timestamp::ZERO, &testing::datagram(0, true, &payload));
        if let Some(frame) = receiver.poll_frame() {
            prop_assert!(frame.bytes.is_empty() != frame.complete && frame.bytes.len() <= 3 * payload.len() + 4);
        }
    }
}
