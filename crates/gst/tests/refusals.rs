//! What cannot be, of caps and of what downstream answers: reported once, and returned upstream.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this test waits for other threads")]

use crate::common;
use crate::held;
use std::sync::mpsc;

use common::movie::{MPEG2, access_unit, access_units};
use common::{Record, Stepper, buffer, wait_until};
use gst::prelude::*;
use held::{NO_LIMITS, push};

#[test]
fn caps_without_whole_frames_are_refused_with_the_parser_to_add() {
    let cases = [
        ("video/x-h264,stream-format=byte-stream,alignment=nal", "h264parse"),
        ("video/x-h265,stream-format=byte-stream", "h265parse"),
        ("video/mpeg,mpegversion=2,systemstream=false", "mpegvideoparse"),
        ("video/mpeg,mpegversion=4,systemstream=false", "mpeg4videoparse"),
        ("application/x-rtp,media=video,clock-rate=90000,encoding-name=H264", "payloader"),
        ("video/mpeg,mpegversion=2,systemstream=true", "before the muxer"),
        ("video/mpegts,systemstream=true,packetsize=188", "before the muxer"),
        ("video/x-flv", "before the muxer"),
        ("video/x-matroska", "before the muxer"),
        ("video/webm", "before the muxer"),
    ];
    for (caps, parser) in cases {
        let mut stepper = Stepper::new("", caps);
        let error = stepper.bus.pop_filtered(&[gst::MessageType::Error]).expect("an error on the bus");
        let gst::MessageView::Error(error) = error.view() else { unreachable!() };
        assert!(error.error().matches(gst::CoreError::Negotiation), "{caps}: {error:?}");
        assert!(error.error().message().contains(parser), "{caps}: {}", error.error());
        assert_eq!(stepper.harness.push(buffer(0, vec![0; 100])), Err(gst::FlowError::NotNegotiated), "{caps}");
    }
}

fn errors(bus: &gst::Bus) -> usize {
    std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Error])).count()
}

/// The pad offers refused caps again with every buffer and event.
#[test]
fn a_refusal_is_posted_once_until_the_stream_is_usable_or_the_element_starts_anew() {
    const UNUSABLE: &str = "video/x-h264,stream-format=byte-stream,alignment=nal";
    let mut stepper = Stepper::new("", UNUSABLE);
    let refused = |stepper: &mut Stepper| {
        for number in 0..4 {
            assert_eq!(stepper.harness.push(buffer(number, vec![0; 100])), Err(gst::FlowError::NotNegotiated));
            stepper.harness.push_event(gst::event::Tag::new(gst::TagList::new()));
        }
        errors(&stepper.bus)
    };
    assert_eq!(refused(&mut stepper), 1);
    stepper.harness.set_src_caps_str(MPEG2);
    stepper.gate.open();
    push(&mut stepper, 0, "C");
    assert_eq!(errors(&stepper.bus), 0);
    stepper.harness.set_src_caps_str(UNUSABLE);
    assert_eq!(refused(&mut stepper), 1);
    for state in [gst::State::Ready, gst::State::Playing] {
        stepper.queue.set_state(state).unwrap();
    }
    stepper.bus.set_flushing(true); // drops the messages of the change of state
    stepper.bus.set_flushing(false);
    stepper.harness.push_event(gst::event::StreamStart::new("again"));
    stepper.harness.set_src_caps_str(UNUSABLE);
    assert_eq!(refused(&mut stepper), 1);
}

#[test]
fn a_stream_without_caps_is_refused() {
    common::init();
    let mut queue = gst_check::Harness::new("ifdqueue");
    let bus = gst::Bus::new();
    queue.element().unwrap().set_bus(Some(&bus));
    queue.push_event(gst::event::StreamStart::new("bytes"));
    queue.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    for number in 0..3 {
        assert_eq!(queue.push(buffer(number, vec![0; 100])), Err(gst::FlowError::NotNegotiated));
    }
    let error = bus.pop_filtered(&[gst::MessageType::Error]).expect("an error on the bus");
    assert_eq!(errors(&bus), 0, "it is told once");
    bus.set_flushing(true);
    let gst::MessageView::Error(error) = error.view() else { unreachable!() };
    assert!(error.error().message().contains("put a parser"), "{error:?}");
}

/// Cameras that light the picture longer at night say 0/1: no rate.
#[test]
fn a_variable_frame_rate_is_no_rate() {
    for caps in [MPEG2, "video/x-vp8,framerate=25/1"] {
        let mut stepper = Stepper::new(NO_LIMITS, &caps.replace("25/1", "0/1"));
        stepper.gate.open();
        push(&mut stepper, 0, "CPB");
        wait_until("all frames", || stepper.stat("sent") == 3);
        assert!(stepper.bus.pop_filtered(&[gst::MessageType::Error]).is_none(), "{caps}");
    }
}

/// A downstream that answers every buffer so.
fn queue_before(answer: Result<gst::FlowSuccess, gst::FlowError>) -> (gst_check::Harness, gst::Pad, gst::Bus) {
    queue_that_pushes_to(move || answer)
}

/// The same with an answer that changes.
fn queue_that_pushes_to(
    answer: impl Fn() -> Result<gst::FlowSuccess, gst::FlowError> + Send + Sync + 'static,
) -> (gst_check::Harness, gst::Pad, gst::Bus) {
    common::init();
    let mut harness = gst_check::Harness::with_padnames("ifdqueue", Some("sink"), None);
    let queue = harness.element().unwrap();
    let bus = gst::Bus::new();
    queue.set_bus(Some(&bus));
    let sink = gst::Pad::builder(gst::PadDirection::Sink).chain_function(move |_, _, _| answer()).build();
    sink.set_active(true).unwrap();
    queue.static_pad("src").unwrap().link(&sink).unwrap();
    harness.set_src_caps_str(MPEG2);
    harness.play();
    (harness, sink, bus)
}

/// Pushes until the answer of downstream has come through.
fn answer_to_upstream(harness: &mut gst_check::Harness) -> gst::FlowError {
    let mut answer = Ok(gst::FlowSuccess::Ok);
    let mut number = 0;
    wait_until("downstream's answer", || {
        answer = harness.push(buffer(number, access_unit('C')));
        number += 1;
        answer.is_err()
    });
    answer.unwrap_err()
}

#[test]
fn what_downstream_answers_reaches_upstream() {
    for error in [gst::FlowError::Error, gst::FlowError::NotLinked, gst::FlowError::Eos, gst::FlowError::NotNegotiated]
    {
        let (mut harness, _sink, bus) = queue_before(Err(error));
        assert_eq!(answer_to_upstream(&mut harness), error);
        assert!(bus.pop_filtered(&[gst::MessageType::Error]).is_none(), "{error}: upstream reports it");
        bus.set_flushing(true);
    }
}

/// At once: upstream takes a refusal for the end, and pushes nothing more.
#[test]
fn a_new_segment_opens_a_stream_that_downstream_had_enough_of() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let refuses = Arc::new(AtomicBool::new(true));
    let answer = refuses.clone();
    let (mut harness, sink, bus) = queue_that_pushes_to(move || {
        if answer.load(Ordering::SeqCst) { Err(gst::FlowError::Eos) } else { Ok(gst::FlowSuccess::Ok) }
    });
    bus.set_flushing(true);
    let record = Record::on(&sink);
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    for round in 1_000..1_100 {
        refuses.store(true, Ordering::SeqCst);
        assert_eq!(answer_to_upstream(&mut harness), gst::FlowError::Eos);
        record.take();
        refuses.store(false, Ordering::SeqCst);
        harness.push_event(gst::event::Segment::new(&segment));
        assert_eq!(harness.push(buffer(round, access_unit('C'))), Ok(gst::FlowSuccess::Ok), "round {round}");
        record.wait_for(&round.to_string());
        assert_eq!(record.take(), format!("segment {round}"), "nothing of what was refused");
    }
}

/// The answer to the last frame of a stream comes when the next has begun already.
#[test]
fn a_refusal_is_for_the_stream_that_was_refused() {
    let (let_go, held) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    // The first buffer is refused, when the test says so.
    let (mut harness, sink, bus) = queue_that_pushes_to(move || match held.lock().unwrap().recv() {
        Ok(()) => Err(gst::FlowError::Eos),
        Err(_) => Ok(gst::FlowSuccess::Ok),
    });
    bus.set_flushing(true);
    let record = Record::on(&sink);
    for (number, unit) in access_units("CPP").into_iter().enumerate() {
        harness.push(buffer(number, unit)).unwrap();
    }
    record.wait_for("0");
    harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    harness.push(buffer(3, access_unit('C'))).unwrap();
    let_go.send(()).unwrap();
    drop(let_go);
    record.wait_for("3");
    harness.push(buffer(4, access_unit('P'))).expect("nobody has refused this stream");
    record.wait_for("4");
    let written = record.take();
    assert!(written.ends_with("0 segment 3 4"), "{written}");
}

#[test]
fn an_error_after_the_end_was_accepted_is_posted() {
    let (mut harness, _sink, bus) = queue_before(Err(gst::FlowError::NotLinked));
    assert_eq!(answer_to_upstream(&mut harness), gst::FlowError::NotLinked);
    harness.push_event(gst::event::Eos::new());
    let error = bus.pop_filtered(&[gst::MessageType::Error]).expect("nobody else can report it");
    bus.set_flushing(true);
    assert!(format!("{error:?}").contains("not linked"), "{error:?}");
}

#[test]
fn a_pad_that_is_linked_again_gets_data_again() {
    let (mut harness, sink, bus) = queue_before(Err(gst::FlowError::NotLinked));
    bus.set_flushing(true);
    assert_eq!(answer_to_upstream(&mut harness), gst::FlowError::NotLinked);
    let queue = harness.element().unwrap();
    let src = queue.static_pad("src").unwrap();
    src.unlink(&sink).unwrap();
    let other = gst::Pad::builder(gst::PadDirection::Sink).chain_function(|_, _, _| Ok(gst::FlowSuccess::Ok)).build();
    other.set_active(true).unwrap();
    let record = Record::on(&other);
    src.link(&other).unwrap();
    other.push_event(gst::event::Reconfigure::new());
    harness.push(buffer(90, access_unit('C'))).expect("it is open again");
    record.wait_for("90");
}
