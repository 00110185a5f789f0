//! H.265 by hand: packets as RFC 7798 draws them, and what comes out of them.

use framewire_units::DataSize;

use super::*;
use crate::rtp_payload::testing::{self, HEADERS, ORIGIN};
use crate::rtp_payload::{PacketRule, Packetizer};

fn payloads(rule: PacketRule, largest_payload: u64, frame: &[u8]) -> Vec<Vec<u8>> {
    let mut packetizer =
        Packetizer::new(&FORMAT, rule, DataSize::from_bytes(HEADERS + largest_payload), ORIGIN).unwrap();
    let packets = packetizer.packetize(frame, 9).unwrap();
    packets.iter().map(|packet| packet.bytes[12..].to_vec()).collect()
}

fn joined(payloads: &[Vec<u8>]) -> Option<Vec<u8>> {
    testing::joined(&FORMAT, payloads)
}

fn refused(payload: &[u8]) -> String {
    testing::refused(&FORMAT, payload)
}

/// Video, sequence and picture parameter set, and a slice of IDR_W_RADL (19) with 13 bytes behind its header.
fn access_unit() -> Vec<u8> {
    let sets = [0, 0, 0, 1, 0x40, 1, 7, 0, 0, 0, 1, 0x42, 1, 8, 0, 0, 0, 1, 0x44, 1, 9, 0, 0, 1, 0x26, 1];
    [&sets[..], &[0xAF; 13]].concat()
}

#[test]
fn small_units_share_a_packet_and_large_ones_are_cut() {
    let aggregated = vec![48 << 1, 1, 0, 3, 0x40, 1, 7, 0, 3, 0x42, 1, 8];
    let alone = vec![0x44, 1, 9];
    // In fragments of 9 and 4, of type 19.
    let first = [&[49 << 1, 1, 0x80 | 19][..], &[0xAF; 9]].concat();
    let last = vec![49 << 1, 1, 0x40 | 19, 0xAF, 0xAF, 0xAF, 0xAF];
    let packets = payloads(PacketRule::Full, 12, &access_unit());
    assert_eq!(packets, [aggregated, alone, first, last]);
    assert_eq!(joined(&packets).unwrap(), access_unit());
}

#[test]
fn layers_and_temporal_identifiers_of_a_packet_are_the_lowest_in_it() {
    // Layer 33 and 1, temporal id plus one 3 and 2; the forbidden bit of one of them.
    let header =
        |layer: u16, temporal: u16, forbidden: u16| (forbidden << 15 | 1 << 9 | layer << 3 | temporal).to_be_bytes();
    let frame = [&[0, 0, 0, 1][..], &header(33, 3, 0), &[5], &[0, 0, 1], &header(1, 2, 1), &[6]].concat();
    let packets = payloads(PacketRule::Full, 100, &frame);
    assert_eq!(packets[0][..2], (1u16 << 15 | 48 << 9 | 1 << 3 | 2).to_be_bytes());
    assert_eq!(joined(&packets).unwrap(), frame);
}

#[test]
fn units_are_no_shorter_than_their_headers() {
    // End of sequence is nothing but its header.
    let frame = [0, 0, 0, 1, 0x02, 1, 0x80, 0, 0, 1, 0x48, 1];
    assert_eq!(joined(&payloads(PacketRule::Full, 100, &frame)).unwrap(), frame);
    let mut packetizer = Packetizer::new(&FORMAT, PacketRule::Full, DataSize::from_bytes(1_500), ORIGIN).unwrap();
    let error = packetizer.packetize(&[0, 0, 1, 0x48], 0).unwrap_err().to_string();
    assert!(error.contains("at byte 3 has 1 bytes"), "{error}");
    let error = packetizer.packetize(&[0, 0, 1, 48 << 1, 1, 1], 0).unwrap_err().to_string();
    assert!(error.contains("type 48"), "{error}");
}

#[test]
fn what_is_not_received_is_refused_by_name() {
    assert!(refused(&[50 << 1, 1, 0, 0, 0]).contains("PACI"));
    assert!(refused(&[51 << 1, 1, 0]).contains("no packet and no NAL unit"));
    assert!(refused(&[0x26]).contains("cut off"));
    assert!(refused(&[48 << 1, 1]).contains("nothing"));
    assert!(refused(&[48 << 1, 1, 0, 1, 7]).contains("no header"));
    assert!(refused(&[48 << 1, 1, 0, 2, 49 << 1, 1]).contains("type 49 in an aggregation packet"));
    assert!(refused(&[49 << 1, 1, 0x80 | 48, 7]).contains("type 48, which is none"));
}

#[test]
fn pieces_of_a_stream_have_short_start_codes() {
    let piece = |payload: &[u8]| FORMAT.piece(payload).map(|piece| piece.into_owned());
    assert_eq!(piece(&[0x26, 0x01, 7]).unwrap(), [0, 0, 1, 0x26, 0x01, 7]);
    let aggregated = [48 << 1, 1, 0, 2, 0x40, 1, 0, 2, 0x48, 1];
    assert_eq!(piece(&aggregated).unwrap(), [0, 0, 1, 0x40, 1, 0, 0, 1, 0x48, 1]);
    let parts = [&[49 << 1, 1, 0x80 | 19, 1][..], &[49 << 1, 1, 0x40 | 19, 2]].map(|part| piece(part).unwrap());
    assert_eq!(parts.concat(), [0, 0, 1, 19 << 1, 1, 1, 2]);
}

#[test]
fn slices_are_told_by_their_first_bit() {
    assert_eq!(H265::role(&[19 << 1, 1, 0x80]), Role::FirstSlice(Class::KeyPicture));
    assert_eq!(H265::role(&[1 << 1, 1, 0x80]), Role::FirstSlice(Class::Inter));
    assert_eq!(H265::role(&[1 << 1, 1, 0x40]), Role::Slice);
    assert_eq!(H265::role(&[1 << 1, 1 << 3 | 1, 0x80]), Role::Slice, "of another layer");
    assert_eq!(H265::role(&[35 << 1, 1, 0x50]), Role::Delimiter);
    assert_eq!(H265::role(&[40 << 1, 1, 0x50]), Role::Other, "a message behind the slices");
}
