//! Any stream, through any network: packets keep the RFC, whole frames come back byte for byte, and exactly the
//! frames that lost a packet do not.

use crate::support;
use std::collections::BTreeSet;

use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::mpeg_video::PAYLOAD_TYPE;
use framewire_wire::rtp_payload::{Datagram, Depacketizer, Limits, PacketRule, Packetizer, StreamOrigin, mpeg_video};
use proptest::collection::vec;
use proptest::prelude::*;
use support::receiving::{WINDOW, receive, shuffle};
use support::rfc2250::{Expected, LastPictures};
use support::synthetic::{Style, frames, style};

const SSRC: u32 = 7;
const INITIAL_SEQUENCE: u16 = 65_530;

fn stream() -> impl Strategy<Value = (Style, Vec<Vec<u8>>)> {
    style().prop_flat_map(|style| (Just(style), frames(style, 1..10)))
}

fn rule() -> impl Strategy<Value = PacketRule> {
    proptest::sample::select(PacketRule::ALL)
}

fn packetizer(rule: PacketRule, mtu: u64) -> Packetizer {
    Packetizer::new(
        &mpeg_video::FORMAT,
        rule,
        DataSize::from_bytes(mtu),
        StreamOrigin { ssrc: SSRC, initial_sequence: INITIAL_SEQUENCE },
    )
    .unwrap()
}

/// The packets of each frame; frame `n` has the time stamp `n`.
fn packetize(frames: &[Vec<u8>], rule: PacketRule, mtu: u64) -> Vec<Vec<Datagram>> {
    let mut packetizer = packetizer(rule, mtu);
    frames.iter().enumerate().map(|(n, frame)| packetizer.packetize(frame, n as u32).unwrap()).collect()
}

fn receiver() -> Depacketizer {
    let origin = StreamOrigin { ssrc: SSRC, initial_sequence: INITIAL_SEQUENCE };
    let limits = Limits { reorder_window: WINDOW, ..Limits::default() };
    Depacketizer::new(&mpeg_video::FORMAT, Some(origin), limits)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_keep_the_rfc((_, frames) in stream(), rule in rule(), mtu in 305u64..2_000) {
        let mut last_pictures = LastPictures::default();
        let mut first_sequence = INITIAL_SEQUENCE;
        for (number, (frame, packets)) in frames.iter().zip(packetize(&frames, rule, mtu)).enumerate() {
            let largest_datagram = mtu as usize - 28;
            let expected =
                Expected { frame, rtp_timestamp: number as u32, ssrc: SSRC, first_sequence, largest_datagram };
            let bytes: Vec<&[u8]> = packets.iter().map(|packet| &packet.bytes[..]).collect();
            expected.check(&bytes, &mut last_pictures);
            first_sequence = first_sequence.wrapping_add(packets.len() as u16);
        }
    }

    #[test]
    fn reordered_and_repeated_packets_give_back_every_frame(
        (_, frames) in stream(), rule in rule(), delays in vec(any::<u8>(), 1..50), repeats in vec(any::<bool>(), 1..50),
    ) {
        let packets = packetize(&frames, rule, 1_500);
        let mut network: Vec<&Datagram> = Vec::new();
        for (place, packet) in packets.iter().flatten().enumerate() {
            network.extend(std::iter::repeat_n(packet, 1 + usize::from(repeats[place % repeats.len()])));
        }
        shuffle(&mut network, &delays);
        let received = receive(&mut receiver(), network);
        prop_assert_eq!(received.len(), frames.len());
        for (number, (received, sent)) in received.iter().zip(&frames).enumerate() {
            prop_assert!(received.complete && received.missing.is_none());
            prop_assert_eq!(received.rtp_timestamp, number as u32);
            prop_assert_eq!(&received.bytes[..], &sent[..]);
            let first = packets[number][0].sequence;
            prop_assert_eq!(&received.sequences, &(first..=first + packets[number].len() as u64 - 1));
        }
    }

    #[test]
    fn loss_takes_exactly_the_frames_that_it_touches(
        (style, frames) in stream(), rule in rule(), delays in vec(any::<u8>(), 1..50), losses in vec(0u8..12, 30..200),
    ) {
        let packets = packetize(&frames, rule, 1_500);
        // The first packet arrives: it shows whether this sender puts headers into packets of their own.
        let is_lost = |packet: &Datagram| packet.sequence > 0 && losses[packet.sequence as usize % losses.len()] == 0;
        let all: Vec<_> = packets.iter().flatten().collect();
        let mut network: Vec<_> = all.iter().copied().filter(|packet| !is_lost(packet)).collect();
        shuffle(&mut network, &delays);
        let received = receive(&mut receiver(), network);

        let mut seen = BTreeSet::new();
        for frame in &received {
            let number = frame.rtp_timestamp as usize;
            let sent = &packets[number];
            let lost: Vec<_> = sent.iter().filter(|packet| is_lost(packet)).map(|packet| packet.sequence).collect();
            prop_assert!(seen.insert(number), "frame {} comes once", number);
            if frame.complete {
                prop_assert!(lost.is_empty());
                prop_assert_eq!(&frame.bytes[..], &frames[number][..]);
            } else if !lost.is_empty() {
                prop_assert!(frame.bytes.is_empty());
                // What is lost at the end of the stream no later packet shows.
                let last = received.last().map_or(0, |frame| *frame.sequences.end());
                let known: Vec<_> = lost.into_iter().filter(|&sequence| sequence < last).collect();
                if let Some(missing) = &frame.missing {
                    prop_assert!(known.iter().all(|sequence| missing.contains(sequence)));
                    prop_assert!(is_lost(all[*missing.start() as usize]) && is_lost(all[*missing.end() as usize]));
                    prop_assert!(!known.is_empty() || style.fields || !style.groups);
                } else {
                    prop_assert!(known.is_empty());
                }
            } else {
                // Only where headers are in packets of their own, one of them may be what is missing before a frame.
                prop_assert!(!style.groups, "frame {} arrived whole and was discarded", number);
                prop_assert!(is_lost(&packets[number - 1][packets[number - 1].len() - 1]));
            }
        }
        for (number, sent) in packets.iter().enumerate() {
            prop_assert_eq!(seen.contains(&number), sent.iter().any(|packet| !is_lost(packet)));
        }
        prop_assert!(received.iter().is_sorted_by_key(|frame| frame.rtp_timestamp));
    }

    #[test]
    fn any_bytes_are_taken_and_memory_is_bounded(
        datagrams in vec((any::<u16>(), any::<u8>(), any::<bool>(), vec(any::<u8>(), 0..60)), 0..300), raw: bool,
    ) {
        let limits = Limits { reorder_window: WINDOW, largest_frame: DataSize::from_bytes(200) };
        let mut receiver = Depacketizer::new(&mpeg_video::FORMAT, None, limits);
        for (sequence, timestamp, marker, payload) in datagrams {
            let mut datagram = Vec::new();
            if !raw {
                datagram.extend([0x80, PAYLOAD_TYPE | u8::from(marker) << 7, (sequence >> 8) as u8, sequence as u8]);
                datagram.extend([0, 0, 0, timestamp & 3, 0, 0, 0, 9]);
            }
            datagram.extend(payload);
            let _ = receiver.handle_datagram(Timestamp::ZERO, &datagram);
            let ready: Vec<_> = std::iter::from_fn(|| receiver.poll_frame()).collect();
            prop_assert!(ready.len() <= usize::from(WINDOW) + 2);
            prop_assert!(ready.iter().all(|frame| frame.bytes.len() <= 200 && frame.bytes.is_empty() != frame.complete));
        }
        receiver.flush();
    }

    #[test]
    fn any_bytes_are_packetized_or_refused(
        bytes in vec(prop_oneof![Just(0u8), Just(0), Just(1), Just(0xB3), Just(0x18), any::<u8>()], 0..2_000),
        prefix: bool, rule in rule(),
    ) {
        let mut frame = if prefix { vec![0, 0, 1, 0, 0, 0x0F, 0xFF, 0xF8] } else { Vec::new() };
        frame.extend(bytes);
        let mut packetizer = packetizer(rule, 400);
        match packetizer.packetize(&frame, 0) {
            Ok(packets) => {
                let video: Vec<u8> = packets.iter().flat_map(|packet| packet.bytes[16..].to_vec()).collect();
                prop_assert_eq!(video, frame);
                prop_assert!(packets.iter().all(|packet| packet.bytes.len() <= 372 && packet.bytes.len() > 16));
            }
            Err(_) => prop_assert_eq!(packetizer.next_sequence(), 0),
        }
    }
}

/// A pair of fields of so many slices each, of so many bytes together, behind a sequence header of this width and 2,160 lines
/// (ISO/IEC 13818-2, 6.2.2.1, 6.2.3, 6.2.3.1 and 6.2.4).
fn large_frame(width: u16, slices: u8, size: usize) -> Vec<u8> {
    let [high, low] = (width << 4 | 2_160 >> 8).to_be_bytes();
    let mut frame = vec![0, 0, 1, 0xB3, high, low, 0x70, 0x33, 0xFF, 0xFF, 0xE0, 0x18];
    frame.extend([0, 0, 1, 0xB5, 0x14, 0x8A, 0x00, 0x01, 0x00, 0x00]);
    for (kind, structure) in [(1, 1), (2, 2)] {
        frame.extend([0, 0, 1, 0, 0, kind << 3 | 7, 0xFF, 0xF8, 0x80]);
        frame.extend([0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF0 | structure, 0x80, 0x80]);
        for row in 1..=slices {
            frame.extend([0, 0, 1, row]);
            frame.resize(frame.len() + size / usize::from(slices) / 2, 0x55);
        }
    }
    frame
}

/// Frames of 3840x2160 come through, also where the sequence header changes; one that is larger than the limit does not.
#[test]
fn frames_of_4k_are_kept() {
    let frames = [large_frame(3_840, 68, 6 << 20), large_frame(2_880, 68, 100_000), large_frame(3_840, 68, 8 << 20)];
    let (mut packetizer, mut receiver) = (packetizer(PacketRule::Full, 1_500), receiver());
    for (sent, is_kept) in frames.iter().zip([true, true, false]) {
        for packet in packetizer.packetize(sent, 0).unwrap() {
            receiver.handle_datagram(Timestamp::ZERO, &packet.bytes).unwrap();
        }
        let came = receiver.poll_frame().unwrap();
        assert_eq!(came.complete, is_kept, "{} bytes", sent.len());
        assert!(!is_kept || came.bytes == *sent);
    }
}
