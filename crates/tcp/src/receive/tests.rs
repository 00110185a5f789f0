use framewire_units::Ecn;
use proptest::prelude::*;

use super::*;
use crate::segment::{Flags, TimestampsOption};

const NEGOTIATED: Negotiated =
    Negotiated { timestamps: true, sack: true, window_scaling: true, ecn: Some(EcnUse::Classic) };
const FULL: u32 = 1_448;

fn receiver(config: &ReceiveConfig) -> ReceiveSide {
    let mut side = ReceiveSide::new(config);
    side.synchronize(1, Some(0));
    side.establish(Timestamp::ZERO, NEGOTIATED);
    side
}

fn segment(now: Timestamp, sequence: u64, payload: u32) -> Segment {
    Segment {
        sequence,
        payload,
        acknowledgement: 1,
        flags: Flags { ack: true, ..Flags::default() },
        window: 65_535,
        maximum_segment: None,
        timestamps: Some(TimestampsOption { value: now.as_nanos() / 1_000_000, echo: 0 }),
        sack: SackBlocks::default(),
        ecn: Ecn::NotEct,
        retransmission: false,
        sent: now,
    }
}

/// Takes the acknowledgement that is due.
fn acknowledge(side: &mut ReceiveSide) -> Segment {
    assert!(side.is_ack_due());
    let mut ack = segment(Timestamp::ZERO, 1, 0);
    side.fill(&mut ack);
    assert!(!side.is_ack_due());
    ack
}

/// Sends `count` full packets in order, 1 ms apart, with a reader that takes all at once; counts acknowledgements.
fn stream(side: &mut ReceiveSide, from: u64, count: u64) -> u64 {
    let mut acknowledgements = 0;
    for index in from..from + count {
        let now = Timestamp::from_millis(1_000 + index);
        side.handle_timeout(now);
        if side.is_ack_due() {
            acknowledge(side);
            acknowledgements += 1;
        }
        let before = side.is_ack_due();
        let decision = side.handle_segment(now, &segment(now, 1 + index * u64::from(FULL), FULL));
        assert_eq!(decision == AckDecision::Now, side.is_ack_due() && !before);
        if side.is_ack_due() {
            acknowledge(side);
            acknowledgements += 1;
        }
        assert_eq!(side.read(now, u64::MAX), u64::from(FULL));
        if side.is_ack_due() {
            acknowledge(side);
            acknowledgements += 1;
        }
    }
    acknowledgements
}

#[test]
fn every_second_packet_is_acknowledged_after_a_quick_start() {
    let mut side = receiver(&ReceiveConfig::default());
    let start = stream(&mut side, 0, 16);
    assert_eq!(start, 16);
    // As long as the window grows, every packet is acknowledged, so that the sender learns of it.
    let growing = stream(&mut side, 16, 500);
    assert!((400..=500).contains(&growing), "{growing} of 500 while the window grows");
    let later = stream(&mut side, 516, 1_000);
    assert!((500..=510).contains(&later), "{later} of 1,000 later");
}

#[test]
fn a_lone_packet_waits_for_the_timer() {
    let buffer = Some(DataSize::from_bytes(131_072));
    let mut side = receiver(&ReceiveConfig { buffer, ..ReceiveConfig::default() });
    stream(&mut side, 0, 101);
    if side.next_ack_timeout().is_none() {
        stream(&mut side, 101, 1);
    }
    let timeout = side.next_ack_timeout().expect("an odd packet is owed");
    side.handle_timeout(timeout - Duration::from_nanos(1));
    assert!(!side.is_ack_due());
    side.handle_timeout(timeout);
    acknowledge(&mut side);
    assert_eq!(side.next_ack_timeout(), None);
}

#[test]
fn holes_are_told_at_once_and_closing_them_too() {
    let mut side = receiver(&ReceiveConfig::default());
    stream(&mut side, 0, 100);
    let base = 1 + 100 * u64::from(FULL);
    let full = u64::from(FULL);
    let now = Timestamp::from_millis(2_000);
    assert_eq!(side.handle_segment(now, &segment(now, base + full, FULL)), AckDecision::Now);
    let ack = acknowledge(&mut side);
    assert_eq!(ack.acknowledgement, base);
    assert_eq!(ack.sack.as_slice(), [crate::SackBlock { start: base + full, end: base + 2 * full }]);
    assert_eq!(side.handle_segment(now, &segment(now, base, FULL)), AckDecision::Now);
    let ack = acknowledge(&mut side);
    assert_eq!((ack.acknowledgement, ack.sack.is_empty()), (base + 2 * full, true));
    assert_eq!(side.handle_segment(now, &segment(now, base, FULL)), AckDecision::Now);
    let ack = acknowledge(&mut side);
    assert_eq!(ack.sack.as_slice(), [crate::SackBlock { start: base, end: base + full }], "a duplicate");
}

#[test]
fn a_reader_that_stops_is_told_by_a_closed_window_and_resumes_with_an_update() {
    let config = ReceiveConfig { buffer: Some(DataSize::from_bytes(131_072)), ..ReceiveConfig::default() };
    let mut side = receiver(&config);
    let now = Timestamp::from_millis(500);
    let (mut next, mut edge) = (1, 65_160);
    while edge - next >= u64::from(FULL) {
        side.handle_segment(now, &segment(now, next, FULL));
        next += u64::from(FULL);
        if side.is_ack_due() {
            let ack = acknowledge(&mut side);
            assert!(ack.acknowledgement + ack.window >= edge, "never taken back");
            edge = ack.acknowledgement + ack.window;
        }
        side.handle_timeout(Timestamp::from_secs(1));
    }
    assert!(side.readable() > 78_000 && side.readable() < 85_000, "{}", side.readable());
    // A probe is answered with what there is.
    let probe = segment(now, next - 1, 0);
    assert_eq!(side.handle_segment(Timestamp::from_secs(2), &probe), AckDecision::Now);
    let ack = acknowledge(&mut side);
    assert!(ack.window < u64::from(FULL));
    // And one packet beyond the window is refused, with an answer.
    let readable = side.readable();
    let beyond = segment(now, next, FULL);
    side.handle_segment(now, &beyond);
    assert!(side.readable() - readable <= ack.window);
    acknowledge(&mut side);
    side.read(now, 1_448);
    assert!(!side.is_ack_due(), "no silly window");
    side.read(now, 20_000);
    let update = acknowledge(&mut side);
    assert!(update.window >= 8_000, "{}", update.window);
}

#[test]
fn the_end_has_a_number_and_no_byte() {
    let mut side = receiver(&ReceiveConfig::default());
    let now = Timestamp::from_millis(3);
    let mut end = segment(now, 1 + 500, 500);
    end.flags.fin = true;
    side.handle_segment(now, &end);
    assert!(!side.is_fin_in_order());
    assert_eq!(side.handle_segment(now, &segment(now, 1, 500)), AckDecision::Now);
    assert_eq!(acknowledge(&mut side).acknowledgement, 1_002);
    assert!(side.is_fin_in_order() && !side.has_ended());
    assert_eq!((side.readable(), side.received()), (1_000, 1_000));
    assert_eq!(side.read(now, u64::MAX), 1_000);
    assert!(side.has_ended());
    side.handle_segment(now, &segment(now, 1_002, 500));
    assert_eq!((side.readable(), side.received()), (0, 1_000), "nothing comes after it");
    assert_eq!(side.window.charged(), 0);
}

#[test]
fn the_echoed_timestamp_is_that_of_the_earliest_packet_not_acknowledged() {
    // RFC 7323, section 4.3, (A) and (B).
    let mut side = receiver(&ReceiveConfig::default());
    stream(&mut side, 0, 101);
    if side.next_ack_timeout().is_some() {
        side.request_ack();
        acknowledge(&mut side);
    }
    let base = 1 + 101 * u64::from(FULL);
    let early = Timestamp::from_millis(5_000);
    let late = Timestamp::from_millis(5_007);
    side.handle_segment(early, &segment(early, base, 400));
    side.handle_segment(late, &segment(late, base + 400, 400));
    side.request_ack();
    assert_eq!(acknowledge(&mut side).timestamps.unwrap().echo, 5_000);
    // (C): beyond a hole the last in-order segment's stays.
    let beyond = Timestamp::from_millis(5_100);
    side.handle_segment(beyond, &segment(beyond, base + 2_000, 400));
    assert_eq!(acknowledge(&mut side).timestamps.unwrap().echo, 5_000);
    let filling = Timestamp::from_millis(5_200);
    side.handle_segment(filling, &segment(filling, base + 800, 1_200));
    assert_eq!(acknowledge(&mut side).timestamps.unwrap().echo, 5_200);
}

#[test]
fn a_mark_is_echoed_until_the_sender_has_reduced() {
    let mut side = receiver(&ReceiveConfig::default());
    stream(&mut side, 0, 100);
    let now = Timestamp::from_millis(9_000);
    let base = 1 + 100 * u64::from(FULL);
    let mut marked = segment(now, base, FULL);
    marked.ecn = Ecn::Ce;
    assert_eq!(side.handle_segment(now, &marked), AckDecision::Now, "the sender's window may be small");
    assert!(acknowledge(&mut side).flags.ece);
    let mut next = segment(now, base + u64::from(FULL), FULL);
    next.ecn = Ecn::Ect0;
    side.handle_segment(now, &next);
    side.request_ack();
    assert!(acknowledge(&mut side).flags.ece, "until it says so");
    next.sequence += u64::from(FULL);
    next.flags.cwr = true;
    assert_eq!(side.handle_segment(now, &next), AckDecision::Now);
    assert!(!acknowledge(&mut side).flags.ece);
}

#[test]
fn segments_without_data_are_not_acknowledged_and_old_ones_seldom() {
    let mut side = receiver(&ReceiveConfig::default());
    let now = Timestamp::from_secs(1);
    assert_eq!(side.handle_segment(now, &segment(now, 1, 0)), AckDecision::Nothing);
    let old = segment(now, 0, 0);
    assert_eq!(side.handle_segment(now, &old), AckDecision::Now);
    acknowledge(&mut side);
    assert_eq!(side.handle_segment(now + Duration::from_millis(499), &old), AckDecision::Nothing);
    assert_eq!(side.handle_segment(now + Duration::from_millis(500), &old), AckDecision::Now);
}

#[test]
fn tiny_segments_do_not_exhaust_memory() {
    let config = ReceiveConfig { buffer: Some(DataSize::from_bytes(20_000)), ..ReceiveConfig::default() };
    let mut side = receiver(&config);
    let mut edge = 0;
    for index in 0..200_000 {
        let now = Timestamp::from_micros(index * 100);
        // Every second byte is missing: each one is a run of its own.
        side.handle_segment(now, &segment(now, 2 + 2 * index, 1));
        if side.is_ack_due() {
            let ack = acknowledge(&mut side);
            assert!(ack.acknowledgement + ack.window >= edge);
            edge = ack.acknowledgement + ack.window;
        }
    }
    assert!(side.window.charged() <= 20_000 + 2_304, "{}", side.window.charged());
}

proptest! {
    /// Any order, repetition and reading: bytes arrive once, the window is never taken back, blocks are true, and the
    /// memory comes back.
    #[test]
    fn keeps_its_promises(
        steps in proptest::collection::vec((0u64..60, 1u32..1_449, 0u8..4, 0u64..6_000), 1..150),
        is_fixed in any::<bool>(),
    ) {
        let buffer = is_fixed.then(|| DataSize::from_bytes(30_000));
        let mut side = receiver(&ReceiveConfig { buffer, ..ReceiveConfig::default() });
        let mut held = vec![false; 80_000];
        let (mut edge, mut read, mut now) = (0u64, 0u64, Timestamp::from_millis(1));
        for (slot, payload, action, amount) in steps {
            now += Duration::from_micros(700);
            side.handle_timeout(now);
            let next = side.next_sequence();
            let sequence = (next + slot * 500).saturating_sub(3_000).max(1);
            let before = side.received();
            side.handle_segment(now, &segment(now, sequence, payload));
            prop_assert!(side.received() >= before);
            let covered = sequence..sequence + u64::from(payload);
            covered.for_each(|byte| held[byte as usize % 80_000] = true);
            if action == 0 {
                let taken = side.read(now, amount);
                prop_assert!(taken <= amount);
                read += taken;
            }
            prop_assert_eq!(read + side.readable(), side.next_sequence() - 1);
            if action == 1 || side.is_ack_due() {
                side.request_ack();
                let ack = acknowledge(&mut side);
                prop_assert_eq!(ack.acknowledgement, side.next_sequence());
                prop_assert!(ack.acknowledgement + ack.window >= edge, "taken back");
                edge = ack.acknowledgement + ack.window;
                prop_assert!(ack.sack.as_slice().len() <= 3);
                for block in ack.sack.as_slice() {
                    prop_assert!(block.end > block.start);
                    prop_assert!((block.start..block.end).all(|byte| held[byte as usize % 80_000]));
                }
            }
        }
        side.read(now, u64::MAX);
        if side.reassembly.is_contiguous() {
            prop_assert_eq!(side.window.charged(), 0);
        }
    }
}
