//! A search for a movie's frames holds hashes of them, and not their bytes.
//!
//! One test and no other, so that the memory of the process is its own.
#![cfg(target_os = "linux")]

#[path = "support/h264.rs"]
mod h264;
#[path = "../../media/tests/support/mod.rs"]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the tests of codecs start processes")]
mod support;

use std::fs;

use framewire_media::{FrameRate, Movie};
use framewire_session::ContentMatcher;

/// The resident size of this process (VmRSS of proc(5)), in kB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn it_does_not_grow_with_the_size_of_open_key_frames() {
    let frames = h264::frames(60, 1, h264::PLAIN, |frame| frame);
    let large = |frame: &h264::Frame| {
        let mut bytes = frame.bytes();
        bytes.resize(1 << 20, 0xaa);
        bytes
    };
    let stream: Vec<u8> = frames.iter().flat_map(large).collect();
    let movie = Movie::parse_at(stream.into(), Some(FrameRate { numerator: 25, denominator: 1 })).unwrap();
    assert_eq!(movie.index.frames.iter().filter(|frame| frame.key.is_some()).count(), 60);
    let before = resident();
    let matcher = ContentMatcher::new(&movie).expect("it has start codes");
    let more = resident() - before;
    drop(matcher);
    // One frame at a time passes through.
    assert!(more < 10_000, "{more} kB for 60 MB of key frames");
}
