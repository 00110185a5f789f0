//! Whole pipelines: a slow sink, teardown at any moment, nothing left behind, nothing copied.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this test waits for pipelines")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::movie::{MPEG2, access_unit, access_units, run};
use common::{Stepper, buffer, program, stat};
use framewire_units::Seed;
use gst::prelude::*;

/// A sink that takes 60 ms for each of 25 frames per second.
fn slow_pipeline(queue: &str) -> (gst::Pipeline, Arc<Mutex<Vec<gst::ClockTime>>>) {
    common::init();
    let line = format!(
        "videotestsrc is-live=true num-buffers=75 ! video/x-raw,width=160,height=120,framerate=25/1 \
         ! x264enc tune=zerolatency key-int-max=15 ! h264parse ! {queue} name=queue \
         ! identity name=slow sleep-time=60000 ! fakesink sync=false"
    );
    let pipeline = gst::parse::launch(&line).expect("the elements exist").downcast::<gst::Pipeline>().unwrap();
    let lateness = Arc::new(Mutex::new(vec![]));
    let (seen, clock) = (lateness.clone(), pipeline.downgrade());
    pipeline.by_name("slow").unwrap().static_pad("sink").unwrap().add_probe(
        gst::PadProbeType::BUFFER,
        move |_, info| {
            if let (Some(buffer), Some(pipeline)) = (info.buffer(), clock.upgrade())
                && let (Some(now), Some(pts)) = (pipeline.current_running_time(), buffer.pts())
            {
                // x264enc starts its time stamps at 1000 hours.
                let pts = pts.saturating_sub(gst::ClockTime::from_seconds(3_600_000));
                seen.lock().unwrap().push(now.saturating_sub(pts));
            }
            gst::PadProbeReturn::Ok
        },
    );
    (pipeline, lateness)
}

#[test]
fn a_slow_sink_stays_live() {
    let (pipeline, lateness) = slow_pipeline("ifdqueue max-size-time=200000000");
    run(&pipeline);
    let latest = *lateness.lock().unwrap().iter().max().unwrap();
    // What may wait, the frame in the sink, and the machine.
    assert!(latest < gst::ClockTime::from_mseconds(200 + 60 + 150), "{latest}");
    let queue = pipeline.by_name("queue").unwrap();
    let (accepted, sent, dropped) = (stat(&queue, "accepted"), stat(&queue, "sent"), stat(&queue, "dropped"));
    assert_eq!((accepted, sent + dropped), (75, 75));
    // 3 s at 60 ms a frame, where whole ends of groups are given up.
    assert!((25..=60).contains(&sent), "{sent} sent");

    // The same behind a queue that does not drop, or the test shows nothing.
    let (pipeline, lateness) = slow_pipeline("queue max-size-buffers=0 max-size-time=0");
    run(&pipeline);
    let latest = *lateness.lock().unwrap().iter().max().unwrap();
    assert!(latest > gst::ClockTime::from_mseconds(1_000), "{latest}");
}

/// An endless source, a queue that drops, a sink that waits; as C programs tear them down.
fn endless(mode: &str, path: &std::path::Path) -> gst::Pipeline {
    let line = format!(
        "multifilesrc location={} loop=true ! mpegvideoparse name=parser ! ifdqueue name=queue mode={mode} \
         post-drop-messages=true ! identity sleep-time=500 ! fakesink sync=false",
        path.display()
    );
    gst::parse::launch(&line).expect("the elements exist").downcast::<gst::Pipeline>().unwrap()
}

fn movie_file() -> std::path::PathBuf {
    let path = common::movie::directory().join("endless.m2v");
    std::fs::write(&path, access_units("CPBBPBBPBBPBB").concat()).unwrap();
    path
}

/// Ends the test program when a deadlock would stop it for ever.
fn watchdog(limit: Duration) -> Arc<()> {
    let alive = Arc::new(());
    let watched = Arc::downgrade(&alive);
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        if watched.upgrade().is_some() {
            eprintln!("deadlock: not done after {limit:?}");
            std::process::abort();
        }
    });
    alive
}

#[test]
fn pipelines_stop_at_any_moment() {
    common::init();
    let _alive = watchdog(Duration::from_secs(120));
    let path = movie_file();
    let mut random = Seed(11).stream("teardown", &[]);
    let mut sent = 0;
    for round in 0..200 {
        let pipeline = endless(["ifd", "ifd-optimised", "dependency"][round % 3], &path);
        pipeline.set_state(gst::State::Playing).unwrap();
        std::thread::sleep(Duration::from_micros(u64::from(random.next_inclusive(8_000))));
        let source = pipeline.by_name("parser").unwrap().static_pad("src").unwrap();
        for _ in 0..random.next_inclusive(3) {
            match random.next_inclusive(3) {
                0 => drop(pipeline.set_state(gst::State::Paused)),
                1 => drop(pipeline.set_state(gst::State::Playing)),
                2 => {
                    let segment = source.sticky_event::<gst::event::Segment>(0);
                    source.push_event(gst::event::FlushStart::new());
                    source.push_event(gst::event::FlushStop::new(false));
                    if let Some(segment) = segment {
                        source.push_event(segment);
                    }
                }
                _ => drop(pipeline.set_state(gst::State::Ready)),
            }
            std::thread::sleep(Duration::from_micros(u64::from(random.next_inclusive(500))));
        }
        sent += stat(&pipeline.by_name("queue").unwrap(), "accepted");
        pipeline.set_state(gst::State::Null).unwrap();
    }
    assert!(sent > 1_000, "the pipelines were torn down before anything happened: {sent}");
}

#[test]
fn frames_are_not_copied() {
    let mut stepper = Stepper::new("", MPEG2);
    let address = |buffer: &gst::Buffer| buffer.peek_memory(0).as_ptr() as usize;
    stepper.gate.open();
    for number in 0..10 {
        let buffer = buffer(number, access_unit('C'));
        let before = (address(&buffer), buffer.as_ptr() as usize);
        stepper.harness.push(buffer).unwrap();
        let buffer = stepper.harness.pull().unwrap();
        assert_eq!((address(&buffer), buffer.as_ptr() as usize), before);
    }
}

#[test]
fn nothing_leaks() {
    common::init();
    let path = movie_file();
    let pipelines = [
        format!("filesrc location={} ! mpegvideoparse ! ifdqueue ! fakesink", path.display()),
        format!(
            "filesrc location={} ! mpegvideoparse ! ifdqueue mode=ifd post-drop-messages=true \
             ! identity sleep-time=2000 ! fakesink",
            path.display()
        ),
        format!("filesrc location={} ! mpegvideoparse ! ifdqueue ! identity error-after=3 ! fakesink", path.display()),
        "videotestsrc num-buffers=5 ! x264enc ! video/x-h264,alignment=nal ! ifdqueue ! fakesink".to_owned(),
    ];
    for line in pipelines {
        let output = program("gst-launch-1.0")
            .arg("-q")
            .args(line.split_whitespace())
            .env("GST_TRACERS", "leaks")
            .env("GST_DEBUG", "GST_TRACER:7")
            .env("GST_DEBUG_NO_COLOR", "1")
            .output()
            .expect("gst-launch-1.0 runs");
        let log = String::from_utf8_lossy(&output.stderr);
        // The tracer looked: it says how it will write. The rest of what it writes is what is left.
        assert!(log.contains("new format string: object-alive"), "{line}:\n{log}");
        let left: Vec<_> = log.lines().filter(|line| line.contains(" object-alive, type-name=(string)Gst")).collect();
        assert!(left.is_empty(), "{line}:\n{}", left.join("\n"));
        assert!(!log.contains("no element"), "{line}:\n{log}");
    }
}
