//! What a sender says of its first packet before a receiver hears one.

use super::numbering::LARGEST_JUMP;
use crate::rtp::RtpHeader;

/// Ticks within which the time stamp of the packet that is heard first is to be of the one that was said: 93 s of 90 kHz. Servers say
/// that of the place that is played, which is not that of its first packet where decoding begins before it.
const FURTHEST_STAMP: u32 = 1 << 23;

/// The first packet of a stream, as its sender says (RTP-Info, RFC 2326, section 12.33).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstPacket {
    /// Its sequence number.
    pub sequence_number: u16,
    /// Its time stamp, where that is said, too.
    pub timestamp: Option<u32>,
}

impl FirstPacket {
    /// Whether the packet that is heard first can be of the stream that begins so: some servers say numbers of another one, or
    /// zeros. As of any packet, no more than [`LARGEST_JUMP`] are believed to be missing before it.
    pub(super) fn leads_to(&self, heard: &RtpHeader) -> bool {
        let missing = heard.sequence_number.wrapping_sub(self.sequence_number);
        let apart = |said: u32| (heard.timestamp.wrapping_sub(said) as i32).unsigned_abs();
        u64::from(missing) <= LARGEST_JUMP && self.timestamp.is_none_or(|said| apart(said) <= FURTHEST_STAMP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_believed_within_a_jump_of_numbers_and_of_time() {
        let leads = |sequence_number: u16, said: Option<u32>, heard: u16, timestamp: u32| {
            let header = RtpHeader { marker: false, payload_type: 96, sequence_number: heard, timestamp, ssrc: 1 };
            FirstPacket { sequence_number, timestamp: said }.leads_to(&header)
        };
        assert!(leads(7, Some(90_000), 7, 90_000) && leads(7, None, 7, 90_000));
        assert!(leads(65_535, Some(u32::MAX), 0, 3_599), "both wrap");
        assert!(leads(7, None, 3_007, 0) && !leads(7, None, 3_008, 0));
        assert!(!leads(7, None, 6, 0), "it was sent before the first one");
        for (apart, is_near) in [(FURTHEST_STAMP, true), (FURTHEST_STAMP + 1, false)] {
            assert_eq!(leads(0, Some(9), 5, 9_u32.wrapping_add(apart)), is_near);
            assert_eq!(leads(0, Some(9), 5, 9_u32.wrapping_sub(apart)), is_near, "decoding may begin before the place");
        }
    }
}
