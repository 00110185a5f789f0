//! `vtpsink` and `vtpsrc` over this kernel's loopback interface: what arrives is the movie, what is lost is reported,
//! and every end is reported as what it is.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::streaming;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::{leaves_nothing, wait_until};
use framewire_media::ladder::Ladder;
use framewire_units::{RandomStream, Seed};
use gst::prelude::*;
use streaming::*;

/// The level of each frame; panics at a buffer that is no frame of the movie.
fn levels_of(ladder: &Ladder, buffers: &[gst::Buffer]) -> Vec<usize> {
    let level_of = |buffer: &gst::Buffer| {
        let frame = buffer.offset() as usize;
        let bytes = buffer.map_readable().unwrap();
        let mut levels = 0..ladder.level_count();
        levels
            .find(|&level| ladder.frame_bytes(level, frame).unwrap()[..] == bytes[..])
            .expect("whole frames of the movie")
    };
    buffers.iter().map(level_of).collect()
}

#[test]
fn a_player_gets_the_whole_movie_and_its_end() {
    let Some((path, ladder)) = mpeg4("whole", 150) else { return };
    let (server, ports) = serve(&path, "sessions=1");
    let (client, buffers) = receive(ports, "", "avdec_mpeg4 ! fakesink name=sink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    // The movie says how long it is as soon as there is a frame.
    wait_until("a frame", || !buffers.lock().unwrap().is_empty());
    let duration = client.by_name("client").unwrap().query_duration::<gst::ClockTime>();
    assert_eq!(duration, Some(gst::ClockTime::from_seconds(6)));
    let described = structures(&client, "framewire-stream-described");
    assert_eq!(described.iter().map(|structure| structure.get("frames")).collect::<Vec<_>>(), [Ok(150u32)]);
    wait_for(&client, gst::MessageType::Eos);
    wait_for(&server, gst::MessageType::Eos);

    let buffers = std::mem::take(&mut *buffers.lock().unwrap());
    let levels = levels_of(&ladder, &buffers);
    assert_eq!(levels.len(), 150);
    assert_eq!((levels[0], levels[149]), (0, 1), "it begins at the lowest level and climbs on an idle network");
    for (number, buffer) in buffers.iter().enumerate() {
        let time = gst::ClockTime::from_mseconds(40 * number as u64);
        assert_eq!((buffer.offset(), buffer.pts()), (number as u64, Some(time)));
        assert_eq!(buffer.duration(), Some(gst::ClockTime::from_mseconds(40)));
        let delta = buffer.flags().contains(gst::BufferFlags::DELTA_UNIT);
        assert_eq!(delta, !number.is_multiple_of(10), "frame {number}");
        assert_eq!(buffer.flags().contains(gst::BufferFlags::DISCONT), number == 0);
    }
    // What FFmpeg decoded, behind it.
    let sink: gst::Structure = client.by_name("sink").unwrap().property("stats");
    assert_eq!(sink.get("rendered"), Ok(150u64));
    check_counts(&stats(&client, "client"), &levels);
    let stats = stats(&server, "server");
    assert_eq!((stats.get("sessions-ended"), stats.get("clients")), (Ok(1u64), Ok(0u64)));
    stop(&client);
    stop(&server);
}

fn check_counts(stats: &gst::Structure, levels: &[usize]) {
    let count = |level| levels.iter().filter(|&&of| of == level).count() as u64;
    let by_level = stats.get::<gst::Array>("frames-by-level").unwrap();
    let by_level: Vec<u64> = by_level.iter().map(|value| value.get().unwrap()).collect();
    assert_eq!(by_level, [count(0), count(1)]);
    assert_eq!(stats.get("frames"), Ok(levels.len() as u64));
    assert_eq!(stats.get("level"), Ok(levels[levels.len() - 1] as u32));
    let changes = levels.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    assert_eq!(stats.get("level-changes"), Ok(changes));
    for field in ["frames-lost", "frames-skipped", "packets-missing", "dropped-datagrams", "waiting-bytes"] {
        assert_eq!(stats.get(field), Ok(0u64), "{field}");
    }
}

#[test]
fn changes_of_level_are_told_by_both_sides_at_the_frame_where_they_are() {
    let Some((path, ladder)) = mpeg4("levels", 150) else { return };
    let (server, ports) = serve(&path, "sessions=1");
    let (client, buffers) = receive(ports, "", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    wait_for_end(&client);
    let levels = levels_of(&ladder, &buffers.lock().unwrap());
    let changes: Vec<_> = (1..150).filter(|&frame| levels[frame - 1] != levels[frame]).collect();
    assert!(!changes.is_empty());
    assert!(changes.iter().all(|frame| frame.is_multiple_of(10)), "{changes:?}: at key frames only");
    for side in [&client, &server] {
        let told: Vec<_> = structures(side, "framewire-level-changed");
        let told: Vec<_> = told.iter().map(|told| told.get::<u32>("frame").unwrap() as usize).collect();
        assert_eq!(told, changes);
    }
    stop(&client);
    stop(&server);
}

#[test]
fn the_codec_is_told_by_the_first_key_frame() {
    let x = "-g 10 -bf 2 -sc_threshold 0";
    let cases = [
        ("caps.avi", "-c:v mpeg4 -g 10 -sc_threshold 1000000000 -q:v {}".to_owned(), "video/mpeg", "avdec_mpeg4"),
        (
            "caps.m2v",
            "-c:v mpeg2video -g 10 -sc_threshold 1000000000 -q:v {}".to_owned(),
            "video/mpeg",
            "avdec_mpeg2video",
        ),
        ("caps.h264", format!("-c:v libx264 {x} -qp {{}}"), "video/x-h264", "h264parse ! avdec_h264"),
        (
            "caps.h265",
            "-c:v libx265 -x265-params keyint=10:min-keyint=10:bframes=2:open-gop=0:scenecut=0:log-level=none -qp {}"
                .to_owned(),
            "video/x-h265",
            "h265parse ! avdec_h265",
        ),
    ];
    for (name, encoder, expected, decoder) in cases {
        let Some((path, _)) = movie(name, &encoder, ["30", "20"], 30) else { continue };
        let (server, ports) = serve(&path, "sessions=1");
        let (client, _) = receive(ports, "", &format!("{decoder} ! fakesink name=sink sync=false"));
        client.set_state(gst::State::Playing).unwrap();
        wait_for(&client, gst::MessageType::Eos);
        let caps = client.by_name("client").unwrap().static_pad("src").unwrap().current_caps().unwrap();
        let structure = caps.structure(0).unwrap();
        assert_eq!(structure.name(), expected, "{name}");
        let version = match name {
            "caps.avi" => Some(4),
            "caps.m2v" => Some(2),
            _ => None,
        };
        assert_eq!(structure.get::<i32>("mpegversion").ok(), version, "{name}");
        let sink: gst::Structure = client.by_name("sink").unwrap().property("stats");
        assert_eq!(sink.get("rendered"), Ok(30u64), "{name}");
        stop(&client);
        stop(&server);
    }
}

#[test]
fn caps_that_are_set_are_used() {
    let Some((path, _)) = mpeg4("set-caps", 20) else { return };
    let (server, ports) = serve(&path, "");
    let (client, _) = receive(ports, "caps=video/x-test,answer=42", "fakesink name=sink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    wait_for(&client, gst::MessageType::Eos);
    let caps = client.by_name("sink").unwrap().static_pad("sink").unwrap().current_caps().unwrap();
    assert_eq!(caps.to_string(), "video/x-test, answer=(int)42");
    stop(&client);
    stop(&server);
}

#[test]
fn frames_that_are_lost_are_told_and_leave_a_gap() {
    let Some((path, ladder)) = mpeg4("lost", 100) else { return };
    let (server, ports) = serve(&path, "transport=fixed sessions=1");
    let network = Network::to(ports);
    network.loses_each.store(23, Ordering::Relaxed);
    let (client, buffers) = receive(network.ports, "", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    wait_for_end(&client);
    let buffers = std::mem::take(&mut *buffers.lock().unwrap());
    levels_of(&ladder, &buffers);
    let arrived: Vec<u64> = buffers.iter().map(|buffer| buffer.offset()).collect();
    let lost = 100 - arrived.len() as u64;
    assert!((1..90).contains(&lost), "{lost} frames were lost");
    for (index, buffer) in buffers.iter().enumerate() {
        let follows = index > 0 && arrived[index - 1] + 1 == arrived[index];
        assert_eq!(!follows, buffer.flags().contains(gst::BufferFlags::DISCONT), "frame {}", arrived[index]);
    }
    let told = structures(&client, "framewire-frames-lost");
    let told: Vec<u64> = told
        .iter()
        .flat_map(|told| {
            let first = u64::from(told.get::<u32>("frame").unwrap());
            first..first + u64::from(told.get::<u32>("count").unwrap())
        })
        .collect();
    let skipped: u64 = stats(&client, "client").get("frames-skipped").unwrap();
    let missing: Vec<u64> = (0..100).filter(|frame| !arrived.contains(frame) && *frame >= skipped).collect();
    let told: Vec<u64> = told.into_iter().filter(|frame| *frame >= skipped).collect();
    assert_eq!(told, missing);
    assert!(stats(&client, "client").get::<u64>("packets-missing").unwrap() > 0);
    stop(&client);
    stop(&server);
}

#[test]
fn a_server_that_stops_ends_the_stream_with_a_warning() {
    let Some((path, _)) = mpeg4("early", 500) else { return };
    let (server, ports) = serve(&path, "");
    let (client, buffers) = receive(ports, "startup-delay=0", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    wait_until("a frame", || !buffers.lock().unwrap().is_empty());
    stop(&server);
    let warning = text_of(&wait_for(&client, gst::MessageType::Warning));
    assert!(warning.contains("before the end of the movie"), "{warning}");
    wait_for(&client, gst::MessageType::Eos);
    stop(&client);
    // And again, on the same ports or others.
    server.set_state(gst::State::Playing).unwrap();
    let stats = stats(&server, "server");
    let ports = ["data-port", "control-port"].map(|port| stats.get::<u32>(port).unwrap() as u16);
    let (client, buffers) = receive(ports, "startup-delay=0", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    wait_until("a frame", || !buffers.lock().unwrap().is_empty());
    stop(&client);
    stop(&server);
}

#[test]
fn the_first_frame_waits_for_the_start_up_delay() {
    let Some((path, _)) = mpeg4("start", 100) else { return };
    let (server, ports) = serve(&path, "");
    for (delay, least, most) in [(0, 0, 1_500), (2_000, 2_000, 4_500)] {
        let (client, buffers) = receive(ports, &format!("startup-delay={delay}000000"), "fakesink sync=false");
        let begun = Instant::now();
        client.set_state(gst::State::Playing).unwrap();
        wait_until("a frame", || !buffers.lock().unwrap().is_empty());
        let took = begun.elapsed().as_millis();
        assert!((least..most).contains(&took), "{delay} ms took {took} ms");
        stop(&client);
    }
    stop(&server);
}

#[test]
fn a_player_that_pauses_costs_frames_and_no_memory() {
    let Some((path, ladder)) = mpeg4("paused", 150) else { return };
    let (server, ports) = serve(&path, "transport=fixed sessions=1");
    let size: u64 = (0..150).map(|frame| ladder.frame_bytes(1, frame).unwrap().len() as u64).sum();
    assert!(size > 200_000, "{size} bytes do not fill the buffer");
    let (client, buffers) = receive(ports, "startup-delay=0 buffer-size=100000", "fakesink sync=true");
    client.set_state(gst::State::Paused).unwrap();
    wait_until("the end of the session", || stats(&server, "server").get::<u64>("sessions-ended") == Ok(1));
    let waiting: u64 = stats(&client, "client").get("waiting-bytes").unwrap();
    assert!((50_000..150_000).contains(&waiting), "{waiting} bytes wait");
    client.set_state(gst::State::Playing).unwrap();
    wait_for(&client, gst::MessageType::Eos);
    let buffers = buffers.lock().unwrap();
    levels_of(&ladder, &buffers);
    assert!((10..150).contains(&buffers.len()), "{} frames", buffers.len());
    stop(&client);
    stop(&server);
}

#[test]
fn every_transport_carries_the_whole_movie() {
    let Some((path, ladder)) = mpeg4("transports", 75) else { return };
    for transport in ["vtp", "vtp-hybrid", "tfrc", "rap", "sqrt", "aimd", "fixed"] {
        let (server, ports) = serve(&path, &format!("transport={transport} sessions=1"));
        let reports = if transport == "tfrc" { "tfrc" } else { "vtp" };
        let (client, buffers) = receive(ports, &format!("reports={reports} startup-delay=0"), "fakesink sync=false");
        client.set_state(gst::State::Playing).unwrap();
        wait_for(&client, gst::MessageType::Eos);
        let levels = levels_of(&ladder, &buffers.lock().unwrap());
        assert_eq!(levels.len(), 75, "{transport}");
        // Fixed rate needs no feedback; the others begin at the bottom.
        assert_eq!(levels[0], usize::from(transport == "fixed"), "{transport}");
        stop(&client);
        stop(&server);
    }
}

#[test]
fn tfrc_needs_reports_of_its_own() {
    let Some((path, _)) = mpeg4("tfrc", 50) else { return };
    let (server, ports) = serve(&path, "transport=tfrc sessions=1");
    let (client, buffers) = receive(ports, "reports=tfrc", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    wait_for(&client, gst::MessageType::Eos);
    assert_eq!(buffers.lock().unwrap().len(), 50);
    stop(&client);
    stop(&server);
}

fn sleep_up_to(random: &mut RandomStream, millis: u32) {
    std::thread::sleep(Duration::from_micros(u64::from(random.next_inclusive(1_000 * millis))));
}

#[test]
fn both_sides_stop_at_any_moment() {
    let Some((path, _)) = mpeg4("teardown", 500) else { return };
    let mut random = Seed(21).stream("teardown", &[]);
    let mut frames = 0;
    for round in 0..40 {
        let (server, ports) = serve(&path, "");
        let (client, _) = receive(ports, "startup-delay=0", "fakesink sync=false");
        let _ = client.set_state(gst::State::Playing);
        sleep_up_to(&mut random, 300);
        for _ in 0..random.next_inclusive(3) {
            let side = if random.next_inclusive(1) == 0 { &client } else { &server };
            let states = [gst::State::Ready, gst::State::Paused, gst::State::Playing];
            let _ = side.set_state(states[random.next_inclusive(2) as usize]);
            sleep_up_to(&mut random, 30);
        }
        frames += stats(&client, "client").get::<u64>("frames").unwrap();
        let (first, then) = if round % 2 == 0 { (client, server) } else { (server, client) };
        for pipeline in [first, then] {
            let element = pipeline.children().pop().unwrap().downgrade();
            stop(&pipeline);
            drop(pipeline);
            wait_until(&format!("the end of the element, round {round}"), || element.upgrade().is_none());
        }
    }
    assert!(frames > 20, "the pipelines were torn down before anything happened: {frames}");
}

#[test]
fn nothing_leaks() {
    let Some((path, _)) = mpeg4("leak", 30) else { return };
    let server = |port: u16| {
        format!("vtpsink location={} title=movie sessions=1 data-port={port} control-port={}", path.display(), port + 1)
    };
    let client = |port: u16| format!("vtpsrc data-port={port} control-port={}", port + 1);
    // Together in one pipeline the sink must not wait for the first frame, as the server begins when it plays.
    let lines = [
        (format!("{} {} ! avdec_mpeg4 ! fakesink async=false", server(46_461), client(46_461)), true),
        (format!("{} {} ! identity error-after=3 ! fakesink async=false", server(46_463), client(46_463)), false),
        (format!("{} timeout=300000000 ! fakesink", client(46_465)), false),
        ("vtpsink location=/no/such/file".to_owned(), false),
    ];
    for (line, succeeds) in lines {
        assert_eq!(leaves_nothing(&line), succeeds, "{line}");
    }
}
