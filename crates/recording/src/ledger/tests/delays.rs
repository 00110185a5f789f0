//! Latency, jitter and deadlines against values worked out by hand.

use framewire_units::{Duration, Playout, Timestamp, Timing};

use crate::ledger::{Fate, FrameRow, Ledger};
use crate::record::LossPlace;
use crate::testing::{DatagramFlow, Injected, LIVE, STALL, StreamFlow, movie, ms};

/// Four frames of 100 bytes, due at 0, 40, 80 and 120 ms, read at the given times.
fn read_at(millis: [u64; 4]) -> StreamFlow {
    read_at_times(millis.map(ms))
}

fn read_at_times(times: [Timestamp; 4]) -> StreamFlow {
    let mut flow = StreamFlow::new(movie(&[100; 4]));
    for (frame, at) in (0u32..).zip(times) {
        flow.write(frame);
        flow.read(100 * (u64::from(frame) + 1), at);
    }
    flow
}

#[test]
fn latency_is_arrival_less_due_time() {
    let ledger = Ledger::build(&read_at([10, 66, 90, 130]).log, LIVE);
    let latencies: Vec<_> = ledger.rows.iter().map(|row| row.latency_nanos).collect();
    assert_eq!(latencies, [Some(10_000_000), Some(26_000_000), Some(10_000_000), Some(10_000_000)]);
    assert_eq!(ledger.first_arrival, Some(ms(10)));
    assert_eq!(ledger.rows[1].arrival_relative, Some(Duration::from_millis(56)));
}

#[test]
fn jitter_follows_the_estimator_of_rfc_3550() {
    let ledger = Ledger::build(&read_at([10, 66, 90, 130]).log, LIVE);
    let jitters: Vec<_> = ledger.rows.iter().map(|row| row.jitter_nanos).collect();
    // |D| = 16, 16, 0 ms: J = 1, then 1 + 15/16, then 1.9375 * 15/16.
    assert_eq!(jitters, [None, Some(1_000_000), Some(1_937_500), Some(1_816_406)]);
}

#[test]
fn a_frame_is_late_from_the_first_nanosecond_after_its_deadline() {
    let playout = Playout { startup: Duration::from_millis(50), ..LIVE };
    // Shown from 10 + 50 ms on: I0 at 60, B2 (shown second) at 100, B3 at 140, P1 at 180 ms.
    let just_after = ms(140) + Duration::from_nanos(1);
    let rows = |last| Ledger::build(&read_at_times([ms(10), ms(66), ms(100), last]).log, playout).rows.to_vec();
    let deadlines: Vec<_> = rows(just_after).iter().map(|row| row.deadline).collect();
    assert_eq!(deadlines, [Some(ms(60)), Some(ms(180)), Some(ms(100)), Some(ms(140))]);
    let fates = |last| rows(last).iter().map(|row| row.fate).collect::<Vec<_>>();
    assert_eq!(fates(ms(140)), [Fate::Shown; 4]);
    assert_eq!(fates(just_after), [Fate::Shown, Fate::Shown, Fate::Shown, Fate::Late]);
    let late = rows(just_after).remove(3);
    assert_eq!((late.decodable, late.root_cause, late.discarded_at), (true, None, None));
}

#[test]
fn a_frame_is_late_where_what_it_refers_to_comes_after_its_deadline() {
    let playout = Playout { startup: Duration::from_millis(50), ..LIVE };
    // By datagrams: B2 and B3, due at 100 and 140 ms, are there at 85 and 125 ms, and P1, due at 180 ms, comes then.
    let with_reference_at = |at| {
        let mut flow = DatagramFlow::new(movie(&[100; 4]));
        flow.send(0, &[Injected::Arrives(Duration::from_millis(10))]);
        flow.send(1, &[Injected::Arrives(at - Duration::from_millis(40))]);
        flow.send(2, &[]);
        flow.send(3, &[]);
        Ledger::build(&flow.log, playout).rows.to_vec()
    };
    let fates = |rows: &[FrameRow]| rows.iter().map(|row| row.fate).collect::<Vec<_>>();
    assert_eq!(fates(&with_reference_at(Duration::from_millis(100))), [Fate::Shown; 4]);
    let rows = with_reference_at(Duration::from_millis(100) + Duration::from_nanos(1));
    assert_eq!(fates(&rows), [Fate::Shown, Fate::Shown, Fate::Late, Fate::Shown]);
    assert_eq!((rows[2].arrival, rows[2].ready), (Some(ms(85)), Some(ms(100) + Duration::from_nanos(1))));
    assert!(rows[2].decodable);
    let rows = with_reference_at(Duration::from_millis(181));
    assert_eq!(fates(&rows), [Fate::Shown, Fate::Late, Fate::Late, Fate::Late]);
}

#[test]
fn nothing_is_late_for_a_player_that_waits() {
    let rows = Ledger::build(&read_at([10, 5_000, 6_000, 90_000]).log, STALL).rows.to_vec();
    assert!(rows.iter().all(|row| row.fate == Fate::Shown && row.deadline.is_none()));
}

const THESIS: Playout = Playout { timing: Timing::Thesis, ..STALL };

/// 34 frames, of which the groups begin at frames 0, 13 and 28; what `lost` says is not written, the rest is read 5 ms
/// after it was due.
fn on_time_but(lost: impl Fn(u32) -> bool) -> Ledger {
    let mut flow = StreamFlow::new(movie(&[100; 34]));
    for frame in 0..34 {
        if lost(frame) {
            flow.discard(frame, LossPlace::SenderPipeline, "ifd: B while a frame waits");
        } else {
            flow.write(frame);
            flow.read(flow.written, flow.log.frames[frame as usize].due + Duration::from_millis(5));
        }
    }
    Ledger::build(&flow.log, THESIS)
}

fn latencies_ms(ledger: &Ledger) -> Vec<Option<i64>> {
    ledger.rows.iter().map(|row| row.latency_nanos.map(|nanos| nanos / 1_000_000)).collect()
}

#[test]
fn by_the_thesis_arrivals_count_from_the_first_one() {
    let starts: Vec<usize> = (0..34).filter(|&frame| movie(&[100; 34])[frame].group_time.is_some()).collect();
    assert_eq!(starts, [0, 13, 28]);
    assert_eq!(latencies_ms(&on_time_but(|_| false)), [Some(0); 34]);
    let clock = Ledger::build(&read_at([10, 66, 90, 130]).log, LIVE);
    let thesis = Ledger::build(&read_at([10, 66, 90, 130]).log, THESIS);
    assert_eq!(latencies_ms(&thesis), [Some(0), Some(16), Some(0), Some(0)]);
    let jitters = |ledger: &Ledger| ledger.rows.iter().map(|row| row.jitter_nanos).collect::<Vec<_>>();
    assert_eq!(jitters(&thesis), jitters(&clock), "a constant offset is no jitter");
}

#[test]
fn by_the_thesis_a_lost_group_header_lets_its_group_seem_late() {
    let latencies = latencies_ms(&on_time_but(|frame| frame == 13));
    let expected = (0..34).map(|frame| match frame {
        13 => None,
        // Group 1 seems to be group 0, which began 13 frames of 40 ms before.
        14..28 => Some(520),
        _ => Some(0),
    });
    assert_eq!(latencies, expected.collect::<Vec<_>>());
}

#[test]
fn by_the_thesis_the_first_frames_count_from_the_start_of_the_stream() {
    let latencies = latencies_ms(&on_time_but(|frame| frame == 0 || frame == 13));
    // The first arrival is that of frame 1, one interval after the start.
    let expected = (0..34).map(|frame| match frame {
        0 | 13 => None,
        1..13 | 28.. => Some(-40),
        _ => Some(480),
    });
    assert_eq!(latencies, expected.collect::<Vec<_>>());
}

#[test]
fn a_lost_b_frame_moves_no_latency_by_the_thesis() {
    let latencies = latencies_ms(&on_time_but(|frame| matches!(frame, 3 | 15)));
    assert!(latencies.iter().enumerate().all(|(frame, latency)| match frame {
        3 | 15 => latency.is_none(),
        _ => *latency == Some(0),
    }));
}
