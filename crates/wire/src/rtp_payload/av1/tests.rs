//! AV1 by hand: packets as the specification draws them, and what comes out of them.

use framewire_units::{DataSize, Timestamp};
use proptest::prelude::*;

use super::obu::{leb128, to_leb128};
use super::*;
use crate::rtp_payload::testing::{self, HEADERS, ORIGIN};
use crate::rtp_payload::{Datagram, Depacketizer, Limits, Packetizer, ReceivedFrame};

/// A unit with its size (AV1 bitstream specification, 5.3): its type, its layers where it says them, its payload.
fn unit(kind: u8, layer: Option<u8>, payload: &[u8]) -> Vec<u8> {
    let (size, length) = to_leb128(payload.len());
    let extension = layer.map(|layer| layer << 3);
    let header = kind << 3 | u8::from(extension.is_some()) << 2 | 2;
    [&[header][..], extension.as_slice(), &size[..length], payload].concat()
}

fn frame(units: &[Vec<u8>]) -> Vec<u8> {
    [&[0x12, 0][..], &units.concat()].concat()
}

fn packetizer(rule: PacketRule, largest_payload: u64) -> Packetizer {
    Packetizer::new(&FORMAT, rule, DataSize::from_bytes(HEADERS + largest_payload), ORIGIN).unwrap()
}

fn packets(largest_payload: u64, frames: &[Vec<u8>]) -> Vec<Datagram> {
    let mut packetizer = packetizer(PacketRule::Full, largest_payload);
    (0..).zip(frames).flat_map(|(number, frame)| packetizer.packetize(frame, number * 3_600).unwrap()).collect()
}

fn payloads(largest_payload: u64, units: &[Vec<u8>]) -> Vec<Vec<u8>> {
    packets(largest_payload, &[frame(units)]).iter().map(|packet| packet.bytes[12..].to_vec()).collect()
}

fn received<'a>(packets: impl IntoIterator<Item = &'a Datagram>) -> Vec<ReceivedFrame> {
    testing::received(Depacketizer::new(&FORMAT, Some(ORIGIN), Limits::default()), packets)
}

#[test]
fn of_a_temporal_unit_with_a_gap_whole_units_are_left_if_a_frame_is_among_them() {
    let (header, first, second) = (unit(1, None, &[0; 10]), unit(6, None, &[1; 250]), unit(6, None, &[2; 250]));
    let sent = packets(100, &[frame(&[header.clone(), first.clone(), second]), frame(&[unit(6, None, &[3; 9])])]);
    assert_eq!(sent.len(), 7);
    let without = |lost: usize| {
        let came = received(sent.iter().enumerate().filter(|(place, _)| *place != lost).map(|(_, packet)| packet));
        assert!(!came[0].complete && came[0].bytes.is_empty());
        came[0].beginning.clone()
    };
    let [whole, _] = &received(&sent)[..] else { panic!("two frames") };
    assert!(whole.complete && whole.beginning.is_empty());
    assert_eq!(without(5), frame(&[header.clone(), first.clone()]));
    assert_eq!(without(3), frame(&[header, first]));
    for lost in [0, 1, 2] {
        assert!(without(lost).is_empty(), "{lost}");
    }
}

#[test]
fn the_last_of_up_to_three_units_has_no_length_and_of_four_all_have_one() {
    // Section 4.5: two elements of 200 and 100 bytes are 303 bytes. The header of a unit is one of them.
    let (one, two) = (unit(6, None, &[1; 199]), unit(4, None, &[2; 99]));
    let [payload] = &payloads(1_000, &[one, two])[..] else { panic!("one packet") };
    assert_eq!((payload.len(), &payload[..4]), (303, &[2 << 4, 200 | 0x80, 1, 6 << 3][..]));
    assert_eq!(payload[203], 4 << 3);
    let four: Vec<_> = (0..4).map(|number| unit(4, None, &[number; 2])).collect();
    assert_eq!(payloads(1_000, &four), [vec![0, 3, 32, 0, 0, 3, 32, 1, 1, 3, 32, 2, 2, 3, 32, 3, 3]]);
}

#[test]
fn a_large_unit_is_cut_and_goes_on_in_the_next_packet() {
    let large = unit(6, None, &(0..100).collect::<Vec<u8>>());
    let payloads = payloads(41, std::slice::from_ref(&large));
    let headers: Vec<u8> = payloads.iter().map(|payload| payload[0]).collect();
    assert_eq!(headers, [IS_CUT | 1 << 4, GOES_ON | IS_CUT | 1 << 4, GOES_ON | 1 << 4]);
    assert_eq!(payloads.iter().map(Vec::len).collect::<Vec<_>>(), [41, 41, 22]);
}

#[test]
fn what_is_grouped_is_grouped_as_in_the_examples() {
    // Section 5.1: TD SH MD MD(0,0) FH(0,0) TG(0,0) MD(0,1) FH(0,1) TG(0,1), packed by layers.
    let of = |kind, layer| unit(kind, layer, &[kind; 5]);
    let units = [
        of(1, None),
        of(5, None),
        of(5, Some(0)),
        of(3, Some(0)),
        of(4, Some(0)),
        of(5, Some(1)),
        of(3, Some(1)),
        of(4, Some(1)),
    ];
    let payloads = payloads(1_000, &units);
    assert_eq!(payloads.len(), 2);
    let kinds = |payload: &[u8]| -> Vec<u8> {
        Payload::parse(payload).unwrap().elements.iter().map(|element| element[0] >> 3).collect()
    };
    assert_eq!((kinds(&payloads[0]), kinds(&payloads[1])), (vec![1, 5, 5, 3, 4], vec![5, 3, 4]));
    assert_eq!(
        [payloads[0][0], payloads[1][0]],
        [BEGINS_SEQUENCE, 3 << 4],
        "N on the first packet of the sequence only"
    );
    let apart = packetizer(PacketRule::Slices, 1_000).packetize(&frame(&units), 0).unwrap();
    assert_eq!(apart.len(), 8);
    assert_eq!(received(&apart)[0].bytes, frame(&units));
}

#[test]
fn delimiters_and_tile_lists_do_not_go_along() {
    let sent = [&[0x12, 0][..], &unit(8, None, &[9; 4]), &unit(6, None, &[1; 4])].concat();
    let packets = packets(1_000, &[sent]);
    assert_eq!(packets[0].bytes[12..], [1 << 4, 6 << 3, 1, 1, 1, 1]);
    assert_eq!(received(&packets)[0].bytes, frame(&[unit(6, None, &[1; 4])]));
    // From other senders they come, and are ignored; a size in an element says what its length says.
    let mut receiver = Depacketizer::new(&FORMAT, Some(ORIGIN), Limits::default());
    let payload = [3 << 4, 2, 0x12, 0, 5, 8 << 3, 1, 2, 3, 4, 6 << 3 | 2, 2, 7, 8];
    let datagram = [&[0x80, 96 | 0x80, 0xFF, 0xFF, 0, 0, 0, 9, 0, 0, 0, 7][..], &payload].concat();
    receiver.handle_datagram(Timestamp::ZERO, &datagram).unwrap();
    assert_eq!(receiver.poll_frame().unwrap().bytes, frame(&[unit(6, None, &[7, 8])]));
}

#[test]
fn what_is_no_temporal_unit_or_no_payload_is_refused() {
    let refused = |bytes: &[u8]| packetizer(PacketRule::Full, 100).packetize(bytes, 0).unwrap_err().to_string();
    assert!(refused(&[0x92, 0]).contains("no open bitstream units"), "the forbidden bit");
    assert!(refused(&[0x32, 5, 1]).contains("no open bitstream units"), "cut off");
    assert!(refused(&[0x12, 0]).contains("nothing in it"));
    assert!(refused(&frame(&[unit(6, None, &[1]), vec![0x12, 0]])).contains("second temporal delimiter"));
    let parsed = |payload: &[u8]| Payload::parse(payload).unwrap_err();
    assert!(parsed(&[]).contains("without an aggregation header"));
    assert!(parsed(&[0x10]).contains("0 elements, and W is 1"));
    assert!(parsed(&[0x20, 1, 7]).contains("1 elements, and W is 2"));
    assert!(parsed(&[0x20, 0, 7]).contains("an element without a byte"));
    assert!(parsed(&[0, 9, 7]).contains("an element of 9 bytes of which 1"));
    assert!(parsed(&[0, 0x80]).contains("a length without end"));
    assert!(parsed(&[GOES_ON | BEGINS_SEQUENCE | 1 << 4, 7]).contains("Z and N"));
    assert_eq!(leb128(&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F]), None, "beyond 32 bits");
    assert!(FORMAT.check_rule(PacketRule::Thesis).is_err());
}

#[test]
fn loss_takes_the_frames_that_it_touches() {
    let key = frame(&[unit(1, None, &[1; 10]), unit(6, None, &[2; 80])]);
    let inter = |size: usize| frame(&[unit(6, None, &vec![3; size])]);
    let frames = [key.clone(), inter(60), inter(10), key, inter(60)];
    let packets = packets(50, &frames);
    let of_frame: Vec<u32> =
        packets.iter().map(|packet| u32::from_be_bytes(packet.bytes[4..8].try_into().unwrap()) / 3_600).collect();
    // What its frames are like is not known of a sender whose first one is lost.
    for (lost, touched) in of_frame.iter().enumerate().filter(|(_, touched)| **touched > 0) {
        let came = received(packets.iter().filter(|packet| packet.sequence != lost as u64));
        let whole: Vec<_> = came.iter().filter(|frame| frame.complete).map(|frame| frame.bytes.to_vec()).collect();
        let untouched = (0..).zip(&frames).filter(|(frame, _)| frame != touched);
        assert_eq!(whole, untouched.map(|(_, frame)| frame.clone()).collect::<Vec<_>>(), "packet {lost}");
    }
    // Where temporal units have several frames, one behind a loss may lack its first.
    let double = frame(&[unit(6, None, &[4; 30]), unit(6, None, &[5; 30])]);
    let packets = self::packets(50, &[frames[0].clone(), double.clone(), double.clone()]);
    let first_of_second =
        packets.iter().position(|packet| packet.bytes[4..8] == 3_600_u32.to_be_bytes()).unwrap() as u64;
    let came =
        received(packets.iter().filter(|packet| !(first_of_second - 1..=first_of_second).contains(&packet.sequence)));
    assert!(came.iter().skip(1).take(1).all(|frame| !frame.complete));
}

/// A key frame of so many bytes in four tile groups, behind a sequence header of its own.
fn in_tile_groups(sequence: u8, size: usize) -> Vec<u8> {
    let groups = (0..4).map(|number| unit(4, None, &vec![number; size / 4]));
    frame(&[unit(1, None, &[sequence; 11]), unit(3, None, &[7; 20])].into_iter().chain(groups).collect::<Vec<_>>())
}

#[test]
fn temporal_units_of_4k_in_tile_groups_come_through_and_so_do_sequences_that_change() {
    let frames = [in_tile_groups(1, 7_000_000), frame(&[unit(6, None, &[3; 50])]), in_tile_groups(2, 200_000)];
    let sent = packets(1_460, &frames);
    let came = received(&sent);
    assert!(came.iter().all(|frame| frame.complete) && came.iter().map(|frame| &frame.bytes[..]).eq(&frames));
    let begins = sent.iter().filter(|packet| packet.bytes[12] & BEGINS_SEQUENCE != 0).count();
    assert_eq!(begins, 2, "each sequence says that it begins");
    assert!(!received(&packets(1_460, &[in_tile_groups(1, 8 << 20)]))[0].complete, "more than is kept");
}

proptest! {
    #[test]
    fn temporal_units_come_out_as_they_went_in_whatever_the_room(
        units in prop::collection::vec((prop_oneof![Just(1u8), 3u8..8, Just(15u8)], prop::option::of(0u8..32), prop::collection::vec(any::<u8>(), 0..300)), 1..12),
        room in 17u64..1_400,
        apart: bool,
    ) {
        let units: Vec<Vec<u8>> = units.iter().map(|(kind, layer, payload)| unit(*kind, *layer, payload)).collect();
        let sent = frame(&units);
        let rule = if apart { PacketRule::Slices } else { PacketRule::Full };
        let packets = packetizer(rule, room).packetize(&sent, 0).unwrap();
        prop_assert!(packets.iter().all(|packet| packet.bytes.len() as u64 <= 12 + room));
        let came = received(&packets);
        prop_assert_eq!(came.len(), 1);
        prop_assert_eq!(&came[0].bytes[..], &sent[..]);
    }
}
