//! What the sender's device sent, packet by packet: the log of the lane, and the payload from its capture.

use std::fs::File;
use std::io::BufReader;
use std::net::Ipv4Addr;
use std::path::Path;

use framewire_emu::{Headers, LaneRecord, PacketLog, SENDER_ADDRESS};
use framewire_link::NodeId;
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::control::StopDeadline;

/// The interface of the capture that is the sender's device.
const SENDER_INTERFACE: u32 = 0;
/// Bytes of an Ethernet header.
const ETHERNET_HEADER: usize = 14;

/// Calls `each` with every packet that left the sender's device, in order, and its payload above UDP or TCP. False when
/// the capture does not hold them all, or there is no time to read it: nothing can be concluded then.
pub fn for_each_sent(
    lane: &LaneRecord,
    capture: &Path,
    stop_deadline: &StopDeadline,
    mut each: impl FnMut(&PacketLog, &[u8]),
) -> bool {
    let whole = lane.capture.as_ref().is_some_and(|outcome| outcome.left_out == 0 && outcome.error.is_none());
    let logged_all = lane.evidence.not_logged == 0;
    let reader = File::open(capture).ok().and_then(|file| PcapNgReader::new(BufReader::new(file)).ok());
    let (true, true, Some(mut reader)) = (whole, logged_all, reader) else { return false };
    let mut logged = lane.packets.iter().filter(|packet| packet.from == NodeId::SENDER);
    while let Some(block) = reader.next_block() {
        let (Ok(block), false) = (block, stop_deadline.is_over()) else { return false };
        let Block::EnhancedPacket(captured) = block else { continue };
        let datagram = captured.data.get(ETHERNET_HEADER..).unwrap_or_default();
        // What came to the device from the other side is captured on it as well.
        if captured.interface_id != SENDER_INTERFACE || source_of(datagram) != Some(SENDER_ADDRESS) {
            continue;
        }
        let Some((log, payload)) = logged.next().zip(payload_of(datagram)) else { return false };
        if log.headers != Headers::parse(datagram) {
            return false;
        }
        each(&log, payload);
    }
    logged.next().is_none()
}

/// The source address of an IPv4 datagram (RFC 791, 3.1).
fn source_of(datagram: &[u8]) -> Option<Ipv4Addr> {
    Some(Ipv4Addr::from(*datagram.get(12..)?.first_chunk::<4>()?))
}

/// The bytes above UDP or TCP of an IPv4 datagram.
fn payload_of(datagram: &[u8]) -> Option<&[u8]> {
    let total = usize::from(u16::from_be_bytes(*datagram.get(2..)?.first_chunk()?)).min(datagram.len());
    let payload = Headers::parse(datagram).payload as usize;
    datagram.get(total.checked_sub(payload)?..total)
}
