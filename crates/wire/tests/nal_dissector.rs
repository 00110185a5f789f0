//! Packets of H.264 and H.265 as Wireshark's dissectors read them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against another program needs its output"
)]

use crate::dissector::number;
use crate::support;
use std::process::Command;

use framewire_units::DataSize;
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin};
use support::capture::{PORT, write_capture};
use support::nal::{Codec, access_units, with_start_codes};
use support::programs::{Scratch, are_there};

const ORIGIN: StreamOrigin = StreamOrigin { ssrc: 7, initial_sequence: 65_530 };

/// Fields of all packets, and those of the codec: types, start bit, end bit, and sizes in aggregation packets, which the
/// dissector of H.265 does not take apart.
const OF_RTP: [&str; 3] = ["rtp.marker", "rtp.seq", "rtp.timestamp"];
const OF_H264: [&str; 5] =
    ["h264.nal_unit_hdr", "h264.nal_unit_type", "h264.start.bit", "h264.end.bit", "h264.nalu_size"];
const OF_H265: [&str; 3] = ["h265.nal_unit_type", "h265.start.bit", "h265.end.bit"];

/// What the dissector should say of a packet, in the order of the fields; each may be there several times.
fn expected(codec: Codec, packet: &[u8], is_last: bool, timestamp: u32, sequence: u64) -> Vec<Vec<u64>> {
    let payload = &packet[12..];
    let kind = codec.type_of(payload);
    let sequence_number = ORIGIN.initial_sequence.wrapping_add(sequence as u16);
    let mut fields = vec![vec![u64::from(is_last)], vec![sequence_number.into()], vec![timestamp.into()]];
    match (codec, kind) {
        (Codec::H264, 24) => {
            let (mut types, mut sizes, mut rest) = (vec![24], vec![], &payload[1..]);
            while let [high, low, nal @ ..] = rest {
                let size = usize::from(*high) << 8 | usize::from(*low);
                types.push((nal[0] & 0x1F).into());
                sizes.push(size as u64);
                rest = &nal[size..];
            }
            fields.extend([types, vec![], vec![], vec![], sizes]);
        }
        (Codec::H264, 28) => {
            let [of_unit, starts, ends] = [payload[1] & 0x1F, payload[1] >> 7, payload[1] >> 6 & 1].map(u64::from);
            fields.extend([vec![28], vec![of_unit], vec![starts], vec![ends], vec![]]);
        }
        (Codec::H264, kind) => fields.extend([vec![kind.into()], vec![], vec![], vec![], vec![]]),
        (Codec::H265, 49) => {
            let [of_unit, starts, ends] = [payload[2] & 0x3F, payload[2] >> 7, payload[2] >> 6 & 1].map(u64::from);
            fields.extend([vec![49, of_unit], vec![starts], vec![ends]]);
        }
        (Codec::H265, kind) => fields.extend([vec![kind.into()], vec![], vec![]]),
    }
    fields
}

#[test]
fn wireshark_reads_packets_of_nal_units_as_they_were_meant() {
    if !are_there(&["tshark"]) {
        return;
    }
    let scratch = Scratch::new("nal-dissector");
    for (codec, name, own) in [(Codec::H264, "h264", &OF_H264[..]), (Codec::H265, "h265", &OF_H265)] {
        for (path, stream) in support::streams_of(codec.suffix()) {
            let mut packetizer =
                Packetizer::new(codec.format(), PacketRule::Full, DataSize::from_bytes(600), ORIGIN).unwrap();
            let (mut datagrams, mut wanted) = (vec![], vec![]);
            for (number, unit) in access_units(codec, &stream).iter().take(60).enumerate() {
                let timestamp = number as u32 * 3_750;
                let packets = packetizer.packetize(&with_start_codes(unit), timestamp).unwrap();
                for (index, packet) in packets.iter().enumerate() {
                    let is_last = index + 1 == packets.len();
                    wanted.push(expected(codec, &packet.bytes, is_last, timestamp, packet.sequence));
                    datagrams.push(packet.bytes.to_vec());
                }
            }
            let capture = scratch.file("packets.pcap");
            write_capture(&capture, datagrams.into_iter());
            let mut command = Command::new("tshark");
            command.args(["-d", &format!("udp.port=={PORT},rtp"), "-d", &format!("rtp.pt==96,{name}")]);
            command.args(["-T", "fields", "-E", "separator=;", "-E", "aggregator=,", "-r"]).arg(&capture);
            command.args(OF_RTP.iter().chain(own).flat_map(|field| ["-e", field]));
            let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
            let read: Vec<Vec<Vec<u64>>> = text
                .lines()
                .map(|line| {
                    let fields = line.split(';');
                    fields.map(|field| field.split(',').filter(|text| !text.is_empty()).map(number).collect()).collect()
                })
                .collect();
            assert_eq!(read.len(), wanted.len(), "{}", path.display());
            for (index, (read, mut wanted)) in read.iter().zip(wanted).enumerate() {
                // Of the type in a fragmentation unit of H.265, which has six bits, Wireshark 4.0 reads five.
                if let (Codec::H265, [49, read], [49, of_unit]) = (codec, &read[3][..], &mut wanted[3][..]) {
                    assert!(*read == *of_unit || *read == *of_unit & 0x1F);
                    *of_unit = *read;
                }
                assert_eq!(*read, wanted, "{} packet {index}", path.display());
            }
        }
    }
}
