//! Frames whose fields come one by one: both fields stay, or neither does, and what leaves decodes to the pictures of
//! the full stream.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests of a world wait for its threads")]

use crate::common;
use crate::field_pictures;
use crate::receiver;
use std::path::PathBuf;

use common::movie::{MPEG2, Parsed, directory, parse, run, synthesised};
use common::{Stepper, ffmpeg, wait_until};
use framewire_units::Seed;
use gst::prelude::*;
use receiver::Receiver;

const H264: &str = "video/x-h264,stream-format=byte-stream,alignment=au";
const H265: &str = "video/x-h265,stream-format=byte-stream,alignment=au";

/// A stream in which each buffer is a field.
struct Fields {
    name: &'static str,
    /// How FFmpeg calls the format.
    format: &'static str,
    parsed: Parsed,
    /// H.265 knows no frames of two fields: a decoder shows each field.
    pictures_per_frame: usize,
}

impl Fields {
    fn frames(&self) -> usize {
        self.parsed.buffers.len() / 2
    }
}

/// A conformance stream of H.264, where it is: 300 frames in pairs of fields, I and P, P and P, B and B.
fn h264() -> Option<Fields> {
    let data = std::env::var_os("FRAMEWIRE_TEST_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = data.join("field_pairs.264");
    if !path.exists() {
        eprintln!("skipped: no field_pairs.264 in {}", data.display());
        return None;
    }
    let parsed = parse(&path, &format!("h264parse ! {H264}"));
    Some(Fields { name: "H.264", format: "h264", parsed, pictures_per_frame: 1 })
}

/// A field sequence without B pictures, as x265 makes it of fields.
fn h265() -> Option<Fields> {
    let x265 = "keyint=24:bframes=0:interlace=tff:scenecut=0:log-level=error";
    let arguments = ["-vf", "separatefields", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", x265];
    let path = synthesised("fields.h265", "testsrc2=size=320x176:rate=25:duration=4", &arguments)?;
    let parsed = parse(&path, &format!("h265parse ! {H265}"));
    Some(Fields { name: "H.265", format: "hevc", parsed, pictures_per_frame: 2 })
}

/// `mpegvideoparse` puts both fields into one buffer; other sources need not.
fn mpeg2() -> Option<Fields> {
    let stream = field_pictures::mpeg2(120)?;
    let starts = |at: &usize| matches!(stream[*at..], [0, 0, 1, 0x00 | 0xb3, ..]);
    let mut starts: Vec<usize> = (0..stream.len() - 3).filter(starts).collect();
    // A picture begins with the sequence header before it.
    let is_behind_headers =
        |at: usize| stream[..at].windows(4).rposition(|code| code[..3] == [0, 0, 1] && code[3] == 0xb3);
    let last_picture = |at: usize| stream[..at].windows(4).rposition(|code| code == [0, 0, 1, 0]);
    starts.retain(|&at| stream[at + 3] == 0xb3 || is_behind_headers(at) < last_picture(at));
    let ends = starts.iter().skip(1).copied().chain([stream.len()]);
    let buffers = starts.iter().zip(ends).map(|(&start, end)| gst::Buffer::from_slice(stream[start..end].to_vec()));
    let parsed = Parsed { caps: MPEG2.parse().unwrap(), buffers: buffers.collect() };
    Some(Fields { name: "MPEG-2", format: "mpegvideo", parsed, pictures_per_frame: 1 })
}

fn streams() -> Vec<Fields> {
    common::init();
    let made = [h264(), h265(), mpeg2()];
    let cases = made.len();
    let streams: Vec<_> = made.into_iter().flatten().collect();
    common::note_skipped(cases - streams.len(), cases);
    streams
}

/// The pictures that FFmpeg decodes, in order, which has nothing to complain about.
fn decoded(fields: &Fields, name: &str, stream: &[u8]) -> Vec<String> {
    let (pictures, messages) =
        ffmpeg::decode_with_messages(stream, fields.format, &format!("fields-{}-{name}", fields.name));
    let faults: Vec<_> = messages.lines().filter(|line| !line.contains("Timestamps are unset")).collect();
    assert!(faults.is_empty(), "{} {name}: {faults:?}", fields.name);
    pictures
}

fn bytes(buffers: &[gst::Buffer]) -> Vec<u8> {
    buffers.iter().flat_map(|buffer| buffer.map_readable().unwrap().to_vec()).collect()
}

/// What the queue lets through where downstream takes fields at random moments, every `pace`-th push on average.
fn through_the_queue(fields: &Fields, mode: &str, pace: u32) -> (Stepper, Vec<gst::Buffer>) {
    let mut stepper = Stepper::new(&format!("mode={mode} max-size-buffers=6"), &fields.parsed.caps.to_string());
    let mut random = Seed(7).stream("downstream", &[u64::from(pace)]);
    for buffer in &fields.parsed.buffers {
        stepper.harness.push(buffer.clone()).unwrap();
        if random.next_inclusive(pace) == 0 && stepper.stat("current-level-buffers") > 0 {
            stepper.gate.step();
        }
    }
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.gate.open();
    let kept = stepper.stat("accepted") - stepper.stat("dropped");
    wait_until("all that was kept", || stepper.stat("sent") == kept);
    let left = std::iter::from_fn(|| stepper.harness.try_pull()).collect();
    (stepper, left)
}

#[test]
fn fields_stay_together_and_no_picture_differs() {
    for fields in streams() {
        let full = decoded(&fields, "full", &bytes(&fields.parsed.buffers));
        assert_eq!(full.len(), fields.frames() * fields.pictures_per_frame, "{}", fields.name);
        for mode in ["dependency", "ifd-optimised", "ifd"] {
            for pace in [1, 3] {
                let case = format!("{}, {mode}, pace {pace}", fields.name);
                let (stepper, left) = through_the_queue(&fields, mode, pace);
                let (accepted, sent) = (stepper.stat("accepted"), stepper.stat("sent"));
                assert_eq!(accepted as usize, fields.frames(), "{case}: frames are counted, not fields");
                assert!(sent > 3 && sent < accepted, "{case}: {sent} of {accepted}");
                assert_eq!(left.len() as u64, 2 * sent, "{case}: both fields of each frame");
                let content = |buffer: &gst::Buffer| bytes(std::slice::from_ref(buffer));
                let mut all = fields.parsed.buffers.chunks(2);
                for pair in left.chunks(2) {
                    // The first one may have got headers.
                    let is_pair = |from: &[gst::Buffer]| {
                        let first = content(&from[0]);
                        content(&from[1]) == content(&pair[1]) && content(&pair[0]).ends_with(&first[first.len() / 2..])
                    };
                    assert!(all.any(is_pair), "{case}: two fields that are not of one frame");
                }
                // Figure 1.1 of I-Frame Delay goes by types alone: what it keeps may lack its references.
                if mode == "ifd" {
                    continue;
                }
                let shown = decoded(&fields, "kept", &bytes(&left));
                assert_eq!(shown.len() as u64, sent * fields.pictures_per_frame as u64, "{case}");
                let mut full = full.iter();
                assert!(shown.iter().all(|picture| full.any(|known| known == picture)), "{case}: a picture differs");
                println!("{case}: {sent} of {accepted} frames");
            }
        }
    }
}

#[test]
fn ifdsink_sends_whole_frames() {
    for fields in streams() {
        let receiver = Receiver::fast();
        let line = format!("appsrc name=source format=time ! ifdsink name=sink sync=false port={}", receiver.port);
        let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
        let source = pipeline.by_name("source").unwrap();
        source.set_property("caps", &fields.parsed.caps);
        // An odd one at the end: a first field whose second one never comes.
        let sent = &fields.parsed.buffers[..21];
        for buffer in sent {
            let _ = source.emit_by_name::<gst::FlowReturn>("push-buffer", &[buffer]);
        }
        let _ = source.emit_by_name::<gst::FlowReturn>("end-of-stream", &[]);
        run(&pipeline);
        let stats: gst::Structure = pipeline.by_name("sink").unwrap().property("stats");
        let count = |field: &str| stats.get::<u64>(field).unwrap();
        assert_eq!((count("accepted"), count("sent"), count("dropped")), (11, 11, 0), "{}", fields.name);
        assert_eq!(receiver.received().len(), bytes(sent).len(), "{}", fields.name);
    }
}

#[test]
fn mpegstat_counts_frames() {
    for fields in streams() {
        let path = directory().join("fields.stream");
        std::fs::write(&path, bytes(&fields.parsed.buffers)).unwrap();
        let parser = match fields.format {
            "h264" => "h264parse",
            "hevc" => "h265parse",
            _ => "mpegvideoparse",
        };
        let line = format!("filesrc location={} ! {parser} ! mpegstat name=stat ! fakesink", path.display());
        let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
        let frames = pipeline.by_name("stat").unwrap();
        run(&pipeline);
        assert_eq!(frames.property::<u64>("frames"), fields.frames() as u64, "{}", fields.name);
    }
}

/// Pushes the fields with these numbers, and an event behind each field after which one is wanted.
fn counts(fields: &Fields, numbers: &[usize], event: impl Fn(usize) -> Option<gst::Event>) -> (u64, String) {
    let mut stepper = Stepper::new("max-size-time=0", &fields.parsed.caps.to_string());
    stepper.gate.open();
    let record = common::Record::on(&stepper.queue.static_pad("src").unwrap());
    let times = |number: usize, buffer: &gst::Buffer| {
        let mut buffer = buffer.copy();
        buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(40 * number as u64));
        buffer
    };
    for &number in numbers {
        stepper.harness.push(times(number, &fields.parsed.buffers[number])).unwrap();
        if let Some(event) = event(number) {
            stepper.harness.push_event(event);
        }
    }
    stepper.harness.push_event(gst::event::Eos::new());
    record.wait_for("eos");
    (stepper.stat("accepted"), record.take())
}

#[test]
fn a_field_waits_for_the_second_one_and_for_nothing_else() {
    let Some(fields) = streams().into_iter().find(|fields| fields.name == "MPEG-2") else { return };
    let none = |_| None;
    let ends = |words: &str| {
        let begins = |word: &&str| !["stream-start", "caps", "segment"].contains(word);
        words.split(' ').filter(begins).collect::<Vec<_>>().join(" ")
    };
    let (frames, words) = counts(&fields, &[0, 1, 2, 3], none);
    assert_eq!((frames, ends(&words).as_str()), (2, "0 1 2 3 eos"));
    let (frames, words) = counts(&fields, &[0, 1, 2], none);
    assert_eq!((frames, ends(&words).as_str()), (2, "0 1 2 eos"), "the end of the stream lets go of it");
    let (frames, words) = counts(&fields, &[0, 1, 2, 4, 5], none);
    assert_eq!((frames, ends(&words).as_str()), (3, "0 1 2 4 5 eos"), "the field of another frame does, too");
    let gap = || gst::event::Gap::builder(gst::ClockTime::ZERO).build();
    let (frames, words) = counts(&fields, &[0, 1, 2, 3], |number| (number == 2).then(gap));
    assert_eq!((frames, ends(&words).as_str()), (3, "0 1 2 gap 3 eos"), "a gap does");
    let tag = || gst::event::Tag::new(gst::TagList::new());
    let (frames, words) = counts(&fields, &[0, 1, 2, 3], |number| (number == 2).then(tag));
    assert_eq!(
        (frames, ends(&words).as_str()),
        (2, "0 1 tag 2 3 eos"),
        "what is told in between stands before the frame"
    );
}

#[test]
fn a_flush_forgets_the_field_that_waits() {
    let Some(fields) = streams().into_iter().find(|fields| fields.name == "MPEG-2") else { return };
    let mut stepper = Stepper::new("max-size-time=0", &fields.parsed.caps.to_string());
    stepper.gate.open();
    stepper.harness.push(fields.parsed.buffers[0].clone()).unwrap();
    assert_eq!(stepper.stat("accepted"), 0, "half a frame");
    stepper.harness.push_event(gst::event::FlushStart::new());
    stepper.harness.push_event(gst::event::FlushStop::new(true));
    stepper.harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    stepper.harness.push(fields.parsed.buffers[12].clone()).unwrap();
    stepper.harness.push(fields.parsed.buffers[13].clone()).unwrap();
    wait_until("the frame", || stepper.stat("sent") == 1);
    assert_eq!(stepper.gate.went(), 2);
}

#[test]
fn latency_grows_by_the_time_that_a_field_waits() {
    let Some(fields) = streams().into_iter().find(|fields| fields.name == "MPEG-2") else { return };
    let mut stepper = Stepper::new("max-size-time=500000000", &fields.parsed.caps.to_string());
    stepper.gate.open();
    stepper.harness.set_upstream_latency(gst::ClockTime::ZERO);
    let latency = |stepper: &Stepper| {
        let mut query = gst::query::Latency::new();
        assert!(stepper.queue.static_pad("src").unwrap().query(&mut query));
        query.result().1.mseconds()
    };
    let before = latency(&stepper);
    for (number, buffer) in fields.parsed.buffers[..2].iter().enumerate() {
        let mut buffer = buffer.copy();
        buffer.make_mut().set_pts(gst::ClockTime::from_mseconds(20 * number as u64));
        stepper.harness.push(buffer).unwrap();
    }
    assert_eq!(latency(&stepper) - before, 20);
    let told = stepper.bus.pop_filtered(&[gst::MessageType::Latency]);
    assert!(told.is_some(), "the pipeline is told to ask again");
}
