//! What leaves the element decodes to the pictures of the full stream, whatever was dropped.

mod common;

use std::collections::BTreeMap;

use common::Stepper;
use common::movie::{Parsed, Picture, decode, encode};
use framewire_units::Seed;

struct Codec {
    file: &'static str,
    encoder: &'static [&'static str],
    parser: &'static str,
    decoder: &'static str,
    modes: &'static [&'static str],
}

/// I-Frame Delay knows the references of MPEG-2: P pictures refer to the last I or P, and nothing refers to a B.
const EVERY_MODE: &[&str] = &["ifd-optimised", "dependency"];
const WITH_OTHER_REFERENCES: &[&str] = &["dependency"];

const CODECS: [Codec; 4] = [
    Codec {
        file: "mpeg2.ts",
        encoder: &["-c:v", "mpeg2video", "-g", "12", "-bf", "2", "-b_strategy", "0", "-q:v", "6"],
        parser: "tsdemux ! mpegvideoparse",
        decoder: "avdec_mpeg2video",
        modes: EVERY_MODE,
    },
    // Closed groups: behind a gap in frame_num, as where an open group was left early, FFmpeg's H.264 decoder gives
    // pictures the time stamps of others.
    Codec {
        file: "h264.mp4",
        encoder: &["-c:v", "libx264", "-x264-params", "keyint=16:bframes=3:b-pyramid=normal:scenecut=0"],
        parser: "qtdemux ! h264parse",
        decoder: "avdec_h264",
        modes: WITH_OTHER_REFERENCES,
    },
    Codec {
        file: "h264-closed.ts",
        encoder: &["-c:v", "libx264", "-x264-params", "keyint=16:bframes=0:ref=1:scenecut=0"],
        parser: "tsdemux ! h264parse",
        decoder: "avdec_h264",
        modes: EVERY_MODE,
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

/// Pictures by the time when they are shown, which is that of their frame.
fn by_time(pictures: Vec<Picture>) -> BTreeMap<gst::ClockTime, Vec<u8>> {
    pictures.into_iter().map(|(pts, content)| (pts.expect("frames have time stamps"), content)).collect()
}

#[test]
fn no_picture_differs_from_the_full_stream() {
    common::init();
    let mut cases = 0;
    for codec in &CODECS {
        let Some(parsed) = encode(codec.file, codec.encoder, codec.parser, 120) else { continue };
        cases += 1;
        let full = by_time(decode(&parsed, codec.decoder));
        assert!(full.len() >= 115, "{}: {} pictures of 120 frames", codec.file, full.len());
        for mode in codec.modes {
            for pace in [1, 2, 4] {
                let kept = through_the_queue(&parsed, mode, pace, Seed(7));
                let case = format!("{}, {mode}, pace {pace}: {} of 120 frames", codec.file, kept.len());
                assert!(kept.len() < 110 && kept.len() > 7, "{case}");
                let sent = kept.len();
                let shown = by_time(decode(&Parsed { caps: parsed.caps.clone(), buffers: kept }, codec.decoder));
                for (time, content) in &shown {
                    assert!(full.get(time) == Some(content), "{case}: the picture at {time} is broken");
                }
                // What was sent is also shown, but for what the decoder keeps back at the end.
                assert!(shown.len() + 4 >= sent, "{case}: only {} are shown", shown.len());
                println!("{case}, {} shown", shown.len());
            }
        }
    }
    common::note_skipped(CODECS.len() - cases, CODECS.len());
}
