//! MPEG-4 part 2 both ways with FFmpeg and GStreamer: the elementary stream comes out as it went in.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against other programs needs sockets and time"
)]

use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::PoisonError;

use framewire_units::DataSize;
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin, mpeg4_video};
use framewire_wire::sdp;

use crate::interop::{ONE_AT_A_TIME, assert_same};
use crate::support::programs::{
    ENOUGH, Running, Scratch, are_there, free_port_pair, holds_within, receive_until_end, send_paced, size,
    until_nothing_is_lost, wait_until_bound,
};
use crate::support::receiving::frames_of;
use crate::support::start_codes;
use crate::transport_streams::ffmpeg;

const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 0xFEED_BEEF, initial_sequence: 65_500 };
const VOP: u8 = 0xB6;

/// Three seconds with B-VOPs, headers before every I-VOP, and its access units.
fn stream(scratch: &Scratch) -> (PathBuf, Vec<u8>) {
    let path = scratch.file("sent.m4v");
    let noise = "testsrc2=size=320x240:rate=25:duration=3,noise=alls=10:allf=t";
    let coded = ["-c:v", "mpeg4", "-g", "12", "-bf", "2", "-b:v", "1500k", "-bsf:v", "dump_extra=freq=keyframe"];
    ffmpeg(&[&["-f", "lavfi", "-i", noise], &coded[..], &["-f", "m4v", path.to_str().unwrap()]].concat());
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

/// An access unit begins with the first header behind a VOP.
fn access_units(stream: &[u8]) -> Vec<&[u8]> {
    let codes: Vec<(usize, u8)> = start_codes(stream).collect();
    let mut starts = vec![0];
    starts.extend(codes.windows(2).filter(|pair| pair[0].1 == VOP).map(|pair| pair[1].0));
    let ends = starts.iter().skip(1).copied().chain([stream.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &stream[start..end]).collect()
}

fn datagrams(units: &[&[u8]]) -> Vec<Vec<u8>> {
    let mtu = DataSize::from_bytes(1_500);
    let mut packetizer = Packetizer::new(&mpeg4_video::FORMAT, PacketRule::Full, mtu, ORIGIN).unwrap();
    let mut pack = |(number, unit): (usize, &&[u8])| packetizer.packetize(unit, number as u32 * 3_600).unwrap();
    units.iter().enumerate().flat_map(&mut pack).map(|datagram| datagram.bytes.to_vec()).collect()
}

/// The frames of these datagrams are those of the stream.
fn assert_frames(datagrams: &[Vec<u8>], stream: &[u8], what: &str) {
    let frames = frames_of(&mpeg4_video::FORMAT, datagrams);
    assert!(frames.iter().all(|frame| frame.complete), "{what}: a frame is not whole");
    let units = access_units(stream);
    assert_eq!(frames.len(), units.len(), "{what}: frames");
    for (number, (frame, unit)) in frames.iter().zip(units).enumerate() {
        assert_same(&frame.bytes, unit, &format!("{what}, frame {number}"));
    }
}

#[test]
fn mpeg4_that_ffmpeg_and_gstreamer_send_is_received() {
    if !are_there(&["ffmpeg", "gst-launch-1.0"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("mpeg4-received");
    let (path, stream) = stream(&scratch);
    for program in ["ffmpeg", "gst-launch-1.0"] {
        let port = free_port_pair();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut command = Command::new(program);
        if program == "ffmpeg" {
            command.args(["-v", "fatal", "-nostdin", "-re", "-fflags", "+genpts", "-f", "m4v", "-i"]).arg(&path);
            command.args(["-c", "copy", "-f", "rtp", "-rtpflags", "skip_rtcp"]);
            command.arg(format!("rtp://127.0.0.1:{port}?pkt_size=1400"));
        } else {
            command.args(["-q", "filesrc", &format!("location={}", path.display()), "!", "mpeg4videoparse"]);
            command.args([
                "!",
                "rtpmp4vpay",
                "config-interval=-1",
                "mtu=1400",
                "!",
                "identity",
                "sleep-time=1000",
                "!",
            ]);
            command.args(["udpsink", "sync=false", "host=127.0.0.1", &format!("port={port}")]);
        }
        let datagrams = receive_until_end(&socket, &mut Running::start(&mut command));
        assert_frames(&datagrams, &stream, program);
    }
}

#[test]
fn ffmpeg_and_gstreamer_receive_mpeg4_that_is_sent() {
    if !are_there(&["ffmpeg", "gst-launch-1.0"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("mpeg4-sent");
    let (_, stream) = stream(&scratch);
    let units = access_units(&stream);
    for program in ["ffmpeg", "gst-launch-1.0"] {
        let (description, out) = (scratch.file("stream.sdp"), scratch.file(&format!("{program}.m4v")));
        until_nothing_is_lost(&out, || {
            let port = free_port_pair();
            let text = sdp::describe(&mpeg4_video::FORMAT, Ipv4Addr::LOCALHOST.into(), port, units[0]);
            std::fs::write(&description, text).unwrap();
            let mut command = Command::new(program);
            if program == "ffmpeg" {
                command.args(["-v", "fatal", "-nostdin", "-y", "-protocol_whitelist", "file,udp,rtp"]);
                command.args(["-probesize", "32", "-analyzeduration", "0", "-i"]).arg(&description);
                command.args(["-c", "copy", "-f", "m4v", "-flush_packets", "1"]).arg(&out);
            } else {
                command.args([
                    "-e",
                    "-q",
                    "udpsrc",
                    "address=127.0.0.1",
                    &format!("port={port}"),
                    "buffer-size=2000000",
                ]);
                command.arg("caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=MP4V-ES,payload=96");
                command.args(["!", "rtpmp4vdepay", "!", "filesink", "buffer-mode=unbuffered"]);
                command.arg(format!("location={}", out.display()));
            }
            let receiver = Running::start(&mut command);
            wait_until_bound(port);
            // FFmpeg writes a frame once it has seen more: some follow the last.
            let again = [&units[..], &units[..5]].concat();
            send_paced(port, datagrams(&again).iter().map(Vec::as_slice));
            let came = holds_within(ENOUGH, || size(&out) >= stream.len() as u64);
            drop(receiver);
            came
        });
        let received = std::fs::read(&out).unwrap();
        assert_same(&received[..stream.len().min(received.len())], &stream, program);
    }
}
