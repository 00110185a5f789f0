//! Every header field as Wireshark's dissector for RFC 2250 reads it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against another program needs its output"
)]

use crate::support;
use std::path::Path;
use std::process::Command;

use framewire_units::DataSize;
use framewire_wire::rtp_payload::{Datagram, PacketRule, Packetizer, StreamOrigin, mpeg_video};
use support::capture::{PORT, write_capture};
use support::programs::{Scratch, are_there};
use support::rfc2250::bits;

const SSRC: u32 = 0xDEAD_BEEF;
const INITIAL_SEQUENCE: u16 = 65_530;

/// The fields in the order in which they are asked for.
const FIELDS: [&str; 18] = [
    "rtp.marker",
    "rtp.p_type",
    "rtp.seq",
    "rtp.timestamp",
    "rtp.payload_mpeg_mbz",
    "rtp.payload_mpeg_T",
    "rtp.payload_mpeg_tr",
    "rtp.payload_mpeg_an",
    "rtp.payload_mpeg_n",
    "rtp.payload_mpeg_s",
    "rtp.payload_mpeg_b",
    "rtp.payload_mpeg_e",
    "rtp.payload_mpeg_p",
    "rtp.payload_mpeg_fbv",
    "rtp.payload_mpeg_bfc",
    "rtp.payload_mpeg_ffv",
    "rtp.payload_mpeg_ffc",
    "mpeg1.stream",
];

/// The datagram with the third byte of its MPEG video-specific header repeated in the fourth. The dissector of
/// Wireshark 4.0 takes AN, N, S, B, E and P, the fields of the third byte, from the fourth; one that is right reads
/// the same from this.
fn with_third_byte_repeated(datagram: &Datagram) -> Vec<u8> {
    let mut bytes = datagram.bytes.to_vec();
    bytes[15] = bytes[14];
    bytes
}

/// True for the fields that must be read from the packet made by [`with_third_byte_repeated`].
fn is_in_third_byte(field: &str) -> bool {
    matches!(field.strip_prefix("rtp.payload_mpeg_"), Some("an" | "n" | "s" | "b" | "e" | "p"))
}

/// What tshark says of every packet: a line with the fields.
fn dissect(capture: &Path, datagrams: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<String>> {
    write_capture(capture, datagrams);
    let mut command = Command::new("tshark");
    command.args(["-d", &format!("udp.port=={PORT},rtp"), "-T", "fields", "-E", "separator=,", "-r"]).arg(capture);
    command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// A frame and its start codes.
struct Frame<'a> {
    bytes: &'a [u8],
    codes: Vec<(usize, u8)>,
}

/// What the dissector should say of the packet that holds `frame.bytes[start..end]`, from the frame's own bits. Whether N is
/// right only the frames before can show (see `streams.rs`): here it is read from where the RFC has it.
fn expected(frame: &Frame<'_>, start: usize, end: usize, timestamp: u32, datagram: &Datagram) -> Vec<u64> {
    let codes = || frame.codes.iter().copied();
    let frame = frame.bytes;
    let is_slice = |code: u8| (0x01..=0xAF).contains(&code);
    let inside = || codes().filter(|(offset, _)| (start..end).contains(offset));
    let header = &frame[codes().find(|&(_, code)| code == 0x00).unwrap().0 + 4..];
    let last_code = codes().take_while(|&(offset, _)| offset < end).last().unwrap().1;
    let ends_unit = end == frame.len() || codes().any(|(offset, _)| offset == end);
    let kind = bits(header, 10, 3);
    let forward = if kind == 2 || kind == 3 { bits(header, 29, 4) } else { 0 };
    let backward = if kind == 3 { bits(header, 33, 4) } else { 0 };
    let begins_unit = codes().any(|(offset, _)| offset == start);
    vec![
        u64::from(end == frame.len()),
        32,
        u64::from(INITIAL_SEQUENCE.wrapping_add(datagram.sequence as u16)),
        u64::from(timestamp),
        0,
        0,
        bits(header, 0, 10),
        1,
        bits(&datagram.bytes, 8 * 12 + 17, 1),
        u64::from(inside().any(|(_, code)| code == 0xB3)),
        u64::from(begins_unit && inside().any(|(_, code)| is_slice(code))),
        u64::from(ends_unit && is_slice(last_code)),
        kind,
        backward >> 3,
        backward & 7,
        forward >> 3,
        forward & 7,
    ]
}

pub(crate) fn number(text: &str) -> u64 {
    match text {
        "True" => 1,
        "False" => 0,
        _ => text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16)).unwrap(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn wireshark_reads_every_field_as_it_was_meant() {
    if !are_there(&["tshark"]) {
        return;
    }
    let scratch = Scratch::new("dissector");
    for (path, stream) in support::streams() {
        let mut packetizer = Packetizer::new(
            &mpeg_video::FORMAT,
            PacketRule::Full,
            DataSize::from_bytes(1_500),
            StreamOrigin { ssrc: SSRC, initial_sequence: INITIAL_SEQUENCE },
        )
        .unwrap();
        let mut datagrams = Vec::new();
        let mut wanted = Vec::new();
        for (number, unit) in support::access_units(&stream).into_iter().enumerate() {
            let (bytes, timestamp) = (&stream[unit], number as u32 * 3_600);
            let frame = Frame { bytes, codes: support::start_codes(bytes).collect() };
            let mut start = 0;
            for datagram in packetizer.packetize(bytes, timestamp).unwrap() {
                let end = start + datagram.bytes.len() - 16;
                wanted.push((expected(&frame, start, end, timestamp, &datagram), hex(&bytes[start..end])));
                datagrams.push(datagram);
                start = end;
            }
        }
        let capture = scratch.file("packets.pcap");
        let as_sent = dissect(&capture, datagrams.iter().map(|datagram| datagram.bytes.to_vec()));
        let repeated = dissect(&capture, datagrams.iter().map(with_third_byte_repeated));
        assert!(as_sent.len() == datagrams.len() && repeated.len() == datagrams.len(), "a line for every packet");
        for (index, (fields, video)) in wanted.iter().enumerate() {
            for (column, (name, wanted)) in FIELDS.iter().zip(fields).enumerate() {
                let lines = if is_in_third_byte(name) { &repeated } else { &as_sent };
                assert_eq!(number(&lines[index][column]), *wanted, "{} packet {index}: {name}", path.display());
            }
            let read = as_sent[index][FIELDS.len() - 1].replace(':', "");
            assert!(read == *video, "{} packet {index}: the video differs", path.display());
        }
    }
}
