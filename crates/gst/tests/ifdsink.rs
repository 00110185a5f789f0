//! `ifdsink` in whole pipelines: what arrives, and what is reported to the application when it does not.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::receiver;
use crate::sending;
use std::time::{Duration, Instant};

use common::{OwnBus, leaves_nothing, wait_until};
use framewire_media::PictureType;
use framewire_units::Bitrate;
use gst::prelude::*;
use receiver::{NOWHERE, Receiver};
use sending::*;

#[test]
fn a_fast_receiver_gets_every_byte_and_the_end_before_the_pipeline_does() {
    let Some((path, movie)) = movie() else { return };
    for mode in ["mode=dependency", "mode=ifd", "mode=ifd-optimised unsent-limit=0"] {
        let receiver = Receiver::fast();
        let pipeline = pipeline(path, &format!("{} {mode}", to(receiver.port)));
        play_to(&pipeline, gst::MessageType::Eos);
        wait_until("the end of the connection", || receiver.is_over());
        assert!(receiver.received() == std::fs::read(path).unwrap(), "{mode}");
        let frames = movie.index.frames.len() as u64;
        assert_eq!((count(&pipeline, "sent"), count(&pipeline, "dropped")), (frames, 0), "{mode}");
        stop(&pipeline);
        assert_eq!(count(&pipeline, "sent"), frames, "what was counted is kept");
    }
}

#[test]
fn without_limits_nothing_that_was_accepted_is_lost_at_the_end() {
    let Some((path, _)) = movie() else { return };
    let receiver = Receiver::at(Bitrate::from_mbps(20));
    let no_limits = "sync=false max-size-time=0 max-size-bytes=0 max-size-buffers=0";
    let pipeline = pipeline(path, &format!("{} {no_limits}", to(receiver.port)));
    play_to(&pipeline, gst::MessageType::Eos);
    assert_eq!(count(&pipeline, "current-level-buffers"), 0);
    assert!(receiver.received() == std::fs::read(path).unwrap());
    stop(&pipeline);
}

#[test]
fn a_slow_receiver_gets_a_stream_without_holes_in_time() {
    let Some((path, movie)) = movie() else { return };
    for mode in ["dependency max-size-time=400000000", "ifd-optimised"] {
        let receiver = Receiver::at(Bitrate::from_kbps(900));
        let properties = format!("{} unsent-limit=8192 post-drop-messages=true mode={mode}", to(receiver.port));
        let pipeline = pipeline(path, &properties);
        let begun = Instant::now();
        let end = play_to(&pipeline, gst::MessageType::Eos);
        // All of it would take 8.3 s.
        assert!(begun.elapsed() < Duration::from_millis(7_500), "live: 5 s of video took {:?}", begun.elapsed());
        drop(end);
        let stream = receiver.received();
        let frames = frames_in(movie, &stream);
        assert!(is_closed(movie, &frames), "{mode}: {frames:?}");
        assert!(frames.len() < 120 && frames.len() > 20, "{mode}: {} of 125 frames", frames.len());
        assert_eq!(complaints("slow.m2v", &stream), "", "{mode}");
        let (accepted, sent, dropped) =
            (count(&pipeline, "accepted"), count(&pipeline, "sent"), count(&pipeline, "dropped"));
        assert_eq!((accepted, sent, sent + dropped), (125, frames.len() as u64, 125));
        stop(&pipeline);
        println!("{mode}: {sent} of {accepted} frames");
    }
}

#[test]
fn the_kernel_is_asked_for_the_state_of_the_connection() {
    let Some((path, _)) = movie() else { return };
    let receiver = Receiver::at(Bitrate::from_kbps(500));
    let pipeline = pipeline(path, &format!("{} congestion=reno", to(receiver.port)));
    pipeline.set_state(gst::State::Playing).unwrap();
    wait_until("some frames", || count(&pipeline, "accepted") > 40);
    let stats = pipeline.by_name("sink").unwrap().property::<gst::Structure>("stats");
    assert_eq!(stats.get::<&str>("congestion"), Ok("reno"));
    assert!(stats.get::<u32>("cwnd").unwrap() >= 2 && stats.get::<u32>("mss").unwrap() > 500, "{stats}");
    assert!(stats.get::<u64>("srtt").unwrap() > 0 && stats.has_field("rttvar"), "{stats}");
    assert!(stats.get::<u64>("unsent-bytes").unwrap() <= 32 * 1024, "{stats}");
    assert!(stats.has_field("retransmissions") && stats.has_field("unacked"), "{stats}");
    assert_eq!((stats.get("connected"), stats.get("connections")), (Ok(true), Ok(1u64)));
    stop(&pipeline);
}

#[test]
fn what_cannot_be_is_an_error_that_says_why() {
    let Some((path, _)) = movie() else { return };
    let port = receiver::free_port();
    let refusing = pipeline(path, &to(port));
    assert!(refusing.set_state(gst::State::Paused).is_err(), "the change of state fails, as that of tcpclientsink");
    let refused = error_of(&refusing);
    assert!(refused.contains(&format!("127.0.0.1:{port} refuses")), "{refused}");

    let receiver = Receiver::fast();
    let unknown = error_of(&pipeline(path, &format!("{} congestion=warp", to(receiver.port))));
    assert!(unknown.contains("\"warp\" is not available") && unknown.contains("cubic"), "{unknown}");

    let nobody = error_of(&pipeline(path, "host=no-such-host.invalid"));
    assert!(nobody.contains("no-such-host.invalid"), "{nobody}");

    let late = error_of(&pipeline(path, &format!("host={NOWHERE} connect-timeout=200000000")));
    assert!(late.contains(NOWHERE), "{late}");

    let receiver = Receiver::fast();
    let line = format!("filesrc location={} ! ifdsink {}", path.display(), to(receiver.port));
    let unparsed = error_of(&gst::parse::launch(&line).unwrap().downcast().unwrap());
    assert!(unparsed.contains("mpegvideoparse"), "{unparsed}");
}

#[test]
fn datagrams_are_for_mpeg_video() {
    let mut harness = harness("protocol=udp host=127.0.0.1");
    harness.0.set_src_caps_str("video/x-h264,stream-format=byte-stream,alignment=au");
    let message = harness.1.pop_filtered(&[gst::MessageType::Error]).expect("an error");
    let text = text_of(&message);
    assert!(text.contains("RFC 2250") && text.contains("video/x-h264") && text.contains("udpsink"), "{text}");
}

/// Their packets are no frames, and a connection that begins anew has lost their headers.
#[test]
fn containers_are_refused() {
    for caps in [
        "video/mpeg,mpegversion=2,systemstream=true",
        "video/mpegts,systemstream=true,packetsize=188",
        "video/x-flv",
        "video/x-matroska",
        "video/webm",
    ] {
        let receiver = Receiver::fast();
        let mut harness = harness(&to(receiver.port));
        harness.0.set_src_caps_str(caps);
        let message = harness.1.pop_filtered(&[gst::MessageType::Error]).expect("an error");
        let gst::MessageView::Error(error) = message.view() else { unreachable!() };
        assert!(error.error().matches(gst::CoreError::Negotiation), "{caps}: {error:?}");
        assert!(text_of(&message).contains("before the muxer"), "{caps}: {}", text_of(&message));
    }
}

#[test]
fn datagrams_that_nobody_receives_are_no_error() {
    let Some((path, _)) = movie() else { return };
    let pipeline = pipeline(path, &format!("{} protocol=udp", to(receiver::free_port())));
    play_to(&pipeline, gst::MessageType::Eos);
    assert_eq!((count(&pipeline, "sent"), count(&pipeline, "dropped")), (125, 0));
    stop(&pipeline);
}

#[test]
fn a_variable_frame_rate_is_no_rate() {
    let receiver = Receiver::fast();
    let (mut harness, bus) = harness(&format!("{} sync=false", to(receiver.port)));
    harness.set_src_caps_str(&common::movie::MPEG2.replace("25/1", "0/1"));
    let units = common::movie::access_units("CPB");
    for (number, unit) in units.iter().enumerate() {
        harness.push(common::buffer(number, unit.clone())).unwrap();
    }
    harness.push_event(gst::event::Eos::new());
    let errors = [gst::MessageType::Error];
    assert!(bus.pop_filtered(&errors).is_none());
    assert!(receiver.received() == units.concat());
}

/// A harness around the sink, and its bus.
fn harness(properties: &str) -> (gst_check::Harness, OwnBus) {
    common::init();
    let mut harness = gst_check::Harness::new_parse(&format!("ifdsink {properties}"));
    let bus = OwnBus::of(&harness.element().unwrap());
    harness.play();
    (harness, bus)
}

#[test]
fn rtp_packets_carry_every_frame() {
    use framewire_wire::rtp_payload::{Depacketizer, Limits, mpeg_video};

    let Some((path, movie)) = movie() else { return };
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let pipeline = pipeline(path, &format!("{} protocol=udp mtu=1200", to(socket.local_addr().unwrap().port())));
    pipeline.set_state(gst::State::Playing).unwrap();
    let (mut depacketizer, mut buffer) = (Depacketizer::new(&mpeg_video::FORMAT, None, Limits::default()), [0; 2_000]);
    let mut received = vec![];
    let mut is_over = false;
    loop {
        // After the end nothing is sent any more: what has not come by the next look does not come.
        let Ok(length) = socket.recv(&mut buffer) else {
            if is_over {
                break;
            }
            let ends = [gst::MessageType::Eos, gst::MessageType::Error];
            let end = pipeline.bus().unwrap().pop_filtered(&ends);
            assert!(!end.as_ref().is_some_and(|end| end.type_() == gst::MessageType::Error), "{end:?}");
            is_over = end.is_some();
            continue;
        };
        assert!(length <= 1_200 - 28, "IP and UDP headers of 28 bytes fit with it");
        depacketizer.handle_datagram(framewire_units::Timestamp::from_nanos(0), &buffer[..length]).unwrap();
        while let Some(frame) = depacketizer.poll_frame() {
            assert!(frame.complete);
            received.push((frame.rtp_timestamp, frame.bytes));
        }
    }
    stop(&pipeline);
    assert_eq!(received.len(), movie.index.frames.len());
    let first = received[0].0;
    for (index, (timestamp, bytes)) in received.iter().enumerate() {
        let frame = &movie.index.frames[index];
        assert_eq!(*bytes, movie.frame_bytes(index));
        let shown = frame.display_index as i32 - movie.index.frames[0].display_index as i32;
        assert_eq!(timestamp.wrapping_sub(first) as i32, shown * 3_600, "frame {index}: 25 frames/s at 90 kHz");
    }
}

#[test]
fn a_broken_connection_is_an_error_or_tried_again_from_the_next_key_frame() {
    let Some((path, movie)) = movie() else { return };
    // Once, without another attempt.
    let receiver = Receiver::with(|mut stream| {
        let some = receiver::read_some(&mut stream, 100_000);
        receiver::reset(stream);
        some
    });
    let error = error_of(&pipeline(path, &to(receiver.port)));
    assert!(error.contains("closed the connection"), "{error}");

    // And with: the second connection begins with a key frame that needs nothing.
    let (listener, port) = receiver::listen();
    let peers = std::thread::spawn(move || {
        let (mut first, _) = listener.accept().unwrap();
        receiver::read_some(&mut first, 100_000);
        receiver::reset(first);
        let mut second = vec![];
        std::io::Read::read_to_end(&mut listener.accept().unwrap().0, &mut second).unwrap();
        second
    });
    let pipeline = pipeline(path, &format!("{} reconnect-attempts=3 reconnect-delay=10000000", to(port)));
    let warning = play_to(&pipeline, gst::MessageType::Warning);
    assert!(text_of(&warning).contains("reconnection 1 of 3"), "{warning:?}");
    wait_for(&pipeline, gst::MessageType::Eos);
    let stream = peers.join().unwrap();
    let frames = frames_in(movie, &stream);
    assert_eq!(movie.index.frames[frames[0]].kind, PictureType::I);
    let older = |frame: &usize| movie.index.frames[*frame].references.iter().any(|&it| (it as usize) < frames[0]);
    assert!(!frames.iter().any(older), "nothing refers to what the second receiver never had: {frames:?}");
    assert_eq!(complaints("second.m2v", &stream), "");
    assert_eq!(count(&pipeline, "connections"), 2);
    assert_eq!(count(&pipeline, "sent") + count(&pipeline, "dropped"), 125);
    stop(&pipeline);
}

#[test]
fn the_limit_of_attempts_is_kept() {
    let Some((path, _)) = movie() else { return };
    let port = receiver::free_port();
    let pipeline = pipeline(path, &format!("{} reconnect-attempts=2 reconnect-delay=1000000", to(port)));
    let error = error_of(&pipeline);
    assert!(error.contains("reconnection 2 of 2"), "{error}");
}

#[test]
fn decisions_are_those_of_the_library() {
    use framewire_transport::decisions::{Step, steps};
    use framewire_transport::ifd::IfdPolicy;
    use framewire_transport::queue::FrameQueue;

    // After the first frame, which fills the socket, frames come while it is being written and nothing is taken.
    let letters = "CBBPBBPBBIBBPBBPBBIBBKBBPBBCPPP";
    for (mode, policy) in [("ifd", IfdPolicy::Basic), ("ifd-optimised", IfdPolicy::Optimised)] {
        let mut queue = FrameQueue::ifd(policy);
        let mut expected = vec![];
        for (number, step) in steps(letters).unwrap().into_iter().enumerate() {
            let Step::Offer(frame) = step else { panic!("only frames") };
            expected.extend(queue.offer(frame).into_iter().map(|discard| (discard.frame.id, discard.rule.to_owned())));
            if number == 0 {
                queue.take();
            }
        }
        let (listener, port) = receiver::listen();
        let (mut harness, bus) =
            harness(&format!("{} sync=false mode={mode} post-drop-messages=true unsent-limit=4096", to(port)));
        harness.set_src_caps_str(common::movie::MPEG2);
        for (number, mut unit) in common::movie::access_units(letters).into_iter().enumerate() {
            if number == 0 {
                unit.resize(8_000_000, 0x55);
            }
            harness.push(common::buffer(number, unit)).unwrap();
        }
        let dropped: Vec<(u32, String)> = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Element]))
            .map(|message| {
                let structure = message.structure().unwrap();
                (structure.get::<u64>("frame").unwrap() as u32, structure.get("rule").unwrap())
            })
            .collect();
        assert!(expected.len() > 10, "{mode}: {expected:?}");
        assert_eq!(dropped, expected, "{mode}");
        drop(listener);
    }
}

#[test]
fn a_flush_gives_up_what_waits_and_nothing_else() {
    let (listener, port) = receiver::listen();
    let (mut harness, bus) =
        harness(&format!("{} sync=false post-drop-messages=true unsent-limit=4096 mode=dependency", to(port)));
    harness.set_src_caps_str(common::movie::MPEG2);
    let mut units = common::movie::access_units("CPPPCPP").into_iter();
    let mut first = units.next().unwrap();
    first.resize(8_000_000, 0x55);
    harness.push(common::buffer(0, first.clone())).unwrap();
    for (number, unit) in (1..=3).zip(units.by_ref()) {
        harness.push(common::buffer(number, unit)).unwrap();
    }
    harness.push_event(gst::event::FlushStart::new());
    harness.push_event(gst::event::FlushStop::new(true));
    let rules: Vec<String> = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Element]))
        .map(|message| message.structure().unwrap().get("rule").unwrap())
        .collect();
    assert_eq!(rules, ["pipeline: flushed"; 3]);
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    harness.push_event(gst::event::Segment::new(&segment));
    let rest: Vec<Vec<u8>> = units.collect();
    for (number, unit) in (4..).zip(&rest) {
        harness.push(common::buffer(number, unit.clone())).unwrap();
    }
    let reader = std::thread::spawn(move || {
        let mut all = vec![];
        std::io::Read::read_to_end(&mut listener.accept().unwrap().0, &mut all).unwrap();
        all
    });
    harness.push_event(gst::event::Eos::new());
    assert!(reader.join().unwrap() == [first, rest.concat()].concat(), "the frame that was being written is whole");
}

#[test]
fn after_the_end_a_seek_begins_another_connection() {
    let Some((path, _)) = movie() else { return };
    let (listener, port) = receiver::listen();
    let receivers = std::thread::spawn(move || {
        [(); 2].map(|()| {
            let mut all = vec![];
            std::io::Read::read_to_end(&mut listener.accept().unwrap().0, &mut all).unwrap();
            all
        })
    });
    let pipeline = pipeline(path, &to(port));
    play_to(&pipeline, gst::MessageType::Eos);
    pipeline.seek_simple(gst::SeekFlags::FLUSH | gst::SeekFlags::KEY_UNIT, gst::ClockTime::ZERO).unwrap();
    wait_for(&pipeline, gst::MessageType::Eos);
    stop(&pipeline);
    let file = std::fs::read(path).unwrap();
    let [first, second] = receivers.join().unwrap();
    assert!(first == file && second == file, "{} and {} bytes", first.len(), second.len());
}

#[test]
fn nothing_leaks() {
    let Some((path, _)) = movie() else { return };
    let start = format!("filesrc location={} ! mpegvideoparse ! mpegstat post-messages=true ! ifdsink", path.display());
    let closes = Receiver::with(|mut stream| {
        let some = receiver::read_some(&mut stream, 50_000);
        receiver::reset(stream);
        some
    });
    let slow = Receiver::at(Bitrate::from_kbps(900));
    let ends = [
        format!("{} post-drop-messages=true max-size-time=100000000", to(slow.port)),
        format!("{} sync=false", to(closes.port)),
        to(receiver::free_port()),
        format!("{} protocol=udp sync=false", to(receiver::free_port())),
    ];
    let succeeded = ends.map(|end| leaves_nothing(&format!("{start} {end}")));
    assert_eq!(succeeded, [true, false, false, true]);
}
