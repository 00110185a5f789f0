//! How much of a frame is headers.

use framewire_wire::rtcp::is_rtcp;
use framewire_wire::vtp::VIDEO_HEADER_LENGTH;

use crate::kernel::packet_ring::ETHERNET_HEADER;

/// Header of UDP (RFC 768).
const UDP_HEADER: usize = 8;
/// Bytes of a datagram's payload that are headers: of this lab's adaptive streams all of them, the longest there are. Of
/// RTP that is the fixed header (RFC 3550, 5.1: 12), what says which part of the media follows (RFC 2250, 3.4: 4, and 4 of
/// MPEG-2; RFC 6184, 5.8: 2; RFC 7798, 4.4: 3), and room for contributing sources and short extensions.
const PAYLOAD_HEADERS: usize = VIDEO_HEADER_LENGTH;
/// What is kept of frames of other protocols, ARP and ICMP for instance.
const OTHERS: usize = 128;

/// Bytes of an Ethernet frame up to the end of its headers.
pub(super) fn length(frame: &[u8]) -> usize {
    headers(frame).unwrap_or(OTHERS).min(frame.len())
}

/// `None` for what is neither UDP nor TCP over IPv4.
fn headers(frame: &[u8]) -> Option<usize> {
    let datagram = frame.get(ETHERNET_HEADER..)?;
    // RFC 791, 3.1: version, header length, fragment offset, protocol.
    let (first, protocol) = (*datagram.first()?, *datagram.get(9)?);
    let is_later_fragment = u16::from_be_bytes(*datagram.get(6..)?.first_chunk()?) & 0x1fff != 0;
    let ip = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || is_later_fragment {
        return None;
    }
    let above = datagram.get(ip..)?;
    let length = match protocol {
        // RFC 9293, 3.1: the data offset, in 32-bit words.
        6 => usize::from(*above.get(12)? >> 4) * 4,
        // Reports are short, and all of them is wanted.
        17 if is_rtcp(above.get(UDP_HEADER..)?) => above.len(),
        17 => UDP_HEADER + PAYLOAD_HEADERS,
        _ => return None,
    };
    Some(ETHERNET_HEADER + ip + length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A frame of a protocol with 1,000 bytes above IP, which begin with these.
    fn frame(protocol: u8, above: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET_HEADER + 20];
        frame[ETHERNET_HEADER] = 0x45;
        frame[ETHERNET_HEADER + 9] = protocol;
        frame.extend_from_slice(above);
        frame.resize(ETHERNET_HEADER + 20 + 1_000, 7);
        frame
    }

    #[test]
    fn headers_are_kept_and_media_is_not() {
        let mut segment = [0; 32];
        segment[12] = 8 << 4;
        assert_eq!(length(&frame(6, &segment)), 14 + 20 + 32);
        let rtp = [0, 0, 0, 0, 0, 0, 0, 0, 0x80, 96];
        assert_eq!(length(&frame(17, &rtp)), 14 + 20 + 8 + 60);
        let rtcp = [0, 0, 0, 0, 0, 0, 0, 0, 0x81, 200];
        assert_eq!(length(&frame(17, &rtcp)), 14 + 20 + 1_000);
        assert_eq!(length(&frame(1, &[8, 0])), 128);
        let mut fragment = frame(17, &rtp);
        fragment[ETHERNET_HEADER + 7] = 100;
        assert_eq!(length(&fragment), 128);
        assert_eq!(length(&frame(17, &rtp)[..50]), 50, "never more than there is");
    }

    proptest! {
        #[test]
        fn any_bytes_are_measured_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(length(&bytes) <= bytes.len());
        }
    }
}
