//! Datagrams as a capture that Wireshark opens.

use std::path::Path;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};

/// Both ports of the datagrams.
pub const PORT: u16 = 5_004;

/// The packet with IPv4 and UDP headers (no checksums: tshark does not ask for them).
fn ip_packet(datagram: &[u8]) -> Vec<u8> {
    let udp_length = (8 + datagram.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend((20 + udp_length).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
    packet.extend([PORT.to_be_bytes(), PORT.to_be_bytes(), udp_length.to_be_bytes(), [0, 0]].concat());
    packet.extend(datagram);
    packet
}

/// Writes a capture of these datagrams, a millisecond apart.
pub fn write_capture(path: &Path, datagrams: impl Iterator<Item = Vec<u8>>) {
    let header = PcapHeader { datalink: DataLink::RAW, ..PcapHeader::default() };
    let mut capture = PcapWriter::with_header(std::fs::File::create(path).unwrap(), header).unwrap();
    for (number, datagram) in datagrams.enumerate() {
        let packet = ip_packet(&datagram);
        let time = Duration::from_millis(number as u64);
        capture.write_packet(&PcapPacket::new(time, packet.len() as u32, &packet)).unwrap();
    }
}
