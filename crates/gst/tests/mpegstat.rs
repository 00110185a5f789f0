//! `mpegstat` against the movie's own index, and its times against arithmetic by hand.

#![allow(clippy::disallowed_types, reason = "tests of a world open sockets")]

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::OwnBus;
use common::movie::{MOVING, directory, run, synthesised};
use framewire_media::{Frame, Movie};
use framewire_units::Duration;
use gst::prelude::*;

/// 4 seconds of MPEG-2 video with open groups, every frame of it larger than a packet; `None`, after saying so, without FFmpeg.
fn made() -> Option<&'static PathBuf> {
    static MOVIE: OnceLock<Option<PathBuf>> = OnceLock::new();
    MOVIE.get_or_init(|| encode("analysed.m2v")).as_ref()
}

/// The same stream in a file of this type.
fn encode(name: &str) -> Option<PathBuf> {
    let options = "-q:v 3 -frames:v 100 -c:v mpeg2video -g 12 -bf 2 -b_strategy 0";
    synthesised(name, MOVING, &options.split(' ').collect::<Vec<_>>())
}

/// The real streams, where they are.
fn recorded() -> Vec<PathBuf> {
    let data = std::env::var_os("FRAMEWIRE_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let streams = ["m2v_720x576p25_open_gop.m2v", "m2v_720x576p25_closed_gop.m2v"];
    let paths: Vec<PathBuf> = streams.iter().map(|name| data.join("es/generated").join(name)).collect();
    if paths.iter().all(|path| path.exists()) {
        return paths;
    }
    eprintln!("skipped: no recorded streams in {}", data.display());
    vec![]
}

fn parse(path: &Path) -> Movie {
    Movie::parse(std::fs::read(path).unwrap().into()).unwrap()
}

fn pipeline(line: &str) -> gst::Pipeline {
    common::init();
    gst::parse::launch(line).expect("the elements exist").downcast().unwrap()
}

/// A row of the file: values by column.
#[derive(Debug)]
struct Row(Vec<(String, String)>);

impl Row {
    fn text(&self, column: &str) -> &str {
        &self.0.iter().find(|(name, _)| name == column).unwrap_or_else(|| panic!("no {column}")).1
    }

    fn number(&self, column: &str) -> i64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column} of {self:?}"))
    }
}

fn rows(path: &Path) -> (Vec<Row>, Vec<Row>) {
    let table = std::fs::read_to_string(path).unwrap();
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let values: Vec<&str> = line.split(',').collect();
        assert_eq!(values.len(), columns.len(), "{line}");
        Row(columns.iter().zip(values).map(|(column, value)| ((*column).to_owned(), value.to_owned())).collect())
    };
    lines.map(row).partition(|row| row.text("record") == "frame")
}

/// Analyses a file that a pipeline plays in real time, or as fast as it goes.
fn analyse(path: &Path, properties: &str, sync: bool) -> (Vec<Row>, Vec<Row>, gst::Element) {
    let table = directory().join(format!("{}.csv", path.file_stem().unwrap().to_string_lossy()));
    let pipeline = pipeline(&format!(
        "filesrc location={} ! mpegvideoparse ! mpegstat name=stat location={} {properties} ! fakesink sync={sync}",
        path.display(),
        table.display()
    ));
    let element = pipeline.by_name("stat").unwrap();
    run(&pipeline);
    let (frames, groups) = rows(&table);
    (frames, groups, element)
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap()
}

/// RTP time stamp, which counts from the first frame that is shown.
fn rtp_timestamp(frame: &Frame) -> i64 {
    i64::try_from(frame.display_time.as_nanos() * 90_000 / 1_000_000_000).unwrap()
}

fn assert_rows_are_the_index(movie: &Movie, frames: &[Row], groups: &[Row]) {
    let index = &movie.index.frames;
    assert_eq!(frames.len(), index.len());
    for (number, (row, frame)) in (0i64..).zip(frames.iter().zip(index)) {
        assert_eq!(row.number("frame"), number);
        assert_eq!(row.number("group"), i64::from(frame.gop), "frame {number}");
        assert_eq!(row.text("type"), frame.kind.to_string(), "frame {number}");
        assert_eq!(row.number("temporal_reference"), i64::from(frame.temporal_reference), "frame {number}");
        assert_eq!(row.number("size"), i64::from(frame.size), "frame {number}");
        assert_eq!(row.text("missing_reference"), "false", "frame {number}");
        assert_eq!(row.number("expected_ns"), nanos(frame.decode_time), "frame {number}");
        let shown = row.number("rtp_timestamp") - frames[0].number("rtp_timestamp");
        assert_eq!(shown, rtp_timestamp(frame) - rtp_timestamp(&index[0]), "frame {number}");
    }
    let starts: Vec<(usize, &Frame)> = index.iter().enumerate().filter(|(_, it)| it.gop_header.is_some()).collect();
    assert_eq!(groups.len(), starts.len());
    for (row, (number, frame)) in groups.iter().zip(starts) {
        let header = frame.gop_header.unwrap();
        let code = header.time_code;
        assert_eq!(row.number("frame"), number as i64);
        let text = format!("{:02}:{:02}:{:02}", code.hours, code.minutes, code.seconds);
        assert_eq!((row.text("time_code"), row.number("pictures")), (text.as_str(), i64::from(code.pictures)));
        assert_eq!(row.text("closed"), header.closed.to_string());
        let of_group = index.iter().filter(|it| it.gop == frame.gop);
        let first_shown = of_group.min_by_key(|it| it.display_index).unwrap();
        let expected = rtp_timestamp(first_shown) - rtp_timestamp(&index[0]);
        assert_eq!(row.number("rtp_timestamp") - frames[0].number("rtp_timestamp"), expected, "group of {number}");
    }
}

/// Latency is arrival less expectation, and jitter is RFC 3550's, computed here from the arrivals alone.
fn assert_times_add_up(frames: &[Row]) {
    let mut jitter = 0.0;
    let mut last = None;
    for row in frames {
        let latency = row.number("arrival_ns") - row.number("expected_ns");
        assert_eq!(row.number("latency_ns"), latency);
        match last {
            None => assert_eq!(row.text("jitter_ns"), ""),
            Some(before) => {
                jitter += (f64::from(i32::try_from(latency - before).unwrap()).abs() - jitter) / 16.0;
                assert!((row.number("jitter_ns") as f64 - jitter).abs() <= 1.0, "{row:?}, {jitter}");
            }
        }
        last = Some(latency);
    }
}

#[test]
fn rows_are_those_of_the_index_in_both_timings() {
    for path in made().into_iter().cloned().chain(recorded()) {
        let movie = parse(&path);
        for timing in ["timing=clock", "timing=thesis"] {
            let (frames, groups, element) = analyse(&path, timing, false);
            assert_rows_are_the_index(&movie, &frames, &groups);
            assert_times_add_up(&frames);
            let stats = element.property::<gst::Structure>("stats");
            assert_eq!(stats.get::<u64>("frames").unwrap(), movie.index.frames.len() as u64);
            assert_eq!(stats.get::<u64>("groups").unwrap(), groups.len() as u64);
            let bytes: u64 = movie.index.frames.iter().map(|frame| u64::from(frame.size)).sum();
            assert_eq!(stats.get::<u64>("bytes").unwrap(), bytes);
            assert_eq!(element.property::<i64>("jitter"), frames.last().unwrap().number("jitter_ns"));
            assert_eq!(element.property::<i64>("latency"), frames.last().unwrap().number("latency_ns"));
        }
    }
}

#[test]
fn frames_that_come_in_time_have_no_latency_to_speak_of() {
    let Some(path) = made() else { return };
    // Each frame is held until it is due, before the element.
    let table = directory().join("paced.csv");
    let line = format!(
        "filesrc location={} ! mpegvideoparse ! identity sync=true ! mpegstat location={} ! fakesink sync=false",
        path.display(),
        table.display()
    );
    run(&pipeline(&line));
    let (frames, _) = rows(&table);
    assert_times_add_up(&frames);
    // Latencies count from the first frame, and that one too may come late on a busy machine, but none comes early.
    let mut latencies: Vec<i64> = frames.iter().map(|row| row.number("latency_ns")).collect();
    latencies.sort_unstable();
    let (quickest, median) = (latencies[0], latencies[latencies.len() / 2]);
    assert!((-500_000_000..=0).contains(&quickest), "the quickest frame came {quickest} ns late");
    assert!(median - quickest < 20_000_000, "the median latency is {median} ns, the least {quickest} ns");
    let last = frames.last().unwrap().number("arrival_ns") - quickest.abs();
    assert!((3_400_000_000..8_000_000_000).contains(&last), "4 s of video took {last} ns");
}

#[test]
fn rtp_packets_are_read_and_passed_on_as_they_are() {
    let Some(path) = made() else { return };
    let movie = parse(path);
    // With the presentation times that the payloader needs. Its packets have no picture types in their headers; the
    // frames tell.
    let Some(with_times) = encode("analysed.ts") else { return };
    let table = directory().join("rtp.csv");
    let line = format!(
        "filesrc location={} ! tsdemux ! mpegvideoparse ! rtpmpvpay pt=96 ! mpegstat name=stat location={} ! fakesink",
        with_times.display(),
        table.display()
    );
    let pipeline = pipeline(&line);
    let element = pipeline.by_name("stat").unwrap();
    let passed = std::sync::Arc::new(std::sync::Mutex::new((vec![], vec![])));
    for (pad, first) in [("sink", true), ("src", false)] {
        let passed = passed.clone();
        element.static_pad(pad).unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            let buffer = info.buffer().unwrap();
            let mut passed = passed.lock().unwrap();
            let list = if first { &mut passed.0 } else { &mut passed.1 };
            list.push((buffer.peek_memory(0).as_ptr() as usize, buffer.size()));
            gst::PadProbeReturn::Ok
        });
    }
    run(&pipeline);
    let (incoming, outgoing) = &*passed.lock().unwrap();
    assert!(incoming.len() > movie.index.frames.len() && incoming == outgoing, "the same memory");
    let (frames, groups) = rows(&table);
    assert_rows_are_the_index(&movie, &frames, &groups);
}

#[test]
fn our_packets_give_exact_rows() {
    let Some(path) = made() else { return };
    let movie = parse(path);
    let table = directory().join("sent.csv");
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let caps = "application/x-rtp,media=video,clock-rate=90000,encoding-name=MPV,payload=32";
    let receiver = pipeline(&format!(
        "udpsrc address=127.0.0.1 port={port} buffer-size=2000000 caps=\"{caps}\" \
         ! mpegstat name=stat location={} ! fakesink async=false",
        table.display()
    ));
    receiver.set_state(gst::State::Playing).unwrap();
    let (result, _, _) = receiver.state(gst::ClockTime::from_seconds(60));
    assert_eq!(result, Ok(gst::StateChangeSuccess::Success));
    run(&pipeline(&format!(
        "filesrc location={} ! mpegvideoparse ! ifdsink protocol=udp host=127.0.0.1 port={port}",
        path.display()
    )));
    let element = receiver.by_name("stat").unwrap();
    common::wait_until("every frame", || element.property::<u64>("frames") == movie.index.frames.len() as u64);
    receiver.set_state(gst::State::Null).unwrap();
    let (frames, groups) = rows(&table);
    assert_rows_are_the_index(&movie, &frames, &groups);
    assert_times_add_up(&frames);
}

#[test]
fn lost_group_headers_make_their_frames_late_by_the_timing_of_the_thesis() {
    let Some(path) = made() else { return };
    let movie = parse(path);
    common::init();
    let mut harness = gst_check::Harness::new_parse("mpegstat timing=thesis post-messages=true");
    let bus = OwnBus::of(&harness.element().unwrap());
    harness.set_src_caps_str(common::movie::MPEG2);
    let index = &movie.index.frames;
    // The second group begins with a key frame that is lost, and its header with it.
    let lost = index.iter().position(|frame| frame.gop == 1).unwrap();
    for number in (0..index.len()).filter(|&number| number != lost) {
        harness.push(common::buffer(number, movie.frame_bytes(number).to_vec())).unwrap();
    }
    let messages: Vec<gst::Structure> = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Element]))
        .map(|message| message.structure().unwrap().to_owned())
        .collect();
    let frames: Vec<&gst::Structure> = messages.iter().filter(|row| row.name() == "framewire-frame").collect();
    let groups = messages.iter().filter(|row| row.name() == "framewire-group").count();
    assert_eq!((frames.len(), groups), (index.len() - 1, index.last().unwrap().gop as usize));
    let arrived = index.iter().enumerate().filter(|(number, _)| *number != lost);
    let start_of = |gop: u32| index.iter().find(|frame| frame.gop == gop).unwrap().decode_time;
    for (row, (number, frame)) in frames.iter().zip(arrived) {
        let mut expected = frame.decode_time;
        // "The nth frame of a GOP has the same timestamp as the nth frame of the next" (thesis, section 3.8).
        if frame.gop == 1 {
            expected -= start_of(1) - start_of(0);
        }
        assert_eq!(row.get::<i64>("expected-ns").unwrap(), nanos(expected), "frame {number}");
        let refers_to_it = frame.references.iter().any(|&reference| reference as usize == lost);
        if number > lost && frame.gop == 1 && refers_to_it {
            assert_eq!(row.get::<u64>("group").unwrap(), 0, "as far as a receiver can tell");
        }
    }
}

#[test]
fn rows_can_be_read_as_json() {
    let Some(path) = made() else { return };
    let lines = directory().join("rows.jsonl");
    run(&pipeline(&format!(
        "filesrc location={} ! mpegvideoparse ! mpegstat location={} format=json-lines ! fakesink",
        path.display(),
        lines.display()
    )));
    let script = "import json, sys\nrows = [json.loads(line) for line in open(sys.argv[1])]\n\
                  print(sum(row['record'] == 'frame' for row in rows), sum(row['record'] == 'group' for row in rows))";
    let output = Command::new("python3").args(["-c", script]).arg(&lines).output().unwrap();
    let movie = parse(path);
    let groups = movie.index.frames.iter().filter(|frame| frame.gop_header.is_some()).count();
    let counted = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert_eq!(counted, format!("{} {groups}", movie.index.frames.len()), "{output:?}");
}

#[test]
fn what_cannot_be_analysed_is_an_error_that_says_why() {
    let error = |caps: &str| {
        let (mut harness, bus) = heard();
        harness.set_src_caps_str(caps);
        errors(&bus).pop().unwrap_or_else(|| panic!("{caps} is taken"))
    };
    assert!(error("video/mpeg,mpegversion=2,systemstream=false,parsed=false").contains("mpegvideoparse"));
    assert!(error("application/x-rtp,media=video,encoding-name=H264").contains("depayloader"));
    assert!(error("audio/mpeg,mpegversion=4").contains("not video"));
    let pipeline = pipeline("videotestsrc num-buffers=1 ! mpegstat location=/nowhere/table.csv ! fakesink");
    assert!(pipeline.set_state(gst::State::Playing).is_err());
    let message = pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Error]).unwrap();
    assert!(format!("{:?}", message.structure()).contains("/nowhere/table.csv"), "{message:?}");
    pipeline.set_state(gst::State::Null).unwrap();
}

/// What the errors say that are on the bus.
fn errors(bus: &gst::Bus) -> Vec<String> {
    let messages = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Error]));
    let text = |message: gst::Message| match message.view() {
        gst::MessageView::Error(error) => error.error().to_string(),
        _ => unreachable!("only errors are asked for"),
    };
    messages.map(text).collect()
}

/// The element in a harness, and a bus for its messages alone.
fn heard() -> (gst_check::Harness, OwnBus) {
    common::init();
    let harness = gst_check::Harness::new_parse("mpegstat");
    let bus = OwnBus::of(&harness.element().unwrap());
    (harness, bus)
}

/// What is said when none of several buffers is taken.
fn refused(harness: &mut gst_check::Harness, bus: &gst::Bus) -> Vec<String> {
    for number in 0..5 {
        let answer = harness.push(common::buffer(number, common::movie::access_unit('I')));
        assert_eq!(answer, Err(gst::FlowError::NotNegotiated));
    }
    errors(bus)
}

#[test]
fn a_stream_without_caps_is_told_once() {
    let (mut harness, bus) = heard();
    harness.push_event(gst::event::StreamStart::new("stream"));
    harness.push_event(gst::event::Segment::new(&gst::FormattedSegment::<gst::ClockTime>::new()));
    let told = refused(&mut harness, &bus);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("without caps") && told[0].contains("parser"), "{told:?}");
}

#[test]
fn refused_caps_are_told_once_until_the_element_starts_again() {
    let (mut harness, bus) = heard();
    for _ in 0..2 {
        harness.set_src_caps_str("video/mpeg,mpegversion=2,systemstream=false,parsed=false");
        let told = refused(&mut harness, &bus);
        assert_eq!(told.len(), 1, "{told:?}");
        let element = harness.element().unwrap();
        element.set_state(gst::State::Ready).unwrap();
        element.set_state(gst::State::Playing).unwrap();
    }
    // What was wrong has been put right: the next mistake is another one.
    harness.set_src_caps_str(common::movie::MPEG2);
    harness.push(common::buffer(0, common::movie::access_unit('I'))).unwrap();
    harness.set_src_caps_str("audio/mpeg,mpegversion=4");
    assert_eq!(errors(&bus).len(), 1);
}
