//! A source that goes on with other numbers or another clock is followed, and one packet alone leads nowhere (RFC 3550, A.1).

use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{
    Depacketizer, Limits, PacketRule, Packetizer, RejectReason, StreamOrigin, mpeg_video,
};
use proptest::prelude::*;

const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 7, initial_sequence: 65_530 };
/// A frame at 25 per second.
const TICKS: u32 = 3_600;
/// A picture header and a slice.
const FRAME: [u8; 13] = [0, 0, 1, 0, 0, 0x17, 0xFF, 0xF8, 0x80, 0, 0, 1, 1];
/// From here on the place of a packet in its stream is not known.
const UNKNOWN_PLACE: u64 = 1 << 32;

/// A packet of a whole frame with such numbers.
fn packet(sequence_number: u16, timestamp: u32) -> Vec<u8> {
    let origin = StreamOrigin { initial_sequence: sequence_number, ..ORIGIN };
    let mut packetizer =
        Packetizer::new(&mpeg_video::FORMAT, PacketRule::Full, DataSize::from_bytes(1_500), origin).unwrap();
    packetizer.packetize(&FRAME, timestamp).unwrap().remove(0).bytes.to_vec()
}

/// The packet of this place in a stream without a leap.
fn in_place(place: u32) -> Vec<u8> {
    packet(ORIGIN.initial_sequence.wrapping_add(place as u16), place * TICKS)
}

/// A receiver, and what it took: numbers, whole frames and refusals.
struct Receiving {
    receiver: Depacketizer,
    /// Between two packets, in milliseconds.
    between: u64,
    given: u64,
    numbers: Vec<u64>,
    whole: usize,
    refused: Vec<RejectReason>,
}

impl Receiving {
    fn new(between: u64) -> Self {
        let receiver = Depacketizer::new(&mpeg_video::FORMAT, Some(ORIGIN), Limits::default());
        Self { receiver, between, given: 0, numbers: vec![], whole: 0, refused: vec![] }
    }

    fn take(&mut self, packet: &[u8]) {
        let now = Timestamp::from_millis(self.given * self.between);
        self.given += 1;
        self.refused.extend(self.receiver.handle_datagram(now, packet).err());
        while let Some(arrival) = self.receiver.poll_arrival() {
            match arrival.outcome {
                Ok(number) => self.numbers.push(number),
                Err(reason) => self.refused.push(reason),
            }
        }
        self.count_frames();
    }

    fn count_frames(&mut self) {
        self.whole += std::iter::from_fn(|| self.receiver.poll_frame()).filter(|frame| frame.complete).count();
    }

    fn end(mut self) -> Self {
        self.receiver.flush();
        self.count_frames();
        self
    }
}

/// Packets come when they are due, or all at once.
fn between() -> impl Strategy<Value = u64> {
    prop_oneof![Just(40), Just(0)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// What leaps into the hundred numbers before the last one seems late until it is past them.
    #[test]
    fn a_source_that_leaps_is_followed(
        before in 2u32..150, lost in 0u32..40, numbers: u16, clock: u32, between in between(), packets in 200u32..300,
    ) {
        let mut receiving = Receiving::new(between);
        (0..before).for_each(|place| receiving.take(&in_place(place)));
        prop_assert_eq!(receiving.numbers.len(), before as usize);
        for place in before + lost..before + lost + packets {
            let sequence_number = ORIGIN.initial_sequence.wrapping_add(place as u16).wrapping_add(numbers);
            receiving.take(&packet(sequence_number, (place * TICKS).wrapping_add(clock)));
        }
        let receiving = receiving.end();
        let seems_late = u32::from(numbers.wrapping_neg()) <= 100 + lost + 1;
        let most_refused = if seems_late { 103 } else { 2 };
        prop_assert!(receiving.refused.len() <= most_refused, "{:?}", receiving.refused);
        prop_assert_eq!(receiving.numbers.len() + receiving.refused.len(), (before + packets) as usize);
        prop_assert!(receiving.numbers.is_sorted_by(|one, other| one < other));
        prop_assert!(receiving.whole + 2 >= receiving.numbers.len());
    }

    /// A clock that leaps while packets come when they are due changes no number.
    #[test]
    fn numbers_go_on_where_only_the_clock_leaps(before in 2u32..150, lost in 0u32..40, clock: u32) {
        let mut receiving = Receiving::new(40);
        (0..before).for_each(|place| receiving.take(&in_place(place)));
        receiving.given += u64::from(lost);
        for place in before + lost..before + lost + 50 {
            let sequence_number = ORIGIN.initial_sequence.wrapping_add(place as u16);
            receiving.take(&packet(sequence_number, (place * TICKS).wrapping_add(clock)));
        }
        let sent: Vec<u64> = (0..before).chain(before + lost..before + lost + 50).map(u64::from).collect();
        prop_assert_eq!(&receiving.numbers, &sent);
        prop_assert_eq!(receiving.end().whole, sent.len());
    }

    /// A packet with a number or a time stamp from elsewhere does no harm, and its own frame does not come.
    #[test]
    fn one_forged_packet_leads_nowhere(
        before in 2u32..150, after in 2u32..150, near in any::<bool>(), ahead in 3_002u32..65_430, clock: u32,
        between in between(),
    ) {
        let mut receiving = Receiving::new(between);
        (0..before).for_each(|place| receiving.take(&in_place(place)));
        let (ahead, clock) = if near { (2 + ahead % 2_900, (1 << 29) + clock % (1 << 29)) } else { (ahead, clock) };
        let forged = ORIGIN.initial_sequence.wrapping_add((before - 1 + ahead) as u16);
        receiving.take(&packet(forged, (before * TICKS).wrapping_add(clock)));
        // A copy of it confirms nothing.
        receiving.take(&packet(forged, (before * TICKS).wrapping_add(clock)));
        (before..before + after).for_each(|place| receiving.take(&in_place(place)));
        prop_assert_eq!(&receiving.numbers, &(0..u64::from(before + after)).collect::<Vec<_>>());
        prop_assert_eq!(receiving.refused.len(), 2);
        prop_assert_eq!(receiving.end().whole, (before + after) as usize);
    }
}

#[test]
fn behind_an_outage_of_more_than_a_turn_frames_come_under_numbers_that_no_sender_gives() {
    for lost in [65_500u32, 65_537, 70_000, 500_000] {
        let mut receiving = Receiving::new(40);
        (0..1_000).for_each(|place| receiving.take(&in_place(place)));
        receiving.given += u64::from(lost);
        (1_000 + lost..1_100 + lost).for_each(|place| receiving.take(&in_place(place)));
        let behind = &receiving.numbers[1_000..];
        assert!(behind.len() == 100 && behind[0] >= UNKNOWN_PLACE && behind[99] == behind[0] + 99, "{behind:?}");
        assert_eq!((receiving.refused.len(), receiving.end().whole), (0, 1_100));
    }
}
