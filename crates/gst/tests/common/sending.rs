//! Pipelines from a file to `ifdsink`, and what can be known of the stream that arrives.
#![allow(dead_code, unused_imports, reason = "every test program uses its part")]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use framewire_media::Movie;
use gst::prelude::*;

use crate::common::{self, stat};
pub use crate::common::{stop, text_of, wait_for};

/// 5 seconds of MPEG-2 video at about 1.5 Mbit/s; `None`, after saying so, without FFmpeg.
pub fn movie() -> Option<&'static (PathBuf, Movie)> {
    static MOVIE: OnceLock<Option<(PathBuf, Movie)>> = OnceLock::new();
    let movie = MOVIE.get_or_init(|| {
        common::init();
        let path = common::movie::synthesised(
            "sent.m2v",
            common::movie::MOVING,
            &"-frames:v 125 -c:v mpeg2video -g 12 -bf 2 -b_strategy 0 -b:v 1500k".split(' ').collect::<Vec<_>>(),
        )?;
        let movie = Movie::parse(std::fs::read(&path).unwrap().into()).unwrap();
        Some((path, movie))
    });
    movie.as_ref()
}

/// A pipeline from a file to `ifdsink` with these properties.
pub fn pipeline(path: &Path, properties: &str) -> gst::Pipeline {
    common::init();
    let line =
        format!("filesrc location={} ! mpegvideoparse name=parser ! ifdsink name=sink {properties}", path.display());
    gst::parse::launch(&line).expect("the elements exist").downcast().unwrap()
}

pub fn to(port: u16) -> String {
    format!("host=127.0.0.1 port={port}")
}

/// Plays up to the first message of this type; panics at an error, and when it does not come.
pub fn play_to(pipeline: &gst::Pipeline, kind: gst::MessageType) -> gst::Message {
    let _ = pipeline.set_state(gst::State::Playing);
    wait_for(pipeline, kind)
}

/// The text of the error with which a pipeline ends.
pub fn error_of(pipeline: &gst::Pipeline) -> String {
    let message = play_to(pipeline, gst::MessageType::Error);
    stop(pipeline);
    text_of(&message)
}

/// What the sink counted.
pub fn count(pipeline: &gst::Pipeline, field: &str) -> u64 {
    stat(&pipeline.by_name("sink").unwrap(), field)
}

/// The frames of the movie that a stream consists of, in order.
pub fn frames_in(movie: &Movie, stream: &[u8]) -> Vec<usize> {
    let (mut frames, mut at) = (vec![], 0);
    for frame in 0..movie.index.frames.len() {
        let bytes = movie.frame_bytes(frame);
        if stream[at..].starts_with(&bytes) {
            frames.push(frame);
            at += bytes.len();
        }
    }
    assert_eq!(at, stream.len(), "the stream is frames of the movie, whole and in order");
    frames
}

/// Whether everything that the frames refer to is there as well.
pub fn is_closed(movie: &Movie, frames: &[usize]) -> bool {
    let refers_to = |&frame: &usize| movie.index.frames[frame].references.iter();
    frames.iter().flat_map(refers_to).all(|&reference| frames.contains(&(reference as usize)))
}

/// What FFmpeg complains about when it decodes a stream.
pub fn complaints(name: &str, stream: &[u8]) -> String {
    common::ffmpeg::decode_with_messages(stream, "mpegvideo", &format!("elements-{name}")).1
}
