//! What `ifdqueue` reports: drops, lost groups, latency, levels and counts.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this test waits for other threads")]

use crate::common;
use crate::held;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::movie::{MPEG2, access_unit};
use common::{Gate, Stepper};
use gst::prelude::*;
use held::{NO_LIMITS, push, recorded};

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

#[test]
fn a_sink_that_never_waits_is_told_of() {
    common::init();
    let posted = |tail: &str| {
        let line = format!("videotestsrc num-buffers=3 ! jpegenc ! ifdqueue name=queue {tail}");
        let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
        let bus = pipeline.bus().unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        let queue = pipeline.by_name("queue").unwrap();
        common::wait_until("three frames", || common::stat(&queue, "sent") == 3);
        let warnings = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Warning]));
        let warnings: Vec<_> = warnings.map(|message| common::text_of(&message)).collect();
        common::stop(&pipeline);
        warnings
    };
    let one_of_two = "! tee name=tee ! queue ! tcpserversink port=0 sync=false tee. ! queue";
    let waiting = [
        "! fakesink",
        "! udpsink port=46470",
        "! queue ! filesink location=/dev/null",
        &format!("{one_of_two} ! fakesink"),
        &format!("{one_of_two} ! ( identity ! filesink location=/dev/null )"),
    ];
    for tail in waiting {
        assert_eq!(posted(tail), [""; 0], "{tail}");
    }
    let sinks = [
        "! tcpserversink name=wide port=0 sync=false",
        "! identity ! multifdsink name=wide sync=false",
        "! tee ! ( identity ! multisocketsink name=wide sync=false )",
        "! tee name=tee ! queue ! multifdsink name=wide sync=false tee. ! queue ! multifdsink sync=false",
    ];
    for tail in sinks {
        let warnings = posted(tail);
        assert!(warnings.len() == 1 && warnings[0].starts_with("wide ("), "{tail}: {warnings:?}");
        assert!(warnings[0].contains("ifdsink"), "{}", warnings[0]);
    }
}

#[test]
fn a_limit_of_time_without_effect_is_told_of_once() {
    let unit = access_unit('P');
    for (properties, times, expected) in
        [("", false, 1), ("", true, 0), ("max-size-buffers=20", false, 0), ("mode=ifd", false, 0)]
    {
        let mut stepper = Stepper::new(properties, "video/mpeg,mpegversion=2,systemstream=false,parsed=true");
        stepper.gate.open();
        for number in 0..200 {
            let mut buffer = gst::Buffer::from_slice(unit.clone());
            if times {
                buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40 * number));
            }
            stepper.harness.push(buffer).unwrap();
        }
        let warnings = std::iter::from_fn(|| stepper.bus.pop_filtered(&[gst::MessageType::Warning]));
        let warnings: Vec<_> = warnings.map(|message| common::text_of(&message)).collect();
        assert_eq!(warnings.len(), expected, "{properties}, {times}: {warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains("max-size-buffers")), "{warnings:?}");
    }
}

#[test]
fn the_element_is_found_among_filters_of_video() {
    common::init();
    let factory = gst::ElementFactory::find("ifdqueue").unwrap();
    assert_eq!(factory.metadata("klass"), Some("Filter/Video"));
}
