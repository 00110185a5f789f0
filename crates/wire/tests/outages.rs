//! Long losses: what is accepted comes out, and what is not is refused.

use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{
    Arrival, Datagram, Depacketizer, Limits, PacketRule, Packetizer, ReceivedFrame, RejectReason, StreamOrigin,
    mpeg_video,
};

const SSRC: u32 = 7;
const INITIAL_SEQUENCE: u16 = 65_530;
/// A frame at 25 per second.
const TICKS: u32 = 3_600;

/// `picture_coding_type` (ISO/IEC 13818-2, table 6-12).
#[derive(Clone, Copy)]
enum Kind {
    I = 1,
    P = 2,
}

/// A frame that begins with its picture header and has slices of `slices` bytes in all.
fn frame(kind: Kind, slices: usize) -> Vec<u8> {
    let mut frame = vec![0, 0, 1, 0, 0, (kind as u8) << 3 | 7, 0xFF, 0xF8, 0x80];
    for row in 0..slices.div_ceil(500) {
        frame.extend([0, 0, 1, row as u8 + 1]);
        frame.resize(frame.len() + 496, 0x55);
    }
    frame
}

fn packetizer() -> Packetizer {
    Packetizer::new(
        &mpeg_video::FORMAT,
        PacketRule::Full,
        DataSize::from_bytes(1_500),
        StreamOrigin { ssrc: SSRC, initial_sequence: INITIAL_SEQUENCE },
    )
    .unwrap()
}

/// `count` frames of one packet each: number and time stamp go together.
fn single_packets(count: u32) -> Vec<Datagram> {
    let (mut packetizer, frame) = (packetizer(), frame(Kind::P, 500));
    (0..count).map(|number| packetizer.packetize(&frame, number * TICKS).unwrap().remove(0)).collect()
}

fn receiver() -> Depacketizer {
    let origin = StreamOrigin { ssrc: SSRC, initial_sequence: INITIAL_SEQUENCE };
    Depacketizer::new(&mpeg_video::FORMAT, Some(origin), Limits::default())
}

/// What a receiver said of the packets with these numbers, in order.
#[derive(Debug, Default)]
struct Outcome {
    accepted: Vec<u64>,
    unconfirmed: Vec<u64>,
    refused: Vec<RejectReason>,
    frames: Vec<ReceivedFrame>,
}

impl Outcome {
    fn complete(&self) -> usize {
        self.frames.iter().filter(|frame| frame.complete).count()
    }

    fn drain(&mut self, receiver: &mut Depacketizer) {
        while let Some(Arrival { outcome, .. }) = receiver.poll_arrival() {
            match outcome {
                Ok(sequence) => self.accepted.push(sequence),
                Err(RejectReason::Unconfirmed { sequence }) => self.unconfirmed.push(sequence),
                Err(reason) => panic!("{reason}"),
            }
        }
        self.frames.extend(std::iter::from_fn(|| receiver.poll_frame()));
    }
}

/// Packets come a frame's time after one another, and those that were lost before them as well.
fn receive(packets: &[Datagram], numbers: impl IntoIterator<Item = usize>) -> Outcome {
    let (mut receiver, mut outcome, mut now) = (receiver(), Outcome::default(), Timestamp::ZERO);
    for number in numbers {
        now = now.max(Timestamp::from_millis(number as u64 * 40));
        outcome.refused.extend(receiver.handle_datagram(now, &packets[number].bytes).err());
        outcome.drain(&mut receiver);
    }
    receiver.flush();
    outcome.drain(&mut receiver);
    outcome
}

#[test]
fn three_thousand_ahead_is_believed_and_a_packet_more_must_be_confirmed() {
    let packets = single_packets(3_100);
    for (ahead, is_believed) in [(2_999, true), (3_000, true), (3_001, false)] {
        let alone = receive(&packets, [0, 10, 10 + ahead]);
        let far = 10 + ahead as u64;
        let (accepted, unconfirmed) = if is_believed { (vec![0, 10, far], vec![]) } else { (vec![0, 10], vec![far]) };
        assert_eq!((&alone.accepted, &alone.unconfirmed), (&accepted, &unconfirmed), "{ahead} ahead");
        assert_eq!(alone.complete(), alone.accepted.len());
        let confirmed = receive(&packets, [0, 10, 10 + ahead, 11 + ahead]);
        assert_eq!(confirmed.accepted, [0, 10, far, far + 1], "{ahead} ahead, and the next one");
        assert_eq!(confirmed.complete(), 4);
    }
}

#[test]
fn a_hundred_behind_is_late_and_a_packet_more_is_far_ahead() {
    let packets = single_packets(300);
    for behind in [99, 100] {
        let outcome = receive(&packets, [0, 200, 200 - behind]);
        assert_eq!(outcome.refused, [RejectReason::Old { sequence: 200 - behind as u64 }], "{behind} behind");
    }
    let outcome = receive(&packets, [0, 200, 99]);
    assert_eq!((outcome.refused, outcome.unconfirmed), (vec![], vec![99 + 65_536]));
}

#[test]
fn every_packet_that_is_accepted_comes_out_and_every_one_has_one_outcome() {
    let packets = single_packets(30_000);
    // Losses on both sides of every jump, packets that overtake, copies, and jumps that nothing confirms.
    let after_jumps =
        [4_000, 4_002, 4_001, 4_002, 8_000, 12_000, 12_063, 16_000, 12_000, 20_000, 20_064, 24_000, 24_065];
    let numbers: Vec<usize> = (0..10).chain(after_jumps).chain(28_000..29_000).collect();
    let outcome = receive(&packets, numbers.iter().copied());
    assert_eq!(
        outcome.accepted.len() + outcome.unconfirmed.len() + outcome.refused.len(),
        numbers.len(),
        "{:?}",
        outcome.refused
    );
    let jumps = [4_000, 4_002, 4_001, 12_000, 12_063, 20_000, 20_064];
    assert_eq!(outcome.accepted, (0..10).chain(jumps).chain(28_000..29_000).collect::<Vec<u64>>());
    assert_eq!(outcome.unconfirmed, [8_000, 16_000, 24_000, 24_065]);
    let old = [4_002, 12_000].map(|sequence| RejectReason::Old { sequence });
    assert_eq!(outcome.refused, old);
    assert_eq!((outcome.frames.len(), outcome.complete()), (1_017, 1_017));
}

#[test]
fn the_packet_that_confirms_a_jump_may_have_been_overtaken() {
    let packets = single_packets(5_000);
    for (numbers, accepted) in [([0, 4_063, 4_000], vec![0, 4_063, 4_000]), ([0, 4_064, 4_000], vec![0])] {
        let outcome = receive(&packets, numbers);
        assert_eq!(outcome.accepted, accepted);
        assert_eq!((outcome.complete(), outcome.unconfirmed.len()), (accepted.len(), 3 - accepted.len()));
    }
}

#[test]
fn a_packet_that_contradicts_a_jump_is_reported_after_it() {
    let packets = single_packets(5_000);
    let mut receiver = receiver();
    for number in [0, 4_000, 1] {
        receiver.handle_datagram(Timestamp::from_micros(number), &packets[number as usize].bytes).unwrap();
    }
    let arrivals: Vec<_> = std::iter::from_fn(|| receiver.poll_arrival()).collect();
    let arrival = |number: u64, outcome| {
        let size = packets[number as usize].size();
        Arrival { at: Timestamp::from_micros(number), size, outcome }
    };
    let unconfirmed = Err(RejectReason::Unconfirmed { sequence: 4_000 });
    assert_eq!(arrivals, [arrival(0, Ok(0)), arrival(4_000, unconfirmed), arrival(1, Ok(1))]);
}

#[test]
fn after_a_loss_of_65_536_packets_none_has_a_wrong_number() {
    let packets = single_packets(132_000);
    for first in [65_446, 65_500, 65_545, 65_546, 65_548, 65_600, 131_000] {
        let outcome = receive(&packets, (0..=10).chain(first..first + 500));
        let (before, behind) = outcome.accepted.split_at(11);
        assert_eq!(before, (0..=10).collect::<Vec<u64>>(), "from {first}");
        // What no sender counts to (`leaps.rs`).
        assert!(behind.iter().all(|&number| number >= 1 << 32), "from {first}: {behind:?}");
        assert_eq!((outcome.refused.len() + behind.len(), outcome.complete()), (500, outcome.accepted.len()));
        assert!(outcome.refused.len() <= 1, "{:?}", outcome.refused);
    }
    let outcome = receive(&packets, (0..=1_000).chain(60_000..60_500));
    assert_eq!(outcome.accepted, (0..=1_000).chain(60_000..60_500).collect::<Vec<u64>>(), "that long can be told");
    assert_eq!(outcome.complete(), 1_501);
}

/// Frames by kind and bytes, and which of their packets are lost; what comes out complete, by frame.
fn complete_after_loss(
    frames: &[(Kind, usize)],
    has_markers: bool,
    is_lost: impl Fn(usize, usize) -> bool,
) -> Vec<usize> {
    let (mut packetizer, mut packets, mut kept) = (packetizer(), Vec::new(), Vec::new());
    for (number, &(kind, size)) in frames.iter().enumerate() {
        let sent = packetizer.packetize(&frame(kind, size), number as u32 * TICKS).unwrap();
        for (place, mut packet) in sent.into_iter().enumerate() {
            if !has_markers {
                let mut bytes = packet.bytes.to_vec();
                bytes[1] &= 0x7F;
                packet.bytes = bytes.into();
            }
            if !is_lost(number, place) {
                kept.push(packets.len());
            }
            packets.push(packet);
        }
    }
    let frames = receive(&packets, kept).frames;
    frames.iter().filter(|frame| frame.complete).map(|frame| (frame.rtp_timestamp / TICKS) as usize).collect()
}

#[test]
fn a_frame_after_the_lost_end_of_another_one_is_complete() {
    use Kind::{I, P};
    // Frame 1 has three packets, and frame 2 begins with the picture header of an I picture.
    let frames = [(P, 500), (P, 3_000), (I, 500), (P, 500)];
    assert_eq!(complete_after_loss(&frames, true, |frame, place| (frame, place) == (1, 2)), [0, 2, 3]);
    // Two packets are lost: one may have been of frame 2.
    assert_eq!(complete_after_loss(&frames, true, |frame, place| frame == 1 && place > 0), [0, 3]);
    // Without markers the end of frame 1 may have arrived. The end of frame 3 is not known either.
    assert_eq!(complete_after_loss(&frames, false, |frame, place| (frame, place) == (1, 2)), [0]);
}

#[test]
fn a_sender_of_bare_i_frames_is_believed_to_send_more() {
    use Kind::{I, P};
    let frames = [(I, 500), (P, 500), (P, 500), (P, 500), (I, 500), (P, 500)];
    assert_eq!(complete_after_loss(&frames, true, |frame, _| frame == 3), [0, 1, 2, 4, 5]);
    let unknown = [(P, 500), (P, 500), (P, 500), (P, 500), (I, 500), (P, 500)];
    assert_eq!(complete_after_loss(&unknown, true, |frame, _| frame == 3), [0, 1, 2, 5]);
}

/// RFC 3550, 5.1: numbers say where packets stand, and time stamps do not: those that leap, stand still or go back are those of their
/// frames. Where one leaps by hours behind a loss, an outage of hours looks the same but for when packets come.
#[test]
fn time_stamps_that_jump_or_go_back_lose_nothing() {
    let back = [0, 1, 2, 3, 1, 2, 2, 0, 1, 2].map(|frames| frames * TICKS + 5);
    let ahead = [4, 5, 6].map(|frames| (1 << 30) + frames * TICKS);
    let stamps = [&back[..], &ahead, &back].concat();
    let (mut packetizer, frame) = (packetizer(), frame(Kind::P, 500));
    let packets: Vec<_> = stamps.iter().map(|&stamp| packetizer.packetize(&frame, stamp).unwrap().remove(0)).collect();
    for lost in (1..packets.len()).map(Some).chain([None]) {
        let outcome = receive(&packets, (0..packets.len()).filter(|&number| Some(number) != lost));
        assert_eq!(outcome.refused, [], "{lost:?}");
        let came = (0..packets.len()).filter(|number| Some(*number) != lost);
        let came: Vec<u32> = came.map(|number| stamps[number]).collect();
        assert_eq!(outcome.frames.iter().map(|frame| frame.rtp_timestamp).collect::<Vec<_>>(), came, "{lost:?}");
        assert_eq!(outcome.complete(), came.len());
    }
}
