//! What leaves the element decodes to the pictures of the full stream, whatever was dropped.

use crate::common;
use std::collections::BTreeMap;

use common::movie::{Parsed, Picture, decode, encode};
use common::{Stepper, ffmpeg};
use framewire_units::Seed;

struct Codec {
    file: &'static str,
    encoder: &'static [&'static str],
    parser: &'static str,
    decoder: &'static str,
    modes: &'static [&'static str],
    /// What makes a byte stream of it for the program `ffmpeg`, and the format of that.
    byte_stream: Option<(&'static str, &'static str)>,
    /// By intra refresh: what leaves while one is under way is damaged.
    is_refreshed: bool,
}

const H264: Option<(&str, &str)> =
    Some(("h264parse ! capsfilter caps=video/x-h264,stream-format=byte-stream,alignment=au", "h264"));
const H265: Option<(&str, &str)> =
    Some(("h265parse ! capsfilter caps=video/x-h265,stream-format=byte-stream,alignment=au", "hevc"));

/// I-Frame Delay knows the references of MPEG-2: P pictures refer to the last I or P, and nothing refers to a B.
const EVERY_MODE: &[&str] = &["ifd-optimised", "dependency"];
const WITH_OTHER_REFERENCES: &[&str] = &["dependency"];

const CODECS: [Codec; 10] = [
    Codec {
        file: "mpeg2.ts",
        encoder: &["-c:v", "mpeg2video", "-g", "12", "-bf", "2", "-b_strategy", "0", "-q:v", "6"],
        parser: "tsdemux ! mpegvideoparse",
        decoder: "avdec_mpeg2video",
        modes: EVERY_MODE,
        byte_stream: None,
        is_refreshed: false,
    },
    Codec {
        file: "h264.mp4",
        encoder: &["-c:v", "libx264", "-x264-params", "keyint=16:bframes=3:b-pyramid=normal:scenecut=0"],
        parser: "qtdemux ! h264parse",
        decoder: "avdec_h264",
        modes: WITH_OTHER_REFERENCES,
        byte_stream: H264,
        is_refreshed: false,
    },
    Codec {
        file: "h264-closed.ts",
        encoder: &["-c:v", "libx264", "-x264-params", "keyint=16:bframes=0:ref=1:scenecut=0"],
        parser: "tsdemux ! h264parse",
        decoder: "avdec_h264",
        modes: EVERY_MODE,
        byte_stream: H264,
        is_refreshed: false,
    },
    // Of its picture order counts five low bits are sent: a group that is given up is half a turn of them.
    Codec {
        file: "h264-open.mp4",
        encoder: &[
            "-c:v",
            "libx264",
            "-x264-params",
            "keyint=16:min-keyint=16:bframes=3:b-adapt=0:open-gop=1:scenecut=0",
        ],
        parser: "qtdemux ! h264parse",
        decoder: "avdec_h264",
        modes: WITH_OTHER_REFERENCES,
        byte_stream: H264,
        is_refreshed: false,
    },
    // Groups are as long as a whole turn.
    Codec {
        file: "h264-open-turn.mp4",
        encoder: &[
            "-c:v",
            "libx264",
            "-x264-params",
            "keyint=16:min-keyint=16:bframes=2:b-pyramid=none:ref=2:open-gop=1:scenecut=0",
        ],
        parser: "qtdemux ! h264parse",
        decoder: "avdec_h264",
        modes: WITH_OTHER_REFERENCES,
        byte_stream: H264,
        is_refreshed: false,
    },
    // Half a turn is eight frames.
    Codec {
        file: "h265-short-turn.mp4",
        encoder: &[
            "-c:v",
            "libx265",
            "-preset",
            "fast",
            "-x265-params",
            "keyint=12:min-keyint=12:bframes=3:b-adapt=0:open-gop=1:scenecut=0:log2-max-poc-lsb=4:log-level=error",
        ],
        parser: "qtdemux ! h265parse",
        decoder: "avdec_h265",
        modes: WITH_OTHER_REFERENCES,
        byte_stream: H265,
        is_refreshed: false,
    },
    Codec {
        file: "h265.mp4",
        encoder: &[
            "-c:v",
            "libx265",
            "-preset",
            "fast",
            "-x265-params",
            "keyint=16:bframes=3:b-pyramid=1:open-gop=1:scenecut=0:log-level=error",
        ],
        parser: "qtdemux ! h265parse",
        decoder: "avdec_h265",
        modes: WITH_OTHER_REFERENCES,
        byte_stream: H265,
        is_refreshed: false,
    },
    Codec {
        file: "h264-refresh.mp4",
        encoder: &["-c:v", "libx264", "-x264-params", "keyint=16:intra-refresh=1:bframes=0:ref=1:threads=1"],
        parser: "qtdemux ! h264parse",
        decoder: "avdec_h264",
        modes: WITH_OTHER_REFERENCES,
        byte_stream: H264,
        is_refreshed: true,
    },
    Codec {
        file: "h264-refresh-bidirectional.mp4",
        encoder: &["-c:v", "libx264", "-x264-params", "keyint=16:intra-refresh=1:bframes=2:b-adapt=0:ref=3:threads=1"],
        parser: "qtdemux ! h264parse",
        decoder: "avdec_h264",
        modes: WITH_OTHER_REFERENCES,
        byte_stream: H264,
        is_refreshed: true,
    },
    // A pyramid with frames that are shown later, in the temporal unit of another.
    Codec {
        file: "av1.mp4",
        encoder: &["-c:v", "libsvtav1", "-preset", "10", "-g", "16", "-svtav1-params", "lp=1:hierarchical-levels=3"],
        parser: "qtdemux ! av1parse ! capsfilter caps=video/x-av1,stream-format=obu-stream,alignment=tu",
        decoder: "av1dec",
        modes: WITH_OTHER_REFERENCES,
        byte_stream: None,
        is_refreshed: false,
    },
];

/// Pushes a stream through the element; downstream takes frames at random moments, `pace` pushes apart on average.
fn through_the_queue(parsed: &Parsed, mode: &str, pace: u32, seed: Seed) -> Vec<gst::Buffer> {
    let mut stepper = Stepper::new(&format!("mode={mode} max-size-time=200000000"), &parsed.caps.to_string());
    let mut random = seed.stream("downstream", &[u64::from(pace)]);
    for buffer in &parsed.buffers {
        stepper.harness.push(buffer.clone()).unwrap();
        if random.next_inclusive(pace) == 0 && stepper.stat("accepted") > stepper.stat("dropped") + stepper.gate.went()
        {
            stepper.gate.step();
        }
    }
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.gate.open();
    let kept = stepper.stat("accepted") - stepper.stat("dropped");
    (0..kept).map(|_| stepper.harness.pull().expect("what was not dropped leaves")).collect()
}

/// Digests of the pictures that FFmpeg itself shows, in its order, of buffers written one behind the other.
fn digests(codec: &Codec, parsed: &Parsed) -> Vec<String> {
    let (parser, format) = codec.byte_stream.expect("it is asked for those only that have one");
    let mut harness = gst_check::Harness::new_parse(parser);
    harness.set_src_caps(parsed.caps.clone());
    for buffer in &parsed.buffers {
        // Parsers write into buffers that nobody else holds.
        harness.push(buffer.copy()).expect("the parser takes it");
    }
    harness.push_event(gst::event::Eos::new());
    let buffers = std::iter::from_fn(|| harness.try_pull());
    let stream: Vec<u8> = buffers.flat_map(|buffer| buffer.map_readable().unwrap().to_vec()).collect();
    ffmpeg::decode(&stream, format, &format!("elements-{}", codec.file))
}

/// From the beginning of one refresh to that of the next.
const REFRESH: usize = 16;

/// Which of the full stream's pictures each of these is; `None` of a damaged one.
fn places<'a, T: PartialEq + 'a>(full: impl Iterator<Item = &'a T>, shown: &[T]) -> Vec<Option<usize>> {
    let full: Vec<&T> = full.collect();
    shown.iter().map(|picture| full.iter().position(|other| *other == picture)).collect()
}

/// What both decoders show of a stream that is refreshed is every frame that was sent, in order; the same ones are exact.
/// With frames that can be left out a refresh also ends, behind a gap.
fn check_refreshed(case: &str, by_ffmpeg: &[Option<usize>], by_element: &[Option<usize>], sent: usize) {
    assert_eq!([by_ffmpeg.len(), by_element.len()], [sent; 2], "{case}: what was sent is shown");
    assert_eq!(by_ffmpeg, by_element, "{case}");
    let exact: Vec<usize> = by_ffmpeg.iter().copied().flatten().collect();
    assert!(exact.is_sorted(), "{case}: {exact:?}");
    let is_right_again = exact.windows(2).any(|pair| pair[1] > pair[0] + REFRESH);
    assert!(is_right_again || !case.contains("bidirectional"), "{case}: {exact:?}");
}

/// What `ffmpeg` shows is every frame that was sent, exact and in order.
fn check_by_ffmpeg(case: &str, full: &[String], shown: &[String], sent: usize) {
    let mut rest = full.iter();
    for (place, digest) in shown.iter().enumerate() {
        assert!(rest.any(|picture| picture == digest), "{case}, by ffmpeg: picture {place} is broken or misplaced");
    }
    assert_eq!(shown.len(), sent, "{case}, by ffmpeg");
}

/// Pictures by the time when they are shown, which is that of their frame.
fn by_time(pictures: Vec<Picture>) -> BTreeMap<gst::ClockTime, Vec<u8>> {
    pictures.into_iter().map(|(pts, content)| (pts.expect("frames have time stamps"), content)).collect()
}

/// What the decoder element shows is exact, in order and at its time.
fn check_by_element(case: &str, full: &BTreeMap<gst::ClockTime, Vec<u8>>, shown: &[Picture], sent: usize) {
    let mut rest = full.iter();
    for (place, (time, content)) in shown.iter().enumerate() {
        let found = rest.find(|(_, picture)| *picture == content);
        let (expected, _) = found.unwrap_or_else(|| panic!("{case}: picture {place} is broken or misplaced"));
        assert_eq!(*time, Some(*expected), "{case}: the picture of {expected}");
    }
    assert_eq!(shown.len(), sent, "{case}: what was sent is shown");
}

fn check(codec: &Codec, parsed: &Parsed) {
    let full = by_time(decode(parsed, codec.decoder));
    assert!(full.len() >= 115, "{}: {} pictures of 120 frames", codec.file, full.len());
    let full_by_ffmpeg = codec.byte_stream.map(|_| digests(codec, parsed));
    for mode in codec.modes {
        for pace in [1, 2, 4] {
            let buffers = through_the_queue(parsed, mode, pace, Seed(7));
            let sent = buffers.len();
            let case = format!("{}, {mode}, pace {pace}: {sent} of 120 frames", codec.file);
            assert!(sent < 110 && sent > 7, "{case}");
            let kept = Parsed { caps: parsed.caps.clone(), buffers };
            if codec.is_refreshed {
                let by_ffmpeg = places(full_by_ffmpeg.iter().flatten(), &digests(codec, &kept));
                let contents: Vec<_> = decode(&kept, codec.decoder).into_iter().map(|(_, content)| content).collect();
                check_refreshed(&case, &by_ffmpeg, &places(full.values(), &contents), sent);
                println!("{case}, {} exact", by_ffmpeg.iter().flatten().count());
                continue;
            }
            if let Some(full) = &full_by_ffmpeg {
                check_by_ffmpeg(&case, full, &digests(codec, &kept), sent);
            }
            check_by_element(&case, &full, &decode(&kept, codec.decoder), sent);
            println!("{case}");
        }
    }
}

#[test]
fn no_picture_differs_from_the_full_stream() {
    common::init();
    let mut cases = 0;
    for codec in &CODECS {
        let Some(parsed) = encode(codec.file, codec.encoder, codec.parser, 120) else { continue };
        cases += 1;
        check(codec, &parsed);
    }
    common::note_skipped(CODECS.len() - cases, CODECS.len());
}
