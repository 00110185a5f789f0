//! `vtpsink` and `vtpsrc` with audio beside the video: both come whole, on one time line, and neither waits for the other.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::streaming;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{leaves_nothing, wait_until};
use framewire_media::audio::AudioPacket;
use framewire_units::{RandomStream, Seed};
use gst::prelude::*;
use streaming::*;

type Buffers = Arc<Mutex<Vec<gst::Buffer>>>;

/// A client, and what comes out of both of its pads.
fn receive_both(ports: [u16; 2], properties: &str, rest: &str) -> (gst::Pipeline, Buffers, Buffers) {
    let (client, video) = receive(ports, properties, rest);
    let audio = Buffers::default();
    let heard = audio.clone();
    client.by_name("client").unwrap().connect_pad_added(move |_, pad| collect(pad, &heard));
    (client, video, audio)
}

fn nanos(time: Duration) -> Option<gst::ClockTime> {
    Some(gst::ClockTime::try_from(time).unwrap())
}

/// Bytes, times and numbers of these packets.
fn check_packets(buffers: &[gst::Buffer], packets: &[AudioPacket], first: usize) {
    for (index, (buffer, packet)) in buffers.iter().zip(packets).enumerate() {
        assert_eq!(buffer.map_readable().unwrap().as_slice(), packet.bytes, "packet {index}");
        assert_eq!(buffer.pts(), nanos(packet.time), "packet {index}");
        // To the nearest nanosecond both.
        let differs = buffer.duration().unwrap().absdiff(nanos(packet.duration).unwrap());
        assert!(differs <= gst::ClockTime::NSECOND, "packet {index}: {differs}");
        assert_eq!(buffer.offset(), (first + index) as u64);
    }
    assert_eq!(buffers.len(), packets.len());
}

#[test]
fn picture_and_sound_come_whole() {
    let kinds = ["mp3", "aac", "mp2"];
    let mut skipped = 0;
    for kind in kinds {
        let Some((path, ladder, packets)) = with_audio(&format!("both-{kind}"), kind, 75) else {
            skipped += 1;
            continue;
        };
        let (server, ports) = serve(&path, "sessions=1");
        // No queue stands between: each pad has its own thread.
        let decoding =
            "decodebin ! fakesink name=seen sync=true client.audio ! decodebin ! fakesink name=heard sync=true";
        let (client, video, audio) = receive_both(ports, "", decoding);
        client.set_state(gst::State::Playing).unwrap();
        wait_for_end(&client);
        let audio = std::mem::take(&mut *audio.lock().unwrap());
        check_packets(&audio, &packets, 0);
        let breaks = audio.iter().filter(|buffer| buffer.flags().contains(gst::BufferFlags::DISCONT)).count();
        assert_eq!(breaks, 1, "{kind}: the first one only");
        assert_eq!(video.lock().unwrap().len(), ladder.frame_count(), "{kind}");
        for sink in ["seen", "heard"] {
            let stats: gst::Structure = client.by_name(sink).unwrap().property("stats");
            assert!(stats.get::<u64>("rendered").unwrap() >= 70, "{kind}, {sink}: {stats}");
        }
        check_told(&client, kind, &packets);
        wait_for(&server, gst::MessageType::Eos);
        stop(&client);
        stop(&server);
    }
    common::note_skipped(skipped, kinds.len());
}

/// Caps, streams, duration and statistics.
fn check_told(client: &gst::Pipeline, kind: &str, packets: &[AudioPacket]) {
    let element = client.by_name("client").unwrap();
    let [video, audio] = ["src", "audio"].map(|name| element.static_pad(name).unwrap());
    let caps = audio.current_caps().unwrap();
    let expected = match kind {
        "mp3" => "audio/mpeg, mpegversion=1, layer=3, parsed=true, rate=48000, channels=2",
        "mp2" => "audio/mpeg, mpegversion=1, layer=2, parsed=true, rate=48000, channels=2",
        _ => "audio/mpeg, mpegversion=4, stream-format=adts, framed=true, rate=48000, channels=2",
    };
    assert!(caps.is_strictly_equal(&expected.parse::<gst::Caps>().unwrap()), "{caps}");
    assert!(caps.is_subset(&element.pad_template("audio").unwrap().caps().clone()));
    let start = |pad: &gst::Pad| pad.sticky_event::<gst::event::StreamStart>(0).unwrap();
    assert_eq!(start(&video).group_id(), start(&audio).group_id());
    assert_ne!(start(&video).stream_id(), start(&audio).stream_id());
    let segment = |pad: &gst::Pad| pad.sticky_event::<gst::event::Segment>(0).unwrap().segment().clone();
    let running =
        |pad: &gst::Pad| segment(pad).downcast::<gst::ClockTime>().unwrap().to_running_time(gst::ClockTime::SECOND);
    assert_eq!((running(&video), running(&audio)), (Some(gst::ClockTime::SECOND), Some(gst::ClockTime::SECOND)));
    assert_eq!(audio.query_duration::<gst::ClockTime>(), Some(gst::ClockTime::from_seconds(3)));
    let latency = |pad: &gst::Pad| {
        let mut query = gst::query::Latency::new();
        pad.query(&mut query).then(|| query.result())
    };
    assert_eq!(latency(&audio), latency(&video));
    let described = structures(client, "framewire-stream-described");
    assert_eq!(described[0].get::<gst::Caps>("audio").unwrap(), caps);
    let stats = stats(client, "client");
    let bytes = packets.iter().map(|packet| packet.bytes.len() as u64).sum();
    assert_eq!(stats.get("audio-packets"), Ok(packets.len() as u64));
    assert_eq!((stats.get("audio-bytes"), stats.get("audio-lost")), (Ok::<u64, _>(bytes), Ok(0u64)));
    assert_eq!(stats.get("waiting-bytes"), Ok(0u64));
}

/// The first time at which what is decoded is bright, or loud.
fn when(buffers: &Buffers, is_clap: impl Fn(&[u8]) -> Option<u64>) -> i64 {
    let buffers = buffers.lock().unwrap();
    let mut claps = buffers.iter().filter_map(|buffer| {
        let within = is_clap(buffer.map_readable().unwrap().as_slice())?;
        Some((buffer.pts().unwrap().nseconds() + within) as i64)
    });
    claps.next().expect("there is a clap") / 1_000_000
}

/// The decoders' output, not the element's: what a player would show and play.
#[test]
fn what_happens_at_once_is_seen_and_heard_at_once() {
    let Some((path, ..)) = with_audio("clap", "mp3", 75) else { return };
    let (server, ports) = serve(&path, "sessions=1");
    let raw = "decodebin ! videoconvert ! video/x-raw,format=GRAY8 ! fakesink name=seen sync=false client.audio ! decodebin ! \
               audioconvert ! audio/x-raw,format=S16LE,channels=1,layout=interleaved ! fakesink name=heard sync=false";
    let (client, ..) = receive_both(ports, "", raw);
    let [seen, heard] = ["seen", "heard"].map(|sink| {
        let buffers = Buffers::default();
        collect(&client.by_name(sink).unwrap().static_pad("sink").unwrap(), &buffers);
        buffers
    });
    client.set_state(gst::State::Playing).unwrap();
    wait_for(&client, gst::MessageType::Eos);
    let bright = |pixels: &[u8]| {
        (pixels.iter().map(|&pixel| u64::from(pixel)).sum::<u64>() > 120 * pixels.len() as u64).then_some(0)
    };
    let loud = |bytes: &[u8]| {
        let mut samples = bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
        samples.position(|sample| sample.unsigned_abs() > 800).map(|sample| sample as u64 * 1_000_000_000 / 48_000)
    };
    let (seen, heard) = (when(&seen, bright), when(&heard, loud));
    let clap = CLAP.as_millis() as i64;
    assert_eq!(seen, clap);
    // An encoder of MPEG audio begins with 1,105 samples of its own: 23 ms.
    assert!((-5..40).contains(&(heard - seen)), "seen at {seen} ms, heard at {heard} ms");
    stop(&client);
    stop(&server);
}

#[test]
fn a_pad_without_a_peer_does_not_hold_the_other_one_up() {
    let Some((path, ladder, packets)) = with_audio("alone", "mp3", 75) else { return };
    // Who looks only.
    let (server, ports) = serve(&path, "sessions=1");
    let (client, video, audio) = receive_both(ports, "", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    wait_for(&client, gst::MessageType::Eos);
    assert_eq!(video.lock().unwrap().len(), ladder.frame_count());
    assert!(
        stats(&client, "client").get::<u64>("audio-packets") == Ok(0) && audio.lock().unwrap().len() <= packets.len()
    );
    stop(&client);
    stop(&server);
    // Who listens only.
    let (server, ports) = serve(&path, "sessions=1");
    let client = launch(&format!("vtpsrc name=client {} client.audio ! fakesink sync=false", at(ports)));
    let audio = Buffers::default();
    let heard = audio.clone();
    client.by_name("client").unwrap().connect_pad_added(move |_, pad| collect(pad, &heard));
    client.set_state(gst::State::Playing).unwrap();
    wait_for(&client, gst::MessageType::Eos);
    check_packets(&audio.lock().unwrap(), &packets, 0);
    assert_eq!(stats(&client, "client").get("frames"), Ok(0u64));
    stop(&client);
    stop(&server);
}

/// Each side ends early where its downstream has enough, and the other one goes on to its end.
#[test]
fn a_pad_whose_downstream_has_enough_does_not_hold_the_other_one_up() {
    let Some((path, ladder, packets)) = with_audio("enough", "mp3", 75) else { return };
    for (video_ends, audio_ends) in [(true, false), (false, true)] {
        let (server, ports) = serve(&path, "sessions=1");
        // A small buffer would be full, were it not for this.
        let (client, video, audio) = receive_both(
            ports,
            "buffer-size=100000",
            "fakesink name=seen sync=false client.audio ! fakesink name=heard sync=false",
        );
        for (sink, ends) in [("seen", video_ends), ("heard", audio_ends)] {
            let left = AtomicBool::new(true);
            let pad = client.by_name(sink).unwrap().static_pad("sink").unwrap();
            pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
                if ends && !left.swap(false, Ordering::Relaxed) {
                    info.flow_res = Err(gst::FlowError::Eos);
                    return gst::PadProbeReturn::Handled;
                }
                gst::PadProbeReturn::Ok
            });
        }
        client.set_state(gst::State::Playing).unwrap();
        wait_for(&client, gst::MessageType::Eos);
        let counts = (video.lock().unwrap().len(), audio.lock().unwrap().len());
        assert_eq!(counts, if video_ends { (2, packets.len()) } else { (ladder.frame_count(), 2) });
        stop(&client);
        stop(&server);
    }
}

#[test]
fn audio_that_is_lost_is_told_and_leaves_a_gap() {
    let Some((path, _, packets)) = with_audio("lost-audio", "mp3", 100) else { return };
    let (server, ports) = serve(&path, "transport=fixed sessions=1");
    let network = Network::to(ports);
    network.loses_each.store(7, Ordering::Relaxed);
    let (client, _, audio) =
        receive_both(network.ports, "", "fakesink sync=false client.audio ! fakesink name=heard sync=false");
    let gaps = Arc::new(Mutex::new(vec![]));
    let told = gaps.clone();
    client.by_name("heard").unwrap().static_pad("sink").unwrap().add_probe(
        gst::PadProbeType::EVENT_DOWNSTREAM,
        move |_, info| {
            if let Some(gst::EventView::Gap(gap)) = info.event().map(|event| event.view()) {
                told.lock().unwrap().push(gap.get());
            }
            gst::PadProbeReturn::Ok
        },
    );
    client.set_state(gst::State::Playing).unwrap();
    wait_for_end(&client);
    let audio = std::mem::take(&mut *audio.lock().unwrap());
    let arrived: Vec<usize> = audio.iter().map(|buffer| buffer.offset() as usize).collect();
    let lost: Vec<usize> = (0..packets.len()).filter(|number| !arrived.contains(number)).collect();
    assert!((packets.len() / 20..packets.len() / 3).contains(&lost.len()), "{lost:?}");
    let mut expected = vec![];
    for (index, (buffer, &number)) in audio.iter().zip(&arrived).enumerate() {
        assert_eq!(buffer.map_readable().unwrap().as_slice(), packets[number].bytes);
        assert_eq!(buffer.pts(), nanos(packets[number].time));
        let before = index.checked_sub(1).map(|index| arrived[index]);
        let follows = before.is_some_and(|before| before + 1 == number);
        assert_eq!(buffer.flags().contains(gst::BufferFlags::DISCONT), !follows, "packet {number}");
        if !follows && number > 0 {
            let from = before.map_or(Duration::ZERO, |before| packets[before].time + packets[before].duration);
            expected.push((nanos(from).unwrap(), nanos(packets[number].time - from)));
        }
    }
    assert_eq!(*gaps.lock().unwrap(), expected);
    let told = structures(&client, "framewire-audio-lost");
    let told: Vec<usize> = told
        .iter()
        .flat_map(|told| {
            let first = told.get::<u32>("packet").unwrap() as usize;
            first..first + told.get::<u32>("count").unwrap() as usize
        })
        .collect();
    assert_eq!(told, lost);
    assert_eq!(stats(&client, "client").get("audio-lost"), Ok(lost.len() as u64));
    stop(&client);
    stop(&server);
}

#[test]
fn repeats_are_counted_beside_what_is_missing() {
    let Some((path, ladder, packets)) = with_audio("repeats", "mp3", 100) else { return };
    let (server, ports) = serve(&path, "sessions=1 repeats=true");
    let network = Network::to(ports);
    network.loses_each.store(13, Ordering::Relaxed);
    let (client, video, audio) =
        receive_both(network.ports, "repeats=true", "fakesink sync=false client.audio ! fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    wait_for(&client, gst::MessageType::Eos);
    let stats = stats(&client, "client");
    let [missing, repeated] = ["packets-missing", "packets-repeated"].map(|field| stats.get::<u64>(field).unwrap());
    // What came by a repeat stays missing: it says what the network does.
    assert!(missing > 10 && (missing / 2..=missing).contains(&repeated), "{stats}");
    let whole = (video.lock().unwrap().len(), audio.lock().unwrap().len());
    assert!(whole.0 + 3 >= ladder.frame_count() && whole.1 + 3 >= packets.len(), "{whole:?}");
    stop(&client);
    stop(&server);
}

#[test]
fn a_flush_and_an_early_end_reach_both_pads() {
    let Some((path, ladder, packets)) = with_audio("flush", "mp3", 500) else { return };
    let (server, ports) = serve(&path, "");
    let (client, video, audio) = receive_both(ports, "", "fakesink sync=true client.audio ! fakesink sync=true");
    let element = client.by_name("client").unwrap();
    client.set_state(gst::State::Playing).unwrap();
    let both = |least: usize| video.lock().unwrap().len() > least && audio.lock().unwrap().len() > least;
    wait_until("both", || both(10));
    element.send_event(gst::event::FlushStart::new());
    element.send_event(gst::event::FlushStop::new(false));
    let (seen, heard) = (video.lock().unwrap().len(), audio.lock().unwrap().len());
    wait_until("both again", || both(seen.max(heard) + 10));
    element.send_event(gst::event::Eos::new());
    wait_for(&client, gst::MessageType::Eos);
    let (seen, heard) = (video.lock().unwrap().len(), audio.lock().unwrap().len());
    assert!(
        seen < ladder.frame_count() - 100 && heard < packets.len() - 100,
        "{seen} frames, {heard} packets: the end came early"
    );
    let offsets: Vec<_> = audio.lock().unwrap().iter().map(|buffer| buffer.offset()).collect();
    assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]), "{offsets:?}");
    stop(&client);
    stop(&server);
}

#[test]
fn the_pad_goes_with_its_session() {
    let (Some((with, ..)), Some((without, _))) = (with_audio("with", "mp3", 50), mpeg4("without", 50)) else { return };
    for path in [&with, &without, &with] {
        let (server, ports) = serve(path, "sessions=1");
        let client = launch(&format!("vtpsrc name=client {} ! fakesink sync=false", at(ports)));
        let element = client.by_name("client").unwrap();
        let told = Arc::new(AtomicBool::new(false));
        let all = told.clone();
        element.connect_no_more_pads(move |_| all.store(true, Ordering::Relaxed));
        client.set_state(gst::State::Playing).unwrap();
        wait_for(&client, gst::MessageType::Eos);
        assert!(told.load(Ordering::Relaxed), "players wait for this");
        assert_eq!(element.static_pad("audio").is_some(), path == &with);
        client.set_state(gst::State::Ready).unwrap();
        assert!(element.static_pad("audio").is_none());
        stop(&client);
        stop(&server);
    }
    // Again, with the same element.
    let (server, ports) = serve(&with, "");
    let (client, _, audio) = receive_both(ports, "startup-delay=0", "fakesink sync=false");
    for round in 1..=3 {
        client.set_state(gst::State::Playing).unwrap();
        wait_until("audio", || {
            !audio.lock().unwrap().is_empty() && client.by_name("client").unwrap().static_pad("audio").is_some()
        });
        client.set_state(gst::State::Ready).unwrap();
        assert_eq!(audio.lock().unwrap()[0].offset(), 0, "round {round}");
        audio.lock().unwrap().clear();
    }
    stop(&client);
    stop(&server);
}

#[test]
fn everything_stops_at_any_moment() {
    let Some((path, ..)) = with_audio("stops", "mp3", 250) else { return };
    let mut random: RandomStream = Seed(33).stream("teardown", &[]);
    let (server, ports) = serve(&path, "");
    let mut heard = 0;
    for round in 0..30 {
        let sync = random.next_inclusive(1) == 0;
        let rest = format!("fakesink sync={sync} client.audio ! queue max-size-buffers=2 ! fakesink sync={sync}");
        let (client, _, audio) = receive_both(ports, "startup-delay=0", &rest);
        let _ = client.set_state(if random.next_inclusive(3) == 0 { gst::State::Paused } else { gst::State::Playing });
        std::thread::sleep(Duration::from_millis(random.next_inclusive(150).into()));
        heard += audio.lock().unwrap().len();
        let element = client.by_name("client").unwrap().downgrade();
        stop(&client);
        drop(client);
        wait_until(&format!("the end of the element, round {round}"), || element.upgrade().is_none());
    }
    assert!(heard > 30, "{heard} packets: the pipelines were torn down before anything happened");
    stop(&server);
}

#[test]
fn nothing_leaks() {
    let Some((path, ..)) = with_audio("leak-audio", "mp3", 40) else { return };
    let pair = |port: u16, rest: &str| {
        let (path, at) = (path.display(), at([port, port + 1]));
        format!("vtpsink location={path} title=movie sessions=1 {at} vtpsrc name=client {at} {rest}")
    };
    let sink = "fakesink async=false";
    let lines = [
        (pair(46_485, &format!("! avdec_mpeg4 ! {sink} client.audio ! avdec_mp3 ! {sink}")), true),
        (pair(46_487, &format!("! {sink}")), true),
        (pair(46_489, &format!("! {sink} client.audio ! identity error-after=5 ! {sink}")), false),
    ];
    for (line, succeeds) in lines {
        assert_eq!(leaves_nothing(&line), succeeds, "{line}");
    }
}
