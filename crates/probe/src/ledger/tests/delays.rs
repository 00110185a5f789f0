//! Latency, jitter and deadlines against values worked out by hand.

use framewire_units::Duration;

use crate::ledger::{Fate, Ledger};
use crate::record::{Playout, PlayoutPolicy};
use crate::testing::{LIVE, STALL, StreamFlow, movie, ms};

/// Four frames of 100 bytes, due at 0, 40, 80 and 120 ms, read at the given times.
fn read_at(millis: [u64; 4]) -> StreamFlow {
    let mut flow = StreamFlow::new(movie(&[100; 4]));
    for (frame, at) in (0u32..).zip(millis) {
        flow.write(frame);
        flow.read(100 * (u64::from(frame) + 1), ms(at));
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
    let playout = Playout { policy: PlayoutPolicy::Live, startup: Duration::from_millis(50) };
    // Shown from 10 + 50 ms on: I0 at 60, B2 (shown second) at 100, B3 at 140, P1 at 180 ms.
    let flow = read_at([10, 66, 100, 141]);
    let rows = Ledger::build(&flow.log, playout).rows;
    let deadlines: Vec<_> = rows.iter().map(|row| row.deadline).collect();
    assert_eq!(deadlines, [Some(ms(60)), Some(ms(180)), Some(ms(100)), Some(ms(140))]);
    let fates: Vec<_> = rows.iter().map(|row| row.fate).collect();
    assert_eq!(fates, [Fate::Shown, Fate::Shown, Fate::Shown, Fate::Late]);
    assert_eq!((rows[3].decodable, rows[3].root_cause.clone(), rows[3].discarded_at), (true, None, None));
}

#[test]
fn nothing_is_late_for_a_player_that_waits() {
    let rows = Ledger::build(&read_at([10, 5_000, 6_000, 90_000]).log, STALL).rows;
    assert!(rows.iter().all(|row| row.fate == Fate::Shown && row.deadline.is_none()));
}
