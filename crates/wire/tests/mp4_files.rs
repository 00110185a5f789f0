//! FFmpeg plays our files, and we read FFmpeg's.
#![allow(clippy::disallowed_methods, reason = "a test against other programs")]

use std::path::Path;
use std::process::{Command, Stdio};

use bytes::Bytes;
use framewire_units::{DataSize, Timestamp};
use framewire_wire::mp4::{Coding, Demultiplexer, Fragmenter, Layout, SampleTime, Shape, Track, sample};

use crate::av1_interop::{stream as stream_of_av1, temporal_units};
use crate::support;
use crate::support::nal::{Codec, access_units, with_start_codes};
use crate::support::programs::{Scratch, are_there};

/// Ticks of a frame, at 25 Hz.
const FRAME: u64 = 512;
const TIMESCALE: u32 = 12_800;

fn ffmpeg(arguments: &[&str]) -> String {
    let mut command = Command::new("ffmpeg");
    command.env("SVT_LOG", "1").args(["-v", "error", "-nostdin"]).args(arguments).stderr(Stdio::inherit());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The hashes of what FFmpeg decodes of a file.
fn decoded(path: &Path) -> Vec<String> {
    let report =
        ffmpeg(&["-i", path.to_str().unwrap(), "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", "-"]);
    let hashes = report.lines().filter(|line| !line.starts_with('#'));
    hashes.map(|line| line.rsplit(',').next().unwrap().trim().to_owned()).collect()
}

/// The access units of the first stream of each kind in the test data and of one of AV1, and how a file of it ends.
fn streams(scratch: &Scratch) -> Vec<(Coding, &'static str, Vec<Bytes>)> {
    let (_, av1) = stream_of_av1(scratch, &["libsvtav1", "-preset", "10"]);
    let units = temporal_units(&av1).into_iter().map(Bytes::copy_from_slice).collect();
    let mut streams = vec![(Coding::Av1, "obu", units)];
    for (codec, coding) in [(Codec::H264, Coding::H264), (Codec::H265, Coding::H265)] {
        streams.extend(support::streams_of(codec.suffix()).first().map(|(_, stream)| {
            let units = access_units(codec, stream);
            (coding, codec.suffix(), units.iter().map(|unit| with_start_codes(unit).into()).collect())
        }));
    }
    streams.extend(support::streams().into_iter().next().map(|(_, stream)| {
        let units = support::access_units(&stream).into_iter().map(|range| Bytes::copy_from_slice(&stream[range]));
        (Coding::Mpeg2Video, "m2v", units.collect())
    }));
    streams
}

/// All access units of each track of a file, and the tracks.
fn read(file: &[u8], piece: usize) -> Vec<(Coding, Vec<Bytes>)> {
    let mut demultiplexer = Demultiplexer::new(DataSize::from_bytes(8 << 20));
    let mut tracks: Vec<(Coding, Vec<Bytes>)> = Vec::new();
    for piece in file.chunks(piece) {
        demultiplexer.handle_bytes(Timestamp::ZERO, piece);
        assert_eq!(demultiplexer.poll_fault(), None);
        if tracks.is_empty() {
            tracks = demultiplexer.tracks().iter().map(|track| (track.coding, Vec::new())).collect();
        }
        while let Some(unit) = demultiplexer.poll_unit() {
            assert!(unit.complete);
            tracks[unit.track].1.push(unit.bytes);
        }
    }
    tracks
}

/// FFmpeg decodes a file of one stream as the stream itself, and it is read here as that.
fn check_file(scratch: &Scratch, coding: Coding, suffix: &str, units: &[Bytes], file: &[u8]) {
    let (plain, mp4) = (scratch.file(&format!("plain.{suffix}")), scratch.file("file.mp4"));
    std::fs::write(&plain, units.concat()).unwrap();
    std::fs::write(&mp4, file).unwrap();
    let (expected, came) = (decoded(&plain), decoded(&mp4));
    assert!(expected.len() > 10 && came == expected, "{coding:?}: {} of {}", came.len(), expected.len());
    // Start codes may be longer than annex B demands; what is between them is the same.
    let samples = |units: &[Bytes]| units.iter().map(|unit| sample(coding, unit).unwrap()).collect::<Vec<_>>();
    let [(one, came)] = &read(file, 10_000)[..] else { panic!("{coding:?}: one track") };
    assert!(*one == coding && samples(came) == samples(units), "{coding:?}");
}

#[test]
fn ffmpeg_decodes_our_files_as_the_streams_that_they_are_made_of() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("mp4");
    for (coding, suffix, units) in streams(&scratch) {
        let mut track = Track::new(coding, Shape::Picture { width: 352, height: 288 }, TIMESCALE, 0);
        for (unit, number) in units.iter().zip(0..) {
            track.push(unit, FRAME * number, 0, number == 0).unwrap();
        }
        let layout = Layout::new(&[track], units.iter().map(|_| 0)).unwrap();
        let samples = units.iter().map(|unit| sample(coding, unit).unwrap());
        let file: Vec<u8> = std::iter::once(layout.index()).chain(samples).flatten().collect();
        check_file(&scratch, coding, suffix, &units, &file);
    }
}

#[test]
fn ffmpeg_decodes_our_fragments_as_the_streams_that_they_are_made_of() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("mp4-fragments");
    for (coding, suffix, units) in streams(&scratch) {
        let mut track = Track::new(coding, Shape::Picture { width: 352, height: 288 }, TIMESCALE, 0);
        track.push(&units[0], 0, 0, true).unwrap();
        let mut fragmenter = Fragmenter::new(vec![track]).unwrap();
        let mut file = fragmenter.index().to_vec();
        for (unit, number) in units.iter().zip(0..) {
            let time = SampleTime { decode: FRAME * number, composition: 0, duration: FRAME as u32 };
            file.extend(fragmenter.fragment(0, unit, time, number == 0).unwrap());
        }
        check_file(&scratch, coding, suffix, &units, &file);
    }
}

#[test]
fn fragments_of_ffmpeg_are_read_as_the_file_that_they_are_made_of() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("mp4-fragments-ffmpeg");
    let path = |name: &str| scratch.file(name).to_str().unwrap().to_owned();
    let film = ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=25:d=2", "-f", "lavfi", "-i", "sine=d=2:r=48000"];
    let whole = path("whole.mp4");
    let coded = ["-c:v", "libx264", "-g", "10", "-c:a", "aac", "-movflags", "+faststart", "-y", &whole];
    ffmpeg(&[&film[..], &coded].concat());
    let expected = read(&std::fs::read(&whole).unwrap(), 1_000);
    assert!(expected[0].1.len() == 50 && expected[1].1.len() > 90);
    for how in [
        "empty_moov+frag_keyframe",
        "empty_moov+frag_keyframe+default_base_moof",
        "empty_moov+frag_every_frame+separate_moof",
        "empty_moov+frag_every_frame+omit_tfhd_offset",
        "frag_keyframe+dash+global_sidx",
    ] {
        let file = path("fragments.mp4");
        ffmpeg(&["-i", &whole, "-c", "copy", "-movflags", how, "-y", &file]);
        let came = read(&std::fs::read(&file).unwrap(), 1_000);
        assert!(came == expected, "{how}: {:?}", came.iter().map(|(_, units)| units.len()).collect::<Vec<_>>());
    }
}

/// What a file says in a box for the decoder, without the units behind it.
fn record(file: &[u8], kind: &[u8; 4]) -> Option<Vec<u8>> {
    let length = if kind == b"av1C" { 4 } else { 11 };
    let found = file.windows(4).position(|window| window == kind)? + 4;
    Some(file[found..found + length].to_vec())
}

#[test]
fn files_of_ffmpeg_are_read_and_ours_of_the_same_streams_are_read_by_ffmpeg() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("mp4-ffmpeg");
    let path = |name: &str| scratch.file(name).to_str().unwrap().to_owned();
    let film =
        ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=25:d=2", "-f", "lavfi", "-i", "sine=d=2:r=48000", "-ac", "2"];
    for (video, suffix, coding, sound, of_sound) in [
        ("mpeg4", "m4v", Coding::Mpeg4Part2, "aac", Coding::Aac),
        ("mpeg2video", "mpeg2video", Coding::Mpeg2Video, "mp2", Coding::Mpeg1Audio),
        ("libx264", "h264", Coding::H264, "aac", Coding::Aac),
        ("libx265", "hevc", Coding::H265, "aac", Coding::Aac),
        ("libsvtav1", "obu", Coding::Av1, "libopus", Coding::Opus),
    ] {
        let theirs = path("theirs.mp4");
        ffmpeg(
            &[&film[..], &["-c:v", video, "-g", "10", "-c:a", sound, "-movflags", "+faststart", "-y", &theirs]]
                .concat(),
        );
        let (suffix_of_sound, samples_of_sound, start) = match of_sound {
            Coding::Aac => ("adts", 1_024, -1_024),
            // Packets one behind the other; what libopus wants thrown away is 6.5 ms.
            Coding::Opus => ("data", 960, -312),
            _ => ("mp2", 1_152, -1_024),
        };
        let plain = [path(&format!("plain.{suffix}")), path("plain.sound")];
        let bare = ["-bsf:v", if video == "mpeg4" { "dump_extra" } else { "null" }];
        ffmpeg(&[&["-i", &theirs, "-map", "0:v", "-c", "copy"], &bare[..], &["-f", suffix, "-y", &plain[0]]].concat());
        ffmpeg(&["-i", &theirs, "-map", "0:a", "-c", "copy", "-f", suffix_of_sound, "-y", &plain[1]]);
        let tracks = read(&std::fs::read(&theirs).unwrap(), 1_000);
        let [(one, units), (other, packets)] = &tracks[..] else { panic!("{video}: {} tracks", tracks.len()) };
        assert_eq!((*one, *other), (coding, of_sound));
        assert!(packets.concat() == std::fs::read(&plain[1]).unwrap(), "{video}: sound");
        // FFmpeg's own streams have other start codes, and headers before every key picture.
        let came = path(&format!("came.{suffix}"));
        std::fs::write(&came, units.concat()).unwrap();
        assert_eq!(decoded(Path::new(&came)), decoded(Path::new(&plain[0])), "{video}");
        let mut ours = [
            // Pictures are presented two frames after they are decoded, and the first one at 0.
            Track::new(coding, Shape::Picture { width: 320, height: 240 }, TIMESCALE, -1_024),
            Track::new(of_sound, Shape::Sound { channels: 2, sample_rate: 48_000, pre_skip: 312 }, 48_000, start),
        ];
        (units.iter().zip(0..))
            .for_each(|(unit, number)| ours[0].push(unit, FRAME * number, 1_024, number % 10 == 0).unwrap());
        let times = (0..).map(|number| number * samples_of_sound);
        (packets.iter().zip(times)).for_each(|(packet, time)| ours[1].push(packet, time, 0, true).unwrap());
        // All of the sound, then all of the pictures: any order is one.
        let order = packets.iter().map(|_| 1).chain(units.iter().map(|_| 0));
        let layout = Layout::new(&ours, order).unwrap();
        let sound = packets.iter().map(|packet| sample(of_sound, packet).unwrap());
        let samples = sound.chain(units.iter().map(|unit| sample(coding, unit).unwrap()));
        let file: Vec<u8> = std::iter::once(layout.index()).chain(samples).flatten().collect();
        std::fs::write(path("ours.mp4"), &file).unwrap();
        for kind in [b"av1C", b"dOps"] {
            assert_eq!(record(&file, kind), record(&std::fs::read(&theirs).unwrap(), kind), "{video}");
        }
        assert_eq!(decoded(Path::new(&path("ours.mp4"))), decoded(Path::new(&theirs)), "{video}");
        ffmpeg(&[
            "-i",
            &path("ours.mp4"),
            "-map",
            "0:a",
            "-c",
            "copy",
            "-f",
            suffix_of_sound,
            "-y",
            &path("came.sound"),
        ]);
        assert!(std::fs::read(path("came.sound")).unwrap() == packets.concat(), "{video}: sound that FFmpeg reads");
    }
}
