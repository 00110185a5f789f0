//! The limit in time is one of the stream's times, whatever durations and rates promise.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this test waits for other threads")]

use crate::common;
use crate::receiver;
use common::movie::{MPEG2, access_unit, access_units};
use common::{Stepper, stat};
use gst::prelude::*;

/// Caps and durations promise 25 frames a second.
fn buffer_at(milliseconds: u64, bytes: Vec<u8>) -> gst::Buffer {
    let mut buffer = common::buffer(0, bytes);
    let fields = buffer.get_mut().unwrap();
    fields.set_pts(gst::ClockTime::from_mseconds(milliseconds));
    fields.set_dts(gst::ClockTime::from_mseconds(milliseconds));
    buffer
}

fn waiting_ms(stepper: &Stepper) -> u64 {
    stepper.queue.property::<u64>("current-level-time") / 1_000_000
}

/// Frames whose first is in the gate.
fn stepper_with(properties: &str, first_ms: u64) -> Stepper {
    let mut stepper = Stepper::new(properties, MPEG2);
    stepper.harness.push(buffer_at(first_ms, access_unit('C'))).unwrap();
    stepper.gate.wait_for(1);
    stepper
}

#[test]
fn frames_that_come_slower_than_they_promise_wait_no_longer_than_the_limit() {
    const LIMIT_MS: u64 = 1_000;
    const NEWEST_MS: u64 = 8_600;
    let mut stepper = stepper_with(&format!("max-size-time={}", LIMIT_MS * 1_000_000), 0);
    for number in 1..=NEWEST_MS / 200 {
        let letter = if number % 5 == 0 { 'C' } else { 'P' };
        stepper.harness.push(buffer_at(number * 200, access_unit(letter))).unwrap();
        if number == 4 {
            assert_eq!((waiting_ms(&stepper), stepper.stat("dropped")), (3 * 200 + 40, 0));
        }
    }
    assert!(stepper.stat("dropped") > 30, "{}", stepper.stat("dropped"));
    let kept = stepper.stat("accepted") - stepper.stat("dropped");
    stepper.gate.open();
    let left: Vec<u64> = (0..kept).map(|_| stepper.harness.pull().unwrap().pts().unwrap().mseconds()).collect();
    assert!(left.len() > 2 && left.last() == Some(&NEWEST_MS), "{left:?}");
    // The first is the one in the gate.
    assert!(left[1..].iter().all(|time| time + LIMIT_MS >= NEWEST_MS), "{left:?}");
}

#[test]
fn a_pause_of_the_stream_is_no_time_that_anything_waited() {
    let mut stepper = stepper_with("max-size-time=1000000000", 0);
    for (number, unit) in (0..).zip(access_units("PPP")) {
        stepper.harness.push(buffer_at(10_000 + number * 40, unit)).unwrap();
    }
    assert_eq!((waiting_ms(&stepper), stepper.stat("dropped")), (120, 0));
}

#[test]
fn times_begin_again_with_a_segment() {
    let mut stepper = stepper_with("max-size-time=1000000000", 100_000);
    stepper.harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    for (number, unit) in (0..).zip(access_units("CPP")) {
        stepper.harness.push(buffer_at(number * 200, unit)).unwrap();
    }
    assert_eq!(waiting_ms(&stepper), 40 + 2 * 200);
}

/// Without any times only the limits of frames and bytes hold.
#[test]
fn frames_without_times_count_by_number() {
    let caps = "video/x-vp8";
    let mut stepper = Stepper::new("max-size-buffers=10", caps);
    for number in 0..100 {
        let mut buffer = gst::Buffer::from_slice([0; 10]);
        if number % 20 > 0 {
            buffer.get_mut().unwrap().set_flags(gst::BufferFlags::DELTA_UNIT);
        }
        stepper.harness.push(buffer).unwrap();
        if number == 0 {
            stepper.gate.wait_for(1);
        }
    }
    assert_eq!(waiting_ms(&stepper), 0);
    let level = stepper.stat("current-level-buffers");
    assert!((1..=11).contains(&level), "{level}");
}

#[test]
fn the_sink_counts_by_times_too() {
    common::init();
    let (listener, port) = receiver::listen();
    let mut harness =
        gst_check::Harness::new_parse(&format!("ifdsink host=127.0.0.1 port={port} sync=false unsent-limit=4096"));
    harness.play();
    harness.set_src_caps_str(MPEG2);
    let sink = harness.element().unwrap();
    let sink = sink.downcast::<gst::Bin>().map_or_else(|sink| sink, |bin| bin.children().remove(0));
    // The first frame fills the socket.
    let mut first = access_unit('C');
    first.resize(8_000_000, 0x55);
    harness.push(buffer_at(0, first)).unwrap();
    for number in 1..=40 {
        let letter = if number % 5 == 0 { 'C' } else { 'P' };
        harness.push(buffer_at(number * 200, access_unit(letter))).unwrap();
        if number == 4 {
            assert_eq!((stat(&sink, "current-level-time"), stat(&sink, "dropped")), (640_000_000, 0));
        }
    }
    assert!(stat(&sink, "dropped") > 30, "{}", stat(&sink, "dropped"));
    drop(listener);
}
