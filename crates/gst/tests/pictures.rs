//! What leaves the element decodes to the pictures of the full stream, whatever was dropped.

use crate::common;
use std::collections::BTreeMap;

use common::movie::{self, MOVING, Parsed, Picture, decode, encode};
use common::support::long_term;
use common::{Stepper, ffmpeg};
use framewire_media::access_unit::{self, AccessUnitReader, Framing, KeyKind};
use framewire_units::Seed;
use gst::prelude::*;

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

const H264_BYTE_STREAM: &str = "h264parse ! capsfilter caps=video/x-h264,stream-format=byte-stream,alignment=au";
const H264: Option<(&str, &str)> = Some((H264_BYTE_STREAM, "h264"));
const H265: Option<(&str, &str)> =
    Some(("h265parse ! capsfilter caps=video/x-h265,stream-format=byte-stream,alignment=au", "hevc"));

/// I-Frame Delay knows the references of MPEG-2: P pictures refer to the last I or P, and nothing refers to a B.
const EVERY_MODE: &[&str] = &["ifd-optimised", "dependency"];
const WITH_OTHER_REFERENCES: &[&str] = &["dependency"];

/// What streams of a codec have in common where they come from MP4.
const fn in_mp4(
    parser: &'static str,
    decoder: &'static str,
    byte_stream: Option<(&'static str, &'static str)>,
) -> Codec {
    let modes = WITH_OTHER_REFERENCES;
    Codec { file: "", encoder: &[], parser, decoder, modes, byte_stream, is_refreshed: false }
}

const H264_IN_MP4: Codec = in_mp4("qtdemux ! h264parse", "avdec_h264", H264);
const H265_IN_MP4: Codec = in_mp4("qtdemux ! h265parse", "avdec_h265", H265);

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
        ..H264_IN_MP4
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
        ..H264_IN_MP4
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
        ..H264_IN_MP4
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
        ..H265_IN_MP4
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
        ..H265_IN_MP4
    },
    Codec {
        file: "h264-refresh.mp4",
        encoder: &["-c:v", "libx264", "-x264-params", "keyint=16:intra-refresh=1:bframes=0:ref=1:threads=1"],
        is_refreshed: true,
        ..H264_IN_MP4
    },
    Codec {
        file: "h264-refresh-bidirectional.mp4",
        encoder: &["-c:v", "libx264", "-x264-params", "keyint=16:intra-refresh=1:bframes=2:b-adapt=0:ref=3:threads=1"],
        is_refreshed: true,
        ..H264_IN_MP4
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
fn through_the_queue(parsed: &Parsed, mode: &str, pace: u32, seed: Seed) -> Parsed {
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
    let buffers = (0..kept).map(|_| stepper.harness.pull().expect("what was not dropped leaves")).collect();
    let caps = stepper.queue.static_pad("src").and_then(|pad| pad.current_caps()).expect("they leave before any frame");
    Parsed { caps, buffers }
}

/// The same as a byte stream, in the words of [`H264`] and [`H265`].
fn as_byte_stream(parser: &str, parsed: &Parsed) -> Parsed {
    let mut harness = gst_check::Harness::new_parse(parser);
    harness.set_src_caps(parsed.caps.clone());
    for buffer in &parsed.buffers {
        // Parsers write into buffers that no other element holds.
        harness.push(buffer.copy()).expect("the parser takes it");
    }
    harness.push_event(gst::event::Eos::new());
    let buffers = std::iter::from_fn(|| harness.try_pull()).collect();
    let caps = harness.sinkpad().and_then(|pad| pad.current_caps()).expect("the parser made caps");
    Parsed { caps, buffers }
}

/// Digests of the pictures that FFmpeg itself shows, in its order, of buffers written one behind the other.
fn digests(codec: &Codec, parsed: &Parsed) -> Vec<String> {
    let (parser, format) = codec.byte_stream.expect("it is asked for those only that have one");
    let buffers = as_byte_stream(parser, parsed).buffers;
    let stream: Vec<u8> = buffers.iter().flat_map(|buffer| buffer.map_readable().unwrap().to_vec()).collect();
    ffmpeg::decode(&stream, format, &format!("elements-{}", codec.file))
}

/// What openh264 shows of H.264; `None`, after saying so, where its element is not there. It conceals nothing: where a
/// reference frame is missing and the parameter sets do not say that this may be, it stops until the next IDR picture.
fn by_openh264(parsed: &Parsed) -> Option<Vec<Picture>> {
    if gst::ElementFactory::find("openh264dec").is_none() {
        println!("skipped: no openh264dec");
        return None;
    }
    Some(decode(&as_byte_stream(H264_BYTE_STREAM, parsed), "openh264dec"))
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
            let kept = through_the_queue(parsed, mode, pace, Seed(7));
            let sent = kept.buffers.len();
            let case = format!("{}, {mode}, pace {pace}: {sent} of 120 frames", codec.file);
            assert!(sent < 110 && sent > 7, "{case}");
            // While a refresh is under way pictures refer to some that were given up, which openh264 takes for lost.
            if codec.byte_stream == H264
                && *mode == "dependency"
                && !codec.is_refreshed
                && let Some(shown) = by_openh264(&kept)
            {
                // Of B pictures openh264 2.3.1 shows some wrongly, of the whole stream too.
                assert_eq!(shown.len(), sent, "{case}, by openh264");
            }
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

/// P pictures that refer to long-term pictures: what is given up between leaves gaps in `frame_num`, which have to stay.
#[test]
fn a_decoder_that_conceals_nothing_shows_what_leaves_with_gaps() {
    common::init();
    if !ffmpeg::has_encoder("libx264") {
        return;
    }
    let plain =
        ffmpeg::encode("elements-long-term.h264", MOVING, &format!("-frames:v 120 -c:v libx264 {}", long_term::X264));
    let path = movie::directory().join("long-term.h264");
    std::fs::write(&path, long_term::h264(&std::fs::read(plain).unwrap(), 8)).unwrap();
    for format in ["avc", "byte-stream"] {
        let parsed = movie::parse(&path, &format!("h264parse ! video/x-h264,stream-format={format},alignment=au"));
        let Some(full) = by_openh264(&parsed) else { return };
        assert_eq!(full.len(), 120);
        let kept = through_the_queue(&parsed, "dependency", 2, Seed(7));
        let shown = by_openh264(&kept).expect("it was there");
        let sent = kept.buffers.len();
        println!(
            "{format}: {} of {sent} pictures, {} gaps",
            shown.len(),
            gaps(&as_byte_stream(H264_BYTE_STREAM, &kept))
        );
        assert!(gaps(&as_byte_stream(H264_BYTE_STREAM, &kept)) > 2);
        assert_eq!(shown.len(), sent, "{format}");
        let mut rest = full.iter();
        let is_next = |(_, picture): &Picture| rest.any(|(_, other)| other == picture);
        assert!(shown.iter().all(is_next), "{format}: each is exact and in order");
    }
}

/// Headers that come without a picture pass the queue by themselves.
#[test]
fn headers_without_a_picture_allow_gaps_too_where_some_are_left() {
    common::init();
    // Main profile, `frame_num` and order counts of four bits, two reference frames, 32x32 (ITU-T H.264, 7.3.2.1.1).
    let [forbidden, allowed] = [0xf6, 0xf7].map(|flags| [0, 0, 0, 1, 0x67, 0x4d, 0, 0x1e, flags, 0x96, 0x40]);
    for (mode, expected) in [("dependency", allowed), ("ifd-optimised", forbidden)] {
        let caps = "video/x-h264,stream-format=byte-stream,alignment=au,framerate=25/1";
        let mut stepper = Stepper::new(&format!("mode={mode}"), caps);
        stepper.gate.open();
        stepper.harness.push(common::buffer(0, forbidden.to_vec())).unwrap();
        let left = stepper.harness.pull().expect("it is never dropped");
        assert_eq!(left.map_readable().unwrap().as_slice(), expected, "{mode}");
        assert_eq!(left.pts(), Some(gst::ClockTime::ZERO));
    }
}

/// How often reference frames are missing before a picture that is no IDR picture.
fn gaps(parsed: &Parsed) -> usize {
    let mut reader = AccessUnitReader::new(access_unit::Codec::H264, Framing::ByteStream).unwrap();
    let units = parsed.buffers.iter().map(|buffer| reader.read(&buffer.map_readable().unwrap()).unwrap());
    let numbers: Vec<_> =
        units.map(|unit| (unit.key, unit.picture_order.unwrap().numbers.unwrap().frame_num)).collect();
    let is_gap =
        |pair: &[(Option<KeyKind>, u16)]| pair[1].0 != Some(KeyKind::Closed) && pair[1].1 != (pair[0].1 + 1) % 256;
    numbers.windows(2).filter(|pair| is_gap(pair)).count()
}
