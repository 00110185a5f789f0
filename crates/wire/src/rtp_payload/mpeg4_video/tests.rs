//! MPEG-4 part 2 by hand: packets as RFC 6416 draws them, and what comes out of them.

use framewire_units::DataSize;
use proptest::prelude::*;

use super::*;
use crate::rtp_payload::testing::{self, HEADERS, ORIGIN};
use crate::rtp_payload::{Datagram, Depacketizer, Limits, Packetizer, ReceivedFrame};
use crate::sdp;

/// Sequence, visual object, video object and its layer (ISO/IEC 14496-2, table 6-3), with some bytes in them.
const CONFIG: [u8; 33] = [
    0, 0, 1, 0xB0, 3, 0, 0, 1, 0xB5, 0x89, 0x13, 0, 0, 1, 0, 0, 0, 1, 0x20, 0, 0xC4, 0x8D, 0x88, 0, 0xCD, 0x14, 4,
    0x1E, 0x14, 0x63, 7, 8, 9,
];

/// A picture of this coding type: I, P or B.
fn vop(kind: u8, size: usize) -> Vec<u8> {
    [&[0, 0, 1, 0xB6, kind << 6 | 0x10][..], &vec![0x55; size]].concat()
}

fn key(size: usize) -> Vec<u8> {
    [&CONFIG[..], &[0, 0, 1, 0xB3, 0, 0x10, 7], &vop(0, size)].concat()
}

fn packetizer(largest_payload: u64) -> Packetizer {
    let mtu = DataSize::from_bytes(HEADERS + largest_payload);
    Packetizer::new(&FORMAT, PacketRule::Full, mtu, ORIGIN).unwrap()
}

fn packets(largest_payload: u64, frames: &[Vec<u8>]) -> Vec<Datagram> {
    let mut packetizer = packetizer(largest_payload);
    (0..).zip(frames).flat_map(|(number, frame)| packetizer.packetize(frame, number * 3_600).unwrap()).collect()
}

fn received<'a>(packets: impl IntoIterator<Item = &'a Datagram>) -> Vec<ReceivedFrame> {
    testing::received(Depacketizer::new(&FORMAT, Some(ORIGIN), Limits::default()), packets)
}

#[test]
fn headers_and_the_beginning_of_the_picture_fill_a_packet() {
    let frame = key(300);
    let packets = packets(100, std::slice::from_ref(&frame));
    assert_eq!(packets[0].bytes[12..], frame[..100]);
    assert_eq!(packets.iter().map(|packet| packet.headers).collect::<Vec<_>>(), [12; 4], "the format has no header");
    let markers: Vec<bool> = packets.iter().map(|packet| packet.bytes[1] & 0x80 != 0).collect();
    assert_eq!(markers, [false, false, false, true]);
    assert_eq!(received(&packets)[0].bytes, frame);
}

#[test]
fn a_header_is_not_cut_and_one_that_does_not_fit_is_refused() {
    // The layer has 18 bytes that do not fit behind what is before it.
    let user_data = [&[0, 0, 1, 0xB2][..], &[7; 60]].concat();
    let frame = [&CONFIG[..], &user_data, &vop(0, 200)].concat();
    let packets = packets(70, std::slice::from_ref(&frame));
    assert_eq!(packets[0].bytes[12..], CONFIG, "user data begin the next packet");
    // Behind them there is no room for the header of the picture.
    assert_eq!(packets[1].bytes[12..], user_data[..]);
    assert!(packets[2].bytes[12..].starts_with(&[0, 0, 1, 0xB6]));
    assert_eq!(received(&packets)[0].bytes, frame);
    let refused = packetizer(64).packetize(&[&[0, 0, 1, 0xB2][..], &[7; 61], &vop(0, 1)].concat(), 0).unwrap_err();
    assert!(refused.to_string().contains("a header of 65 bytes"), "{refused}");
    for (bytes, said) in [(&CONFIG[..], "without a picture"), (&[1, 2, 3][..], "begins with a start code")] {
        let refused = packetizer(100).packetize(bytes, 0).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn loss_takes_the_frames_that_it_touches() {
    let frames = [key(300), vop(1, 150), vop(2, 20), key(10), vop(1, 150)];
    let packets = packets(100, &frames);
    assert_eq!(packets.len(), 4 + 2 + 1 + 1 + 2);
    let of_frame = [0, 0, 0, 0, 1, 1, 2, 3, 4, 4];
    for (lost, touched) in of_frame.into_iter().enumerate() {
        let came = received(packets.iter().filter(|packet| packet.sequence != lost as u64));
        let whole: Vec<_> = came.iter().filter(|frame| frame.complete).map(|frame| frame.bytes.to_vec()).collect();
        let expected: Vec<_> =
            (0..frames.len()).filter(|&frame| frame != touched).map(|frame| frames[frame].clone()).collect();
        assert_eq!(whole, expected, "packet {lost}");
    }
}

#[test]
fn where_headers_have_packets_of_their_own_a_key_picture_behind_a_loss_is_not_certain() {
    let frames = [key(300), vop(1, 20), key(300), vop(1, 20)];
    // Each packet of 64 bytes: the headers, and then the picture.
    let user_data = [&[0, 0, 1, 0xB2][..], &[7; 60]].concat();
    let with_data = |frame: &[u8]| [&CONFIG[..], &user_data, &frame[CONFIG.len()..]].concat();
    let frames = [with_data(&frames[0]), frames[1].clone(), with_data(&frames[2]), frames[3].clone()];
    let packets = packets(64, &frames);
    let of_second = packets.iter().position(|packet| packet.bytes[12..] == frames[1]).unwrap() as u64;
    // The picture before and the sequence header are lost: what is left begins with user data.
    let came = received(packets.iter().filter(|packet| !(of_second..=of_second + 1).contains(&packet.sequence)));
    let complete: Vec<bool> = came.iter().map(|frame| frame.complete).collect();
    assert_eq!(complete, [true, false, true]);
    assert!(came[1].is_beginning_open);
}

#[test]
fn descriptions_have_the_headers_above_pictures() {
    let text = sdp::describe(&FORMAT, [127, 0, 0, 1].into(), 5_004, &key(3));
    let config: String = CONFIG.iter().map(|byte| format!("{byte:02X}")).collect();
    let expected = format!("a=rtpmap:96 MP4V-ES/90000\r\na=fmtp:96 profile-level-id=3;config={config}\r\n");
    assert!(text.ends_with(&expected), "{text}");
    assert_eq!(parameters(&vop(0, 3)), "profile-level-id=1");
    assert!(FORMAT.check_rule(PacketRule::Slices).is_err() && FORMAT.check_rule(PacketRule::Thesis).is_err());
}

/// Large pictures, in video packets with resynchronisation markers as an encoder makes them, which have no start codes, and headers
/// that change in between.
#[test]
fn large_pictures_and_headers_that_change_come_through() {
    let mut other = key(2_000_000);
    other[4] = 0xF5; // profile_and_level_indication (ISO/IEC 14496-2, 6.2.2): another one.
    let frames = [key(7_000_000), vop(1, 100_000), other, vop(2, 3)];
    let came = received(&packets(1_460, &frames));
    assert!(came.iter().all(|frame| frame.complete) && came.iter().map(|frame| &frame.bytes[..]).eq(&frames));
    assert!(!received(&packets(1_460, &[key(8 << 20)]))[0].complete, "more than is kept");
}

proptest! {
    #[test]
    fn access_units_come_out_as_they_went_in_whatever_the_room(sizes in prop::collection::vec(0usize..5_000, 1..12), room in 72u64..1_400) {
        let frame = |(number, &size): (usize, &usize)| if number % 4 == 0 { key(size) } else { vop(1, size) };
        let frames: Vec<_> = sizes.iter().enumerate().map(frame).collect();
        let packets = packets(room, &frames);
        prop_assert!(packets.iter().all(|packet| packet.bytes.len() as u64 <= 12 + room));
        let came: Vec<_> = received(&packets).into_iter().map(|frame| frame.bytes.to_vec()).collect();
        prop_assert_eq!(came, frames);
    }
}
