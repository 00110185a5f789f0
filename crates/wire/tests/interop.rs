//! Both ways with FFmpeg and GStreamer: the elementary stream comes out as it went in.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against other programs needs sockets and time"
)]

use crate::support;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use framewire_units::DataSize;
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin, mpeg_video};
use support::programs::{
    ENOUGH, Running, Scratch, are_there, free_port_pair, holds_within, receive_until_end, send_paced, size,
    until_nothing_is_lost, wait_until_bound,
};
use support::receiving::frames_of;

const SSRC: u32 = 0xFEED_BEEF;

/// Held by the test that runs: side by side they would make each other lose datagrams.
pub(crate) static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The stream as datagrams: 25 frames per second in the 90 kHz clock, time stamps in display order.
fn datagrams(stream: &[u8], rule: PacketRule) -> Vec<Vec<u8>> {
    let mtu = DataSize::from_bytes(1_500);
    let mut packetizer =
        Packetizer::new(&mpeg_video::FORMAT, rule, mtu, StreamOrigin { ssrc: SSRC, initial_sequence: 65_000 }).unwrap();
    let mut group_start = 0;
    let mut packets = Vec::new();
    for (number, unit) in support::access_units(stream).into_iter().enumerate() {
        let frame = &stream[unit];
        let codes: Vec<_> = support::start_codes(frame).collect();
        if codes.iter().any(|&(_, code)| code == 0xB8) {
            group_start = number as u32;
        }
        let picture = codes.iter().find(|&&(_, code)| code == 0).unwrap().0;
        let temporal_reference = u32::from(frame[picture + 4]) << 2 | u32::from(frame[picture + 5]) >> 6;
        let rtp_timestamp = (group_start + temporal_reference) * 3_600;
        packets.extend(
            packetizer.packetize(frame, rtp_timestamp).unwrap().into_iter().map(|packet| packet.bytes.to_vec()),
        );
    }
    packets
}

/// Asserts that two streams are the same without printing megabytes when they are not.
pub(crate) fn assert_same(received: &[u8], sent: &[u8], what: &str) {
    if received == sent {
        return;
    }
    let differs = received.iter().zip(sent).position(|(received, sent)| received != sent);
    panic!("{what}: {} bytes of {}, first difference at {differs:?}", received.len(), sent.len());
}

/// What the receiver makes of the datagrams, which must be nothing but whole frames.
fn depacketize(datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let frames = frames_of(&mpeg_video::FORMAT, datagrams);
    // The first frame of a stream of unknown origin starts with a sequence header: that is its beginning.
    let incomplete = frames.iter().filter(|frame| !frame.complete).count();
    assert_eq!(incomplete, 0, "of {} frames, with {} datagrams", frames.len(), datagrams.len());
    frames.into_iter().map(|frame| frame.bytes.to_vec()).collect()
}

fn assert_frames(frames: &[Vec<u8>], stream: &[u8], path: &Path) {
    let units = support::access_units(stream);
    assert_same(&frames.concat(), stream, &path.display().to_string());
    assert_eq!(frames.len(), units.len(), "{}: frames", path.display());
    assert!(frames.iter().zip(units).all(|(frame, unit)| frame.len() == unit.len()));
}

#[test]
fn gstreamer_receives_what_is_sent() {
    if !are_there(&["gst-launch-1.0"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("gst-receives");
    for (path, stream) in support::streams() {
        for &rule in PacketRule::ALL {
            let out = scratch.file(&format!("{rule}.m2v"));
            let caps = "caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=MPV,payload=32";
            until_nothing_is_lost(&out, || {
                let port = free_port_pair();
                let from = format!("port={port}");
                let mut command = Command::new("gst-launch-1.0");
                command.args(["-e", "-q", "udpsrc", "address=127.0.0.1", &from, "buffer-size=2000000"]);
                command.args([caps, "!", "rtpmpvdepay", "!", "filesink", "buffer-mode=unbuffered"]);
                let mut gstreamer = Running::start(command.arg(format!("location={}", out.display())));
                wait_until_bound(port);
                let datagrams = datagrams(&stream, rule);
                send_paced(port, datagrams.iter().map(Vec::as_slice));
                let came = holds_within(ENOUGH, || size(&out) >= stream.len() as u64);
                gstreamer.interrupt();
                came
            });
            assert_same(&std::fs::read(&out).unwrap(), &stream, &format!("{} {rule}", path.display()));
        }
    }
}

#[test]
fn ffmpeg_receives_what_is_sent() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("ffmpeg-receives");
    for (path, stream) in support::streams() {
        for &rule in PacketRule::ALL {
            let received = received_by_ffmpeg(&scratch, &stream, rule);
            assert_same(&received, &stream, &format!("{} {rule}", path.display()));
        }
    }
}

/// What FFmpeg writes of a stream that is sent to it.
fn received_by_ffmpeg(scratch: &Scratch, stream: &[u8], rule: PacketRule) -> Vec<u8> {
    let (sdp, out) = (scratch.file("stream.sdp"), scratch.file(&format!("{rule}.m2v")));
    until_nothing_is_lost(&out, || {
        let port = free_port_pair();
        let description = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=test\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n";
        std::fs::write(&sdp, format!("{description}m=video {port} RTP/AVP 32\r\n")).unwrap();
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "fatal", "-nostdin", "-y", "-protocol_whitelist", "file,udp,rtp"]);
        command.args(["-probesize", "32", "-analyzeduration", "0", "-i"]).arg(&sdp);
        command.args(["-c", "copy", "-f", "mpeg2video", "-flush_packets", "1"]).arg(&out);
        let ffmpeg = Running::start(&mut command);
        wait_until_bound(port);
        wait_until_bound(port + 1);
        // FFmpeg writes a frame once it has seen the start of the next: the first frame follows the last.
        let again = [stream, &stream[support::access_units(stream)[0].clone()]].concat();
        let datagrams = datagrams(&again, rule);
        send_paced(port, datagrams.iter().map(Vec::as_slice));
        let came = holds_within(ENOUGH, || size(&out) >= stream.len() as u64);
        drop(ffmpeg);
        came
    });
    std::fs::read(&out).unwrap()
}

#[test]
fn what_gstreamer_sends_is_received() {
    if !are_there(&["gst-launch-1.0"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for (path, stream) in support::streams() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = socket.local_addr().unwrap().port();
        let mut command = Command::new("gst-launch-1.0");
        command.args(["-q", "filesrc", &format!("location={}", path.display()), "!", "mpegvideoparse", "!"]);
        command.args(["rtpmpvpay", "mtu=1400", "!", "identity", "sleep-time=1000", "!", "udpsink", "sync=false"]);
        command.args(["host=127.0.0.1", &format!("port={port}")]);
        let datagrams = receive_until_end(&socket, &mut Running::start(&mut command));
        // rtpmpvpay lets a small frame share a packet with the next one, so frames may come out in twos.
        let frames = depacketize(&datagrams);
        assert_same(&frames.concat(), &stream, &path.display().to_string());
        assert!(frames.len() * 10 > support::access_units(&stream).len() * 9, "{} frames", frames.len());
    }
}

#[test]
fn what_ffmpeg_sends_is_received() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for (path, stream) in support::streams() {
        let port = free_port_pair();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "fatal", "-nostdin", "-re", "-fflags", "+genpts", "-f", "mpegvideo", "-i"]).arg(&path);
        command.args(["-c", "copy", "-f", "rtp", "-rtpflags", "skip_rtcp"]);
        command.arg(format!("rtp://127.0.0.1:{port}?pkt_size=1400"));
        let datagrams = receive_until_end(&socket, &mut Running::start(&mut command));
        assert_frames(&depacketize(&datagrams), &stream, &path);
    }
}
