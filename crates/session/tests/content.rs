//! Streams of other codecs, as pipelines change them, are searched for their frames.
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::path::PathBuf;

use framewire_media::Movie;
use framewire_media::access_unit::Codec;
use framewire_session::ContentMatcher;
use framewire_units::Timestamp;

const STREAMS: [&str; 6] = [
    "h264_640x360p24_intra_refresh_4slices.h264",
    "h264_640x360p24_open_gop_recovery_point.h264",
    "hevc_640x360p24_closed_gop_idr.h265",
    "hevc_640x360p24_open_gop_cra_rasl.h265",
    "m2v_720x576i25_tff_frame_pictures_open_gop.m2v",
    "m2v_720x576p25_open_gop_broken_link_gop3_gop5.m2v",
];

/// A stream of the test data as a movie; `None` where it is absent.
fn movie(name: &str) -> Option<Movie> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("FRAMEWIRE_TEST_DATA").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let path = folder.join("es/generated").join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(Movie::parse(bytes.into()).expect("a movie")),
        Err(error) => {
            eprintln!("skipped: {}: {error}", path.display());
            None
        }
    }
}

/// Numbers of the frames that are found whole.
fn found(movie: &Movie, stream: &[u8]) -> Vec<u32> {
    let mut matcher = ContentMatcher::new(movie).expect("a codec with start codes");
    for chunk in stream.chunks(1_400) {
        matcher.handle_bytes(Timestamp::ZERO, chunk);
    }
    let frames = matcher.finish().frames;
    frames.iter().filter(|frame| frame.whole_at.is_some()).map(|frame| frame.frame).collect()
}

/// The NAL units of a byte stream (annex B), without zero bytes around them.
fn units(stream: &[u8]) -> Vec<&[u8]> {
    let starts: Vec<usize> = (0..stream.len() - 2).filter(|&at| stream[at..at + 3] == [0, 0, 1]).collect();
    let ends = starts[1..].iter().copied().chain([stream.len()]);
    let unit = |(&start, end): (&usize, usize)| {
        let unit = &stream[start + 3..end];
        &unit[..unit.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
    };
    starts.iter().zip(ends).map(unit).collect()
}

/// The stream as an RTP depayloader gives it out: every start code has four bytes, and a delimiter begins each frame.
fn as_depayloaded(movie: &Movie, keep: impl Fn(u32) -> bool) -> Vec<u8> {
    let delimiter: &[u8] = match movie.index.sequence.codec {
        Codec::H264 => &[0x09, 0xf0],
        _ => &[0x46, 0x01, 0x50],
    };
    let mut stream = Vec::new();
    for frame in (0..movie.index.frames.len() as u32).filter(|&frame| keep(frame)) {
        let bytes = movie.frame_bytes(frame as usize);
        for unit in [delimiter].into_iter().chain(units(&bytes)) {
            stream.extend([0, 0, 0, 1]);
            stream.extend(unit);
        }
    }
    stream
}

fn all(movie: &Movie) -> Vec<u32> {
    (0..movie.index.frames.len() as u32).collect()
}

#[test]
fn frames_of_every_codec_are_found_as_they_are_and_as_a_pipeline_makes_them() {
    for name in STREAMS {
        let Some(movie) = movie(name) else { return };
        assert_eq!(found(&movie, &movie.to_bytes()), all(&movie), "{name}");
        if matches!(movie.index.sequence.codec, Codec::H264 | Codec::H265) {
            assert_eq!(found(&movie, &as_depayloaded(&movie, |_| true)), all(&movie), "{name} depayloaded");
            let kept = |frame: u32| frame % 7 != 3;
            let expected: Vec<u32> = all(&movie).into_iter().filter(|&frame| kept(frame)).collect();
            assert_eq!(found(&movie, &as_depayloaded(&movie, kept)), expected, "{name} with frames left out");
        }
    }
}
