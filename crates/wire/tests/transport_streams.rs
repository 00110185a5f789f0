//! Transport streams both ways with FFmpeg and GStreamer, and what Wireshark reads of ours: a stream of each codec, made by
//! FFmpeg, whose frames are multiplexed anew with the times that they had.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test against other programs runs them")]

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::mpeg_ts::{
    Counters, Demultiplexer, Layout, Multiplexer, PACKET_LENGTH, Program, Rate, ReceivedUnit, Settings, StreamType,
    Unit,
};

use crate::support::capture::write_capture;
use crate::support::programs::{Scratch, are_there};

const LARGEST: DataSize = DataSize::from_bytes(4 << 20);

/// Ticks of a frame at 25 per second.
const FRAME: u64 = 3_600;

/// A codec: what FFmpeg encodes it with, and calls a file of it.
struct Coded {
    stream_type: StreamType,
    encoder: &'static [&'static str],
    format: &'static str,
    parser: &'static str,
}

/// I frames of most are beyond 65,535 bytes, so that the length of their PES packets is not written.
const CODED: [Coded; 5] = [
    Coded {
        stream_type: StreamType::Mpeg1Video,
        encoder: &["mpeg1video", "-q:v", "2", "-bf", "2"],
        format: "mpeg1video",
        parser: "mpegvideoparse",
    },
    Coded {
        stream_type: StreamType::Mpeg2Video,
        encoder: &["mpeg2video", "-q:v", "2", "-bf", "2"],
        format: "mpeg2video",
        parser: "mpegvideoparse",
    },
    Coded {
        stream_type: StreamType::Mpeg4Part2,
        encoder: &["mpeg4", "-q:v", "2", "-bf", "2"],
        format: "m4v",
        parser: "mpeg4videoparse",
    },
    Coded {
        stream_type: StreamType::H264,
        encoder: &["libx264", "-preset", "ultrafast", "-bf", "2", "-qp", "12", "-x264-params", "aud=1"],
        format: "h264",
        parser: "h264parse",
    },
    Coded {
        stream_type: StreamType::H265,
        encoder: &["libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:bframes=2:qp=16:aud=1"],
        format: "hevc",
        parser: "h265parse",
    },
];

/// A stream of each codec, which the tests share.
static STREAMS: LazyLock<[Vec<u8>; 5]> = LazyLock::new(|| CODED.each_ref().map(Coded::encode));

fn streams() -> impl Iterator<Item = (&'static Coded, &'static [u8])> {
    CODED.iter().zip(STREAMS.iter().map(Vec::as_slice))
}

/// Runs FFmpeg, which must have nothing to say; and what it writes to its standard output.
pub(crate) fn ffmpeg(arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new("ffmpeg");
    let output = command.args(["-v", "warning", "-nostdin", "-y"]).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "ffmpeg {arguments:?}: {said}");
    output.stdout
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl Coded {
    /// A transport stream of a second, encoded and multiplexed by FFmpeg.
    fn encode(&self) -> Vec<u8> {
        let source = "testsrc2=size=640x480:rate=25:duration=1,noise=alls=20:allf=t";
        let mut arguments = vec!["-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p", "-g", "12", "-c:v"];
        arguments.extend(self.encoder);
        arguments.extend(["-f", "mpegts", "-"]);
        ffmpeg(&arguments)
    }

    /// The elementary stream of a transport stream, as FFmpeg reads it.
    fn read_by_ffmpeg(&self, stream: &Path) -> Vec<u8> {
        let out = stream.with_extension("es");
        ffmpeg(&["-i", text(stream), "-c", "copy", "-f", self.format, text(&out)]);
        std::fs::read(out).unwrap()
    }
}

/// What our demultiplexer makes of a stream of bytes, in which nothing may be wrong.
pub(crate) fn demultiplex(stream: &[u8]) -> (Vec<ReceivedUnit>, Counters) {
    let mut demultiplexer = Demultiplexer::new(None, LARGEST);
    let mut units = Vec::new();
    for bytes in stream.chunks(10_000) {
        demultiplexer.handle_bytes(Timestamp::ZERO, bytes);
        units.extend(std::iter::from_fn(|| demultiplexer.poll_unit()));
    }
    demultiplexer.finish(Timestamp::ZERO);
    units.extend(std::iter::from_fn(|| demultiplexer.poll_unit()));
    assert_eq!(demultiplexer.poll_fault(), None);
    assert!(units.iter().all(|unit| unit.complete));
    (units, demultiplexer.counters())
}

fn elementary(units: &[ReceivedUnit]) -> Vec<u8> {
    units.iter().map(|unit| &unit.bytes[..]).collect::<Vec<_>>().concat()
}

pub(crate) fn assert_same(received: &[u8], sent: &[u8], what: &str) {
    if received == sent {
        return;
    }
    let differs = received.iter().zip(sent).position(|(received, sent)| received != sent);
    let lengths = (received.len(), sent.len());
    panic!("{what}: {lengths:?}, first difference at {differs:?}");
}

/// The packets of these units with their times, from the first decoding time on.
fn multiplex(settings: &Settings, units: &[ReceivedUnit]) -> Vec<Vec<u8>> {
    let mut multiplexer = Multiplexer::new(settings.clone()).unwrap();
    let origin = units[0].decode.unwrap();
    let put = |unit: &ReceivedUnit| {
        let (presentation, decode) = (unit.presentation.unwrap() - origin, unit.decode.unwrap() - origin);
        let (bytes, random_access) = (&unit.bytes[..], unit.random_access);
        let unit = Unit { track: 0, bytes, presentation, decode, duration: FRAME, random_access };
        let mut out = Vec::new();
        multiplexer.put(&unit, &mut out).unwrap();
        out
    };
    let mut stream: Vec<Vec<u8>> = units.iter().map(put).collect();
    multiplexer.finish(stream.last_mut().unwrap());
    stream
}

/// Every way in which streams are made here. At the constant rate the largest frame takes most of the delay.
fn ways(stream_type: StreamType) -> [(&'static str, Settings); 4] {
    let continuous = Settings::new(Program::of_video(stream_type), Layout::Continuous);
    let rate = Rate::Constant(Bitrate::from_mbps(100));
    [
        ("datagrams", Settings::new(Program::of_video(stream_type), Layout::Datagrams(7))),
        ("plain", Settings { descriptions: false, ..continuous.clone() }),
        ("constant", Settings { rate, delay: Duration::from_millis(500), ..continuous.clone() }),
        ("continuous", continuous),
    ]
}

#[test]
fn ffmpeg_reads_what_is_made_and_its_streams_are_read() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("ts-ffmpeg");
    for (coded, encoded) in streams() {
        let theirs = scratch.file("theirs.ts");
        std::fs::write(&theirs, encoded).unwrap();
        let stream = coded.read_by_ffmpeg(&theirs);
        let (units, counters) = demultiplex(encoded);
        assert_same(&elementary(&units), &stream, coded.format);
        assert_eq!((units.len(), counters.missing, counters.duplicates), (25, 0, 0), "{}", coded.format);
        assert!(units[0].random_access && units.iter().filter(|unit| unit.random_access).count() < 5);
        let largest = units.iter().map(|unit| unit.bytes.len()).max();
        assert!(largest > Some(50_000), "{}: {largest:?}", coded.format);
        for (name, settings) in ways(coded.stream_type) {
            let path = scratch.file(&format!("{}-{name}.ts", coded.format));
            std::fs::write(&path, multiplex(&settings, &units).concat()).unwrap();
            assert_same(&coded.read_by_ffmpeg(&path), &stream, &format!("{} {name}", coded.format));
            assert_eq!(times(&path), expected_times(&units, &settings), "{} {name}", coded.format);
        }
    }
}

/// Presentation and decoding times of every frame, by ffprobe.
fn times(path: &Path) -> Vec<(u64, u64)> {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-show_entries", "packet=pts,dts", "-of", "csv=p=0"]).arg(path);
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let times = text.lines().filter_map(|line| {
        let mut fields = line.split(',').map_while(|field| field.parse().ok());
        Some((fields.next()?, fields.next()?))
    });
    times.collect()
}

fn expected_times(units: &[ReceivedUnit], settings: &Settings) -> Vec<(u64, u64)> {
    let (origin, delay) = (units[0].decode.unwrap(), settings.delay.as_millis() as u64 * 90);
    let time = |time: Option<u64>| time.unwrap() - origin + delay;
    units.iter().map(|unit| (time(unit.presentation), time(unit.decode))).collect()
}

/// How much of a frame FFmpeg's demultiplexer hands on at a time where its length is not written.
const PIECE: usize = 200 << 10;

/// The packets of a lossy stream as FFmpeg's demultiplexer hands them on, by decoding time: whether it says that one is corrupt,
/// and its bytes.
fn demultiplexed_by_ffmpeg(path: &Path) -> Vec<(u64, bool, Vec<u8>)> {
    let run = |program, level, arguments: &[&str]| {
        let common = ["-v", level, "-fflags", "+noparse", "-i", text(path)];
        Command::new(program).args(common).args(arguments).output().unwrap()
    };
    let listed = run("ffprobe", "warning", &["-show_entries", "packet=dts,size", "-of", "csv=p=0"]);
    let bytes = run("ffmpeg", "quiet", &["-map", "0:v", "-c", "copy", "-copyinkf", "-f", "data", "-"]).stdout;
    let said = String::from_utf8(listed.stderr).unwrap();
    let corrupt = said.lines().filter_map(|line| line.split_once("Packet corrupt")?.1.split_once("dts = "));
    let corrupt: Vec<u64> = corrupt.filter_map(|(_, dts)| dts.split([')', ',']).next()?.parse().ok()).collect();
    let mut rest = &bytes[..];
    let mut packets: Vec<(u64, bool, Vec<u8>)> = Vec::new();
    for line in String::from_utf8(listed.stdout).unwrap().lines().filter(|line| !line.is_empty()) {
        let mut fields = line.split(',');
        let (dts, size) = (fields.next().unwrap().parse().ok(), fields.next().unwrap().parse().unwrap());
        let (packet, behind) = rest.split_at_checked(size).expect("both programs read the same");
        rest = behind;
        match (dts, packets.last_mut()) {
            (Some(dts), _) => packets.push((dts, corrupt.contains(&dts), packet.to_vec())),
            (None, Some((.., last))) => last.extend(packet),
            (None, None) => {}
        }
    }
    assert!(rest.is_empty(), "{} bytes are in no packet", rest.len());
    packets
}

/// FFmpeg's demultiplexer hands on a damaged frame with the gap closed, and what is before the gap is what is handed on here.
#[test]
fn what_came_before_a_gap_is_how_ffmpeg_s_damaged_frame_begins() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("ts-gaps");
    for (coded, encoded) in streams() {
        let (units, _) = demultiplex(encoded);
        for (name, settings) in
            ways(coded.stream_type).into_iter().filter(|(name, _)| ["datagrams", "plain"].contains(name))
        {
            let stream = multiplex(&settings, &units).concat();
            let apart = stream.len() / PACKET_LENGTH / 10;
            let kept = |(place, _): &(usize, &[u8])| place % apart != apart / 2;
            let packets = stream.chunks(PACKET_LENGTH).enumerate().filter(kept);
            let lossy = packets.map(|(_, packet)| packet).collect::<Vec<_>>().concat();
            let path = scratch.file("lossy.ts");
            std::fs::write(&path, &lossy).unwrap();
            let theirs = demultiplexed_by_ffmpeg(&path);
            let mut demultiplexer = Demultiplexer::new(None, LARGEST);
            demultiplexer.handle_datagram(Timestamp::ZERO, &lossy);
            demultiplexer.finish(Timestamp::ZERO);
            let first = settings.delay.as_millis() as u64 * 90;
            let (mut whole, mut begun) = (0, 0);
            while let Some(unit) = demultiplexer.poll_unit() {
                let Some(decode) = unit.decode else { continue };
                let (_, is_corrupt, bytes) = theirs.iter().find(|(dts, ..)| *dts == decode).expect("FFmpeg has it");
                let is_corrupt = *is_corrupt || bytes.len() > PIECE;
                let what = format!("{} {name} {decode}", coded.format);
                if unit.complete {
                    whole += 1;
                    // Where the length is not written and the next frame's first packet is lost, FFmpeg takes its rest for this one's.
                    assert!(bytes == &unit.bytes || is_corrupt && bytes.starts_with(&unit.bytes), "{what}");
                    continue;
                }
                begun += usize::from(!unit.beginning.is_empty());
                assert!(bytes.starts_with(&unit.beginning), "{what}");
                let sent = units
                    .iter()
                    .find(|sent| sent.decode.map(|time| time - units[0].decode.unwrap()) == Some(decode - first));
                let sent = &sent.expect("it was sent").bytes;
                assert!(sent.starts_with(&unit.beginning) && sent.len() > unit.beginning.len(), "{what}");
                assert!(is_corrupt, "{what}: FFmpeg misses nothing");
            }
            assert!(whole > 5 && begun > 5, "{} {name}: {whole} {begun}", coded.format);
        }
    }
}

#[test]
fn frames_without_delimiters_get_them_and_come_back_without() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("ts-delimiters");
    for (coded, encoded) in streams() {
        if !matches!(coded.stream_type, StreamType::H264 | StreamType::H265) {
            continue;
        }
        let (mut units, _) = demultiplex(encoded);
        let delimiter = if coded.stream_type == StreamType::H264 { 6 } else { 7 };
        let with_delimiters = elementary(&units);
        for unit in &mut units {
            assert_eq!(unit.bytes[..3], [0, 0, 0], "a start code of four bytes before the delimiter");
            unit.bytes = unit.bytes.slice(delimiter..);
        }
        let [(_, settings), ..] = ways(coded.stream_type);
        let made = multiplex(&settings, &units).concat();
        assert_same(&elementary(&demultiplex(&made).0), &elementary(&units), coded.format);
        let path = scratch.file("made.ts");
        std::fs::write(&path, &made).unwrap();
        // The encoder's delimiters say which slices follow, ours that it may be any.
        let read = coded.read_by_ffmpeg(&path);
        assert_eq!(read.len(), with_delimiters.len());
        let differs = read.iter().zip(&with_delimiters).filter(|(read, sent)| read != sent).count();
        assert!(differs <= units.len(), "{differs} bytes differ in {} delimiters", units.len());
    }
}

/// Runs a pipeline of GStreamer, which must succeed.
pub(crate) fn gstreamer(pipeline: &str) {
    let output = Command::new("gst-launch-1.0").args(["-q"]).args(pipeline.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{pipeline}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn gstreamer_reads_what_is_made_and_its_streams_are_read() {
    if !are_there(&["ffmpeg", "gst-launch-1.0"]) {
        return;
    }
    let scratch = Scratch::new("ts-gstreamer");
    for (coded, encoded) in streams() {
        let (units, _) = demultiplex(encoded);
        let stream = elementary(&units);
        for (name, settings) in ways(coded.stream_type) {
            let (path, out) = (scratch.file("made.ts"), scratch.file("read.es"));
            std::fs::write(&path, multiplex(&settings, &units).concat()).unwrap();
            gstreamer(&format!("filesrc location={} ! tsdemux ! filesink location={}", text(&path), text(&out)));
            assert_same(&std::fs::read(&out).unwrap(), &stream, &format!("{} {name}", coded.format));
        }
        let (path, out) = (scratch.file("theirs.ts"), scratch.file("theirs.es"));
        let parsed = format!("filesrc location={} ! tsdemux ! {}", text(&scratch.file("made.ts")), coded.parser);
        gstreamer(&format!("{parsed} ! mpegtsmux alignment=7 ! filesink location={}", text(&path)));
        gstreamer(&format!("filesrc location={} ! tsdemux ! filesink location={}", text(&path), text(&out)));
        let (theirs, counters) = demultiplex(&std::fs::read(&path).unwrap());
        assert_same(&elementary(&theirs), &std::fs::read(&out).unwrap(), coded.format);
        assert_eq!((theirs.len(), counters.missing), (units.len(), 0), "{}", coded.format);
    }
}

#[test]
fn wireshark_finds_nothing_wrong_and_reads_every_packet_as_it_was_meant() {
    if !are_there(&["ffmpeg", "tshark"]) {
        return;
    }
    let scratch = Scratch::new("ts-wireshark");
    for (coded, encoded) in streams() {
        let (units, _) = demultiplex(encoded);
        let [(_, settings), ..] = ways(coded.stream_type);
        let sent = multiplex(&settings, &units);
        let capture = scratch.file("packets.pcap");
        write_capture(&capture, sent.iter().flat_map(|packets| packets.chunks(7 * PACKET_LENGTH)).map(<[u8]>::to_vec));
        let packets = sent.iter().map(Vec::len).sum::<usize>() / PACKET_LENGTH;
        let [counters, random, types, references, wrong @ ..] = dissect(&capture);
        assert_eq!(counters.len(), packets);
        assert_eq!(wrong, [vec![], vec![], vec![], vec![]]);
        assert_eq!(random.iter().filter(|&&flag| flag == 1).count(), random_accesses(&units));
        assert!(types.len() > 5 && types.iter().all(|&code| code == coded.stream_type.code().into()));
        // A clock reference in every datagram, in order; the dissector gives it in ticks of 27 MHz.
        let datagrams = sent.iter().map(|packets| packets.len().div_ceil(7 * PACKET_LENGTH)).sum::<usize>();
        assert!(references.len() >= datagrams && references.is_sorted());
        let time = |reference: u64| reference as f64 / 27e6;
        let span = time(references[references.len() - 1] - references[0]);
        assert!((0.9..1.0).contains(&span), "{span} s of 25 frames");
    }
}

fn random_accesses(units: &[ReceivedUnit]) -> usize {
    units.iter().filter(|unit| unit.random_access).count()
}

/// What is asked of the dissector; the last four say what is wrong: gaps, fields, checks.
const FIELDS: [&str; 8] = [
    "mp2t.cc",
    "mp2t.af.rai",
    "mpeg_pmt.stream.type",
    "mp2t.af.pcr",
    "mp2t.cc.drop",
    "mp2t.afc.invalid",
    "mpeg_sect.crc.invalid",
    "mp2t.pointer_too_large",
];

/// The values of these fields in all packets, in order.
pub(crate) fn dissect(capture: &Path) -> [Vec<u64>; 8] {
    let mut command = Command::new("tshark");
    command.args(["-d", "udp.port==5004,mp2t", "-T", "fields", "-E", "occurrence=a", "-r"]).arg(capture);
    command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let mut values = [const { Vec::new() }; 8];
    for line in text.lines() {
        for (values, column) in values.iter_mut().zip(line.split('\t')) {
            values.extend(column.split(',').filter(|value| !value.is_empty()).map(number));
        }
    }
    values
}

fn number(text: &str) -> u64 {
    match text {
        "True" => 1,
        "False" => 0,
        _ => text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16)).unwrap(),
    }
}
