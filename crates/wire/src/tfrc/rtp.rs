//! TFRC over RTP: every data packet is an RTP packet whose header extension (RFC 3550, section 5.3.1) is a
//! [`DataHeader`], so that a receiver that knows nothing of TFRC still plays it.

use rtp_types::{RtpPacket, RtpPacketBuilder};

use super::data::{DATA_HEADER_LENGTH, DataHeader};
use super::error::FieldError;
use crate::rtp::{HEADER_LENGTH, RtpHeader};

/// The 16 bits that name the extension; RFC 3550 leaves them to the profile ("TF").
pub(crate) const EXTENSION: u16 = 0x5446;

/// Bytes before the payload: the fixed header, the head of the extension and the extension.
pub(crate) const OVERHEAD: usize = HEADER_LENGTH + 4 + DATA_HEADER_LENGTH;

/// Reads a packet: its RTP header, TFRC's fields and the payload.
///
/// # Errors
/// When the datagram is no RTP packet, or does not carry exactly the fields of TFRC.
pub fn parse(datagram: &[u8]) -> Result<(RtpHeader, DataHeader, &[u8]), FieldError> {
    let (header, payload) = RtpHeader::parse(datagram).map_err(|error| FieldError::Rtp(error.to_string()))?;
    let packet = RtpPacket::parse(datagram).map_err(|error| FieldError::Rtp(error.to_string()))?;
    match packet.extension() {
        Some((EXTENSION, block)) => Ok((header, DataHeader::parse(block)?, payload)),
        _ => Err(FieldError::Extension { sequence_number: header.sequence_number, expected: EXTENSION }),
    }
}

/// The packet with this payload.
///
/// ```
/// use framewire_units::Timestamp;
/// use framewire_wire::rtp::RtpHeader;
/// use framewire_wire::tfrc::{DataHeader, rtp};
///
/// let header = RtpHeader { marker: true, payload_type: 96, sequence_number: 1, timestamp: 3_600, ssrc: 5 };
/// let fields = DataHeader { sequence: 1, sent: Timestamp::from_millis(40), round_trip: None };
/// let packet = rtp::emit(&header, &fields, b"video");
/// assert!(packet.ends_with(b"video"));
/// assert_eq!(rtp::parse(&packet)?, (header, fields, &b"video"[..]));
/// # Ok::<(), framewire_wire::tfrc::FieldError>(())
/// ```
pub fn emit(header: &RtpHeader, fields: &DataHeader, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; OVERHEAD + payload.len()];
    let block = fields.emit();
    RtpPacketBuilder::<&[u8], &[u8]>::new()
        .marker_bit(header.marker)
        .payload_type(header.payload_type & 0x7F)
        .sequence_number(header.sequence_number)
        .timestamp(header.timestamp)
        .ssrc(header.ssrc)
        .extension(EXTENSION, &block[..])
        .payload(payload)
        .write_into_unchecked(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use framewire_units::{Duration, Timestamp};
    use proptest::prelude::*;

    fn header() -> RtpHeader {
        RtpHeader { marker: false, payload_type: 96, sequence_number: 9, timestamp: 0, ssrc: 1 }
    }

    proptest! {
        #[test]
        fn packets_round_trip(
            marker: bool, payload_type in 0u8..128, sequence_number: u16, timestamp: u32, ssrc: u32, sequence: u32,
            sent: u64, round_trip in proptest::option::of(1u32..), payload in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let header = RtpHeader { marker, payload_type, sequence_number, timestamp, ssrc };
            let round_trip = round_trip.map(|micros| Duration::from_micros(u64::from(micros)));
            let fields = DataHeader { sequence, sent: Timestamp::from_nanos(sent), round_trip };
            let packet = emit(&header, &fields, &payload);
            prop_assert_eq!(parse(&packet).unwrap(), (header, fields, &payload[..]));
        }

        #[test]
        fn no_datagram_is_too_odd(datagram in proptest::collection::vec(any::<u8>(), 0..80), version: bool) {
            let mut datagram = datagram;
            if let Some(first) = datagram.first_mut().filter(|_| version) {
                *first = *first & 0x3F | 0x80;
            }
            let _ = parse(&datagram);
        }
    }

    #[test]
    fn a_packet_without_the_fields_is_refused() {
        let mut plain = vec![0; HEADER_LENGTH + 2];
        header().emit([&[1], &[2]], &mut plain);
        assert_eq!(parse(&plain), Err(FieldError::Extension { sequence_number: 9, expected: EXTENSION }));

        let fields = DataHeader { sequence: 1, sent: Timestamp::ZERO, round_trip: None };
        let mut other = emit(&header(), &fields, &[]);
        other[HEADER_LENGTH] ^= 1;
        assert_eq!(parse(&other), Err(FieldError::Extension { sequence_number: 9, expected: EXTENSION }));
        assert!(matches!(parse(&other[..5]), Err(FieldError::Rtp(_))));
    }
}
