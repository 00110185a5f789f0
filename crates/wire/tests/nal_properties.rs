//! Any stream of H.264 or H.265, through any network: packets keep their RFC, whole frames come back, and exactly the
//! frames that lost a packet do not.

use crate::support;
use std::collections::BTreeSet;

use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{Datagram, Depacketizer, Limits, PacketRule, Packetizer, StreamOrigin};
use proptest::collection::vec;
use proptest::prelude::*;
use support::nal::{Codec, Style, Unit, nals_of, style, units};
use support::receiving::{WINDOW, receive, shuffle};

const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 7, initial_sequence: 65_530 };

fn stream() -> impl Strategy<Value = (Style, Vec<Unit>)> {
    style().prop_flat_map(|style| (Just(style), units(style, 1..12)))
}

fn rule() -> impl Strategy<Value = PacketRule> {
    prop_oneof![Just(PacketRule::Full), Just(PacketRule::Slices)]
}

/// The packets of each frame; frame `n` has the time stamp `n`.
fn packetize(codec: Codec, units: &[Unit], rule: PacketRule, mtu: u64) -> Vec<Vec<Datagram>> {
    let mut packetizer = Packetizer::new(codec.format(), rule, DataSize::from_bytes(mtu), ORIGIN).unwrap();
    units.iter().enumerate().map(|(n, unit)| packetizer.packetize(&unit.bytes, n as u32).unwrap()).collect()
}

fn receiver(codec: Codec) -> Depacketizer {
    let limits = Limits { reorder_window: WINDOW, ..Limits::default() };
    Depacketizer::new(codec.format(), Some(ORIGIN), limits)
}

/// The largest frame of 4096x2304 comes through, in slices or as one; one that is larger than the limit does not.
#[test]
fn frames_of_any_level_up_to_5_2_are_kept() {
    const LARGEST: usize = 36_864 * 384 / 2;
    for codec in [Codec::H264, Codec::H265] {
        let header: &[u8] = if codec == Codec::H264 { &[0x65, 0xB8] } else { &[0x26, 1, 0xC0] };
        let slice = |size: usize| [header, &vec![0x55; size]].concat();
        let unit = |slices: usize, size: usize| -> Vec<u8> {
            let coded =
                |number| [if number == 0 { &[0, 0, 0, 1][..] } else { &[0, 0, 1] }, &slice(size / slices)].concat();
            (0..slices).flat_map(coded).collect()
        };
        for (slices, size, is_kept) in [(1, LARGEST, true), (68, LARGEST, true), (1, 8 << 20, false)] {
            let sent = unit(slices, size);
            let mut packetizer =
                Packetizer::new(codec.format(), PacketRule::Full, DataSize::from_bytes(1_500), ORIGIN).unwrap();
            let mut receiver = receiver(codec);
            for packet in packetizer.packetize(&sent, 0).unwrap() {
                receiver.handle_datagram(Timestamp::ZERO, &packet.bytes).unwrap();
            }
            let frame = receiver.poll_frame().unwrap();
            assert_eq!(frame.complete, is_kept, "{codec:?} {slices} {size}");
            assert!(!is_kept || frame.bytes == sent);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_keep_the_rfc((style, units) in stream(), rule in rule(), mtu in 44u64..2_000) {
        let mut sequence = 0;
        for (number, (unit, packets)) in units.iter().zip(packetize(style.codec, &units, rule, mtu)).enumerate() {
            for (index, packet) in packets.iter().enumerate() {
                let bytes = &packet.bytes;
                prop_assert!(bytes.len() as u64 <= mtu - 28);
                let is_last = index + 1 == packets.len();
                prop_assert_eq!((bytes[0], bytes[1]), (0x80, 96 | u8::from(is_last) << 7));
                let sequence_number = ORIGIN.initial_sequence.wrapping_add(sequence as u16);
                prop_assert_eq!(&bytes[2..4], &sequence_number.to_be_bytes());
                prop_assert_eq!(&bytes[4..12], &[0, 0, 0, number as u8, 0, 0, 0, 7]);
                prop_assert_eq!(packet.sequence, sequence);
                sequence += 1;
            }
            let payloads: Vec<&[u8]> = packets.iter().map(|packet| &packet.bytes[12..]).collect();
            prop_assert_eq!(&nals_of(style.codec, &payloads, mtu as usize - 40), &unit.nals);
            // No two neighbours could have shared a packet, and under `slices` none does.
            let aggregation = if style.codec == Codec::H264 { 24 } else { 48 };
            let kind = |payload: &[u8]| if style.codec == Codec::H264 { payload[0] & 0x1F } else { payload[0] >> 1 };
            let is_aggregated = |payload: &&[u8]| kind(payload) == aggregation;
            prop_assert!(rule == PacketRule::Full || !payloads.iter().any(is_aggregated));
            let header = if style.codec == Codec::H264 { 1 } else { 2 };
            let is_fragment = |payload: &[u8]| kind(payload) == aggregation + if header == 1 { 4 } else { 1 };
            for pair in payloads.windows(2).filter(|pair| rule == PacketRule::Full && !pair.iter().any(|one| is_fragment(one))) {
                let first = if is_aggregated(&pair[0]) { pair[0].len() } else { header + 2 + pair[0].len() };
                let next = if is_aggregated(&pair[1]) {
                    usize::from(pair[1][header]) << 8 | usize::from(pair[1][header + 1])
                } else {
                    pair[1].len()
                };
                prop_assert!(first + 2 + next > mtu as usize - 40);
            }
        }
    }

    #[test]
    fn reordered_and_repeated_packets_give_back_every_frame(
        (style, units) in stream(), rule in rule(), mtu in 60u64..2_000,
        delays in vec(any::<u8>(), 1..50), repeats in vec(any::<bool>(), 1..50),
    ) {
        let packets = packetize(style.codec, &units, rule, mtu);
        let mut network: Vec<&Datagram> = Vec::new();
        for (place, packet) in packets.iter().flatten().enumerate() {
            network.extend(std::iter::repeat_n(packet, 1 + usize::from(repeats[place % repeats.len()])));
        }
        shuffle(&mut network, &delays);
        let received = receive(&mut receiver(style.codec), network);
        prop_assert_eq!(received.len(), units.len());
        for (number, (received, sent)) in received.iter().zip(&units).enumerate() {
            prop_assert!(received.complete && received.missing.is_none());
            prop_assert_eq!(received.rtp_timestamp, number as u32);
            prop_assert!(received.bytes == sent.canonical);
            let first = packets[number][0].sequence;
            prop_assert_eq!(&received.sequences, &(first..=first + packets[number].len() as u64 - 1));
        }
    }

    #[test]
    fn loss_takes_exactly_the_frames_that_it_touches(
        (style, units) in stream(), rule in rule(), mtu in prop_oneof![Just(1_500u64), 100u64..1_500],
        delays in vec(any::<u8>(), 1..50), losses in vec(0u8..12, 30..200),
    ) {
        let packets = packetize(style.codec, &units, rule, mtu);
        let is_lost = |packet: &Datagram| losses[packet.sequence as usize % losses.len()] == 0;
        let all: Vec<_> = packets.iter().flatten().collect();
        let mut network: Vec<_> = all.iter().copied().filter(|packet| !is_lost(packet)).collect();
        shuffle(&mut network, &delays);
        let received = receive(&mut receiver(style.codec), network);

        let mut seen = BTreeSet::new();
        // Of which classes a frame came with its beginning.
        let (mut known_key, mut known_other, mut known_any) = (false, false, false);
        for frame in &received {
            let number = frame.rtp_timestamp as usize;
            let sent = &packets[number];
            let lost: Vec<_> = sent.iter().filter(|packet| is_lost(packet)).map(|packet| packet.sequence).collect();
            prop_assert!(seen.insert(number), "frame {} comes once", number);
            // What came up to the first gap is how the frame begins.
            prop_assert!(units[number].canonical.starts_with(&frame.beginning));
            prop_assert!(frame.beginning.len() < units[number].canonical.len() || lost.is_empty());
            prop_assert!(frame.beginning.is_empty() || !frame.complete && !lost.contains(&sent[0].sequence));
            let known = if units[number].is_key { &mut known_key } else { &mut known_other };
            if frame.complete {
                prop_assert!(lost.is_empty(), "frame {} lost {:?}", number, lost);
                prop_assert!(frame.bytes == units[number].canonical);
                *known = true;
                known_any = true;
            } else if !lost.is_empty() {
                prop_assert!(frame.bytes.is_empty());
                if let Some(missing) = &frame.missing {
                    prop_assert!(is_lost(all[*missing.start() as usize]) && is_lost(all[*missing.end() as usize]));
                }
            } else {
                // It arrived whole, behind a loss. Either nothing shows that, or nothing did so far.
                prop_assert!(number == 0 || is_lost(&packets[number - 1][packets[number - 1].len() - 1]));
                let is_known = if style.delimiters { known_any } else { *known };
                prop_assert!(!style.shows_beginnings() || !is_known, "frame {} was discarded", number);
            }
        }
        for (number, sent) in packets.iter().enumerate() {
            prop_assert_eq!(seen.contains(&number), sent.iter().any(|packet| !is_lost(packet)));
        }
        prop_assert!(received.iter().is_sorted_by_key(|frame| frame.rtp_timestamp));
    }

    #[test]
    fn any_bytes_are_taken_and_memory_is_bounded(
        datagrams in vec((any::<u16>(), any::<u8>(), any::<bool>(), vec(any::<u8>(), 0..60)), 0..300),
        raw: bool, is_h264: bool,
    ) {
        let codec = if is_h264 { Codec::H264 } else { Codec::H265 };
        let limits = Limits { reorder_window: WINDOW, largest_frame: DataSize::from_bytes(200) };
        let mut receiver = Depacketizer::new(codec.format(), None, limits);
        for (sequence, timestamp, marker, payload) in datagrams {
            let mut datagram = Vec::new();
            if !raw {
                datagram.extend([0x80, 96 | u8::from(marker) << 7, (sequence >> 8) as u8, sequence as u8]);
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
}
