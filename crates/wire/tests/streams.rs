//! Real streams through the packetizer and back, each packet held against RFC 2250.

use crate::support;
use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{Depacketizer, Limits, PacketRule, Packetizer, StreamOrigin, mpeg_video};
use support::rfc2250::{Expected, LastPictures};

const SSRC: u32 = 0x1234_5678;
const INITIAL_SEQUENCE: u16 = 65_500;

/// Packetizes the stream, checks every packet, and returns all of them.
fn checked_packets(stream: &[u8], rule: PacketRule, mtu: usize) -> Vec<Vec<u8>> {
    let size = DataSize::from_bytes(mtu as u64);
    let mut packetizer = Packetizer::new(
        &mpeg_video::FORMAT,
        rule,
        size,
        StreamOrigin { ssrc: SSRC, initial_sequence: INITIAL_SEQUENCE },
    )
    .unwrap();
    let mut last_pictures = LastPictures::default();
    let mut all = Vec::new();
    for (number, unit) in support::access_units(stream).into_iter().enumerate() {
        let rtp_timestamp = number as u32 * 3_600;
        let first_sequence = INITIAL_SEQUENCE.wrapping_add(packetizer.next_sequence() as u16);
        let frame = &stream[unit];
        let packets = packetizer.packetize(frame, rtp_timestamp).unwrap();
        let bytes: Vec<&[u8]> = packets.iter().map(|packet| &packet.bytes[..]).collect();
        let largest_datagram = if rule == PacketRule::Thesis { 1_100.min(mtu - 28) } else { mtu - 28 };
        let expected = Expected { frame, rtp_timestamp, ssrc: SSRC, first_sequence, largest_datagram };
        expected.check(&bytes, &mut last_pictures);
        all.extend(packets.iter().map(|packet| packet.bytes.to_vec()));
    }
    assert_eq!(packetizer.next_sequence(), all.len() as u64);
    all
}

#[test]
fn every_packet_of_real_streams_keeps_the_rules_and_every_frame_comes_back() {
    for (path, stream) in support::streams() {
        for (rule, mtu) in [
            (PacketRule::Full, 1_500),
            (PacketRule::Full, 400),
            (PacketRule::Full, 9_000),
            (PacketRule::Slices, 1_500),
            (PacketRule::Slices, 400),
            (PacketRule::Thesis, 1_500),
            (PacketRule::Thesis, 400),
        ] {
            let packets = checked_packets(&stream, rule, mtu);
            let origin = StreamOrigin { ssrc: SSRC, initial_sequence: INITIAL_SEQUENCE };
            let mut receiver = Depacketizer::new(&mpeg_video::FORMAT, Some(origin), Limits::default());
            let mut frames = Vec::new();
            for (sequence, packet) in packets.iter().enumerate() {
                receiver.handle_datagram(Timestamp::ZERO, packet).unwrap();
                assert_eq!(receiver.poll_arrival().unwrap().outcome, Ok(sequence as u64));
                frames.extend(receiver.poll_frame());
            }
            assert!(frames.iter().all(|frame| frame.complete), "{} {rule} {mtu}", path.display());
            let units = support::access_units(&stream);
            assert_eq!(frames.len(), units.len());
            for (frame, unit) in frames.iter().zip(units) {
                assert_eq!(frame.bytes, stream[unit], "{} {rule} {mtu}", path.display());
            }
        }
    }
}

#[test]
fn full_sends_the_fewest_packets_and_thesis_the_sizes_of_the_thesis() {
    for (path, stream) in support::streams() {
        let packets = |rule| checked_packets(&stream, rule, 1_500);
        let (full, slices, thesis) =
            (packets(PacketRule::Full), packets(PacketRule::Slices), packets(PacketRule::Thesis));
        assert!(full.len() <= slices.len() && slices.len() < thesis.len(), "{}", path.display());
        let mean = thesis.iter().map(Vec::len).sum::<usize>() as f64 / thesis.len() as f64;
        assert!((735.0..745.0).contains(&mean), "{}: mean {mean}", path.display());
        let largest = thesis.iter().map(Vec::len).max().unwrap();
        let small = thesis.iter().filter(|packet| packet.len() < 50).count();
        assert!(largest == 1_100 && small * 200 < thesis.len(), "{}: {largest} {small}", path.display());
    }
}
