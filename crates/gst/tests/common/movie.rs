//! Streams: the smallest MPEG-2 access units that have a type, and real ones made by FFmpeg.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use framewire_transport::decisions::{self, Step};
use gst::prelude::*;

/// Caps of [`access_units`].
pub const MPEG2: &str = "video/mpeg,mpegversion=2,systemstream=false,parsed=true,framerate=25/1";

/// Access units of MPEG-2 in the notation of written sequences: `I` of an open group, `C` of a closed one, `K` with a
/// broken link, `P`, `B`.
pub fn access_units(letters: &str) -> Vec<Vec<u8>> {
    let steps = decisions::steps(letters).expect("the letters are of the notation");
    let units = steps.into_iter().map(|step| match step {
        Step::Offer(frame) => frame.bytes.to_vec(),
        Step::Take => panic!("only frames are wanted"),
    });
    units.collect()
}

/// One of [`access_units`].
pub fn access_unit(letter: char) -> Vec<u8> {
    access_units(&letter.to_string()).remove(0)
}

/// A file with a group of the smallest access units.
pub fn small_file() -> PathBuf {
    let path = directory().join("small.m2v");
    std::fs::write(&path, access_units("CPBBPBBPBBPBB").concat()).expect("the target directory can be written");
    path
}

/// A test picture in which everything moves.
pub const MOVING: &str = "testsrc2=size=320x176:rate=25,noise=alls=12:allf=t:all_seed=7,format=yuv420p";

/// Access units as a parser makes them, with their caps.
#[derive(Clone)]
pub struct Parsed {
    pub caps: gst::Caps,
    pub buffers: Vec<gst::Buffer>,
}

/// Encodes `frames` pictures of a moving test image with FFmpeg into a file with time stamps, and parses them. `None`, after saying so, when there
/// is no FFmpeg with that encoder.
pub fn encode(name: &str, encoder: &[&str], parser: &str, frames: usize) -> Option<Parsed> {
    let count = frames.to_string();
    let arguments: Vec<&str> = ["-frames:v", &count].into_iter().chain(encoder.iter().copied()).collect();
    Some(parse(&synthesised(name, MOVING, &arguments)?, parser))
}

/// The file that FFmpeg makes of a source of its own; `None`, after saying so, when it does not.
pub fn synthesised(name: &str, source: &str, arguments: &[&str]) -> Option<PathBuf> {
    // Several tests of a program may make it at a time: none reads what another has not written yet.
    static WRITER: Mutex<()> = Mutex::new(());
    let _writer = WRITER.lock();
    let (path, part) = (directory().join(name), directory().join(format!("part-{name}")));
    let status = Command::new("ffmpeg")
        .args(["-v", "error", "-y", "-threads", "1", "-f", "lavfi", "-i", source])
        .args(arguments)
        .arg("-bitexact")
        .arg(&part)
        .stdin(Stdio::null())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("skipped: ffmpeg does not make {name}");
        return None;
    }
    std::fs::rename(&part, &path).expect("it was just made");
    Some(path)
}

/// A place for files of this test program.
pub fn directory() -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("gst-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the target directory can be written");
    directory
}

/// What a parser makes of a file.
pub fn parse(path: &std::path::Path, parser: &str) -> Parsed {
    let line = format!("filesrc location={} ! {parser} ! fakesink name=sink signal-handoffs=true", path.display());
    let pipeline = gst::parse::launch(&line).expect("the elements exist").downcast::<gst::Pipeline>().unwrap();
    let sink = pipeline.by_name("sink").unwrap();
    let buffers = Arc::new(Mutex::new(vec![]));
    let collected = buffers.clone();
    sink.connect("handoff", false, move |values| {
        collected.lock().unwrap().push(values[1].get::<gst::Buffer>().unwrap());
        None
    });
    let caps = Arc::new(Mutex::new(None));
    let seen = caps.clone();
    sink.static_pad("sink").unwrap().add_probe(gst::PadProbeType::BUFFER, move |pad, _| {
        seen.lock().unwrap().get_or_insert_with(|| pad.current_caps().unwrap());
        gst::PadProbeReturn::Ok
    });
    run(&pipeline);
    let caps = caps.lock().unwrap().clone().expect("the parser made caps");
    let buffers = std::mem::take(&mut *buffers.lock().unwrap());
    Parsed { caps, buffers }
}

/// Plays a pipeline to its end.
pub fn run(pipeline: &gst::Pipeline) {
    pipeline.set_state(gst::State::Playing).expect("the pipeline plays");
    let bus = pipeline.bus().unwrap();
    let message =
        bus.timed_pop_filtered(gst::ClockTime::from_seconds(60), &[gst::MessageType::Eos, gst::MessageType::Error]);
    let end = message.map(|message| format!("{message:?}"));
    let came_to_its_end = end.as_deref().is_some_and(|end| end.contains("eos"));
    pipeline.set_state(gst::State::Null).expect("the pipeline stops");
    assert!(came_to_its_end, "{end:?}");
}

/// A picture as a decoder shows it: its time and its content.
pub type Picture = (Option<gst::ClockTime>, Vec<u8>);

/// Decodes with a decoder element; FFmpeg's also show pictures that they had to conceal.
pub fn decode(parsed: &Parsed, decoder: &str) -> Vec<Picture> {
    let threads = if decoder.starts_with("avdec") { "max-threads=1" } else { "" };
    let mut harness = gst_check::Harness::new_parse(&format!("{decoder} {threads}"));
    harness.set_src_caps(parsed.caps.clone());
    for buffer in &parsed.buffers {
        harness.push(buffer.clone()).expect("the decoder takes it");
    }
    harness.push_event(gst::event::Eos::new());
    let pictures = std::iter::from_fn(|| harness.try_pull());
    pictures.map(|picture| (picture.pts(), picture.map_readable().unwrap().to_vec())).collect()
}
