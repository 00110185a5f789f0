//! What `vtpsink` asks of its pads, and of what comes on them: whatever is no ladder is reported with its pad and its
//! frame.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::pushed;
use crate::streaming;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::movie::Parsed;
use common::wait_until;
use gst::prelude::*;
use pushed::{H264, Server, h264, ladder};
use streaming::{launch, stop, text_of, wait_for};

#[test]
fn levels_are_ordered_by_the_numbers_of_their_pads() {
    let Some([low, high]) = h264(31) else { return };
    let server = Server::start(&[high, low], &[9, 4], "");
    server.push(0..31);
    wait_until("three groups", || server.live().get::<u32>("frames") == Ok(30));
    let rates: gst::Array = server.live().get("rates").unwrap();
    let rates: Vec<u64> = rates.iter().map(|rate| rate.get().unwrap()).collect();
    assert!(rates[0] < rates[1], "{rates:?}");
    stop(&server.pipeline);
}

/// A ladder with a fault, and what is to be reported of it.
fn refused(levels: &[Parsed], expected: &[&str]) {
    let server = Server::start(levels, &[0, 1], "max-size-time=1000000000");
    let frames = levels.iter().map(|level| level.buffers.len()).min().unwrap();
    server.push(0..frames);
    server.end();
    let error = server.error();
    assert!(expected.iter().all(|expected| error.contains(expected)), "{error}\nlacks one of {expected:?}");
    stop(&server.pipeline);
}

#[test]
fn what_is_no_ladder_is_told_with_pad_frame_and_what_is_allowed() {
    let Some([low, high]) = h264(40) else { return };
    let with = |change: &dyn Fn(&mut Parsed)| {
        let mut level = high.clone();
        change(&mut level);
        [low.clone(), level]
    };
    let later = |level: &mut Parsed, frame: usize| {
        let buffer = level.buffers[frame].make_mut();
        let time = buffer.pts().unwrap() + gst::ClockTime::from_mseconds(7);
        buffer.set_pts(time);
    };
    refused(&with(&|level| later(level, 13)), &["sink_1, frame 13", "allowed is a difference below 1ms"]);
    refused(&with(&|level| drop(level.buffers.remove(25))), &["sink_1, frame 25", "allowed"]);
    let longer = "-c:v libx264 -threads 1 -g 20 -keyint_min 20 -bf 2 -b_strategy 0 -sc_threshold 0 -qp {}";
    let Some([_, longer]) = ladder("longer.mkv", [longer, H264[1]], 40) else { return };
    refused(
        &[low.clone(), longer],
        &["sink_1, frame 10", "no key frame", "allowed are levels with the same key frames"],
    );
    let Some([mpeg4, _]) = ladder("other.avi", ["-c:v mpeg4 -g 10 -q:v {}", "avidemux ! mpeg4videoparse"], 40) else {
        return;
    };
    refused(&[low.clone(), mpeg4.clone()], &["MPEG-4 part 2", "H.264", "levels of a movie have the same"]);
    let named = |caps: &str| with(&|level| level.caps = caps.parse().unwrap());
    refused(&named("video/x-h264,stream-format=byte-stream,alignment=nal"), &["pad sink_1", "h264parse"]);
    refused(&named("video/mpegts,systemstream=true,packetsize=188"), &["pad sink_1", "container"]);
    refused(&named("audio/mpeg,mpegversion=4"), &["pad sink_1", "levels are MPEG-4 part 2, H.264 or H.265"]);
    let other_size = low.caps.to_string().replace("width=(int)320", "width=(int)640");
    refused(&named(&other_size), &["pad sink_1", "640x176", "320x176"]);
}

#[test]
fn a_level_that_lags_or_ends_early_is_told() {
    let Some(levels) = h264(60) else { return };
    let server = Server::start(&levels, &[0, 1], "max-size-time=1000000000");
    server.push_to(0, 0..60);
    let error = server.error();
    assert!(error.contains("sink_1, frame 0") && error.contains("max-size-time (1s)"), "{error}");
    stop(&server.pipeline);
    let server = Server::start(&levels, &[0, 1], "");
    server.push(0..20);
    server.end_level(1);
    server.push_to(0, 20..22);
    let error = server.error();
    assert!(error.contains("sink_1, frame 20: the level ended"), "{error}");
    stop(&server.pipeline);
}

#[test]
fn groups_without_end_are_given_up_and_a_key_frame_is_asked_for() {
    let Some(levels) = h264(60) else { return };
    let server = Server::start(&levels, &[0, 1], "max-size-time=300000000");
    let asked = Arc::new(AtomicU64::new(0));
    for level in 0..2 {
        let asked = asked.clone();
        let pad = server.feed(level).static_pad("src").unwrap();
        pad.add_probe(gst::PadProbeType::EVENT_UPSTREAM, move |_, info| {
            let is_request =
                info.event().is_some_and(|event| gst_video::UpstreamForceKeyUnitEvent::parse(event).is_ok());
            asked.fetch_add(u64::from(is_request), Ordering::Relaxed);
            gst::PadProbeReturn::Ok
        });
    }
    server.push(0..60);
    let warning = text_of(&wait_for(&server.pipeline, gst::MessageType::Warning));
    assert!(warning.contains("max-size-time") && warning.contains("closed group"), "{warning}");
    wait_until("requests", || asked.load(Ordering::Relaxed) >= 2);
    assert_eq!(server.live().get::<u32>("frames"), Ok(0));
    stop(&server.pipeline);
}

#[test]
fn pads_come_in_time_or_not_at_all() {
    let Some(levels) = h264(31) else { return };
    let server = Server::start(&levels, &[0, 1], "");
    let sink = server.pipeline.by_name("server").unwrap();
    let extra = sink.request_pad_simple("sink_%u").expect("nothing has come yet");
    assert_eq!(extra.name(), "sink_2");
    sink.release_request_pad(&extra);
    server.push(0..31);
    wait_until("three groups", || server.live().get::<u32>("frames") == Ok(30));
    assert!(sink.request_pad_simple("sink_%u").is_none(), "the levels are what they are");
    let pad = sink.static_pad("sink_1").unwrap();
    server.feed(1).static_pad("src").unwrap().unlink(&pad).unwrap();
    sink.release_request_pad(&pad);
    let error = server.error();
    assert!(error.contains("sink_1 was released"), "{error}");
    stop(&server.pipeline);
}

#[test]
fn a_file_and_pads_are_one_too_many() {
    common::init();
    let pipeline = launch("vtpsink name=server location=/some/file appsrc ! server.sink_0");
    assert!(pipeline.set_state(gst::State::Playing).is_err());
    let error = text_of(&wait_for(&pipeline, gst::MessageType::Error));
    assert!(error.contains("location") && error.contains("pads were requested"), "{error}");
    stop(&pipeline);
}
