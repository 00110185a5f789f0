//! What the packet log takes from a datagram's headers.

use framewire_wire::mpeg_ts::{SYNC_BYTE, reference};
use framewire_wire::rtcp::is_rtcp;
use framewire_wire::vtp::Packet;
use serde::Serialize;

/// The protocol above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// UDP (RFC 768).
    Udp,
    /// TCP (RFC 9293).
    Tcp,
    /// Another one, by its number; also 255 for what is not well-formed IPv4.
    Other(u8),
}

/// Ports, sequence numbers and payload of an IPv4 datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The protocol above IP.
    pub protocol: Protocol,
    /// Source port; 0 where there is none.
    pub source_port: u16,
    /// Destination port; 0 where there is none.
    pub destination_port: u16,
    /// Bytes above UDP or TCP.
    pub payload: u32,
    /// Bytes 2 and 3 of a UDP payload whose first byte says version 2: the sequence number of an RTP packet
    /// (RFC 3550, 5.1), where the second byte does not say that it is RTCP.
    pub rtp_sequence: Option<u16>,
    /// Sequence number of a video packet of an adaptive stream.
    pub video_sequence: Option<u32>,
    /// The clock reference of a datagram of a transport stream, in ticks of 27 MHz (ISO/IEC 13818-1, 2.4.3.5).
    pub clock_reference: Option<u64>,
    /// Sequence number of a TCP segment.
    pub tcp_sequence: Option<u32>,
}

const UNKNOWN: Headers = Headers {
    protocol: Protocol::Other(255),
    source_port: 0,
    destination_port: 0,
    payload: 0,
    rtp_sequence: None,
    video_sequence: None,
    clock_reference: None,
    tcp_sequence: None,
};

impl Headers {
    /// Reads the headers of an IPv4 datagram; what is missing or malformed is left out.
    pub fn parse(datagram: &[u8]) -> Self {
        let Some((protocol, fragment, body)) = split_ip(datagram) else { return UNKNOWN };
        match protocol {
            _ if fragment => Self { protocol: known(protocol), payload: body.len() as u32, ..UNKNOWN },
            17 => parse_udp(body),
            6 => parse_tcp(body),
            _ => Self { protocol: Protocol::Other(protocol), ..UNKNOWN },
        }
    }
}

fn known(protocol: u8) -> Protocol {
    match protocol {
        17 => Protocol::Udp,
        6 => Protocol::Tcp,
        other => Protocol::Other(other),
    }
}

/// Protocol, whether it is a later fragment (without the upper header), and what follows the header (RFC 791, 3.1).
fn split_ip(datagram: &[u8]) -> Option<(u8, bool, &[u8])> {
    let first = *datagram.first()?;
    let header = usize::from(first & 0x0f) * 4;
    let total = usize::from(be16(datagram, 2)?);
    let fragment_offset = be16(datagram, 6)? & 0x1fff;
    let protocol = *datagram.get(9)?;
    if first >> 4 != 4 || header < 20 {
        return None;
    }
    Some((protocol, fragment_offset != 0, datagram.get(header..total.min(datagram.len()))?))
}

fn parse_udp(body: &[u8]) -> Headers {
    let payload = body.get(8..).unwrap_or(&[]);
    let is_rtp = payload.len() >= 12 && payload[0] >> 6 == 2 && !is_rtcp(payload);
    Headers {
        protocol: Protocol::Udp,
        source_port: be16(body, 0).unwrap_or(0),
        destination_port: be16(body, 2).unwrap_or(0),
        payload: payload.len() as u32,
        rtp_sequence: if is_rtp { be16(payload, 2) } else { None },
        video_sequence: if is_rtp { None } else { video_sequence(payload) },
        clock_reference: if payload.first() == Some(&SYNC_BYTE) { reference(payload) } else { None },
        tcp_sequence: None,
    }
}

/// Sequence number of a packet of video or audio of an adaptive stream; `None` for what else its two ends send.
fn video_sequence(payload: &[u8]) -> Option<u32> {
    match Packet::parse(payload) {
        Ok(Packet::Video(header, _)) => Some(header.sequence),
        Ok(_) | Err(_) => None,
    }
}

fn parse_tcp(body: &[u8]) -> Headers {
    let header = usize::from(body.get(12).copied().unwrap_or(0) >> 4) * 4;
    let high = be16(body, 4).map(u32::from);
    let low = be16(body, 6).map(u32::from);
    Headers {
        protocol: Protocol::Tcp,
        source_port: be16(body, 0).unwrap_or(0),
        destination_port: be16(body, 2).unwrap_or(0),
        payload: body.get(header..).map_or(0, |payload| payload.len() as u32),
        rtp_sequence: None,
        video_sequence: None,
        clock_reference: None,
        tcp_sequence: high.zip(low).map(|(high, low)| high << 16 | low),
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()).map(|pair| u16::from_be_bytes(*pair))
}

#[cfg(test)]
mod tests {
    use framewire_units::{DataSize, Duration, Timestamp};
    use framewire_wire::vtp::{Reason, Teardown, VideoHeader};
    use proptest::prelude::*;

    use super::*;

    fn ip(protocol: u8, body: &[u8]) -> Vec<u8> {
        let mut datagram = vec![0; 20];
        datagram[0] = 0x45;
        datagram[2..4].copy_from_slice(&((20 + body.len()) as u16).to_be_bytes());
        datagram[9] = protocol;
        datagram.extend_from_slice(body);
        datagram
    }

    #[test]
    fn an_rtp_packet_shows_its_sequence_number() {
        let mut body = vec![0x13, 0x88, 0x13, 0x8a, 0, 30, 0, 0];
        body.extend_from_slice(&[0x80, 32, 0xab, 0xcd, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        let mut datagram = ip(17, &body);
        let headers = Headers::parse(&datagram);
        assert_eq!(headers.protocol, Protocol::Udp);
        assert_eq!((headers.source_port, headers.destination_port), (5000, 5002));
        assert_eq!((headers.payload, headers.rtp_sequence), (14, Some(0xabcd)));
        for (at, byte) in [(28, 0x40), (29, 200), (29, 223)] {
            let mut other = datagram.clone();
            other[at] = byte;
            assert_eq!(Headers::parse(&other).rtp_sequence, None, "not version 2, or RTCP");
        }
        datagram[29] = 0xE0; // payload type 96 with a marker
        assert_eq!(Headers::parse(&datagram).rtp_sequence, Some(0xabcd));
    }

    #[test]
    fn a_video_packet_shows_its_sequence_number_and_what_else_an_adaptive_stream_says_has_none() {
        let mut body = vec![0x13, 0x8c, 0x13, 0x8c, 0, 0, 0, 0];
        let header = VideoHeader {
            ack_request: true,
            session: 7,
            sequence: 0x0102_0304,
            sender_time: Timestamp::from_millis(1),
            size: DataSize::from_bytes(5),
            frame: 1,
            index: 0,
            level: 0,
            last: true,
            key: false,
            media_time: Duration::ZERO,
            round_trip: Duration::ZERO,
            repeats: None,
            audio: false,
        };
        header.emit(b"video", &mut body);
        let headers = Headers::parse(&ip(17, &body));
        assert_eq!((headers.video_sequence, headers.rtp_sequence), (Some(0x0102_0304), None));
        let mut body = vec![0x13, 0x8d, 0x13, 0x8d, 0, 0, 0, 0];
        Teardown { session: 7, reason: Reason::Stopped }.emit(&mut body);
        assert_eq!(Headers::parse(&ip(17, &body)).video_sequence, None);
    }

    #[test]
    fn a_segment_shows_its_sequence_number_and_payload_without_ethernet_padding() {
        let mut body = vec![0; 32];
        body[4..8].copy_from_slice(&0x0102_0304u32.to_be_bytes());
        body[12] = 8 << 4;
        body.extend_from_slice(&[7; 5]);
        let mut datagram = ip(6, &body);
        datagram.extend_from_slice(&[0; 9]);
        let headers = Headers::parse(&datagram);
        assert_eq!((headers.tcp_sequence, headers.payload), (Some(0x0102_0304), 5));
    }

    #[test]
    fn what_is_no_datagram_is_named_so() {
        assert_eq!(Headers::parse(&[]), UNKNOWN);
        assert_eq!(Headers::parse(&[0x65; 40]).protocol, Protocol::Other(255));
        assert_eq!(Headers::parse(&ip(1, &[8, 0])).protocol, Protocol::Other(1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let headers = Headers::parse(&bytes);
            prop_assert!(headers.payload as usize <= bytes.len());
        }
    }
}
