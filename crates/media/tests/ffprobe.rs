//! The frame index against ffprobe, an independent reader: types, decode and display order, places and sizes.

use crate::support;
use std::path::{Path, PathBuf};
use std::process::Command;

use framewire_media::{FrameIndex, PictureStructure, PictureType};
use support::{Parity, Picture, Stream, ffmpeg, lab_group};

/// What ffprobe says: (position, size) of packets in decode order; (position, type) of frames in display order.
#[derive(Debug, PartialEq)]
struct Probed {
    packets: Vec<(u64, u64)>,
    frames: Vec<(u64, String)>,
}

fn probe(path: &Path) -> Probed {
    let fields: &[&str] = &["pkt_pos", "pict_type"];
    let asked = [("packet", ffmpeg::PLACE), ("frame", fields)];
    let ([packets, frames], messages) = ffmpeg::probe_with_messages(path, "mpegvideo", asked);
    assert_eq!(messages, "", "{}", path.display());
    let place = |(offset, size)| (offset as u64, size as u64);
    Probed {
        packets: ffmpeg::places(&packets).into_iter().map(place).collect(),
        frames: frames.iter().map(|row| (row["pkt_pos"].parse().unwrap(), row["pict_type"].clone())).collect(),
    }
}

fn indexed(index: &FrameIndex) -> Probed {
    let mut shown: Vec<_> = index.frames.iter().collect();
    shown.sort_by_key(|frame| frame.display_index);
    Probed {
        packets: index.frames.iter().map(|frame| (frame.offset, u64::from(frame.size))).collect(),
        frames: shown.iter().map(|frame| (frame.offset, frame.kind.to_string())).collect(),
    }
}

/// Asserts that both readers agree, and gives the index for more.
fn agree(path: &Path) -> FrameIndex {
    let index = FrameIndex::scan(&std::fs::read(path).unwrap()).unwrap();
    let (ours, theirs) = (indexed(&index), probe(path));
    assert!(!theirs.packets.is_empty(), "ffprobe found no packet in {}", path.display());
    assert_eq!(ours, theirs, "{}", path.display());
    index
}

fn have(program: &str) -> bool {
    let found = Command::new(program).arg("-version").output().is_ok();
    if !found {
        eprintln!("skipped: no {program}");
    }
    found
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn every_mpeg2_file_at_hand() {
    let Some(folder) = support::generated_streams().filter(|_| have("ffprobe")) else { return };
    let streams = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let streams: Vec<_> = streams.filter(|path| path.extension().is_some_and(|extension| extension == "m2v")).collect();
    assert_eq!(streams.len(), 4);
    for path in streams {
        assert_eq!(agree(&path).frames.len(), 75, "{}", path.display());
    }
}

#[test]
fn movies_encoded_now() {
    if !have("ffmpeg") || !have("ffprobe") {
        return;
    }
    let cases = [
        ("lab", "-c:v mpeg2video -g 15 -bf 2 -b_strategy 0 -sc_threshold 1000000000 -b:v 1M"),
        ("ip", "-c:v mpeg2video -g 12 -bf 0 -b:v 1M"),
        ("intra", "-c:v mpeg2video -g 1 -bf 0 -b:v 4M"),
        ("interlaced", "-c:v mpeg2video -g 15 -bf 2 -flags +ildct+ilme -top 1 -b:v 1M"),
        ("closed", "-c:v mpeg2video -g 15 -bf 2 -sc_threshold 1000000000 -flags +cgop -b:v 1M"),
        ("mpeg1", "-c:v mpeg1video -g 15 -bf 2 -b:v 1M"),
        ("ntsc", "-r 30000/1001 -c:v mpeg2video -g 15 -bf 2 -b:v 1M"),
    ];
    for (name, options) in cases {
        let path = scratch(&format!("{name}.m2v"));
        let status = Command::new("ffmpeg")
            .args("-v error -y -f lavfi -i testsrc2=s=352x288:r=25:d=3 -threads 1".split(' '))
            .args(options.split(' '))
            .args(["-f", if name == "mpeg1" { "mpeg1video" } else { "mpeg2video" }])
            .arg(&path)
            .status()
            .unwrap();
        assert!(status.success(), "{name}");
        let index = agree(&path);
        assert!((75..=90).contains(&index.frames.len()), "{name}: {}", index.frames.len());
        assert_eq!(index.sequence.mpeg2, name != "mpeg1");
    }
}

/// Field pictures, which ffmpeg does not encode, in a stream that it decodes: I and P fields make an I frame.
#[test]
fn field_pictures() {
    if !have("ffprobe") {
        return;
    }
    for (first, second, structure) in [
        (Parity::Top, Parity::Bottom, PictureStructure::TopFieldFirst),
        (Parity::Bottom, Parity::Top, PictureStructure::BottomFieldFirst),
    ] {
        let mut stream = Stream::default().sequence().gop(true, false);
        let frames = [("IP", 0), ("PP", 3), ("BB", 1), ("BB", 2), ("II", 6), ("BB", 4), ("BB", 5), ("PP", 7)];
        for (kinds, reference) in frames {
            for (kind, parity, second) in [(&kinds[..1], first, false), (&kinds[1..], second, true)] {
                let kind = match kind {
                    "I" => PictureType::I,
                    "P" => PictureType::P,
                    _ => PictureType::B,
                };
                stream = stream.picture(Picture::field(kind, reference, parity, second));
            }
        }
        let path = scratch(&format!("fields-{structure:?}.m2v"));
        std::fs::write(&path, stream.bytes).unwrap();
        let index = agree(&path);
        assert_eq!(index.frames.len(), frames.len());
        assert!(index.frames.iter().all(|frame| frame.structure == structure));
    }
}

#[test]
fn built_streams_are_what_a_decoder_takes_them_for() {
    if !have("ffprobe") {
        return;
    }
    let path = scratch("built.m2v");
    let stream = (1..4).fold(lab_group(Stream::default(), true), |stream, _| lab_group(stream, false));
    std::fs::write(&path, stream.code(0xb7).bytes).unwrap();
    assert_eq!(agree(&path).frames.len(), 13 + 3 * 15);
}
