//! AV1 of an encoder through packets and back; and both ways with a newer FFmpeg than that of Debian 12, where
//! `FRAMEWIRE_NEWER_FFMPEG` names one (7.1 and later can).
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
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin, av1};
use framewire_wire::sdp;

use crate::interop::{ONE_AT_A_TIME, assert_same};
use crate::support::programs::{
    ENOUGH, Running, Scratch, are_there, free_port_pair, holds_within, receive_until_end, send_paced, size,
    until_nothing_is_lost, wait_until_bound,
};
use crate::support::receiving::frames_of;

const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 0xFEED_BEEF, initial_sequence: 65_500 };
/// A temporal delimiter with its size (AV1 bitstream specification, 5.6).
const DELIMITER: [u8; 2] = [0x12, 0];
const ENCODERS: [&[&str]; 2] = [&["libaom-av1", "-cpu-used", "8"], &["libsvtav1", "-preset", "10"]];

/// Two seconds of an encoder.
pub(crate) fn stream(scratch: &Scratch, encoder: &[&str]) -> (PathBuf, Vec<u8>) {
    let path = scratch.file(&format!("{}.obu", encoder[0]));
    let picture = "testsrc2=size=320x240:rate=25:duration=2,noise=alls=10:allf=t";
    let mut command = Command::new("ffmpeg");
    command.env("SVT_LOG", "1").args(["-v", "error", "-y", "-f", "lavfi", "-i", picture, "-c:v"]).args(encoder);
    command.args(["-g", "25", "-b:v", "900k", "-f", "obu"]).arg(&path);
    assert!(command.status().unwrap().success());
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

/// A temporal unit begins with its delimiter. Sizes in the units say where the next one is.
pub(crate) fn temporal_units(stream: &[u8]) -> Vec<&[u8]> {
    let (mut starts, mut at) = (Vec::new(), 0);
    while at < stream.len() {
        if stream[at..].starts_with(&DELIMITER) {
            starts.push(at);
        }
        let (mut size, mut place) = (0, at + 1 + usize::from(stream[at] >> 2 & 1));
        for shift in (0..).step_by(7) {
            size |= usize::from(stream[place] & 0x7F) << shift;
            place += 1;
            if stream[place - 1] & 0x80 == 0 {
                break;
            }
        }
        at = place + size;
    }
    let ends = starts.iter().skip(1).copied().chain([stream.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &stream[start..end]).collect()
}

fn datagrams(units: &[&[u8]], rule: PacketRule) -> Vec<Vec<u8>> {
    let mut packetizer = Packetizer::new(&av1::FORMAT, rule, DataSize::from_bytes(1_500), ORIGIN).unwrap();
    let mut pack = |(number, unit): (usize, &&[u8])| packetizer.packetize(unit, number as u32 * 3_600).unwrap();
    units.iter().enumerate().flat_map(&mut pack).map(|datagram| datagram.bytes.to_vec()).collect()
}

fn assert_units(datagrams: &[Vec<u8>], units: &[&[u8]], what: &str) {
    let frames = frames_of(&av1::FORMAT, datagrams);
    assert!(frames.iter().all(|frame| frame.complete), "{what}: a temporal unit is not whole");
    assert_eq!(frames.len(), units.len(), "{what}: temporal units");
    for (number, (frame, unit)) in frames.iter().zip(units).enumerate() {
        assert_same(&frame.bytes, unit, &format!("{what}, temporal unit {number}"));
    }
}

fn newer_ffmpeg() -> Option<PathBuf> {
    let program = std::env::var_os("FRAMEWIRE_NEWER_FFMPEG").map(PathBuf::from);
    if program.is_none() {
        println!("skipped: FRAMEWIRE_NEWER_FFMPEG names no FFmpeg that has AV1 in RTP");
    }
    program
}

#[test]
pub(crate) fn temporal_units_of_encoders_come_out_to_the_byte() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("av1");
    for encoder in ENCODERS {
        let (_, stream) = stream(&scratch, encoder);
        let units = temporal_units(&stream);
        assert_eq!(units.len(), 50, "{}", encoder[0]);
        for rule in [PacketRule::Full, PacketRule::Slices] {
            assert_units(&datagrams(&units, rule), &units, &format!("{} {rule}", encoder[0]));
        }
    }
}

#[test]
fn av1_that_a_newer_ffmpeg_sends_is_received() {
    let Some(program) = newer_ffmpeg() else { return };
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("av1-received");
    for encoder in ENCODERS {
        let (path, stream) = stream(&scratch, encoder);
        let port = free_port_pair();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut command = Command::new(&program);
        command.args(["-v", "fatal", "-nostdin", "-re", "-i"]).arg(&path);
        command.args(["-c", "copy", "-strict", "experimental", "-f", "rtp", "-rtpflags", "skip_rtcp"]);
        command.arg(format!("rtp://127.0.0.1:{port}?pkt_size=1400"));
        let datagrams = receive_until_end(&socket, &mut Running::start(&mut command));
        assert_units(&datagrams, &temporal_units(&stream), encoder[0]);
    }
}

#[test]
fn a_newer_ffmpeg_receives_av1_that_is_sent() {
    let Some(program) = newer_ffmpeg() else { return };
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("av1-sent");
    for (encoder, rule) in ENCODERS.into_iter().flat_map(|one| [(one, PacketRule::Full), (one, PacketRule::Slices)]) {
        let (_, stream) = stream(&scratch, encoder);
        let units = temporal_units(&stream);
        let (description, out) = (scratch.file("stream.sdp"), scratch.file("out.obu"));
        until_nothing_is_lost(&out, || {
            let port = free_port_pair();
            let text = sdp::describe(&av1::FORMAT, Ipv4Addr::LOCALHOST.into(), port, units[0]);
            std::fs::write(&description, text).unwrap();
            let mut command = Command::new(&program);
            command.args(["-v", "fatal", "-nostdin", "-y", "-protocol_whitelist", "file,udp,rtp"]);
            command.args(["-probesize", "32", "-analyzeduration", "0", "-i"]).arg(&description);
            command.args(["-c", "copy", "-f", "obu", "-flush_packets", "1"]).arg(&out);
            let ffmpeg = Running::start(&mut command);
            wait_until_bound(port);
            // What comes last it keeps back until more comes.
            let again = [&units[..], &units[..5]].concat();
            send_paced(port, datagrams(&again, rule).iter().map(Vec::as_slice));
            let came = holds_within(ENOUGH, || size(&out) >= stream.len() as u64);
            drop(ffmpeg);
            came
        });
        let received = std::fs::read(&out).unwrap();
        assert_same(&received[..stream.len().min(received.len())], &stream, &format!("{} {rule}", encoder[0]));
    }
}
