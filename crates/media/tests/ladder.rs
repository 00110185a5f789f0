//! Ladders of what FFmpeg encodes: every codec, AVI and elementary streams, and encoders that leave frames out.

use crate::support::ffmpeg;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use framewire_media::FrameRate;
use framewire_media::access_unit::Codec;
use framewire_media::avi::Avi;
use framewire_media::ladder::{Ladder, LadderError, Level, LevelError};

const SOURCE: &str = "testsrc2=s=128x96:r=24000/1001:d=2";
const RATE: FrameRate = FrameRate { numerator: 24_000, denominator: 1_001 };
const MPEG4: &str = "-threads 1 -c:v mpeg4 -g 12 -sc_threshold 1000000000 -bf 0";

fn read(path: &Path) -> Result<Level, LevelError> {
    Level::parse(Bytes::from(std::fs::read(path).unwrap()))
}

/// FFmpeg takes a file's format from its name, and has none for elementary streams of MPEG-4.
fn make(name: &str, source: &str, options: &str) -> PathBuf {
    let format = if name.ends_with("mp4v") { " -f m4v" } else { "" };
    ffmpeg::encode(name, source, &format!("{options}{format}"))
}

fn encode(name: &str, options: &str) -> Level {
    read(&make(name, SOURCE, options)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_codec_makes_a_ladder() {
    let x264 = "-threads 1 -c:v libx264 -x264-params keyint=12:min-keyint=12:scenecut=0:threads=1";
    let x265 = "-c:v libx265 -preset ultrafast -x265-params keyint=12:min-keyint=12:scenecut=0:open-gop=0:log-level=0";
    let mpeg2 = "-threads 1 -c:v mpeg2video -g 12 -bf 0 -sc_threshold 1000000000";
    let cases = [
        ("mpeg4", Codec::Mpeg4Part2, "mp4v", MPEG4, ["-q:v 12", "-q:v 3"]),
        ("mpeg4", Codec::Mpeg4Part2, "avi", MPEG4, ["-q:v 12", "-q:v 3"]),
        ("mpeg2video", Codec::MpegVideo, "m2v", mpeg2, ["-q:v 12", "-q:v 3"]),
        ("libx264", Codec::H264, "h264", x264, ["-crf 35", "-crf 20"]),
        ("libx265", Codec::H265, "h265", x265, ["-crf 35", "-crf 20"]),
    ];
    for (encoder, codec, suffix, options, qualities) in cases {
        if !ffmpeg::has_encoder(encoder) {
            continue;
        }
        let levels = [0, 1].map(|level| {
            let name = format!("ladder-{encoder}-{level}.{suffix}");
            encode(&name, &format!("{options} {}", qualities[level]))
        });
        let ladder = Ladder::new(levels.into()).unwrap();
        assert_eq!((ladder.codec(), ladder.frame_rate(), ladder.frame_count()), (Some(codec), RATE, 48), "{suffix}");
        assert_eq!(ladder.levels()[0].picture_size(), (128, 96), "{suffix}");
        let keys: Vec<_> = (0..48).filter(|&frame| ladder.is_switch_point(frame)).collect();
        assert_eq!(keys, [0, 12, 24, 36], "{suffix}");
        let path = ffmpeg::scratch(&format!("ladder-{encoder}-1.{suffix}"));
        let whole: usize = (0..48).map(|frame| ladder.frame_bytes(1, frame).unwrap().len()).sum();
        let expected: usize = ffmpeg::probe_rows(&path, format_of(suffix), "packet", &["size"])
            .iter()
            .map(|row| row["size"].parse::<usize>().unwrap())
            .sum();
        assert_eq!(whole, expected, "{suffix}: bytes of frames, by ffprobe");
    }
}

fn format_of(suffix: &str) -> &str {
    match suffix {
        "m2v" => "mpegvideo",
        "h265" => "hevc",
        "mp4v" => "m4v",
        other => other,
    }
}

#[test]
fn a_frame_that_is_left_out_is_named() {
    if !ffmpeg::has_encoder("mpeg4") {
        return;
    }
    let low = encode("ladder-whole.avi", &format!("{MPEG4} -q:v 12"));
    // Frame 20 is dropped before the encoder, which fills its place in AVI with an empty chunk.
    let dropped = format!("-vf select='not(eq(n,20))' -fps_mode passthrough -enc_time_base -1 {MPEG4} -q:v 3");
    let in_avi = make("ladder-dropped.avi", SOURCE, &dropped);
    let avi = Avi::parse(Bytes::from(std::fs::read(&in_avi).unwrap())).unwrap();
    assert!(avi.frame_bytes(20).unwrap().is_empty(), "FFmpeg's AVI has an empty chunk for a frame left out");
    let refused = read(&in_avi).unwrap_err();
    assert!(matches!(refused, LevelError::SkippedFrame { frame: 20, .. }), "{refused}");
    // In an elementary stream its time stamp is missing.
    let refused = read(&make("ladder-dropped.mp4v", SOURCE, &dropped)).unwrap_err();
    assert!(matches!(refused, LevelError::SkippedFrame { frame: 20, .. }), "{refused}");
    // Where the times are made even afterwards, only the other levels show it.
    let hidden = format!("-vf select='not(eq(n,20))',setpts=N {MPEG4} -q:v 3");
    let refused = Ladder::new(vec![low, encode("ladder-hidden.mp4v", &hidden)]).unwrap_err();
    assert!(matches!(refused, LadderError::FrameCount { level: 1, frames: 47, first: 48, .. }), "{refused}");
}

#[test]
fn another_pattern_is_named() {
    if !ffmpeg::has_encoder("mpeg4") {
        return;
    }
    let level = |name: &str, options: &str| encode(name, &format!("{MPEG4} {options}"));
    let low = level("ladder-low.mp4v", "-q:v 12");
    let refused = |high: Level| Ladder::new(vec![low.clone(), high]).unwrap_err().to_string();
    let longer = refused(level("ladder-gop.mp4v", "-g 16 -q:v 3"));
    assert!(longer.contains("frame 12 of level 1 is no key frame"), "{longer}");
    let with_b = refused(level("ladder-with-b.mp4v", "-bf 1 -flags +cgop -g 13 -q:v 3"));
    assert!(with_b.contains("shown as frame"), "{with_b}");
    let smaller = refused(level("ladder-size.mp4v", "-s 64x48 -q:v 1"));
    assert!(smaller.contains("64x48"), "{smaller}");
}

#[test]
fn files_that_are_cut_anywhere_are_refused_or_shorter() {
    if !ffmpeg::has_encoder("mpeg4") {
        return;
    }
    for name in ["ladder-cut.avi", "ladder-cut.mp4v"] {
        let path = make(name, "testsrc2=s=64x48:r=25:d=0.6", &format!("{MPEG4} -q:v 9"));
        let bytes = std::fs::read(path).unwrap();
        let whole = Level::parse(Bytes::from(bytes.clone())).unwrap().frames().len();
        for end in (0..bytes.len()).step_by(7) {
            if let Ok(level) = Level::parse(Bytes::copy_from_slice(&bytes[..end])) {
                assert!(level.frames().len() <= whole);
            }
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            _ = Level::parse(Bytes::from(damaged)).map(|level| level.frame_bytes(level.frames().len() - 1).unwrap());
        }
    }
}
