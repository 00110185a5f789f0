//! `ifdqueue` before a gate, and what leaves it, written down.
#![allow(dead_code, reason = "every test program uses its part")]

use gst::prelude::*;

use crate::common::movie::{MPEG2, access_units};
use crate::common::{Record, Stepper, buffer};

/// Nothing is dropped for want of room.
pub const NO_LIMITS: &str = "max-size-time=0 max-size-bytes=0 max-size-buffers=0";

/// Pushes frames in the notation of written sequences.
pub fn push(stepper: &mut Stepper, from: usize, letters: &str) {
    for (number, unit) in (from..).zip(access_units(letters)) {
        stepper.harness.push(buffer(number, unit)).expect("it takes every frame");
    }
}

pub fn recorded(properties: &str) -> (Stepper, Record) {
    let stepper = Stepper::new(properties, MPEG2);
    let record = Record::on(&stepper.queue.static_pad("src").unwrap());
    (stepper, record)
}

/// The first frame, the head of a group, is on its way, and held at the gate.
pub fn held_at_the_first(properties: &str) -> (Stepper, Record) {
    let (mut stepper, record) = recorded(properties);
    push(&mut stepper, 0, "C");
    stepper.gate.wait_for(1);
    (stepper, record)
}

/// What comes behind the start of a stream.
pub fn begin_stream(stepper: &mut Stepper) {
    stepper.harness.push_event(gst::event::Caps::new(&MPEG2.parse().unwrap()));
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    stepper.harness.push_event(gst::event::Segment::new(&segment));
}
