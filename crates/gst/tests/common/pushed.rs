//! A pipeline whose levels a test pushes into `vtpsink`, frame by frame.
#![allow(dead_code, reason = "every test program uses its part")]

use std::sync::LazyLock;

use gst::prelude::*;

use super::common::movie::{Parsed, encode};
use super::common::{self, wait_until};
use super::streaming::{launch, stats, text_of, wait_for};

/// What makes H.264 in closed groups of ten, and what parses it.
pub const H264: [&str; 2] = [
    "-c:v libx264 -preset veryfast -threads 1 -g 10 -keyint_min 10 -bf 2 -b_strategy 0 -sc_threshold 0 -qp {}",
    "matroskademux ! h264parse ! video/x-h264,stream-format=byte-stream,alignment=au",
];

/// Two levels that an encoder makes of the same pictures, and a parser reads; `None`, after saying so, without it. Tests
/// run side by side, so each needs a name of its own. The encoder is given the qualities of the levels by `{}`.
pub fn ladder(name: &str, [encoder, parser]: [&str; 2], frames: usize) -> Option<[Parsed; 2]> {
    common::init();
    let level = |quality: &str| {
        let encoder = encoder.replace("{}", quality);
        encode(&format!("{quality}-{name}"), &encoder.split_whitespace().collect::<Vec<_>>(), parser, frames)
    };
    Some([level("31")?, level("24")?])
}

/// The levels of most tests: H.264, a closed group each ten. Whole groups, and a key frame behind them, are the beginning of
/// a movie that the tests share.
pub fn h264(frames: usize) -> Option<[Parsed; 2]> {
    static SHARED: LazyLock<Option<[Parsed; 2]>> = LazyLock::new(|| ladder("h264.mkv", H264, 400));
    if frames % 10 > 1 {
        return ladder(&format!("h264-{frames}.mkv"), H264, frames);
    }
    let beginning = |level: &Parsed| Parsed { caps: level.caps.clone(), buffers: level.buffers[..frames].to_vec() };
    SHARED.as_ref().map(|levels| levels.each_ref().map(beginning))
}

/// A pipeline whose levels a test pushes.
pub struct Server {
    pub pipeline: gst::Pipeline,
    pub levels: Vec<Parsed>,
}

impl Server {
    /// Plays; the levels come on pads with these numbers.
    pub fn start(levels: &[Parsed], numbers: &[u32], properties: &str) -> Self {
        let mut line = format!("vtpsink name=server data-port=0 control-port=0 {properties}");
        for (level, number) in numbers.iter().enumerate() {
            line += &format!(" appsrc name=level{level} format=time ! server.sink_{number}");
        }
        let pipeline = launch(&line);
        let server = Self { pipeline, levels: levels.to_vec() };
        for level in 0..numbers.len() {
            server.feed(level).set_property("caps", &server.levels[level].caps);
        }
        server.pipeline.set_state(gst::State::Playing).unwrap();
        server
    }

    pub fn feed(&self, level: usize) -> gst::Element {
        self.pipeline.by_name(&format!("level{level}")).unwrap()
    }

    /// Frames of one level.
    pub fn push_to(&self, level: usize, frames: std::ops::Range<usize>) {
        for buffer in &self.levels[level].buffers[frames] {
            let _ = self.feed(level).emit_by_name::<gst::FlowReturn>("push-buffer", &[buffer]);
        }
    }

    /// Frames of all levels, each after the one before it has gone to the server, as encoders make them: no level is
    /// further than the others by more than two.
    pub fn push(&self, frames: std::ops::Range<usize>) {
        for frame in frames {
            for level in 0..self.levels.len() {
                self.push_to(level, frame..frame + 1);
            }
            for level in 0..self.levels.len() {
                self.wait_until_taken(level);
            }
        }
    }

    /// Until the server took what was pushed, or takes nothing any more.
    fn wait_until_taken(&self, level: usize) {
        let feed = self.feed(level);
        let pad = feed.static_pad("src").unwrap();
        wait_until("room", || feed.property::<u64>("current-level-buffers") == 0 || pad.last_flow_result().is_err());
    }

    pub fn end(&self) {
        (0..self.levels.len()).for_each(|level| self.end_level(level));
    }

    pub fn end_level(&self, level: usize) {
        let _ = self.feed(level).emit_by_name::<gst::FlowReturn>("end-of-stream", &[]);
    }

    pub fn ports(&self) -> [u16; 2] {
        let stats = stats(&self.pipeline, "server");
        ["data-port", "control-port"].map(|port| stats.get::<u32>(port).unwrap() as u16)
    }

    pub fn live(&self) -> gst::Structure {
        stats(&self.pipeline, "server").get("live").unwrap()
    }

    pub fn wait_for_clients(&self, count: u64) {
        wait_until("the client", || stats(&self.pipeline, "server").get::<u64>("clients") == Ok(count));
    }

    pub fn error(&self) -> String {
        text_of(&wait_for(&self.pipeline, gst::MessageType::Error))
    }
}

/// The level of each buffer. A key frame may have got the headers that it lacked.
pub fn levels_of(levels: &[Parsed], buffers: &[gst::Buffer], first: usize) -> Vec<usize> {
    let is = |buffer: &gst::Buffer, original: &gst::Buffer| {
        let (buffer, original) = (buffer.map_readable().unwrap(), original.map_readable().unwrap());
        let (buffer, original) = (buffer.as_slice(), original.as_slice());
        buffer == original || (buffer.len() > original.len() && buffer.ends_with(&original[original.len() / 2..]))
    };
    let level_of = |buffer: &gst::Buffer| {
        let frame = first + buffer.offset() as usize;
        let mut numbers = 0..levels.len();
        numbers.find(|&level| is(buffer, &levels[level].buffers[frame])).expect("whole frames of the movie")
    };
    buffers.iter().map(level_of).collect()
}
