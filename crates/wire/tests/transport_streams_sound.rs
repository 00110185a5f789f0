//! Sound beside video in transport streams, both ways with FFmpeg and GStreamer, and what Wireshark reads of ours.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test against other programs runs them")]

use std::path::Path;
use std::process::Command;

use framewire_wire::mpeg_ts::{Layout, Multiplexer, PACKET_LENGTH, Program, ReceivedUnit, Settings, StreamType, Unit};

use crate::support::capture::write_capture;
use crate::support::programs::{Scratch, are_there};
use crate::transport_streams::{assert_same, demultiplex, dissect, ffmpeg, gstreamer, text};

/// Ticks of a frame at 25 per second.
const FRAME: u64 = 3_600;

/// What FFmpeg encodes sound with, calls a file of it, and what it is in a transport stream; with the sample rate.
const CODED: [(&str, &str, StreamType, &str); 4] = [
    ("aac", "adts", StreamType::AacAdts, "48000"),
    ("mp2", "mp2", StreamType::Mpeg1Audio, "44100"),
    ("libmp3lame", "mp3", StreamType::Mpeg1Audio, "48000"),
    ("libmp3lame", "mp3", StreamType::Mpeg2Audio, "22050"),
];

/// Two seconds of video and sound, encoded and multiplexed by FFmpeg with a packet of sound in each PES packet.
fn encode(encoder: &str, rate: &str) -> Vec<u8> {
    let sine = format!("sine=frequency=440:sample_rate={rate}:duration=2");
    let mut arguments =
        vec!["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=2", "-f", "lavfi", "-i", &sine];
    arguments.extend([
        "-c:v",
        "mpeg2video",
        "-bf",
        "2",
        "-c:a",
        encoder,
        "-pes_payload_size",
        "0",
        "-f",
        "mpegts",
        "-",
    ]);
    ffmpeg(&arguments)
}

fn sound_of(units: &[ReceivedUnit]) -> Vec<u8> {
    let sound = units.iter().filter(|unit| !unit.track.stream_type.is_video());
    sound.flat_map(|unit| unit.bytes.iter().copied()).collect()
}

/// The sound of a transport stream as FFmpeg reads it.
fn read_by_ffmpeg(stream: &Path, format: &str) -> Vec<u8> {
    let out = stream.with_extension("sound");
    let no_tags = if format == "mp3" { &["-write_xing", "0", "-id3v2_version", "0"][..] } else { &[] };
    let chosen = [&["-i", text(stream), "-map", "0:a", "-c", "copy"], no_tags, &["-f", format, text(&out)]].concat();
    ffmpeg(&chosen);
    std::fs::read(out).unwrap()
}

/// Presentation times of the sound, by ffprobe.
fn times(path: &Path) -> Vec<u64> {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-select_streams", "a", "-show_entries", "packet=pts", "-of", "csv=p=0"]).arg(path);
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    text.split([',', '\n']).filter_map(|time| time.parse().ok()).collect()
}

/// The packets of these units in the order of their times, each unit's by themselves. A frame is the first, as it has the tables:
/// what comes before them GStreamer passes over.
fn multiplex(settings: &Settings, units: &[ReceivedUnit]) -> Vec<Vec<u8>> {
    let mut multiplexer = Multiplexer::new(settings.clone()).unwrap();
    let mut units: Vec<&ReceivedUnit> = units.iter().collect();
    units.sort_by_key(|unit| (unit.decode, !unit.track.stream_type.is_video()));
    let first = units.iter().position(|unit| unit.track.stream_type.is_video()).unwrap();
    units[..=first].rotate_right(1);
    let origin = origin(&units);
    let put = |unit: &&ReceivedUnit| {
        let track = usize::from(!unit.track.stream_type.is_video());
        let time = |time: Option<u64>| time.unwrap() - origin;
        let (presentation, decode) = (time(unit.presentation), time(unit.decode));
        let (bytes, random_access) = (&unit.bytes[..], unit.random_access);
        let mut out = Vec::new();
        let unit = Unit { track, bytes, presentation, decode, duration: FRAME, random_access };
        multiplexer.put(&unit, &mut out).unwrap();
        out
    };
    units.iter().map(put).collect()
}

fn origin(units: &[&ReceivedUnit]) -> u64 {
    units.iter().filter_map(|unit| unit.decode).min().unwrap()
}

fn program(sound: StreamType) -> Program {
    Program::of_video(StreamType::Mpeg2Video).with_track(sound)
}

#[test]
fn ffmpeg_reads_sound_beside_video_and_its_streams_are_read() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("ts-sound-ffmpeg");
    for (encoder, format, stream_type, rate) in CODED {
        let theirs = scratch.file("theirs.ts");
        std::fs::write(&theirs, encode(encoder, rate)).unwrap();
        let sound = read_by_ffmpeg(&theirs, format);
        let (units, _) = demultiplex(&std::fs::read(&theirs).unwrap());
        assert_same(&sound_of(&units), &sound, format);
        for layout in [Layout::Datagrams(7), Layout::Continuous] {
            let settings = Settings::new(program(stream_type), layout);
            let ours = scratch.file("ours.ts");
            std::fs::write(&ours, multiplex(&settings, &units).concat()).unwrap();
            assert_same(&read_by_ffmpeg(&ours, format), &sound, &format!("{format} {layout:?}"));
            let (again, _) = demultiplex(&std::fs::read(&ours).unwrap());
            assert!(again.iter().filter(|unit| !unit.track.stream_type.is_video()).count() > 70, "{format}");
            let (origin, delay) = (origin(&units.iter().collect::<Vec<_>>()), settings.delay.as_millis() as u64 * 90);
            let heard = units.iter().filter(|unit| !unit.track.stream_type.is_video());
            let expected: Vec<u64> = heard.map(|unit| unit.presentation.unwrap() - origin + delay).collect();
            assert_eq!(times(&ours), expected, "{format} {layout:?}");
        }
    }
}

#[test]
fn gstreamer_reads_sound_beside_video() {
    if !are_there(&["ffmpeg", "gst-launch-1.0"]) {
        return;
    }
    let scratch = Scratch::new("ts-sound-gstreamer");
    for (encoder, format, stream_type, rate) in CODED {
        let (units, _) = demultiplex(&encode(encoder, rate));
        let settings = Settings::new(program(stream_type), Layout::Datagrams(7));
        let (path, out) = (scratch.file("ours.ts"), scratch.file("read"));
        std::fs::write(&path, multiplex(&settings, &units).concat()).unwrap();
        gstreamer(&format!(
            "filesrc location={} ! tsdemux ! audio/mpeg ! filesink location={}",
            text(&path),
            text(&out)
        ));
        assert_same(&std::fs::read(&out).unwrap(), &sound_of(&units), format);
    }
}

#[test]
fn wireshark_finds_nothing_wrong_with_sound() {
    if !are_there(&["ffmpeg", "tshark"]) {
        return;
    }
    let scratch = Scratch::new("ts-sound-wireshark");
    for (encoder, format, stream_type, rate) in CODED {
        let (units, _) = demultiplex(&encode(encoder, rate));
        let settings = Settings::new(program(stream_type), Layout::Datagrams(7));
        let sent = multiplex(&settings, &units);
        let capture = scratch.file("packets.pcap");
        write_capture(&capture, sent.iter().flat_map(|packets| packets.chunks(7 * PACKET_LENGTH)).map(<[u8]>::to_vec));
        let [counters, _, types, references, wrong @ ..] = dissect(&capture);
        assert_eq!(counters.len(), sent.iter().map(Vec::len).sum::<usize>() / PACKET_LENGTH);
        assert_eq!(wrong, [vec![], vec![], vec![], vec![]], "{format}");
        let both = [StreamType::Mpeg2Video, stream_type].map(|one| u64::from(one.code()));
        assert!(types.len() > 20 && types.chunks(2).all(|types| types == both), "{format}: {types:?}");
        // Each datagram has a time of its own, in order.
        let datagrams = sent.iter().map(|packets| packets.len().div_ceil(7 * PACKET_LENGTH)).sum::<usize>();
        assert!(references.len() >= datagrams && references.is_sorted_by(|one, next| one < next), "{format}");
    }
}
