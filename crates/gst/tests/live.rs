//! Whole pipelines: a slow sink, nothing left behind, nothing copied.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this test waits for pipelines")]

use crate::common;
use std::sync::{Arc, Mutex};

use common::movie::{MPEG2, access_unit, run};
use common::{Stepper, buffer, leaves_nothing, stat};
use gst::prelude::*;

/// How far what reached the sink was behind: by the clock, and behind what had entered the queue, which does not depend
/// on how busy the machine is.
#[derive(Default)]
struct Behind {
    clock: Vec<gst::ClockTime>,
    stream: Vec<gst::ClockTime>,
    newest: gst::ClockTime,
}

/// What a share of the values stays below.
fn quantile(values: &[gst::ClockTime], percent: usize) -> gst::ClockTime {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() - 1) * percent / 100]
}

/// A sink that takes 60 ms for each of 25 frames per second.
fn slow_pipeline(queue: &str) -> (gst::Pipeline, Arc<Mutex<Behind>>) {
    common::init();
    let line = format!(
        "videotestsrc is-live=true num-buffers=75 ! video/x-raw,width=160,height=120,framerate=25/1 \
         ! x264enc tune=zerolatency key-int-max=15 ! h264parse ! {queue} name=queue \
         ! identity name=slow sleep-time=60000 ! fakesink sync=false"
    );
    let pipeline = gst::parse::launch(&line).expect("the elements exist").downcast::<gst::Pipeline>().unwrap();
    let behind = Arc::new(Mutex::new(Behind::default()));
    let entering = behind.clone();
    let entrance = pipeline.by_name("queue").unwrap().static_pad("sink").unwrap();
    entrance.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        if let Some(pts) = info.buffer().and_then(|buffer| buffer.pts()) {
            entering.lock().unwrap().newest = pts;
        }
        gst::PadProbeReturn::Ok
    });
    let (seen, clock) = (behind.clone(), pipeline.downgrade());
    pipeline.by_name("slow").unwrap().static_pad("sink").unwrap().add_probe(
        gst::PadProbeType::BUFFER,
        move |_, info| {
            if let (Some(buffer), Some(pipeline)) = (info.buffer(), clock.upgrade())
                && let (Some(now), Some(pts)) = (pipeline.current_running_time(), buffer.pts())
            {
                let mut seen = seen.lock().unwrap();
                let newest = seen.newest;
                seen.stream.push(newest.saturating_sub(pts));
                // x264enc starts its time stamps at 1000 hours.
                let pts = pts.saturating_sub(gst::ClockTime::from_seconds(3_600_000));
                seen.clock.push(now.saturating_sub(pts));
            }
            gst::PadProbeReturn::Ok
        },
    );
    (pipeline, behind)
}

#[test]
fn a_slow_sink_stays_live() {
    let (pipeline, behind) = slow_pipeline("ifdqueue max-size-time=200000000");
    run(&pipeline);
    let (by_stream, by_clock) = {
        let behind = behind.lock().unwrap();
        (quantile(&behind.stream, 95), quantile(&behind.clock, 50))
    };
    // What may wait, and the frame that comes while one is taken; a pause of this thread alone is in few frames.
    assert!(by_stream <= gst::ClockTime::from_mseconds(200 + 2 * 40), "{by_stream}");
    // The same, the frame in the sink, and the machine.
    assert!(by_clock < gst::ClockTime::from_mseconds(200 + 60 + 150), "{by_clock}");
    let queue = pipeline.by_name("queue").unwrap();
    let (accepted, sent, dropped) = (stat(&queue, "accepted"), stat(&queue, "sent"), stat(&queue, "dropped"));
    assert_eq!((accepted, sent + dropped), (75, 75));
    // 3 s at 60 ms a frame, where whole ends of groups are given up.
    assert!((25..=60).contains(&sent), "{sent} sent");

    // The same behind a queue that does not drop, or the test shows nothing.
    let (pipeline, behind) = slow_pipeline("queue max-size-buffers=0 max-size-time=0");
    run(&pipeline);
    let behind = behind.lock().unwrap();
    let (by_stream, by_clock) = (quantile(&behind.stream, 95), quantile(&behind.clock, 50));
    assert!(by_stream > gst::ClockTime::from_mseconds(600), "{by_stream}");
    assert!(by_clock > gst::ClockTime::from_mseconds(600), "{by_clock}");
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

/// As `queue` marks what follows a buffer that it leaked.
#[test]
fn a_gap_is_marked_and_nothing_is_copied_for_it() {
    let mut stepper = Stepper::new("mode=ifd", MPEG2);
    let address = |buffer: &gst::Buffer| buffer.peek_memory(0).as_ptr() as usize;
    let units = [(0, 'C'), (1, 'P'), (2, 'B'), (3, 'P'), (4, 'C')];
    let buffers: Vec<_> = units.iter().map(|&(number, letter)| buffer(number, access_unit(letter))).collect();
    let sent: Vec<usize> = buffers.iter().map(address).collect();
    // As behind a tee: another branch has this one too.
    let elsewhere = buffers[3].clone();
    for (number, buffer) in buffers.into_iter().enumerate() {
        if number > 2 {
            stepper.gate.step();
            stepper.gate.wait_for(number - 1);
        }
        stepper.harness.push(buffer).unwrap();
        if number == 0 {
            stepper.gate.wait_for(1);
        }
    }
    stepper.gate.open();
    let left = [0, 1, 3, 4].map(|number| {
        let buffer = stepper.harness.pull().unwrap();
        assert_eq!((common::number_of(buffer.pts()), address(&buffer)), (number, sent[number]), "its own data");
        buffer.flags().contains(gst::BufferFlags::DISCONT)
    });
    assert_eq!(left, [false, false, true, false], "the buffer behind the B frame that went");
    assert!(!elsewhere.flags().contains(gst::BufferFlags::DISCONT), "the gap is in this branch only");
}

#[test]
fn nothing_leaks() {
    common::init();
    let path = common::movie::small_file();
    let lines = [
        (format!("filesrc location={} ! mpegvideoparse ! ifdqueue ! fakesink", path.display()), true),
        (
            format!(
                "filesrc location={} ! mpegvideoparse ! ifdqueue mode=ifd post-drop-messages=true \
                 ! identity sleep-time=2000 ! fakesink",
                path.display()
            ),
            true,
        ),
        (
            format!(
                "filesrc location={} ! mpegvideoparse ! ifdqueue ! identity error-after=3 ! fakesink",
                path.display()
            ),
            false,
        ),
        ("videotestsrc num-buffers=5 ! x264enc ! video/x-h264,alignment=nal ! ifdqueue ! fakesink".to_owned(), false),
    ];
    for (line, succeeds) in lines {
        assert_eq!(leaves_nothing(&line), succeeds, "{line}");
    }
}
