//! Decoding begins again: after a long loss, and after a connection broke, for every codec that `ifdsink` sends. FFmpeg
//! shows what arrived, bit by bit as in the full stream, and has nothing to complain about.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::receiver;
use crate::sending;
use std::collections::HashSet;
use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use common::movie;
use gst::prelude::*;
use receiver::Receiver;
use sending::{count, play_to, stop, to, wait_for};

struct Codec {
    name: &'static str,
    encoder: &'static [&'static str],
    /// From the file to access units.
    reading: &'static str,
    /// From a received stream to access units.
    parsing: &'static str,
    /// FFmpeg's name of the elementary stream.
    format: &'static str,
    /// The decoder element.
    decoder: &'static str,
    /// What FFmpeg complains about though every picture is right.
    tolerated: &'static [&'static str],
    /// Its movie, which the tests share; `None` where FFmpeg has no such encoder.
    made: OnceLock<Option<Made>>,
}

/// The movie of a codec, and what a receiver gets that takes everything.
struct Made {
    path: PathBuf,
    stream: Vec<u8>,
    pictures: Vec<String>,
    complaints: String,
}

/// Behind a recovery point, pictures may still say which of those before it are no longer needed, and list them where
/// direct prediction could use them (ITU-T H.264, D.2.8); to a decoder that began there they are unknown.
const UNKNOWN_TO_THE_DECODER: &[&str] =
    &["mmco: unref short failure", "co located POCs unavailable", "Last message repeated"];

static CODECS: [Codec; 4] = [
    Codec {
        name: "restart.h264.mp4",
        encoder: &[
            "-c:v",
            "libx264",
            "-x264-params",
            "keyint=16:min-keyint=16:bframes=3:b-pyramid=normal:open-gop=1:scenecut=0",
        ],
        reading: "qtdemux ! h264parse name=parser",
        parsing: "h264parse ! video/x-h264,stream-format=byte-stream,alignment=au",
        format: "h264",
        decoder: "avdec_h264",
        tolerated: UNKNOWN_TO_THE_DECODER,
        made: OnceLock::new(),
    },
    Codec {
        name: "restart-simple.h264.mp4",
        encoder: &["-c:v", "libx264", "-x264-params", "keyint=16:bframes=2:b-pyramid=none:open-gop=1:ref=2:scenecut=0"],
        reading: "qtdemux ! h264parse name=parser",
        parsing: "h264parse ! video/x-h264,stream-format=byte-stream,alignment=au",
        format: "h264",
        decoder: "avdec_h264",
        tolerated: &[],
        made: OnceLock::new(),
    },
    Codec {
        name: "restart.h265.mp4",
        encoder: &[
            "-c:v",
            "libx265",
            "-preset",
            "fast",
            "-x265-params",
            "keyint=16:min-keyint=16:bframes=3:b-pyramid=1:open-gop=1:scenecut=0:log-level=error",
        ],
        reading: "qtdemux ! h265parse name=parser",
        parsing: "h265parse ! video/x-h265,stream-format=byte-stream,alignment=au",
        format: "hevc",
        decoder: "avdec_h265",
        tolerated: &[],
        made: OnceLock::new(),
    },
    Codec {
        name: "restart.ts",
        encoder: &["-c:v", "mpeg2video", "-g", "12", "-bf", "2", "-b_strategy", "0"],
        reading: "tsdemux ! mpegvideoparse name=parser",
        parsing: "mpegvideoparse",
        format: "mpegvideo",
        decoder: "avdec_mpeg2video",
        tolerated: &[],
        made: OnceLock::new(),
    },
];

const FRAMES: u64 = 150;

impl Codec {
    fn made(&self) -> Option<&Made> {
        let make = || self.encode().map(|path| self.show_whole(path));
        self.made.get_or_init(make).as_ref()
    }

    /// 6 seconds at 1.5 Mbit/s; `None`, after saying so, when FFmpeg has no such encoder.
    fn encode(&self) -> Option<PathBuf> {
        let path = own_directory().join(self.name);
        let status = Command::new("ffmpeg")
            .args(["-v", "error", "-y", "-threads", "1", "-f", "lavfi"])
            .args(["-i", "testsrc2=size=320x176:rate=25,noise=alls=12:allf=t:all_seed=7,format=yuv420p"])
            .args(["-frames:v", &FRAMES.to_string(), "-b:v", "1500k"])
            .args(self.encoder)
            .args(["-bitexact"])
            .arg(&path)
            .stdin(Stdio::null())
            .status();
        if status.is_ok_and(|status| status.success()) {
            return Some(path);
        }
        eprintln!("skipped: ffmpeg does not make {}", self.name);
        None
    }

    fn pipeline(&self, path: &Path, properties: &str) -> gst::Pipeline {
        common::init();
        let line = format!("filesrc location={} ! {} ! ifdsink name=sink {properties}", path.display(), self.reading);
        gst::parse::launch(&line).expect("the elements exist").downcast().unwrap()
    }

    fn show_whole(&self, path: PathBuf) -> Made {
        let receiver = Receiver::fast();
        let properties = format!("{} sync=false max-size-time=0 max-size-bytes=0", to(receiver.port));
        let pipeline = self.pipeline(&path, &properties);
        play_to(&pipeline, gst::MessageType::Eos);
        stop(&pipeline);
        let stream = receiver.received();
        let (pictures, complaints) = self.show(&stream);
        Made { path, stream, pictures, complaints }
    }

    /// The access units of a stream, and whether decoding can begin there.
    fn access_units(&self, stream: &[u8]) -> Vec<(Vec<u8>, bool)> {
        let path = self.write("parsed", stream);
        let is_key = |buffer: &gst::Buffer| !buffer.flags().contains(gst::BufferFlags::DELTA_UNIT);
        let buffers = movie::parse(&path, self.parsing).buffers;
        buffers.iter().map(|buffer| (buffer.map_readable().unwrap().to_vec(), is_key(buffer))).collect()
    }

    /// The pictures that FFmpeg shows of a stream, by their content, and what it complains about.
    fn show(&self, stream: &[u8]) -> (Vec<String>, String) {
        let path = self.write("received", stream);
        let output = Command::new("ffmpeg")
            .args(["-v", "warning", "-threads", "1", "-f", self.format, "-i"])
            .arg(&path)
            .args(["-fps_mode", "passthrough", "-f", "framemd5", "-"])
            .stdin(Stdio::null())
            .output()
            .expect("ffmpeg runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let pictures =
            text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(',').next_back());
        (pictures.map(|sum| sum.trim().to_owned()).collect(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Every picture of what arrived is one of the full stream, and there are at least so many. Returns them.
    fn check(&self, case: &str, stream: &[u8], full: &[String], least: usize) -> Vec<String> {
        let (pictures, complaints) = self.show(stream);
        let known: HashSet<_> = full.iter().collect();
        let broken = pictures.iter().filter(|picture| !known.contains(picture)).count();
        println!("{} {case}: {} pictures, {broken} broken; {complaints}", self.name, pictures.len());
        assert_eq!(broken, 0, "{} {case}", self.name);
        let tolerated = |line: &&str| self.tolerated.iter().any(|text| line.contains(text));
        let complaints: Vec<&str> = complaints.lines().filter(|line| !tolerated(line)).collect();
        assert!(complaints.is_empty(), "{} {case}: {complaints:?}", self.name);
        assert!(pictures.len() >= least, "{} {case}: {} pictures of at least {least}", self.name, pictures.len());
        pictures
    }

    /// Both sides of one loss: nothing that was sent is in vain.
    ///
    /// Every access unit that arrived is shown, bit by bit as in the full stream and in its order, by FFmpeg and by the
    /// decoder element: what came before the loss, what comes behind it by itself, and all of it together.
    fn check_around_a_loss(&self, whole: &[u8], received: &[u8], full: &[String]) {
        let sent = self.access_units(whole);
        let arrived = self.access_units(received);
        let gap = arrived.iter().zip(&sent).position(|(arrived, sent)| arrived != sent).expect("something is lost");
        let first = (gap..arrived.len()).find(|&at| arrived[at].1).expect("a group follows");

        let (before, behind) = arrived.split_at(first);
        let bytes =
            |units: &[(Vec<u8>, bool)]| -> Vec<u8> { units.iter().flat_map(|(unit, _)| unit).copied().collect() };
        for (case, units) in [("before a loss", before), ("behind a loss", behind), ("over a loss", &arrived[..])] {
            let shown = self.check(case, &bytes(units), full, units.len());
            assert_eq!(shown.len(), units.len(), "{} {case}, by ffmpeg", self.name);
            self.check_order(case, full, &shown);
        }
        let shown_by_element = |case: &str, stream: &[u8]| -> Vec<Vec<u8>> {
            let path = self.write(&format!("{case}.element"), stream);
            movie::decode(&movie::parse(&path, self.parsing), self.decoder)
                .into_iter()
                .map(|picture| picture.1)
                .collect()
        };
        let full = shown_by_element("whole", whole);
        assert_eq!(full.len(), sent.len(), "{}", self.name);
        let shown = shown_by_element("received", received);
        println!("{} over a loss, by {}: {} of {}", self.name, self.decoder, shown.len(), arrived.len());
        assert_eq!(shown.len(), arrived.len(), "{}, by {}", self.name, self.decoder);
        self.check_order(self.decoder, &full, &shown);
    }

    /// What is shown is of the full stream, and in its order.
    fn check_order<T: PartialEq>(&self, case: &str, full: &[T], shown: &[T]) {
        let mut rest = full.iter();
        let strange = shown.iter().position(|picture| !rest.any(|other| other == picture));
        assert_eq!(strange, None, "{} {case}: out of order, or broken", self.name);
    }

    fn write(&self, name: &str, stream: &[u8]) -> PathBuf {
        let path = own_directory().join(format!("{}.{name}", self.name));
        std::fs::write(&path, stream).unwrap();
        path
    }
}

/// A place for files of this test: others that run beside it use the same names.
fn own_directory() -> PathBuf {
    let directory = common::movie::directory().join(std::thread::current().name().unwrap_or("test"));
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = vec![];
    stream.read_to_end(&mut all).unwrap();
    all
}

#[test]
fn after_a_long_loss_the_next_open_group_is_shown() {
    for codec in &CODECS {
        let Some(Made { path, stream: whole, pictures: full, complaints }) = codec.made() else { continue };
        assert_eq!((full.len() as u64, &**complaints), (FRAMES, ""), "{}", codec.name);

        // Nothing is read for two seconds, in which whole groups are given up.
        let receiver = Receiver::with(|mut stream| {
            let mut all = receiver::read_some(&mut stream, 150_000);
            std::thread::sleep(Duration::from_secs(2));
            all.extend(read_all(&mut stream));
            all
        });
        let properties = format!("{} unsent-limit=4096 max-size-time=500000000", to(receiver.port));
        let pipeline = codec.pipeline(path, &properties);
        play_to(&pipeline, gst::MessageType::Eos);
        let dropped = count(&pipeline, "dropped");
        stop(&pipeline);
        assert!((16..100).contains(&dropped), "{}: {dropped} dropped", codec.name);
        codec.check_around_a_loss(whole, &receiver.received(), full);
    }
}

#[test]
fn a_receiver_that_connects_again_can_decode_what_it_gets() {
    for codec in &CODECS {
        let Some(Made { path, pictures: full, .. }) = codec.made() else { continue };

        let (listener, port) = receiver::listen();
        let peers = std::thread::spawn(move || {
            let (mut first, _) = listener.accept().unwrap();
            receiver::read_some(&mut first, 300_000);
            receiver::reset(first);
            read_all(&mut listener.accept().unwrap().0)
        });
        let pipeline = codec.pipeline(path, &format!("{} reconnect-attempts=3 reconnect-delay=10000000", to(port)));
        play_to(&pipeline, gst::MessageType::Warning);
        wait_for(&pipeline, gst::MessageType::Eos);
        stop(&pipeline);
        codec.check("connected again", &peers.join().unwrap(), full, 50);
    }
}

/// Three receivers one after the other, the second of which falls behind, so that whole groups are given up: what was sent
/// to one of them is nothing to the next.
#[test]
fn each_receiver_gets_a_stream_that_begins_with_a_key_frame_and_keeps_its_order() {
    let has_order = |codec: &&Codec| codec.format != "mpegvideo";
    for codec in CODECS.iter().filter(has_order) {
        let Some(Made { path, pictures: full, .. }) = codec.made() else { continue };

        let (listener, port) = receiver::listen();
        let peers = std::thread::spawn(move || {
            let accept = || listener.accept().unwrap().0;
            let mut first = accept();
            receiver::read_some(&mut first, 100_000);
            receiver::reset(first);
            let mut second = accept();
            let mut received = receiver::read_some(&mut second, 100_000);
            std::thread::sleep(Duration::from_millis(1_500));
            received.extend(receiver::read_some(&mut second, 200_000));
            receiver::reset(second);
            [received, read_all(&mut accept())]
        });
        let properties = "reconnect-attempts=3 reconnect-delay=10000000 unsent-limit=4096 max-size-time=500000000";
        let pipeline = codec.pipeline(path, &format!("{} {properties}", to(port)));
        play_to(&pipeline, gst::MessageType::Eos);
        let connections = count(&pipeline, "connections");
        stop(&pipeline);
        assert_eq!(connections, 3, "{}", codec.name);
        for (receiver, stream) in peers.join().unwrap().into_iter().enumerate() {
            let case = format!("{}, receiver {}", codec.name, receiver + 2);
            let mut units = codec.access_units(&stream);
            // The connection of the second receiver ended within a frame.
            units.pop();
            assert!(units.len() > 10 && units[0].1, "{case}: {} units", units.len());
            let whole: Vec<u8> = units.iter().flat_map(|(unit, _)| unit).copied().collect();
            let shown = codec.check(&case, &whole, full, units.len());
            codec.check_order(&case, full, &shown);
        }
    }
}

/// A stream that has its sequence header once, as MPEG-2 allows.
#[test]
fn a_sequence_header_that_came_once_is_sent_again() {
    let Some((path, _)) = sending::movie() else { return };
    let whole = std::fs::read(path).unwrap();
    let headers: Vec<usize> = memchr::memmem::find_iter(&whole, &[0, 0, 1, 0xb3]).collect();
    let mut once = whole[..headers[1]].to_vec();
    for (at, &start) in headers.iter().enumerate().skip(1) {
        let end = headers.get(at + 1).copied().unwrap_or(whole.len());
        let group = start + memchr::memmem::find(&whole[start..], &[0, 0, 1, 0xb8]).unwrap();
        once.extend(&whole[group..end]);
    }
    let path = common::movie::directory().join("once.m2v");
    std::fs::write(&path, &once).unwrap();

    let (listener, port) = receiver::listen();
    let peers = std::thread::spawn(move || {
        let (mut first, _) = listener.accept().unwrap();
        receiver::read_some(&mut first, 100_000);
        receiver::reset(first);
        read_all(&mut listener.accept().unwrap().0)
    });
    let pipeline = sending::pipeline(&path, &format!("{} reconnect-attempts=3 reconnect-delay=10000000", to(port)));
    play_to(&pipeline, gst::MessageType::Warning);
    wait_for(&pipeline, gst::MessageType::Eos);
    stop(&pipeline);
    let stream = peers.join().unwrap();
    assert!(stream.starts_with(&[0, 0, 1, 0xb3]), "{:x?}", &stream[..16]);
    assert_eq!(sending::complaints("once-received.m2v", &stream), "");
}
