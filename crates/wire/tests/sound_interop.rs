//! Sound both ways with FFmpeg and GStreamer: AAC, MPEG audio and Opus come out as they went in.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against other programs needs sockets and time"
)]

use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::PoisonError;

use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{
    Depacketizer, Limits, PacketRule, Packetizer, PayloadFormat, StreamOrigin, aac, mpeg_audio, opus,
};
use framewire_wire::sdp::{Stream, describe_session};

use crate::interop::{ONE_AT_A_TIME, assert_same};
use crate::support::programs::{
    ENOUGH, Running, Scratch, are_there, free_port_pair, holds_within, receive_until_end, send_paced, size,
    until_nothing_is_lost, wait_until_bound,
};
use crate::transport_streams::ffmpeg;

const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 0xFEED_BEEF, initial_sequence: 65_500 };

/// A kind of sound, and what other programs call it.
struct Coded {
    format: &'static PayloadFormat,
    /// Arguments with which FFmpeg encodes it.
    encoder: &'static [&'static str],
    /// How files of it end.
    suffix: &'static str,
    /// Arguments with which FFmpeg writes its packets as they came.
    muxer: &'static [&'static str],
    /// From a file of it to a payloader, in GStreamer.
    payloading: &'static [&'static str],
    /// From a depayloader to the packets of the file.
    depayloading: &'static [&'static str],
}

const CODED: [Coded; 4] = [
    Coded {
        format: &aac::FORMAT,
        encoder: &["-ar", "44100", "-ac", "2", "-c:a", "aac", "-b:a", "160k"],
        suffix: "aac",
        muxer: &["-f", "adts"],
        payloading: &["aacparse", "!", "rtpmp4gpay"],
        depayloading: &["rtpmp4gdepay", "!", "aacparse", "!", "audio/mpeg,stream-format=adts"],
    },
    Coded {
        format: &mpeg_audio::FORMAT,
        encoder: &["-ar", "48000", "-ac", "2", "-c:a", "mp2", "-b:a", "192k"],
        suffix: "mp2",
        muxer: &["-f", "mp2"],
        payloading: &["mpegaudioparse", "!", "rtpmpapay"],
        depayloading: &["rtpmpadepay"],
    },
    Coded {
        format: &mpeg_audio::FORMAT,
        encoder: &[
            "-ar",
            "44100",
            "-ac",
            "2",
            "-c:a",
            "libmp3lame",
            "-b:a",
            "320k",
            "-write_xing",
            "0",
            "-id3v2_version",
            "0",
        ],
        suffix: "mp3",
        // That of layer III waits for what it would put in front.
        muxer: &["-f", "mp2"],
        payloading: &["mpegaudioparse", "!", "rtpmpapay"],
        depayloading: &["rtpmpadepay"],
    },
    Coded {
        format: &opus::FORMAT,
        encoder: &["-ar", "48000", "-ac", "2", "-c:a", "libopus", "-b:a", "96k", "-page_duration", "1"],
        suffix: "opus",
        muxer: &["-f", "ogg", "-page_duration", "1"],
        payloading: &["oggdemux", "!", "opusparse", "!", "rtpopuspay"],
        depayloading: &["rtpopusdepay"],
    },
];

impl Coded {
    /// Three seconds of it, and its packets.
    fn stream(&self, scratch: &Scratch) -> (PathBuf, Vec<Vec<u8>>) {
        let path = scratch.file(&format!("sound.{}", self.suffix));
        let noise = ["-f", "lavfi", "-i", "anoisesrc=d=3:c=pink:r=48000:a=0.3:seed=5"];
        ffmpeg(&[&noise, self.encoder, &["-y", path.to_str().unwrap()]].concat());
        let packets = self.packets_of(&path);
        (path, packets)
    }

    /// A file of it of which FFmpeg knows beforehand what a description says: of AAC one of MP4.
    fn described(&self, path: &Path) -> PathBuf {
        if self.suffix != "aac" {
            return path.to_owned();
        }
        let out = path.with_extension("m4a");
        let mut command = Command::new("ffmpeg");
        command.args(["-v", "fatal", "-y", "-i"]).arg(path).args(["-c", "copy", "-bsf:a", "aac_adtstoasc"]).arg(&out);
        assert!(command.status().unwrap().success());
        out
    }

    /// The packets of a file that are whole.
    fn packets_of(&self, path: &Path) -> Vec<Vec<u8>> {
        let bytes = std::fs::read(path).unwrap();
        match self.suffix {
            "opus" => ogg_packets(&bytes),
            "aac" => split(&bytes, |header| {
                usize::from(header[3] & 3) << 11 | usize::from(header[4]) << 3 | usize::from(header[5]) >> 5
            }),
            "mp2" => split(&bytes, |_| 144 * 192_000 / 48_000),
            _ => split(&bytes, |header| 144 * 320_000 / 44_100 + usize::from(header[2] >> 1 & 1)),
        }
    }

    /// As datagrams, so many packets of sound given at once.
    fn datagrams(&self, packets: &[Vec<u8>], at_once: usize, mtu: u64) -> Vec<Vec<u8>> {
        let mtu = DataSize::from_bytes(mtu);
        let mut packetizer = Packetizer::new(self.format, PacketRule::Full, mtu, ORIGIN).unwrap();
        let ticks = if self.suffix == "opus" {
            960
        } else if self.suffix == "aac" {
            1_024
        } else {
            2_160
        };
        let pack = |(number, group): (usize, &[Vec<u8>])| {
            packetizer.packetize(&group.concat(), (number * at_once) as u32 * ticks).unwrap()
        };
        packets.chunks(at_once).enumerate().flat_map(pack).map(|datagram| datagram.bytes.to_vec()).collect()
    }

    /// What a receiver makes of the datagrams.
    fn received(&self, first: &[u8], datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let description = self.format.description(first).unwrap();
        let mut receiver = Depacketizer::of_described(self.format, &description, None, Limits::default()).unwrap();
        receiver = receiver.with_payload_type(datagrams[0][1] & 0x7F);
        let mut frames = Vec::new();
        for datagram in datagrams {
            receiver.handle_datagram(Timestamp::ZERO, datagram).unwrap();
            frames.extend(std::iter::from_fn(|| receiver.poll_frame()));
        }
        receiver.flush();
        frames.extend(std::iter::from_fn(|| receiver.poll_frame()));
        assert!(frames.iter().all(|frame| frame.complete), "{}: a packet of sound is not whole", self.suffix);
        frames.into_iter().map(|frame| frame.bytes.to_vec()).collect()
    }

    /// How many packets of sound are given at once, and the MTU: one by one, many, and in parts. Opus is never cut nor joined.
    fn ways(&self) -> &'static [(usize, u64)] {
        if self.suffix == "opus" { &[(1, 1_500)] } else { &[(1, 1_500), (5, 1_500), (1, 300)] }
    }
}

/// Packets with a header of four bytes or more, which has their length in the first six.
fn split(bytes: &[u8], length: impl Fn(&[u8]) -> usize) -> Vec<Vec<u8>> {
    let (mut packets, mut rest) = (Vec::new(), bytes);
    while let Some((packet, after)) = rest.get(..6).and_then(|header| rest.split_at_checked(length(header))) {
        packets.push(packet.to_vec());
        rest = after;
    }
    packets
}

/// The packets of an Ogg stream (RFC 3533, section 6) behind its two headers (RFC 7845, section 3).
fn ogg_packets(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut packets, mut open, mut rest) = (Vec::new(), Vec::new(), bytes);
    while rest.len() >= 27 {
        let Some((table, mut data)) = rest[27..].split_at_checked(rest[26].into()) else { break };
        for &segment in table {
            let Some((piece, after)) = data.split_at_checked(segment.into()) else {
                return packets.split_off(packets.len().min(2));
            };
            open.extend_from_slice(piece);
            data = after;
            if segment < 255 {
                packets.push(std::mem::take(&mut open));
            }
        }
        rest = data;
    }
    packets.split_off(packets.len().min(2))
}

#[test]
fn sound_that_ffmpeg_sends_is_received() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("ffmpeg-sends-sound");
    for coded in &CODED {
        let (path, packets) = coded.stream(&scratch);
        for packet_size in ["1400", "300"] {
            // FFmpeg does not cut packets of Opus either, and sends none where they are too large.
            if coded.suffix == "opus" && packet_size == "300" {
                continue;
            }
            let port = free_port_pair();
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
            let mut command = Command::new("ffmpeg");
            command.args(["-v", "fatal", "-nostdin", "-re", "-i"]).arg(coded.described(&path));
            command.args(["-c", "copy", "-f", "rtp", "-rtpflags", "skip_rtcp"]);
            command.arg(format!("rtp://127.0.0.1:{port}?pkt_size={packet_size}"));
            let datagrams = receive_until_end(&socket, &mut Running::start(&mut command));
            let received = coded.received(&packets[0], &datagrams);
            // FFmpeg 5.1 keeps back what it would have sent in the last packet, also from FFmpeg itself.
            let last = packets.len() - received.len();
            assert!(last <= 5, "{} {packet_size}: {last} packets are missing", coded.suffix);
            let sent = packets[..received.len()].concat();
            assert_same(&received.concat(), &sent, &format!("{} {packet_size}", coded.suffix));
        }
    }
}

#[test]
fn sound_that_gstreamer_sends_is_received() {
    if !are_there(&["gst-launch-1.0", "ffmpeg"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("gst-sends-sound");
    for coded in &CODED {
        let (path, packets) = coded.stream(&scratch);
        for mtu in ["1400", "300"] {
            if coded.suffix == "opus" && mtu == "300" {
                continue;
            }
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = socket.local_addr().unwrap().port();
            let mut command = Command::new("gst-launch-1.0");
            command.args(["-q", "filesrc", &format!("location={}", path.display()), "!"]);
            command.args(coded.payloading).arg(format!("mtu={mtu}"));
            command.args(["!", "identity", "sleep-time=1000", "!"]);
            command.args(["udpsink", "sync=false", "host=127.0.0.1", &format!("port={port}")]);
            let datagrams = receive_until_end(&socket, &mut Running::start(&mut command));
            let received = coded.received(&packets[0], &datagrams);
            assert_same(&received.concat(), &packets.concat(), &format!("{} {mtu}", coded.suffix));
            assert_eq!(received.len(), packets.len(), "{} {mtu}", coded.suffix);
        }
    }
}

#[test]
fn ffmpeg_receives_sound_that_is_sent_by_its_description() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("ffmpeg-receives-sound");
    for coded in &CODED {
        let (_, packets) = coded.stream(&scratch);
        let description = coded.format.description(&packets[0]).unwrap();
        for &(at_once, mtu) in coded.ways() {
            let (file, out) = (scratch.file("sound.sdp"), scratch.file(&format!("out.{}", coded.suffix)));
            until_nothing_is_lost(&out, || {
                let port = free_port_pair();
                let stream = Stream { format: coded.format, port, description: &description };
                std::fs::write(&file, describe_session(Ipv4Addr::LOCALHOST.into(), &[stream])).unwrap();
                let mut command = Command::new("ffmpeg");
                command.args(["-v", "fatal", "-nostdin", "-y", "-protocol_whitelist", "file,udp,rtp"]);
                command.args(["-probesize", "32", "-analyzeduration", "0", "-i"]).arg(&file);
                command.args(["-c", "copy"]).args(coded.muxer).args(["-flush_packets", "1"]).arg(&out);
                let ffmpeg = Running::start(&mut command);
                wait_until_bound(port);
                wait_until_bound(port + 1);
                // What comes last FFmpeg keeps back until more comes: the first packets follow the last.
                let again = [&packets[..], &packets[..10]].concat();
                let datagrams = coded.datagrams(&again, at_once, mtu);
                send_paced(port, datagrams.iter().map(Vec::as_slice));
                let came = holds_within(ENOUGH, || out.exists() && coded.packets_of(&out).len() >= packets.len());
                // Asked to end it would wait ten seconds for one more datagram.
                drop(ffmpeg);
                came
            });
            let mut received = coded.packets_of(&out);
            assert!(received.len() >= packets.len(), "{}: {} packets", coded.suffix, received.len());
            received.truncate(packets.len());
            assert_same(&received.concat(), &packets.concat(), &format!("{} {at_once} {mtu}", coded.suffix));
        }
    }
}

#[test]
fn gstreamer_receives_sound_that_is_sent() {
    if !are_there(&["gst-launch-1.0", "ffmpeg"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("gst-receives-sound");
    for coded in &CODED {
        let (_, packets) = coded.stream(&scratch);
        let description = coded.format.description(&packets[0]).unwrap();
        for &(at_once, mtu) in coded.ways() {
            let out = scratch.file(&format!("out.{}", coded.suffix));
            let sent = packets.concat();
            until_nothing_is_lost(&out, || {
                let port = free_port_pair();
                let mut command = Command::new("gst-launch-1.0");
                let from = format!("port={port}");
                command.args(["-e", "-q", "udpsrc", "address=127.0.0.1", &from, "buffer-size=2000000"]);
                command.args([&caps(coded.format, &description), "!"]).args(coded.depayloading);
                command.args(["!", "filesink", "buffer-mode=unbuffered"]);
                let mut gstreamer = Running::start(command.arg(format!("location={}", out.display())));
                wait_until_bound(port);
                let datagrams = coded.datagrams(&packets, at_once, mtu);
                send_paced(port, datagrams.iter().map(Vec::as_slice));
                // aacparse keeps the last frame until the stream ends.
                let enough = sent.len() - packets.last().unwrap().len();
                let came = holds_within(ENOUGH, || size(&out) >= enough as u64);
                gstreamer.interrupt();
                came
            });
            let what = format!("{} {at_once} {mtu}", coded.suffix);
            if coded.suffix == "aac" {
                // aacparse of GStreamer 1.22 sets bits in the headers that it writes (private_bit, original_copy, home), also
                // behind GStreamer's own payloader.
                let units = |packets: &[Vec<u8>]| packets.iter().map(|packet| packet[7..].to_vec()).collect::<Vec<_>>();
                assert_same(&units(&coded.packets_of(&out)).concat(), &units(&packets).concat(), &what);
            } else {
                assert_same(&std::fs::read(&out).unwrap(), &sent, &what);
            }
        }
    }
}

/// A description as the caps of a source of RTP: names in small letters (gstsdpmessage's mapping of `a=fmtp`).
fn caps(format: &PayloadFormat, description: &framewire_wire::rtp_payload::StreamDescription) -> String {
    let (name, payload_type) = (format.encoding_name.to_uppercase(), format.payload_type);
    let rate = description.clock_rate;
    let mut caps =
        format!("caps=application/x-rtp,media=audio,clock-rate={rate},encoding-name={name},payload={payload_type}");
    for parameter in description.parameters.iter().flat_map(|parameters| parameters.split(';')) {
        let (name, value) = parameter.split_once('=').unwrap();
        caps += &format!(",{name}=(string){value}");
    }
    caps
}
