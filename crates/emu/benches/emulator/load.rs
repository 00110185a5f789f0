//! Load: how much one link carries without loss.

use std::thread;
use std::time::Duration;

use framewire_emu::{BottleneckPlace, FixedDelay, Scheduling};

use crate::delay::stop;
use crate::report::{Case, losses, scheduling};
use crate::traffic::{HEADERS, Receiver, send_paced, sockets, world};

const TIME: Duration = Duration::from_secs(4);

/// Packets of 1,500 bytes at more than 1 Gbit/s.
pub fn gigabit() -> Vec<Case> {
    let (mut cases, packets) = offer("1,500-byte packets", 1_500 - HEADERS, 90_000);
    cases.insert(0, bounded(packets * 1_500.0 * 8.0 / 1e9, "1,500-byte packets: carried", "Gbit/s", 1.0, &cases));
    cases
}

/// Small packets at more than 100,000 per second.
pub fn packets() -> Vec<Case> {
    let (mut cases, packets) = offer("small packets", 100, 105_000);
    cases.insert(0, bounded(packets / 1e3, "small packets: carried", "kpacket/s", 100.0, &cases));
    cases
}

/// The bounds hold where real-time priority is permitted.
fn bounded(value: f64, name: &str, unit: &'static str, at_least: f64, cases: &[Case]) -> Case {
    let case = Case::unbounded(name, value, unit).note(cases[0].note.clone());
    if case.note.starts_with("real-time") { case.at_least(at_least) } else { case }
}

/// Offers packets and measures how late they were and how many came per second.
fn offer(name: &str, payload: usize, rate: u64) -> (Vec<Case>, f64) {
    let world = world(Box::new(FixedDelay::new(Duration::from_millis(10))), BottleneckPlace::Remote);
    let (sender, receiver) = sockets(&world, 0);
    let receiver = Receiver::start(receiver, world.clock());
    let sent = send_paced(&sender, payload, rate, Duration::from_micros(500), TIME);
    thread::sleep(Duration::from_millis(500));
    let received = receiver.end();
    let record = stop(world);
    let seconds = received
        .stamps
        .last()
        .zip(received.stamps.first())
        .map_or(1.0, |(last, first)| last.nanos_since(*first) as f64 / 1e9);
    let errors = record.accuracy.release_error;
    let lost = sent.saturating_sub(received.stamps.len() as u64);
    let missing = Case::unbounded(format!("{name}: sent and not received"), lost as f64, "packets")
        .note(format!("{} in the receiver's socket", record.evidence.receiver_receive_overflows));
    let missing = if record.accuracy.scheduling == Scheduling::RealTime { missing.at_most(0.0) } else { missing };
    let cases = vec![
        Case::unbounded(format!("{name}: release error p99"), errors.p99_ns as f64 / 1e3, "us")
            .note(scheduling(record.accuracy.scheduling)),
        Case::unbounded(format!("{name}: release error max"), errors.max_ns as f64 / 1e3, "us"),
        missing,
        losses(name, &record),
    ];
    (cases, received.stamps.len() as f64 / seconds)
}
