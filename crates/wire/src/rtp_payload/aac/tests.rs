//! AAC by hand: packets as RFC 3640 draws them, and what comes out of them.

use framewire_units::{DataSize, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::rtp_payload::testing::{self, HEADERS, ORIGIN};
use crate::rtp_payload::{Datagram, Depacketizer, Limits, PacketRule, Packetizer, ReceivedFrame};
use crate::sdp::check_parameters;

/// A frame of ADTS around an access unit: AAC LC, 44.1 kHz, stereo.
fn adts(unit: &[u8]) -> Vec<u8> {
    let header = adts::header(Config::new(2, 4, 2).unwrap(), unit.len()).unwrap();
    [&header[..], unit].concat()
}

fn packets(largest_payload: u64, units: &[&[u8]]) -> Vec<Datagram> {
    let mtu = DataSize::from_bytes(HEADERS + largest_payload);
    let mut packetizer = Packetizer::new(&FORMAT, PacketRule::Full, mtu, ORIGIN).unwrap();
    let frames: Vec<u8> = units.iter().flat_map(|unit| adts(unit)).collect();
    packetizer.packetize(&frames, 1_000).unwrap()
}

fn described(parameters: &str) -> StreamDescription {
    StreamDescription { clock_rate: 44_100, channels: Some(2), parameters: Some(parameters.to_owned()) }
}

fn receiver() -> Depacketizer {
    let description = FORMAT.description(&adts(&[1])).unwrap();
    Depacketizer::of_described(&FORMAT, &description, Some(ORIGIN), Limits::default()).unwrap()
}

fn received<'a>(packets: impl IntoIterator<Item = &'a Datagram>) -> Vec<ReceivedFrame> {
    testing::received(receiver(), packets)
}

fn refused(payload: &[u8]) -> String {
    let mut receiver = receiver();
    let packet = [&[0x80, 97, 0xFF, 0xFF, 0, 0, 0, 9, 0, 0, 0, 7][..], payload].concat();
    receiver.handle_datagram(Timestamp::ZERO, &packet).unwrap_err().to_string()
}

/// Marker and time stamp.
fn header(packet: &Datagram) -> (bool, u32) {
    (packet.bytes[1] & 0x80 != 0, u32::from_be_bytes(packet.bytes[4..8].try_into().unwrap()))
}

#[test]
fn one_access_unit_is_behind_its_header() {
    let packets = packets(100, &[&[0x21, 0x10, 5]]);
    // 16 bits of headers; AU-size 3, AU-Index 0 (sections 3.2.1 and 3.3.6).
    assert_eq!(packets[0].bytes[12..], [0, 16, 0, 3 << 3, 0x21, 0x10, 5]);
    assert_eq!((packets.len(), header(&packets[0]), packets[0].headers), (1, (true, 1_000), 16));
}

#[test]
fn several_fill_packets_with_the_time_of_the_first_one_in_each() {
    let (one, two, three) = ([1; 10], [2; 20], [3; 30]);
    let packets = packets(2 + 4 + 30, &[&one, &two, &three]);
    let [first, second] = &packets[..] else { panic!("{} packets", packets.len()) };
    assert_eq!(first.bytes[12..18], [0, 32, 0, 10 << 3, 0, 20 << 3]);
    assert_eq!((header(first), header(second)), ((true, 1_000), (true, 1_000 + 2 * 1_024)));
    let frames = received(&packets);
    let times: Vec<u32> = frames.iter().map(|frame| frame.rtp_timestamp).collect();
    assert_eq!(times, [1_000, 2_024, 3_048]);
    let bytes: Vec<Vec<u8>> = frames.iter().map(|frame| frame.bytes.to_vec()).collect();
    assert_eq!(bytes, [adts(&one), adts(&two), adts(&three)]);
}

#[test]
fn a_large_one_is_in_parts_that_say_its_whole_size_and_the_last_has_the_marker() {
    let unit: Vec<u8> = (0..250).map(|byte| byte as u8).collect();
    let packets = packets(104, &[&unit]);
    let markers: Vec<(bool, u32)> = packets.iter().map(header).collect();
    assert_eq!(markers, [(false, 1_000), (false, 1_000), (true, 1_000)]);
    assert!(packets.iter().all(|packet| packet.bytes[12..16] == [0, 16, 250 >> 5, (250 << 3) as u8]));
    assert_eq!(packets[2].bytes[16..], unit[200..]);
    let whole = received(&packets);
    assert_eq!((whole.len(), &whole[0].bytes[..], &whole[0].sequences), (1, &adts(&unit)[..], &(0..=2)));
    for lost in 0..3 {
        let next = self::packets(104, &[&unit, &[9]]);
        let frames = received(next.iter().filter(|packet| packet.sequence != lost));
        let complete: Vec<bool> = frames.iter().map(|frame| frame.complete).collect();
        assert_eq!(complete, [false, true], "packet {lost}");
        assert_eq!(frames[0].missing, Some(lost..=lost), "packet {lost}");
    }
}

#[test]
fn what_behind_a_loss_is_whole_by_its_size_is_whole() {
    let unit = [7; 250];
    let mut packetizer =
        Packetizer::new(&FORMAT, PacketRule::Full, DataSize::from_bytes(HEADERS + 104), ORIGIN).unwrap();
    let mut packets = packetizer.packetize(&adts(&[1]), 0).unwrap();
    packets.extend(packetizer.packetize(&adts(&unit), 1_024).unwrap());
    let frames = received(&packets[1..]);
    assert_eq!((frames.len(), frames[0].complete, &frames[0].missing), (1, true, &None));
}

#[test]
fn what_is_no_payload_of_the_mode_is_refused() {
    assert!(refused(&[0]).contains("less than two bytes"));
    assert!(refused(&[0, 0, 1]).contains("AU-headers of 0 bits"));
    assert!(refused(&[0, 15, 0, 8, 1]).contains("AU-headers of 15 bits"));
    assert!(refused(&[0, 32, 0, 8, 1]).contains("AU-headers of 32 bits, 16 for each, in a payload of 5 bytes"));
    assert!(refused(&[0, 16, 0, 8 | 1, 5]).contains("interleaved"));
    assert!(refused(&[0, 16, 0, 0]).contains("0 bytes"));
    assert!(refused(&[0, 16, 0xFF, 0xF8, 1]).contains("larger than a frame of ADTS"));
    // More than the headers say, and two of which the second is cut off.
    assert!(refused(&[0, 16, 0, 8, 1, 2]).contains("access units of 1 bytes in 2 bytes"));
    assert!(refused(&[0, 32, 0, 8, 0, 16, 1, 2]).contains("access units of 3 bytes in 2 bytes"));
}

#[test]
fn descriptions_say_what_a_decoder_must_know() {
    let stereo = FORMAT.description(&adts(&[1])).unwrap();
    assert_eq!((stereo.clock_rate, stereo.channels), (44_100, Some(2)));
    // AAC LC is 2, 44.1 kHz is 4: 00010 0100 0010 000.
    assert_eq!(stereo.parameter("CONFIG".to_lowercase().as_str()), Some("1210"));
    assert_eq!(check_parameters(&FORMAT, stereo.parameters.as_ref().unwrap()), Ok(()));
    let refused = check_parameters(&FORMAT, "mode=AAC-lbr; sizelength=6").unwrap_err();
    assert!(refused.contains("AAC-hbr is received"), "{refused}");
    assert_eq!(check_parameters(&FORMAT, "SizeLength=13; mode=aac-hbr"), Ok(()));
    assert!(FORMAT.description(&[0xFF, 0xFD, 0, 0, 0, 0, 0, 0]).is_err(), "MPEG audio");

    let config = |text: &str| Config::of(&described(&format!("mode=AAC-hbr; config={text}")));
    assert_eq!(config("1210"), Ok(Config::new(2, 4, 2).unwrap()));
    // Band replication to 48 kHz over a core of 24 kHz: 00101 0110 0001 0011 00010 0 0 0.
    assert_eq!(config("2B098800"), Ok(Config::new(2, 6, 1).unwrap()));
    for (text, said) in
        [("12", "hexadecimal"), ("12x0", "hexadecimal"), ("1214", "960"), ("F210", "LC"), ("1200", "LC")]
    {
        assert!(config(text).is_err_and(|error| error.contains(said)), "{text}: {:?}", config(text));
    }
    assert!(Config::of(&described("mode=AAC-hbr")).is_err());
}

#[test]
fn headers_of_adts_that_rtp_cannot_say_are_refused() {
    let mut packetizer = Packetizer::new(&FORMAT, PacketRule::Full, DataSize::from_bytes(1_500), ORIGIN).unwrap();
    let frame = adts(&[1, 2, 3]);
    let mut refused = |at: usize, byte: u8| {
        let mut frame = frame.clone();
        frame[at] = byte;
        packetizer.packetize(&frame, 0).unwrap_err().to_string()
    };
    assert!(refused(0, 0xFE).contains("no ADTS"));
    assert!(refused(2, 0x7C).contains("sample rate"));
    assert!(refused(6, 0xFD).contains("several raw data blocks"));
    assert!(refused(4, 2).contains("of 16 bytes where 10 are left") || refused(4, 2).contains("bytes where 10"));
    // A check of two bytes stands before the access unit, and does not go along.
    let mut checked = adts(&[8, 9, 1, 2]);
    checked[1] &= !1;
    let packets = packetizer.packetize(&checked, 0).unwrap();
    assert_eq!(packets[0].bytes[12..], [0, 16, 0, 2 << 3, 1, 2]);
}

proptest! {
    #[test]
    fn access_units_come_out_as_they_went_in_whatever_the_room(
        units in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..600), 1..12),
        room in 5u64..1_400,
    ) {
        let all: Vec<&[u8]> = units.iter().map(Vec::as_slice).collect();
        let packets = packets(room, &all);
        prop_assert!(packets.iter().all(|packet| packet.bytes.len() as u64 <= 12 + room));
        let frames = received(&packets);
        prop_assert!(frames.iter().all(|frame| frame.complete));
        let out: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes.iter().copied()).collect();
        let sent: Vec<u8> = units.iter().flat_map(|unit| adts(unit)).collect();
        prop_assert_eq!(out, sent);
        let times = frames.iter().zip(0u32..).all(|(frame, number)| frame.rtp_timestamp == 1_000 + 1_024 * number);
        prop_assert!(times);
    }
}
