//! Properties of ledgers over random flows, with the truth known to the generator.

use framewire_units::{Duration, Playout, PlayoutPolicy, Timing};
use proptest::prelude::*;

use crate::ledger::{Fate, Ledger};
use crate::record::{FlowLog, FlowStatus, FrameEventKind, LossPlace};
use crate::summary::Summary;
use crate::testing::{DatagramFlow, Injected, StreamFlow, movie};

fn injected() -> impl Strategy<Value = Injected> {
    prop_oneof![
        20 => (0u64..2_000).prop_map(|millis| Injected::Arrives(Duration::from_millis(millis))),
        1 => Just(Injected::NoRoom),
        1 => Just(Injected::Dropped(LossPlace::Link, "retry limit")),
        1 => Just(Injected::Dropped(LossPlace::SenderSocket, "queue full")),
        1 => Just(Injected::Dropped(LossPlace::IntermediateQueue, "queue full")),
        1 => Just(Injected::Unread),
        1 => Just(Injected::UnderWay),
    ]
}

/// What happens to one frame on datagrams.
#[derive(Clone, Debug)]
enum Treatment {
    Sent(Vec<Injected>),
    CutShort(Vec<Injected>),
    Shed,
    NeverOffered,
}

fn treatment() -> impl Strategy<Value = Treatment> {
    let faults = || prop::collection::vec(injected(), 0..4);
    prop_oneof![
        12 => faults().prop_map(Treatment::Sent),
        1 => faults().prop_map(Treatment::CutShort),
        1 => Just(Treatment::Shed),
        1 => Just(Treatment::NeverOffered),
    ]
}

fn playout() -> impl Strategy<Value = Playout> {
    let policy = prop_oneof![Just(PlayoutPolicy::Live), Just(PlayoutPolicy::Stall)];
    let timing = prop_oneof![Just(Timing::Clock), Just(Timing::Thesis)];
    (policy, 0u64..1_500, timing).prop_map(|(policy, millis, timing)| {
        let startup = Duration::from_millis(millis);
        Playout { policy, timing, ..Playout::live(startup) }
    })
}

/// Whether the end of the run may be all that kept it from coming.
fn may_be_cut_off(treatment: &Treatment) -> bool {
    match treatment {
        Treatment::Sent(faults) => faults.contains(&Injected::UnderWay),
        Treatment::CutShort(_) => true,
        Treatment::Shed | Treatment::NeverOffered => false,
    }
}

/// A flow over datagrams, and of each frame whether all of it arrived.
fn datagram_flow(frames: &[(u32, Treatment)]) -> (FlowLog, Vec<bool>) {
    let sizes: Vec<u32> = frames.iter().map(|(size, _)| *size).collect();
    let mut flow = DatagramFlow::new(movie(&sizes));
    let mut arrived = Vec::new();
    for (frame, (_, treatment)) in (0u32..).zip(frames) {
        let parts = flow.parts(frame);
        arrived.push(match treatment {
            Treatment::Sent(faults) => {
                flow.send(frame, faults);
                faults.iter().take(parts).all(|fault| matches!(fault, Injected::Arrives(_)))
            }
            Treatment::CutShort(faults) => {
                flow.send_first(frame, faults, parts - 1);
                false
            }
            Treatment::Shed => {
                flow.discard(frame, LossPlace::SenderPipeline, "ifd: B while a frame waits");
                false
            }
            Treatment::NeverOffered => false,
        });
    }
    (flow.log, arrived)
}

/// What holds for every ledger, whatever was recorded.
fn check_invariants(log: &FlowLog, playout: Playout) -> Ledger {
    let ledger = Ledger::build(log, playout);
    let summary = Summary::build(&ledger, log, &playout);
    let rows = &ledger.rows;
    assert_eq!(rows.len(), log.frames.len());

    let fates = summary.fates.unwrap();
    assert_eq!((fates.offered() + fates.not_offered) as usize, log.frames.len());
    assert!(fates.not_offered == 0 || log.status == FlowStatus::Partial);
    let places = summary.places.unwrap();
    let by_place = [
        places.sender_pipeline,
        places.sender_socket,
        places.link,
        places.intermediate_queue,
        places.receiver_pipeline,
    ];
    assert_eq!(by_place.iter().sum::<u32>(), fates.lost, "lost frames by place");
    let types = summary.types.unwrap();
    assert_eq!(types.lost_i + types.lost_p + types.lost_b, fates.lost, "lost frames by type");
    assert_eq!(types.offered_i + types.offered_p + types.offered_b, fates.offered(), "frames offered by type");

    for row in rows {
        assert_eq!(row.complete, row.arrival.is_some());
        assert!(row.bytes_received <= u64::from(row.size));
        assert!(!row.complete || row.bytes_received == u64::from(row.size));
        let not_offered = row.fate == Fate::NotOffered;
        assert_eq!(row.fate == Fate::Lost || not_offered, !row.complete);
        assert!(!not_offered || row.offered.is_none() || log.status == FlowStatus::Partial);
        assert!(!not_offered || row.bytes_received == 0 || row.offered.is_some());
        assert_eq!(row.decodable, matches!(row.fate, Fate::Shown | Fate::Late));
        assert_eq!(row.root_cause.is_none(), row.decodable || not_offered, "frame {} and its cause", row.frame);
        assert_eq!(row.discarded_at.is_none(), row.decodable || not_offered);
        assert_eq!(row.missing_reference.is_some(), row.fate == Fate::Undecodable);
        assert_eq!(row.ready.is_some(), row.decodable);
        assert!(!row.decodable || row.ready >= row.arrival, "it, and what it refers to, has come");
        assert!(row.packets_lost <= row.packets);
        assert!(playout.policy == PlayoutPolicy::Live || row.fate != Fate::Late);
    }
    let received: u64 = rows.iter().map(|row| row.bytes_received).sum();
    let shown: u64 = rows.iter().filter(|row| row.fate == Fate::Shown).map(|row| row.bytes_received).sum();
    let cut_off: u64 = rows.iter().filter(|row| row.fate == Fate::NotOffered).map(|row| row.bytes_received).sum();
    let unused = summary.wasted_bytes.unwrap() + summary.useless_bytes.unwrap();
    assert_eq!(shown + unused + cut_off, received, "bytes conserve");
    ledger
}

/// Of all frames that this one needs, directly or not, those that did not arrive: by walking the references.
fn missing_by_walk(log: &FlowLog, arrived: &[bool], frame: usize) -> Option<u32> {
    let mut to_visit = log.frames[frame].references.clone();
    let mut missing = Vec::new();
    while let Some(reference) = to_visit.pop() {
        if !arrived[reference as usize] {
            missing.push(reference);
        }
        to_visit.extend(&log.frames[reference as usize].references);
    }
    missing.into_iter().min()
}

proptest! {
    #[test]
    fn datagram_ledgers_tell_the_truth(
        frames in prop::collection::vec((1u32..1_500, treatment()), 1..20),
        playout in playout(),
        ended_early in any::<bool>(),
    ) {
        let (mut log, arrived) = datagram_flow(&frames);
        log.status = if ended_early { FlowStatus::Partial } else { FlowStatus::Complete };
        let ledger = check_invariants(&log, playout);
        for (index, row) in ledger.rows.iter().enumerate() {
            prop_assert_eq!(row.complete, arrived[index], "frame {}", index);
            let is_left = ended_early && matches!(frames[index].1, Treatment::NeverOffered | Treatment::Shed);
            prop_assert!(!is_left || row.fate == Fate::NotOffered);
            if row.fate == Fate::NotOffered && !is_left {
                prop_assert!(ended_early && !arrived[index] && may_be_cut_off(&frames[index].1));
                let last = log.datagrams_received.iter().map(|datagram| datagram.at).max();
                prop_assert!(playout.policy == PlayoutPolicy::Stall || row.deadline > last);
            }
            let missing = missing_by_walk(&log, &arrived, index);
            prop_assert_eq!(row.decodable, arrived[index] && missing.is_none());
            prop_assert_eq!(row.missing_reference, missing.filter(|_| arrived[index]));
            prop_assert!(playout.timing == Timing::Thesis || row.latency_nanos.is_none_or(|latency| latency >= 0));
        }
    }

    #[test]
    fn stream_ledgers_tell_the_truth(
        frames in prop::collection::vec((1u32..1_500, any::<bool>()), 1..20),
        reads in prop::collection::vec((1u64..900, 0u64..50), 0..60),
        unfinished in any::<bool>(),
        playout in playout(),
    ) {
        let sizes: Vec<u32> = frames.iter().map(|(size, _)| *size).collect();
        let mut flow = StreamFlow::new(movie(&sizes));
        for (frame, (_, shed)) in (0u32..).zip(&frames) {
            let last = frame as usize + 1 == frames.len();
            match (shed, last && unfinished) {
                (true, _) => flow.discard(frame, LossPlace::SenderPipeline, "ifd: B while a frame waits"),
                (false, true) => { flow.start(frame); }
                (false, false) => flow.write(frame),
            }
        }
        // Reading starts when all is written, so that the log is causal.
        let (mut total, mut at) = (0, flow.log.frames[frames.len() - 1].due);
        for (bytes, pause) in reads {
            total = (total + bytes).min(flow.written);
            at += Duration::from_millis(pause);
            flow.read(total, at);
        }
        let ledger = check_invariants(&flow.log, playout);
        let mut end = 0;
        let mut last_arrival = None;
        for (row, (size, shed)) in ledger.rows.iter().zip(&frames) {
            let written = !shed && row.last_byte.is_some();
            end += if written { u64::from(*size) } else { 0 };
            let expected = flow.log.stream_reads.iter().find(|read| read.total >= end).map(|read| read.at);
            prop_assert_eq!(row.arrival, expected.filter(|_| written));
            prop_assert!(playout.timing == Timing::Thesis || row.latency_nanos.is_none_or(|latency| latency >= 0));
            prop_assert!(row.arrival.is_none() || row.arrival >= last_arrival, "arrivals are in order");
            last_arrival = row.arrival.or(last_arrival);
        }
    }

    /// Records that contradict each other and the movie must not break anything.
    #[test]
    fn nonsense_is_survived(
        frames in prop::collection::vec((0u32..3_000, treatment()), 0..8),
        events in prop::collection::vec((0u32..12, any::<u64>(), 0u8..5), 0..20),
        sent in prop::collection::vec((any::<u64>(), any::<u32>(), any::<u32>(), any::<bool>()), 0..8),
        received in prop::collection::vec((0u64..20, any::<u32>(), any::<u64>()), 0..20),
        reads in prop::collection::vec((any::<u64>(), any::<u64>()), 0..8),
        references in prop::collection::vec(any::<u32>(), 0..4),
        failed in any::<bool>(),
        playout in playout(),
    ) {
        use framewire_units::Timestamp;
        use crate::record::{DatagramReceived, DatagramSent, FrameEvent, StreamRead};
        let frames: Vec<_> = frames.into_iter().map(|(size, treatment)| (size.max(1), treatment)).collect();
        let (mut log, _) = datagram_flow(&frames);
        if let Some(frame) = log.frames.in_memory().first_mut() {
            frame.references = references;
        }
        log.frame_events.extend(events.into_iter().map(|(frame, at, kind)| FrameEvent {
            frame,
            at: Timestamp::from_nanos(at),
            what: match kind {
                0 => FrameEventKind::Offered,
                1 => FrameEventKind::Queued,
                2 => FrameEventKind::FirstByte,
                3 => FrameEventKind::LastByte,
                _ => FrameEventKind::Discarded { place: LossPlace::SenderSocket, rule: "nonsense".into() },
            },
        }));
        log.datagrams_sent.extend(sent.into_iter().map(|(sequence, frame, size, sent)| {
            let frame = (frame % 7 > 0).then_some(frame);
            DatagramSent { sequence, frame, part: None, size, headers: size as u16, at: Timestamp::ZERO, sent }
        }));
        log.datagrams_received.extend(received.into_iter().map(|(sequence, size, at)| {
            DatagramReceived { sequence, size, at: Timestamp::from_nanos(at), kept: size % 3 > 0 }
        }));
        log.stream_reads.extend(reads.into_iter().map(|(total, at)| StreamRead { total, at: Timestamp::from_nanos(at) }));
        log.status = if failed { FlowStatus::Failed("nonsense".into()) } else { FlowStatus::Complete };
        check_invariants(&log, playout);
        log.datagrams_sent.retain(|_| false);
        check_invariants(&log, playout);
    }
}
