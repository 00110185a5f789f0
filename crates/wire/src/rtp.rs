//! RTP (RFC 3550, section 5.1) over the `rtp-types` crate: the fields that a video payload needs, and sequence
//! numbers of 64 bits.

use std::time::Duration;

use rtp_types::{RtpPacket, RtpPacketBuilder, RtpParseError};

/// Length of the fixed header without contributing sources (RFC 3550, section 5.1).
pub(crate) const HEADER_LENGTH: usize = RtpPacket::MIN_RTP_PACKET_LEN;

/// The fixed header of a packet without contributing sources, extension or padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpHeader {
    /// M: what it marks is up to the payload.
    pub marker: bool,
    /// PT, 0 to 127.
    pub payload_type: u8,
    /// Sequence number, modulo 2^16.
    pub sequence_number: u16,
    /// Time stamp in the clock of the payload.
    pub timestamp: u32,
    /// Synchronisation source.
    pub ssrc: u32,
}

impl RtpHeader {
    /// Reads the header and returns it with the payload (without padding).
    ///
    /// # Errors
    /// When the version is not 2, or the packet is shorter than its own fields say.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), RtpParseError> {
        let packet = RtpPacket::parse(datagram)?;
        let header = Self {
            marker: packet.marker_bit(),
            payload_type: packet.payload_type(),
            sequence_number: packet.sequence_number(),
            timestamp: packet.timestamp(),
            ssrc: packet.ssrc(),
        };
        let start = packet.payload_offset();
        Ok((header, &datagram[start..start + packet.payload_len()]))
    }

    /// Writes a packet whose payload is the two parts one after the other; `out` has exactly the length of it all.
    pub(crate) fn emit(&self, payload: [&[u8]; 2], out: &mut [u8]) {
        debug_assert_eq!(out.len(), HEADER_LENGTH + payload[0].len() + payload[1].len());
        RtpPacketBuilder::<&[u8], &[u8]>::new()
            .marker_bit(self.marker)
            .payload_type(self.payload_type & 0x7F)
            .sequence_number(self.sequence_number)
            .timestamp(self.timestamp)
            .ssrc(self.ssrc)
            .payload(payload[0])
            .payload(payload[1])
            .write_into_unchecked(out);
    }
}

/// A media time as a time stamp in a clock of so many hertz, to the nearest tick, modulo 2^32.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(framewire_wire::rtp::timestamp(Duration::from_millis(40), 90_000), 3_600);
/// ```
pub fn timestamp(time: Duration, clock_rate: u32) -> u32 {
    const NANOS_PER_SECOND: u128 = 1_000_000_000;
    ((time.as_nanos() * u128::from(clock_rate) + NANOS_PER_SECOND / 2) / NANOS_PER_SECOND) as u32
}

/// The extended number nearest to `around` that ends in `sequence_number`; `None` below zero.
pub(crate) fn extend_sequence(around: u64, sequence_number: u16) -> Option<u64> {
    let step = sequence_number.wrapping_sub(around as u16) as i16;
    around.checked_add_signed(i64::from(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_wrap_goes_both_ways() {
        assert_eq!(extend_sequence(0xFFFF, 0), Some(0x1_0000));
        assert_eq!(extend_sequence(0x1_0000, 0xFFFF), Some(0xFFFF));
        assert_eq!(extend_sequence(0, 0xFFFF), None);
    }

    proptest! {
        #[test]
        fn headers_round_trip(
            marker: bool, payload_type in 0u8..128, sequence_number: u16, timestamp: u32, ssrc: u32,
            payload in proptest::collection::vec(any::<u8>(), 0..50),
        ) {
            let header = RtpHeader { marker, payload_type, sequence_number, timestamp, ssrc };
            let mut out = vec![0; HEADER_LENGTH + 3 + payload.len()];
            header.emit([&[1, 2, 3], &payload], &mut out);
            let (read, read_payload) = RtpHeader::parse(&out).unwrap();
            prop_assert_eq!(read, header);
            prop_assert_eq!(&read_payload[..3], &[1, 2, 3]);
            prop_assert_eq!(&read_payload[3..], &payload[..]);
        }

        #[test]
        fn extension_is_the_inverse_of_truncation(around in 1u64 << 16..1 << 40, step in -32768i64..32768) {
            let target = around.checked_add_signed(step).unwrap();
            prop_assert_eq!(extend_sequence(around, target as u16), Some(target));
        }
    }
}
