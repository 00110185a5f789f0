//! Everything that is not a frame: events keep their place, and nothing accepted is lost at the end.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this test waits for other threads")]

use crate::common;
use crate::held;
use std::sync::mpsc;
use std::time::Duration;

use common::movie::{MPEG2, access_unit, access_units};
use common::{Stepper, buffer, wait_until};
use gst::prelude::*;
use held::{NO_LIMITS, begin_stream, held_at_the_first, push, recorded};

#[test]
fn all_that_was_accepted_leaves_before_the_end() {
    let (mut stepper, record) = recorded(NO_LIMITS);
    push(&mut stepper, 0, "CPBBPBB");
    stepper.harness.push_event(gst::event::Eos::new());
    assert_eq!(
        stepper.harness.push(buffer(7, access_unit('P'))),
        Err(gst::FlowError::Eos),
        "nothing is accepted after the end"
    );
    stepper.gate.wait_for(1);
    assert_eq!(stepper.stat("sent"), 0);
    stepper.gate.open();
    record.wait_for("eos");
    assert!(record.take().ends_with("0 1 2 3 4 5 6 eos"));
    wait_until("the count of the last frame", || stepper.stat("sent") == 7);
    assert_eq!((stepper.stat("accepted"), stepper.stat("dropped")), (7, 0));
}

#[test]
fn events_keep_their_place_among_frames() {
    let (mut stepper, record) = recorded(NO_LIMITS);
    push(&mut stepper, 0, "CP");
    let gap = gst::event::Gap::builder(gst::ClockTime::from_mseconds(80)).duration(gst::ClockTime::from_mseconds(40));
    stepper.harness.push_event(gap.build());
    push(&mut stepper, 3, "P");
    stepper.harness.set_src_caps_str(&MPEG2.replace("25/1", "30/1"));
    push(&mut stepper, 4, "CP");
    stepper.harness.push_event(gst::event::Tag::new(gst::TagList::new()));
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.gate.open();
    record.wait_for("eos");
    let written = record.take();
    assert!(written.ends_with("0 1 gap 3 caps segment 4 5 tag eos"), "{written}");
}

fn custom(number: usize) -> gst::Event {
    gst::event::CustomDownstream::new(gst::Structure::builder("test").field("number", number as u64).build())
}

#[test]
fn events_without_end_are_bounded_while_downstream_is_blocked() {
    let (mut stepper, record) = recorded(NO_LIMITS);
    push(&mut stepper, 0, "CP");
    stepper.gate.wait_for(1);
    for number in 0..5_000 {
        stepper.harness.push_event(custom(number));
    }
    push(&mut stepper, 2, "P");
    stepper.harness.push_event(gst::event::Eos::new());
    assert!(stepper.stat("events-dropped") >= 4_000, "{}", stepper.stat("events-dropped"));
    stepper.gate.open();
    record.wait_for("eos");
    let written = record.take();
    let events = written.split(' ').filter(|word| *word == "custom-downstream").count() as u64;
    assert!((900..=1_000).contains(&events), "{events}");
    assert_eq!(events + stepper.stat("events-dropped"), 5_000);
    let others: Vec<_> = written.split(' ').filter(|word| *word != "custom-downstream").collect();
    assert!(others.join(" ").ends_with("0 1 2 eos"), "{others:?}");
}

/// Caps between frames that are all given up: only the last are of any use.
#[test]
fn caps_that_change_without_end_are_bounded_while_downstream_is_blocked() {
    let (mut stepper, record) = held_at_the_first("mode=ifd");
    push(&mut stepper, 1, "P");
    for number in 2..3_000 {
        stepper.harness.set_src_caps_str(&MPEG2.replace("25/1", &format!("{number}/1")));
        push(&mut stepper, number, "B");
    }
    assert_eq!(stepper.stat("dropped"), 2_998);
    stepper.harness.set_src_caps_str(&MPEG2.replace("25/1", "30/1"));
    push(&mut stepper, 3_000, "C");
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.gate.open();
    record.wait_for("eos");
    let written = record.take();
    assert!(written.matches("caps").count() <= 2, "the first and the last: {written}");
    assert!(written.ends_with("caps segment 3000 eos"), "{written}");
    assert_eq!(stepper.harness.sinkpad().unwrap().current_caps().unwrap().to_string().matches("30/1").count(), 1);
}

#[test]
fn a_stream_that_begins_behind_the_end_of_an_empty_one_stays_behind_it() {
    let (mut stepper, record) = held_at_the_first(NO_LIMITS);
    for name in ["second", "third"] {
        stepper.harness.push_event(gst::event::Eos::new());
        stepper.harness.push_event(gst::event::StreamStart::new(name));
    }
    begin_stream(&mut stepper);
    push(&mut stepper, 1, "C");
    stepper.gate.open();
    record.wait_for("1");
    let written = record.take();
    assert!(written.ends_with("0 eos stream-start eos stream-start caps segment 1"), "{written}");
}

/// Ten minutes without a key frame, most of it with a downstream that takes nothing.
#[test]
fn a_stream_without_key_frames_is_bounded_and_goes_on_with_the_next() {
    let (mut stepper, record) = held_at_the_first("max-size-time=1000000000");
    for number in 1..15_000 {
        stepper.harness.push(buffer(number, access_unit(if number % 3 == 0 { 'P' } else { 'B' }))).unwrap();
        if number == 100 {
            assert!(stepper.stat("groups-lost") == 1);
        }
    }
    assert!(stepper.stat("highest-level-buffers") <= 26, "{}", stepper.stat("highest-level-buffers"));
    assert!(stepper.stat("key-frame-requests") >= 1);
    push(&mut stepper, 15_000, "CPB");
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.gate.open();
    record.wait_for("eos");
    let written = record.take();
    assert!(written.ends_with("15000 15001 15002 eos"), "{written}");
}

/// A stream that is joined in the middle: B and P frames whose references never came are passed on, as decoders conceal
/// them, and decide nothing about those behind the key frame.
#[test]
fn frames_before_the_first_key_frame_do_no_harm() {
    for mode in ["ifd", "ifd-optimised", "dependency"] {
        let (mut stepper, record) = recorded(&format!("mode={mode} {NO_LIMITS}"));
        stepper.gate.open();
        for (number, unit) in access_units("BBPBBCBBPBB").into_iter().enumerate() {
            stepper.harness.push(buffer(number, unit)).unwrap();
            // One at a time: nothing is dropped for want of room.
            wait_until("the frame", || stepper.stat("sent") + stepper.stat("dropped") == number as u64 + 1);
        }
        stepper.harness.push_event(gst::event::Eos::new());
        record.wait_for("eos");
        let written = record.take();
        assert!(written.contains(" 5 ") && written.ends_with(" 8 9 10 eos"), "{mode}: {written}");
    }
}

#[test]
fn another_codec_midway_is_read_by_its_own_caps() {
    let (mut stepper, record) = recorded(NO_LIMITS);
    push(&mut stepper, 0, "CPB");
    stepper.gate.wait_for(1);
    stepper.harness.set_src_caps_str("video/x-vp8,framerate=25/1");
    for (number, flags) in [(3, gst::BufferFlags::empty()), (4, gst::BufferFlags::DELTA_UNIT)] {
        let mut buffer = buffer(number, vec![1; 10]);
        buffer.get_mut().unwrap().set_flags(flags);
        stepper.harness.push(buffer).unwrap();
    }
    stepper.harness.set_src_caps_str("audio/mpeg,mpegversion=4,stream-format=raw");
    stepper.harness.push(buffer(5, vec![1; 10])).unwrap();
    stepper.harness.set_src_caps_str(MPEG2);
    push(&mut stepper, 6, "CP");
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.gate.open();
    record.wait_for("eos");
    let written = record.take();
    assert!(written.ends_with("0 1 2 caps segment 3 4 caps segment 5 caps segment 6 7 eos"), "{written}");
    assert_eq!((stepper.stat("unreadable"), stepper.stat("dropped")), (0, 0));
}

#[test]
fn caps_that_cannot_be_used_midway_end_the_stream_with_an_error() {
    let (mut stepper, record) = recorded(NO_LIMITS);
    push(&mut stepper, 0, "CPB");
    stepper.gate.wait_for(1);
    stepper.harness.set_src_caps_str("video/x-h264,stream-format=byte-stream,alignment=nal");
    let error = stepper.bus.pop_filtered(&[gst::MessageType::Error]).expect("an error on the bus");
    let gst::MessageView::Error(error) = error.view() else { unreachable!() };
    assert!(error.error().message().contains("h264parse"), "{error:?}");
    assert_eq!(stepper.harness.push(buffer(3, vec![0; 100])), Err(gst::FlowError::NotNegotiated));
    stepper.gate.open();
    record.wait_for("2");
    assert!(record.take().ends_with("0 1 2"), "what was accepted leaves");
}

/// Any byte of any frame may be wrong, and any frame cut.
#[test]
fn damaged_streams_pass_without_a_panic() {
    let streams = [
        (MPEG2, access_units("CPBBPBBIBBPBB")),
        ("video/x-h264,stream-format=byte-stream,alignment=au", vec![]),
        ("video/x-h265,stream-format=byte-stream,alignment=au", vec![]),
        ("video/mpeg,mpegversion=4,systemstream=false,parsed=true", vec![]),
        ("video/x-av1,stream-format=obu-stream,alignment=tu", vec![]),
    ];
    let mut random = framewire_units::Seed(5).stream("damage", &[]);
    for (caps, units) in streams {
        for mode in ["ifd", "ifd-optimised", "dependency"] {
            let mut stepper = Stepper::new(&format!("mode={mode} max-size-buffers=20"), caps);
            stepper.gate.open();
            for number in 0..2_000 {
                let mut unit = match units.len() {
                    0 => (0..random.next_inclusive(40)).map(|_| random.next_u64() as u8).collect(),
                    length => units[number % length].clone(),
                };
                // Start codes in front, so that there is something to read.
                if units.is_empty() {
                    unit.splice(0..0, [0, 0, 1]);
                }
                for _ in 0..random.next_inclusive(2) {
                    let at = random.next_inclusive(unit.len() as u32 - 1) as usize;
                    unit[at] = random.next_u64() as u8;
                }
                unit.truncate(1 + random.next_inclusive(unit.len() as u32) as usize);
                stepper.harness.push(buffer(number, unit)).unwrap();
            }
            wait_until("every frame", || stepper.stat("sent") + stepper.stat("dropped") == 2_000);
            assert!(stepper.bus.pop_filtered(&[gst::MessageType::Error]).is_none(), "{caps}");
        }
    }
}

/// An event between frames that were given up stands before the next frame that was not.
#[test]
fn an_event_survives_the_frames_around_it() {
    let (mut stepper, record) = held_at_the_first("mode=ifd");
    push(&mut stepper, 1, "PB");
    stepper.harness.push_event(gst::event::Tag::new(gst::TagList::new()));
    push(&mut stepper, 3, "BI");
    assert_eq!(stepper.stat("dropped"), 3);
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.gate.open();
    record.wait_for("eos");
    let written = record.take();
    assert!(written.ends_with("0 tag 4 eos"), "{written}");
}

#[test]
fn a_flush_empties_the_queue_and_lets_it_go_on() {
    let (mut stepper, record) = recorded(NO_LIMITS);
    push(&mut stepper, 0, "CPPPP");
    stepper.gate.wait_for(1);
    stepper.harness.push_event(gst::event::FlushStart::new());
    assert_eq!(stepper.harness.push(buffer(5, access_unit('P'))), Err(gst::FlowError::Flushing));
    stepper.harness.push_event(gst::event::FlushStop::new(true));
    assert_eq!(stepper.queue.property::<u32>("current-level-buffers"), 0);
    // The frame in the gate goes while the flush starts, before or after it.
    let written = record.take().replace("flush-start 0", "0 flush-start");
    assert!(written.ends_with("0 flush-start flush-stop"), "{written}");

    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    stepper.harness.push_event(gst::event::Segment::new(&segment));
    push(&mut stepper, 10, "CP");
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.gate.open();
    record.wait_for("eos");
    assert_eq!(record.take(), "segment 10 11 eos");
}

#[test]
fn a_new_stream_goes_on_after_the_end() {
    let (mut stepper, record) = recorded(NO_LIMITS);
    stepper.gate.open();
    push(&mut stepper, 0, "C");
    stepper.harness.push_event(gst::event::Eos::new());
    record.wait_for("eos");
    stepper.harness.push_event(gst::event::StreamStart::new("another"));
    begin_stream(&mut stepper);
    push(&mut stepper, 1, "C");
    record.wait_for("1");
    let written = record.take();
    assert!(written.ends_with("0 eos stream-start caps segment 1"), "{written}");
}

#[test]
fn a_new_stream_may_wait_behind_the_end() {
    let (mut stepper, record) = held_at_the_first(NO_LIMITS);
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.harness.push_event(gst::event::StreamStart::new("another"));
    begin_stream(&mut stepper);
    push(&mut stepper, 1, "C");
    stepper.gate.open();
    record.wait_for("1");
    let written = record.take();
    assert!(written.ends_with("0 eos stream-start caps segment 1"), "{written}");
}

#[test]
fn audio_is_never_dropped_and_waits_as_in_a_queue() {
    let mut stepper = Stepper::new("mode=ifd max-size-buffers=4", "audio/mpeg,mpegversion=4,stream-format=raw");
    let (pushed, counted) = mpsc::channel();
    let gate = stepper.gate.clone();
    std::thread::scope(|scope| {
        // One is in the gate, four wait, and the sixth has to.
        scope.spawn(move || {
            assert_eq!(counted.iter().take(5).count(), 5);
            assert!(counted.recv_timeout(Duration::from_millis(200)).is_err(), "the sixth buffer has to wait");
            gate.open();
            assert_eq!(counted.iter().count(), 15);
        });
        for number in 0..20 {
            stepper.harness.push(buffer(number, vec![1; 50])).unwrap();
            pushed.send(()).unwrap();
        }
        drop(pushed);
    });
    stepper.harness.push_event(gst::event::Eos::new());
    wait_until("all buffers", || stepper.gate.came().len() == 20);
    let numbers: Vec<_> = stepper.gate.came().into_iter().map(common::number_of).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    assert_eq!(stepper.stat("dropped"), 0);
}

#[test]
fn a_stream_of_another_codec_goes_by_flags() {
    let mut stepper = Stepper::new("mode=ifd-optimised post-drop-messages=true", "video/x-vp8,framerate=25/1");
    let mut push = |number, flags| {
        let mut buffer = buffer(number, vec![1; 10]);
        buffer.get_mut().unwrap().set_flags(flags);
        stepper.harness.push(buffer).unwrap();
    };
    push(0, gst::BufferFlags::empty());
    let gate = stepper.gate.clone();
    gate.wait_for(1);
    push(1, gst::BufferFlags::DELTA_UNIT | gst::BufferFlags::DROPPABLE);
    push(2, gst::BufferFlags::DELTA_UNIT);
    push(3, gst::BufferFlags::DELTA_UNIT | gst::BufferFlags::DROPPABLE);
    push(4, gst::BufferFlags::HEADER);
    push(5, gst::BufferFlags::empty());
    let drops: Vec<_> = stepper.drops().into_iter().map(|(number, _)| number).collect();
    assert_eq!(drops, [1, 3, 2]);
    stepper.harness.push_event(gst::event::Eos::new());
    gate.open();
    wait_until("the last frame", || gate.came().len() == 3);
    let numbers: Vec<_> = gate.came().into_iter().map(common::number_of).collect();
    assert_eq!(numbers, [0, 4, 5], "headers are never dropped");
}

/// Presentation order differs from the order of the stream: frames have no time stamps here that would show it.
#[test]
fn damaged_frames_are_passed_on_by_their_flags() {
    let mut stepper = Stepper::new(NO_LIMITS, MPEG2);
    stepper.gate.open();
    push(&mut stepper, 0, "C");
    // A picture header that ends before its type, then one of a type that does not exist.
    for (number, bytes) in [(1, vec![0, 0, 1, 0]), (2, vec![0, 0, 1, 0, 0, 0x3f, 0xff, 0xf8])] {
        let mut buffer = buffer(number, bytes);
        buffer.get_mut().unwrap().set_flags(gst::BufferFlags::DELTA_UNIT);
        stepper.harness.push(buffer).unwrap();
    }
    wait_until("all frames", || stepper.stat("sent") == 3);
    assert_eq!(stepper.stat("unreadable"), 2);
}
