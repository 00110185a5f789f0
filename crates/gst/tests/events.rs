//! Everything that is not a frame: events keep their place, nothing accepted is lost at the end, errors are told.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this test waits for other threads")]

mod common;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::movie::{MPEG2, access_unit, access_units};
use common::{Gate, Record, Stepper, buffer, wait_until};
use gst::prelude::*;

const NO_LIMITS: &str = "max-size-time=0 max-size-bytes=0 max-size-buffers=0";

/// Pushes frames in the notation of written sequences.
fn push(stepper: &mut Stepper, from: usize, letters: &str) {
    for (number, unit) in (from..).zip(access_units(letters)) {
        stepper.harness.push(buffer(number, unit)).expect("it takes every frame");
    }
}

fn recorded(properties: &str) -> (Stepper, Record) {
    let stepper = Stepper::new(properties, MPEG2);
    let record = Record::on(&stepper.queue.static_pad("src").unwrap());
    (stepper, record)
}

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
    let (mut stepper, record) = recorded("mode=ifd");
    push(&mut stepper, 0, "C");
    stepper.gate.wait_for(1);
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
    let (mut stepper, record) = recorded(NO_LIMITS);
    push(&mut stepper, 0, "C");
    stepper.gate.wait_for(1);
    for name in ["second", "third"] {
        stepper.harness.push_event(gst::event::Eos::new());
        stepper.harness.push_event(gst::event::StreamStart::new(name));
    }
    stepper.harness.push_event(gst::event::Caps::new(&MPEG2.parse().unwrap()));
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    stepper.harness.push_event(gst::event::Segment::new(&segment));
    push(&mut stepper, 1, "C");
    stepper.gate.open();
    record.wait_for("1");
    let written = record.take();
    assert!(written.ends_with("0 eos stream-start eos stream-start caps segment 1"), "{written}");
}

/// Ten minutes without a key frame, most of it with a downstream that takes nothing.
#[test]
fn a_stream_without_key_frames_is_bounded_and_goes_on_with_the_next() {
    let (mut stepper, record) = recorded("max-size-time=1000000000");
    push(&mut stepper, 0, "C");
    stepper.gate.wait_for(1);
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
    let (mut stepper, record) = recorded("mode=ifd");
    push(&mut stepper, 0, "C");
    stepper.gate.wait_for(1);
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
    stepper.harness.push_event(gst::event::Caps::new(&MPEG2.parse().unwrap()));
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    stepper.harness.push_event(gst::event::Segment::new(&segment));
    push(&mut stepper, 1, "C");
    record.wait_for("1");
    let written = record.take();
    assert!(written.ends_with("0 eos stream-start caps segment 1"), "{written}");
}

#[test]
fn a_new_stream_may_wait_behind_the_end() {
    let (mut stepper, record) = recorded(NO_LIMITS);
    push(&mut stepper, 0, "C");
    stepper.gate.wait_for(1);
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.harness.push_event(gst::event::StreamStart::new("another"));
    stepper.harness.push_event(gst::event::Caps::new(&MPEG2.parse().unwrap()));
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    stepper.harness.push_event(gst::event::Segment::new(&segment));
    push(&mut stepper, 1, "C");
    stepper.gate.open();
    record.wait_for("1");
    let written = record.take();
    assert!(written.ends_with("0 eos stream-start caps segment 1"), "{written}");
}

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
    stepper.bus.set_flushing(true); // forgets what was told of the change of state
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

/// Presentation order differs from the order of the stream: frames have no time stamps here that would tell.
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

#[test]
fn a_lost_group_is_told_once_and_a_key_frame_asked_for() {
    for asks in [true, false] {
        let mut stepper =
            Stepper::new(&format!("mode=ifd-optimised request-key-frames={asks} min-force-key-unit-interval=0"), MPEG2);
        let (lost, told) = mpsc::channel();
        stepper.queue.connect("group-lost", false, move |values| {
            lost.send((values[1].get::<u64>().unwrap(), values[2].get::<String>().unwrap())).unwrap();
            None
        });
        push(&mut stepper, 0, "C");
        stepper.gate.wait_for(1);
        // B and the waiting P go, then all of the group; the next group is lost by its second P.
        push(&mut stepper, 1, "PBPPBC");
        push(&mut stepper, 7, "PP");
        let told: Vec<_> = told.try_iter().collect();
        assert_eq!(told, [(3, "ifd: P while a P waits".to_owned()), (7, "ifd: P while an I waits".to_owned())],);
        assert_eq!(requests(&mut stepper), if asks { 2 } else { 0 });
        assert_eq!(stepper.stat("groups-lost"), 2);
        assert_eq!(stepper.stat("key-frame-requests"), if asks { 2 } else { 0 });
    }
}

/// Requests for key frames that have come upstream since the last call.
fn requests(stepper: &mut Stepper) -> usize {
    std::iter::from_fn(|| stepper.harness.try_pull_upstream_event())
        .filter(|event| event.structure().is_some_and(|structure| structure.name() == "GstForceKeyUnit"))
        .count()
}

#[test]
fn key_frames_are_asked_for_no_more_often_than_told() {
    let mut stepper = Stepper::new("mode=ifd-optimised min-force-key-unit-interval=2000000000", MPEG2);
    push(&mut stepper, 0, "C");
    stepper.gate.wait_for(1);
    let begun = Instant::now();
    push(&mut stepper, 1, "PPPPCPCPCPPPP");
    assert_eq!((stepper.stat("groups-lost"), requests(&mut stepper)), (4, 1), "one for many groups");
    while begun.elapsed() < Duration::from_millis(2_100) {
        std::thread::sleep(Duration::from_millis(20));
    }
    push(&mut stepper, 14, "PPP");
    assert_eq!(requests(&mut stepper), 1, "the last group still waits for its key frame");
    assert_eq!(stepper.stat("key-frame-requests"), 2);
}

#[test]
fn a_drop_is_told_with_its_frame_and_rule() {
    let mut stepper = Stepper::new("mode=ifd post-drop-messages=true", MPEG2);
    push(&mut stepper, 0, "C");
    stepper.gate.wait_for(1);
    push(&mut stepper, 1, "PB");
    let message = stepper.bus.pop_filtered(&[gst::MessageType::Element]).expect("one message");
    let told = message.structure().unwrap();
    assert_eq!(told.name(), "framewire-frame-dropped");
    assert_eq!(told.get::<u64>("frame"), Ok(2));
    assert_eq!(told.get::<u64>("group"), Ok(1));
    assert_eq!(told.get::<&str>("type"), Ok("B"));
    assert_eq!(told.get::<&str>("rule"), Ok("ifd: B while a frame waits"));
    assert_eq!(told.get::<gst::ClockTime>("pts"), Ok(gst::ClockTime::from_mseconds(80)));
    assert_eq!(told.get::<gst::ClockTime>("running-time"), Ok(gst::ClockTime::from_mseconds(80)));
    assert!(stepper.bus.pop_filtered(&[gst::MessageType::Element]).is_none());
}

#[test]
fn latency_is_passed_on_and_grows_by_the_limit() {
    common::init();
    let ms = gst::ClockTime::from_mseconds;
    let cases = [
        ("dependency", 300, (true, ms(40), Some(ms(500))), (true, ms(40), Some(ms(800)))),
        // The default handler of GStreamer says so of what is not live.
        ("dependency", 300, (false, ms(0), Some(ms(500))), (false, ms(0), None)),
        ("dependency", 300, (true, ms(40), None), (true, ms(40), None)),
        ("dependency", 0, (true, ms(40), Some(ms(500))), (true, ms(40), None)),
        // One frame waits, whatever the limit.
        ("ifd", 300, (true, ms(40), Some(ms(500))), (true, ms(40), Some(ms(500)))),
        ("ifd-optimised", 0, (true, ms(40), Some(ms(500))), (true, ms(40), Some(ms(500)))),
        ("ifd", 300, (true, ms(40), None), (true, ms(40), None)),
    ];
    for (mode, limit, (live, min, max), expected) in cases {
        let upstream = gst::Pad::builder(gst::PadDirection::Src).query_function(move |_, _, query| {
            let gst::QueryViewMut::Latency(latency) = query.view_mut() else { return false };
            latency.set(live, min, max);
            true
        });
        let upstream = upstream.build();
        let time = ms(limit).nseconds();
        let queue = gst::ElementFactory::make("ifdqueue").property("max-size-time", time);
        let queue = queue.property_from_str("mode", mode).build().unwrap();
        upstream.link(&queue.static_pad("sink").unwrap()).unwrap();
        let mut query = gst::query::Latency::new();
        assert!(queue.static_pad("src").unwrap().query(&mut query));
        assert_eq!(query.result(), expected, "{mode}, {limit}");
    }
}

#[test]
fn a_drain_query_comes_after_everything_that_waits() {
    let (mut stepper, record) = recorded(NO_LIMITS);
    push(&mut stepper, 0, "CP");
    let gate: Gate = stepper.gate.clone();
    gate.wait_for(1);
    let pad = stepper.queue.static_pad("sink").unwrap();
    let drained = std::thread::spawn(move || pad.query(&mut gst::query::Drain::new()));
    std::thread::sleep(Duration::from_millis(50));
    assert!(!drained.is_finished(), "two frames have not left");
    gate.open();
    drained.join().unwrap();
    assert!(record.take().ends_with("0 1"));
}

#[test]
fn levels_and_counts_add_up() {
    let mut stepper = Stepper::new("mode=ifd", MPEG2);
    push(&mut stepper, 0, "C");
    stepper.gate.wait_for(1);
    push(&mut stepper, 1, "PBB");
    let size = access_unit('P').len() as u64;
    assert_eq!(stepper.queue.property::<u32>("current-level-buffers"), 1);
    assert_eq!(stepper.queue.property::<u64>("current-level-bytes"), size);
    assert_eq!(stepper.queue.property::<u64>("current-level-time"), 40_000_000);
    assert_eq!((stepper.stat("accepted"), stepper.stat("dropped"), stepper.stat("dropped-b")), (4, 2, 2));
    let stats = stepper.queue.property::<gst::Structure>("stats");
    let rules = stats.get::<gst::Array>("dropped-by-rule").unwrap();
    let rule = rules.first().unwrap().get::<gst::Structure>().unwrap();
    assert_eq!(rule.get::<&str>("rule"), Ok("ifd: B while a frame waits"));
    assert_eq!(rule.get::<u64>("frames"), Ok(2));
}

#[test]
fn limits_change_while_it_plays() {
    let mut stepper = Stepper::new(NO_LIMITS, MPEG2);
    push(&mut stepper, 0, "CPPPPPPP");
    stepper.gate.wait_for(1);
    assert_eq!((stepper.stat("current-level-buffers"), stepper.stat("dropped")), (7, 0));
    stepper.queue.set_property("max-size-buffers", 4_u32);
    push(&mut stepper, 8, "P");
    assert!(stepper.stat("current-level-buffers") <= 4, "{}", stepper.stat("current-level-buffers"));
    stepper.queue.set_property("max-size-buffers", 0_u32);
    push(&mut stepper, 9, "CPPPPPPP");
    assert!(stepper.stat("current-level-buffers") >= 8, "{}", stepper.stat("current-level-buffers"));
}
