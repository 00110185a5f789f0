//! `vtpsink` with levels on pads: what clients get is the frames that came, each at one level.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::pushed;
use crate::streaming;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::{leaves_nothing, wait_until};
use framewire_units::{RandomStream, Seed};
use gst::prelude::*;
use pushed::{H264, Server, h264, ladder, levels_of};
use streaming::{Network, at, receive, stats, stop, structures, wait_for, wait_for_end};

#[test]
fn every_codec_comes_through_and_every_client_begins_at_the_newest_group() {
    const FRAMES: usize = 95;
    let x265 = "-c:v libx265 -x265-params keyint=10:min-keyint=10:bframes=2:b-adapt=0:open-gop=0:scenecut=0:\
                log-level=none -qp {}";
    let mpeg4 = ["-c:v mpeg4 -g 10 -sc_threshold 1000000000 -q:v {}", "avidemux ! mpeg4videoparse"];
    let cases = [
        ladder("mpeg4.avi", mpeg4, FRAMES),
        h264(FRAMES),
        ladder(
            "h265.mkv",
            [x265, "matroskademux ! h265parse ! video/x-h265,stream-format=byte-stream,alignment=au"],
            FRAMES,
        ),
    ];
    let decoders = ["avdec_mpeg4", "avdec_h264", "avdec_h265"];
    let count = cases.len();
    let mut skipped = 0;
    for (levels, decoder) in cases.into_iter().zip(decoders) {
        let Some(levels) = levels else {
            skipped += 1;
            continue;
        };
        let server = Server::start(&levels, &[0, 1], "transport=fixed");
        server.push(0..11);
        let decoding = format!("{decoder} ! fakesink name=sink sync=false");
        let (one, first) = receive(server.ports(), "startup-delay=0", &decoding);
        one.set_state(gst::State::Playing).unwrap();
        server.wait_for_clients(1);
        server.push(11..45);
        // Three more groups are whole.
        wait_until("group 3", || server.live().get::<u32>("frames") == Ok(40));
        let (two, second) = receive(server.ports(), "startup-delay=0", &decoding);
        two.set_state(gst::State::Playing).unwrap();
        server.wait_for_clients(2);
        assert_eq!(two.by_name("client").unwrap().query_duration::<gst::ClockTime>(), None, "it is live");
        server.push(45..FRAMES);
        server.end();
        for (client, buffers, begins) in [(&one, first, 0), (&two, second, 30)] {
            wait_for(client, gst::MessageType::Eos);
            let buffers = std::mem::take(&mut *buffers.lock().unwrap());
            let offsets: Vec<_> = buffers.iter().map(|buffer| buffer.offset()).collect();
            assert_eq!(offsets, (0..(FRAMES - begins) as u64).collect::<Vec<_>>(), "{decoder}");
            assert!(
                levels_of(&levels, &buffers, begins).iter().all(|&level| level == 1),
                "fixed rate is the top level"
            );
            let times = |buffers: &[gst::Buffer]| buffers.iter().map(|buffer| buffer.pts()).collect::<Vec<_>>();
            let pushed = &levels[0].buffers[begins..];
            let base = pushed[0].pts().unwrap();
            let expected: Vec<_> = pushed.iter().map(|buffer| buffer.pts().map(|pts| pts - base)).collect();
            let near = |(a, b): (&Option<gst::ClockTime>, &Option<gst::ClockTime>)| {
                a.unwrap().absdiff(b.unwrap()) < gst::ClockTime::from_mseconds(2)
            };
            assert!(times(&buffers).iter().zip(&expected).all(near), "{decoder}: {:?}", times(&buffers));
            assert!(
                buffers[0].duration().unwrap().absdiff(gst::ClockTime::from_mseconds(40)) < gst::ClockTime::MSECOND
            );
            let rendered: gst::Structure = client.by_name("sink").unwrap().property("stats");
            assert_eq!(rendered.get("rendered"), Ok((FRAMES - begins) as u64), "{decoder}");
            let stats = stats(client, "client");
            assert_eq!((stats.get("live"), stats.get::<u64>("frames-lost")), (Ok(true), Ok(0)));
            stop(client);
        }
        wait_for(&server.pipeline, gst::MessageType::Eos);
        stop(&server.pipeline);
    }
    common::note_skipped(skipped, count);
}

#[test]
fn every_transport_serves_levels_from_pads() {
    let Some(levels) = h264(100) else { return };
    for transport in ["vtp", "vtp-hybrid", "tfrc", "rap", "sqrt", "aimd"] {
        let server = Server::start(&levels, &[0, 1], &format!("transport={transport} stats-interval=100000000"));
        server.push(0..11);
        let reports = if transport == "tfrc" { "tfrc" } else { "vtp" };
        let properties = format!("reports={reports} startup-delay=0 stats-interval=100000000");
        let (client, buffers) = receive(server.ports(), &properties, "fakesink sync=false");
        client.set_state(gst::State::Playing).unwrap();
        server.wait_for_clients(1);
        server.push(11..100);
        server.end();
        wait_for_end(&client);
        let levels = levels_of(&levels, &buffers.lock().unwrap(), 0);
        assert_eq!(levels.len(), 100, "{transport}");
        let changes: Vec<_> = (1..100).filter(|&frame| levels[frame - 1] != levels[frame]).collect();
        assert!(changes.iter().all(|frame| frame % 10 == 0), "{transport}: {changes:?}");
        check_statistics(&server, &client, transport);
        stop(&client);
        stop(&server.pipeline);
    }
}

/// Frames come as a camera makes them, and for a while none does: what comes behind that is not late, and nothing of it is
/// left out. Pushed all at once, the stream would only get further ahead.
#[test]
fn a_source_in_real_time_that_stands_still_for_a_while_loses_no_frame() {
    const FRAMES: usize = 110;
    let Some(levels) = h264(FRAMES) else { return };
    let server = Server::start(&levels, &[0, 1], "transport=vtp-hybrid");
    server.push(0..11);
    let (client, buffers) = receive(server.ports(), "reports=vtp startup-delay=0", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    server.wait_for_clients(1);
    let begun = Instant::now();
    for frame in 11..FRAMES {
        let stall = Duration::from_millis(if frame > 40 { 1_500 } else { 0 });
        std::thread::sleep((Duration::from_millis(40) * (frame - 10) as u32 + stall).saturating_sub(begun.elapsed()));
        server.push(frame..frame + 1);
    }
    server.end();
    wait_for_end(&client);
    let offsets: Vec<_> = buffers.lock().unwrap().iter().map(|buffer| buffer.offset()).collect();
    assert_eq!(offsets, (0..FRAMES as u64).collect::<Vec<_>>());
    stop(&client);
    stop(&server.pipeline);
}

/// Both ends know of rate, level, estimate, round trip, loss, frames in time and playout buffer level.
fn check_statistics(server: &Server, client: &gst::Pipeline, transport: &str) {
    let told_by_server = structures(&server.pipeline, "framewire-stats");
    let sessions = |stats: &gst::Structure| stats.get::<gst::Array>("sessions").unwrap();
    let session = told_by_server.iter().rev().find_map(|stats| sessions(stats).first()?.get::<gst::Structure>().ok());
    let session = session.unwrap_or_else(|| panic!("{transport}: no session was told of"));
    for field in ["session", "rate", "packets", "bytes", "round-trip"] {
        assert!(session.get::<u64>(field).is_ok_and(|value| value > 0), "{transport}: {field} of {session}");
    }
    assert!(session.has_field("ahead") && session.get::<u32>("level").is_ok_and(|level| level < 2), "{session}");
    if matches!(transport, "vtp" | "vtp-hybrid") {
        assert!(session.get::<u64>("estimate").is_ok_and(|rate| rate > 10_000), "{transport}: {session}");
    }
    let live: gst::Structure = told_by_server[0].get("live").unwrap();
    assert!(live.get::<u64>("window-bytes").is_ok_and(|bytes| bytes > 1_000), "{live}");
    let told_by_client = structures(client, "framewire-stats");
    let last = told_by_client.last().unwrap_or_else(|| panic!("{transport}: the client told nothing"));
    assert!(
        last.get::<u64>("round-trip").is_ok_and(|time| time > 0) && last.has_field("buffered"),
        "{transport}: {last}"
    );
    let stats = stats(client, "client");
    let shown = ["frames-in-time", "frames-late"].map(|field| stats.get::<u64>(field).unwrap());
    assert_eq!(shown.iter().sum::<u64>(), 100, "{transport}");
    assert_eq!(stats.get::<f64>("loss"), Ok(0.0), "{transport}");
}

#[test]
fn the_end_comes_without_any_client_too() {
    let Some(levels) = h264(25) else { return };
    for frames in [0, 1, 9, 25] {
        let server = Server::start(&levels, &[0, 1], "");
        server.push(0..frames);
        server.end();
        wait_for(&server.pipeline, gst::MessageType::Eos);
        stop(&server.pipeline);
        assert_eq!(server.live().get::<u32>("frames"), Ok(frames as u32), "all that came was there to be sent");
    }
}

#[test]
fn a_flush_begins_anew_and_the_clients_stay() {
    let Some(levels) = h264(60) else { return };
    let server = Server::start(&levels, &[0, 1], "");
    server.push(0..25);
    let (client, buffers) = receive(server.ports(), "startup-delay=0", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    server.wait_for_clients(1);
    wait_until("two groups", || server.live().get::<u32>("frames") == Ok(20));
    for level in 0..2 {
        let pad = server.feed(level).static_pad("src").unwrap();
        wait_until("all frames", || server.live().get::<u64>("frames-waiting") == Ok(0));
        pad.push_event(gst::event::FlushStart::new());
        pad.push_event(gst::event::FlushStop::new(true));
        let segment = gst::FormattedSegment::<gst::ClockTime>::new();
        pad.push_event(gst::event::Segment::new(&segment));
    }
    for level in 0..2 {
        // A flush stops what pushes; the harness of the pad goes on by hand.
        let pad = server.feed(level).static_pad("src").unwrap();
        for buffer in &server.levels[level].buffers[30..60] {
            pad.push(buffer.clone()).unwrap();
        }
        pad.push_event(gst::event::Eos::new());
    }
    wait_for(&client, gst::MessageType::Eos);
    let got = buffers.lock().unwrap().len();
    assert!((40..=55).contains(&got), "{got} frames: the rest of the group before the flush, and 30 behind it");
    let times: Vec<_> = buffers.lock().unwrap().iter().filter_map(|buffer| buffer.pts()).collect();
    assert!(times.iter().max().unwrap() < &gst::ClockTime::from_seconds(4), "time goes on: {times:?}");
    stop(&client);
    stop(&server.pipeline);
}

#[test]
fn garbage_is_counted_and_changes_nothing() {
    let Some(levels) = h264(40) else { return };
    let server = Server::start(&levels, &[0, 1], "");
    server.push(0..11);
    let (client, buffers) = receive(server.ports(), "startup-delay=0", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    server.wait_for_clients(1);
    let mut random: RandomStream = Seed(5).stream("garbage", &[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for round in 0..200 {
        let length = random.next_inclusive(1_400) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| random.next_inclusive(255) as u8).collect();
        socket.send_to(&bytes, ("127.0.0.1", server.ports()[round % 2])).unwrap();
    }
    server.push(11..40);
    server.end();
    wait_for(&client, gst::MessageType::Eos);
    assert_eq!(buffers.lock().unwrap().len(), 40);
    let dropped = stats(&server.pipeline, "server").get::<u64>("dropped-datagrams").unwrap();
    assert!((150..=200).contains(&dropped), "{dropped}");
    stop(&client);
    stop(&server.pipeline);
}

/// The time after which a server gives a client up (docs/vtp.md).
const PEER_TIMEOUT: Duration = Duration::from_secs(10);

/// Neither side sends a teardown: from one moment on nothing comes of one client and nothing reaches it, the
/// acknowledgement that a port is closed neither.
#[test]
fn a_client_that_vanishes_costs_the_others_nothing() {
    let Some(levels) = h264(400) else { return };
    let server = Server::start(&levels, &[0, 1], "max-size-time=2000000000");
    server.push(0..11);
    let network = Network::to(server.ports());
    let [(lost, got_before), (stays, got)] =
        [network.ports, server.ports()].map(|ports| receive(ports, "startup-delay=0", "fakesink sync=false"));
    for client in [&lost, &stays] {
        client.set_state(gst::State::Playing).unwrap();
    }
    server.wait_for_clients(2);
    wait_until("frames", || !got_before.lock().unwrap().is_empty() && !got.lock().unwrap().is_empty());
    network.is_dead.store(true, Ordering::Relaxed);
    let (begun, mut gone) = (Instant::now(), None);
    for frame in 11..400 {
        server.push(frame..frame + 1);
        let left = server.live();
        let window: u64 = left.get("window-time").unwrap();
        assert!(window <= 2_000_000_000, "{left}");
        if gone.is_none() && stats(&server.pipeline, "server").get::<u64>("clients") == Ok(1) {
            gone = Some(begun.elapsed());
        }
        std::thread::sleep((Duration::from_millis(40) * (frame - 10) as u32).saturating_sub(begun.elapsed()));
    }
    server.end();
    wait_for(&stays, gst::MessageType::Eos);
    let gone = gone.expect("the session ended while the stream went on");
    // Heard of a little before, and noted ten times a second.
    let least = PEER_TIMEOUT - Duration::from_secs(2);
    assert!((least..PEER_TIMEOUT + Duration::from_secs(3)).contains(&gone), "{gone:?}");
    let ended = structures(&server.pipeline, "framewire-session-ended");
    assert_eq!(ended[0].get::<&str>("reason"), Ok("Vanished"));
    let offsets: Vec<_> = got.lock().unwrap().iter().map(|buffer| buffer.offset()).collect();
    assert_eq!(offsets, (0..400).collect::<Vec<_>>());
    assert!(got_before.lock().unwrap().len() < 100, "it vanished");
    stop(&lost);
    stop(&stays);
    stop(&server.pipeline);
}

#[test]
fn everything_stops_at_any_moment() {
    let Some(levels) = h264(60) else { return };
    let mut random: RandomStream = Seed(9).stream("teardown", &[]);
    for round in 0..30 {
        let server = Server::start(&levels, &[0, 1], "");
        server.push(0..random.next_inclusive(60) as usize);
        let (client, _) = receive(server.ports(), "startup-delay=0", "fakesink sync=false");
        let _ = client.set_state(gst::State::Playing);
        std::thread::sleep(Duration::from_millis(random.next_inclusive(120).into()));
        match random.next_inclusive(4) {
            0 => server.end(),
            1 => {
                let sink = server.pipeline.by_name("server").unwrap();
                let pad = sink.static_pad("sink_1").unwrap();
                sink.release_request_pad(&pad);
            }
            2 => _ = server.pipeline.set_state(gst::State::Ready),
            3 => _ = server.pipeline.set_state(gst::State::Paused),
            _ => {}
        }
        let sink = server.pipeline.by_name("server").unwrap().downgrade();
        stop(&client);
        stop(&server.pipeline);
        drop((server, client));
        wait_until(&format!("the end of the element, round {round}"), || sink.upgrade().is_none());
    }
}

#[test]
fn nothing_leaks() {
    if ladder("leaks.mkv", H264, 40).is_none() {
        return;
    }
    let files = ["31", "24"].map(|quality| common::movie::directory().join(format!("{quality}-leaks.mkv")));
    let level = |file: &std::path::Path, number| {
        format!("filesrc location={} ! {} ! clocksync ! server.sink_{number}", file.display(), H264[1])
    };
    let [low, high] = [level(&files[0], 0), level(&files[1], 1)];
    let server = |port: u16| format!("vtpsink name=server data-port={port} control-port={} {low} {high}", port + 1);
    let lines = [
        (format!("{} vtpsrc {} startup-delay=0 ! fakesink async=false", server(46_481), at([46_481, 46_482])), true),
        // A level that never comes. An error before PLAYING is not the end of such a pipeline to `gst-launch-1.0`.
        (
            format!(
                "vtpsink name=server max-size-time=200000000 data-port=0 control-port=0 {low} appsrc ! server.sink_1"
            ),
            false,
        ),
    ];
    for (line, succeeds) in lines {
        assert_eq!(leaves_nothing(&line), succeeds, "{line}");
    }
}
