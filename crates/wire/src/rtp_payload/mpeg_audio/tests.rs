//! MPEG audio by hand: packets as RFC 2250 draws them, and what comes out of them.

use framewire_units::{DataSize, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::rtp_payload::testing::{self, HEADERS, ORIGIN};
use crate::rtp_payload::{Datagram, Depacketizer, Limits, PacketRule, Packetizer, ReceivedFrame};
use crate::sdp;

/// MPEG-1, layer II, 192 kbit/s, 48 kHz: 576 bytes in 24 ms.
fn frame(filler: u8) -> Vec<u8> {
    [&[0xFF, 0xFD, 0xA4, 0xC0][..], &[filler; 572]].concat()
}

fn packetizer(largest_payload: u64) -> Packetizer {
    let mtu = DataSize::from_bytes(HEADERS + largest_payload);
    Packetizer::new(&FORMAT, PacketRule::Full, mtu, ORIGIN).unwrap()
}

fn receiver() -> Depacketizer {
    let description = FORMAT.description(&frame(0)).unwrap();
    Depacketizer::of_described(&FORMAT, &description, Some(ORIGIN), Limits::default()).unwrap()
}

fn received<'a>(packets: impl IntoIterator<Item = &'a Datagram>) -> Vec<ReceivedFrame> {
    testing::received(receiver(), packets)
}

/// Marker and time stamp.
fn header(packet: &Datagram) -> (bool, u32) {
    (packet.bytes[1] & 0x80 != 0, u32::from_be_bytes(packet.bytes[4..8].try_into().unwrap()))
}

#[test]
fn frames_fill_packets_behind_a_header_of_four_bytes() {
    let frames: Vec<u8> = (1..=5).flat_map(frame).collect();
    let mut packetizer = packetizer(4 + 1_152);
    let packets = packetizer.packetize(&frames, 500).unwrap();
    assert_eq!(packets.len(), 3);
    assert!(packets.iter().all(|packet| packet.bytes[12..16] == [0; 4] && packet.headers == 16));
    // Only the first packet of the stream begins a talk-spurt (section 3.3). 24 ms are 2,160 ticks.
    let headers: Vec<_> = packets.iter().map(header).collect();
    assert_eq!(headers, [(true, 500), (false, 500 + 2 * 2_160), (false, 500 + 4 * 2_160)]);
    assert!(!header(&packetizer.packetize(&frame(1), 9).unwrap()[0]).0);
    let out = received(&packets);
    let times: Vec<u32> = out.iter().map(|frame| frame.rtp_timestamp).collect();
    assert_eq!(times, [500, 2_660, 4_820, 6_980, 9_140]);
    assert_eq!(out.iter().flat_map(|frame| frame.bytes.to_vec()).collect::<Vec<u8>>(), frames);
}

#[test]
fn a_large_frame_is_in_parts_that_say_where_they_are() {
    let mut packetizer = packetizer(4 + 250);
    let packets =
        [packetizer.packetize(&frame(1), 0).unwrap(), packetizer.packetize(&frame(2), 2_160).unwrap()].concat();
    let offsets: Vec<u16> =
        packets.iter().map(|packet| u16::from_be_bytes(packet.bytes[14..16].try_into().unwrap())).collect();
    assert_eq!(offsets, [0, 250, 500, 0, 250, 500]);
    assert_eq!(received(&packets).iter().map(|frame| frame.bytes.to_vec()).collect::<Vec<_>>(), [frame(1), frame(2)]);
    for lost in 0..6 {
        let frames = received(packets.iter().filter(|packet| packet.sequence != lost));
        let complete: Vec<bool> = frames.iter().map(|frame| frame.complete).collect();
        assert_eq!(complete, [lost >= 3, lost < 3], "packet {lost}");
        // Nothing shows that something comes behind the last packet that came.
        let missing = (lost != 5).then_some(lost..=lost);
        assert_eq!(frames[lost as usize / 3].missing, missing, "packet {lost}");
    }
}

#[test]
fn lengths_are_those_of_the_standard() {
    let parse = |header: [u8; 4]| FrameHeader::parse(&header).map(|header| (header.length, header.ticks));
    assert_eq!(parse([0xFF, 0xFB, 0x90, 0xC0]), Ok((417, 2_351)), "layer III, 128 kbit/s, 44.1 kHz");
    assert_eq!(parse([0xFF, 0xFB, 0x92, 0xC0]), Ok((418, 2_351)), "with padding");
    assert_eq!(parse([0xFF, 0xF3, 0x80, 0xC0]), Ok((208, 2_351)), "MPEG-2 layer III, 64 kbit/s, 22.05 kHz");
    assert_eq!(parse([0xFF, 0xE3, 0x48, 0xC0]), Ok((288, 6_480)), "MPEG-2.5 layer III, 32 kbit/s, 8 kHz");
    assert_eq!(parse([0xFF, 0xFF, 0x46, 0xC0]), Ok((132, 720)), "layer I, 128 kbit/s, 48 kHz, with a slot");
    // Free format, a sample rate and a version without meaning, ADTS.
    for header in [[0xFF, 0xFB, 0, 0], [0xFF, 0xFB, 0x9C, 0], [0xFF, 0xEB, 0x90, 0], [0xFF, 0xF1, 0x90, 0]] {
        assert_eq!(parse(header), Err(header::NoFrame));
    }
}

#[test]
fn what_is_no_payload_is_refused() {
    let refused = |payload: &[u8]| {
        let packet = [&[0x80, 14, 0xFF, 0xFF, 0, 0, 0, 9, 0, 0, 0, 7][..], payload].concat();
        receiver().handle_datagram(Timestamp::ZERO, &packet).unwrap_err().to_string()
    };
    assert!(refused(&[0; 3]).contains("less than four bytes"));
    assert!(refused(&[0; 4]).contains("without a frame"));
    assert!(refused(&[0, 0, 0, 0, 1, 2, 3, 4]).contains("no frame"));
    let cut = [&[0; 4][..], &frame(1), &frame(2)[..100]].concat();
    assert!(refused(&cut).contains("a frame of 576 bytes of which 100"));
    assert!(packetizer(1_000).packetize(&frame(1)[..100], 0).is_err());
    let too_small = Packetizer::new(&FORMAT, PacketRule::Full, DataSize::from_bytes(HEADERS + 7), ORIGIN);
    assert!(too_small.is_err(), "the header of a frame would be cut");
}

#[test]
fn the_static_payload_type_needs_no_parameters() {
    let description = FORMAT.description(&frame(0)).unwrap();
    let stream = sdp::Stream { format: &FORMAT, port: 5_006, description: &description };
    let text = sdp::describe_session([127, 0, 0, 1].into(), &[stream]);
    assert!(text.ends_with("m=audio 5006 RTP/AVP 14\r\na=rtpmap:14 MPA/90000\r\n"), "{text}");
    assert!(FORMAT.description(&[0; 4]).is_err());
}

proptest! {
    #[test]
    fn frames_come_out_as_they_went_in_whatever_the_room(count in 1u8..12, room in 8u64..1_400) {
        let frames: Vec<u8> = (0..count).flat_map(frame).collect();
        let packets = packetizer(room).packetize(&frames, 0).unwrap();
        prop_assert!(packets.iter().all(|packet| packet.bytes.len() as u64 <= 12 + room));
        let out = received(&packets);
        prop_assert!(out.iter().all(|frame| frame.complete));
        prop_assert_eq!(out.iter().flat_map(|frame| frame.bytes.to_vec()).collect::<Vec<u8>>(), frames);
    }
}
