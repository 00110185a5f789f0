//! H.264 and H.265 both ways with FFmpeg and GStreamer: the NAL units come out as they went in.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against other programs needs sockets and time"
)]

use crate::interop::{ONE_AT_A_TIME, assert_same};
use crate::support;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::PoisonError;

use framewire_units::DataSize;
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin};
use framewire_wire::sdp;
use support::nal::{Codec, access_units, split, with_start_codes};
use support::programs::{
    ENOUGH, Running, Scratch, are_there, free_port_pair, holds_within, receive_until_end, send_paced, size,
    until_nothing_is_lost, wait_until_bound,
};
use support::receiving::frames_of;

const CODECS: [Codec; 2] = [Codec::H264, Codec::H265];
const RULES: [PacketRule; 2] = [PacketRule::Full, PacketRule::Slices];
const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 0xFEED_BEEF, initial_sequence: 65_000 };

/// Access units as datagrams, 24 a second. Peers do not look at the order of the time stamps.
pub(crate) fn datagrams(codec: Codec, units: &[Vec<&[u8]>], rule: PacketRule) -> Vec<Vec<u8>> {
    let mut packetizer = Packetizer::new(codec.format(), rule, DataSize::from_bytes(1_500), ORIGIN).unwrap();
    let mut packets = Vec::new();
    for (number, unit) in units.iter().enumerate() {
        let sent = packetizer.packetize(&with_start_codes(unit), number as u32 * 3_750).unwrap();
        packets.extend(sent.into_iter().map(|packet| packet.bytes.to_vec()));
    }
    packets
}

/// NAL units of a stream that a program wrote, behind start codes of one length.
pub(crate) fn units_of(path: &Path) -> Vec<u8> {
    with_start_codes(&split(&std::fs::read(path).unwrap()))
}

/// What the receiver makes of the datagrams, which must be nothing but whole frames.
fn depacketize(codec: Codec, datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let frames = frames_of(codec.format(), datagrams);
    let incomplete: Vec<_> =
        (0..).zip(&frames).filter(|(_, frame)| !frame.complete).map(|(number, _)| number).collect();
    // Whether the very first packet was the first of its frame nothing says, where the stream is of unknown origin.
    assert!(incomplete.iter().all(|&number: &usize| number == 0), "{incomplete:?} of {} frames", frames.len());
    frames.into_iter().map(|frame| frame.bytes.to_vec()).collect()
}

/// The frames are those of the stream, but for the first, which may be missing.
fn assert_frames(codec: Codec, frames: &[Vec<u8>], stream: &[u8], path: &Path) {
    let units = access_units(codec, stream);
    assert_eq!(frames.len(), units.len(), "{}: frames", path.display());
    for (number, (frame, unit)) in frames.iter().zip(&units).enumerate().skip(1) {
        let what = format!("{} frame {number}", path.display());
        assert_same(&with_start_codes(&split(frame)), &with_start_codes(unit), &what);
    }
    assert!(frames[0].is_empty() || split(&frames[0]) == units[0]);
}

#[test]
fn gstreamer_receives_nal_units_that_are_sent() {
    if !are_there(&["gst-launch-1.0"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("gst-receives-nal");
    for (codec, rule) in CODECS.into_iter().flat_map(|codec| RULES.map(|rule| (codec, rule))) {
        for (path, stream) in support::streams_of(codec.suffix()) {
            let out = scratch.file(&format!("{rule}.{}", codec.suffix()));
            let name = codec.format().encoding_name;
            let caps = format!("caps=application/x-rtp,media=video,clock-rate=90000,encoding-name={name},payload=96");
            let byte_stream = format!("video/x-{},stream-format=byte-stream,alignment=au", codec.suffix());
            let units = access_units(codec, &stream);
            let sent = with_start_codes(&units.concat());
            until_nothing_is_lost(&out, || {
                let port = free_port_pair();
                let mut command = Command::new("gst-launch-1.0");
                let from = format!("port={port}");
                command.args(["-e", "-q", "udpsrc", "address=127.0.0.1", &from, "buffer-size=2000000"]);
                command.args([&caps, "!", &format!("rtp{}depay", codec.suffix()), "!", &byte_stream, "!"]);
                command.args(["filesink", "buffer-mode=unbuffered"]);
                let mut gstreamer = Running::start(command.arg(format!("location={}", out.display())));
                wait_until_bound(port);
                let datagrams = datagrams(codec, &units, rule);
                send_paced(port, datagrams.iter().map(Vec::as_slice));
                let came = holds_within(ENOUGH, || size(&out) >= sent.len() as u64);
                gstreamer.interrupt();
                came
            });
            assert_same(&units_of(&out), &sent, &format!("{} {rule}", path.display()));
        }
    }
}

#[test]
fn ffmpeg_receives_nal_units_that_are_sent_by_their_description() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("ffmpeg-receives-nal");
    for (codec, rule) in CODECS.into_iter().flat_map(|codec| RULES.map(|rule| (codec, rule))) {
        for (path, stream) in support::streams_of(codec.suffix()) {
            let (description, out) = (scratch.file("stream.sdp"), scratch.file(&format!("{rule}.{}", codec.suffix())));
            let units = access_units(codec, &stream);
            let sent = with_start_codes(&units.concat());
            until_nothing_is_lost(&out, || {
                let port = free_port_pair();
                let first = with_start_codes(&units[0]);
                let text = sdp::describe(codec.format(), Ipv4Addr::LOCALHOST.into(), port, &first);
                std::fs::write(&description, text).unwrap();
                let mut command = Command::new("ffmpeg");
                command.args(["-v", "fatal", "-nostdin", "-y", "-protocol_whitelist", "file,udp,rtp"]);
                command.args(["-probesize", "32", "-analyzeduration", "0", "-i"]).arg(&description);
                let muxer = if codec == Codec::H264 { "h264" } else { "hevc" };
                command.args(["-c", "copy", "-f", muxer, "-flush_packets", "1"]).arg(&out);
                let ffmpeg = Running::start(&mut command);
                wait_until_bound(port);
                wait_until_bound(port + 1);
                // FFmpeg writes a frame once it has seen the start of the next: the first frame follows the last.
                let again: Vec<_> = units.iter().chain(&units[..1]).cloned().collect();
                let datagrams = datagrams(codec, &again, rule);
                send_paced(port, datagrams.iter().map(Vec::as_slice));
                let came = holds_within(ENOUGH, || size(&out) >= sent.len() as u64);
                drop(ffmpeg);
                came
            });
            assert_same(&units_of(&out), &sent, &format!("{} {rule}", path.display()));
        }
    }
}

#[test]
fn nal_units_that_gstreamer_sends_are_received() {
    if !are_there(&["gst-launch-1.0"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for (codec, aggregation) in CODECS.into_iter().flat_map(|codec| ["none", "zero-latency"].map(|mode| (codec, mode)))
    {
        for (path, stream) in support::streams_of(codec.suffix()) {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = socket.local_addr().unwrap().port();
            let (parser, payloader) = (format!("{}parse", codec.suffix()), format!("rtp{}pay", codec.suffix()));
            let mut command = Command::new("gst-launch-1.0");
            command.args(["-q", "filesrc", &format!("location={}", path.display()), "!", &parser, "!", &payloader]);
            command.args(["mtu=1400", &format!("aggregate-mode={aggregation}"), "!", "identity", "sleep-time=1000"]);
            command.args(["!", "udpsink", "sync=false", "host=127.0.0.1", &format!("port={port}")]);
            let datagrams = receive_until_end(&socket, &mut Running::start(&mut command));
            assert_frames(codec, &depacketize(codec, &datagrams), &stream, &path);
        }
    }
}

#[test]
fn nal_units_that_ffmpeg_sends_are_received() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for codec in CODECS {
        for (path, stream) in support::streams_of(codec.suffix()) {
            let port = free_port_pair();
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
            let demuxer = if codec == Codec::H264 { "h264" } else { "hevc" };
            let mut command = Command::new("ffmpeg");
            command.args(["-v", "fatal", "-nostdin", "-re", "-fflags", "+genpts", "-f", demuxer, "-i"]).arg(&path);
            command.args(["-c", "copy", "-f", "rtp", "-rtpflags", "skip_rtcp"]);
            command.arg(format!("rtp://127.0.0.1:{port}?pkt_size=1400"));
            let datagrams = receive_until_end(&socket, &mut Running::start(&mut command));
            assert_frames(codec, &depacketize(codec, &datagrams), &stream, &path);
        }
    }
}
