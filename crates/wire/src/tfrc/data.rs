use framewire_units::{Duration, Timestamp};

use super::error::FieldError;
use super::microseconds;

/// Bytes of a [`DataHeader`].
pub const DATA_HEADER_LENGTH: usize = 16;

/// What every data packet says (RFC 5348, section 3.2.1).
///
/// ```
/// use framewire_units::{Duration, Timestamp};
/// use framewire_wire::tfrc::DataHeader;
///
/// let header = DataHeader { sequence: 7, sent: Timestamp::from_millis(3), round_trip: Some(Duration::from_millis(40)) };
/// assert_eq!(DataHeader::parse(&header.emit())?, header);
/// # Ok::<(), framewire_wire::tfrc::FieldError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// Sequence number: one more for each packet sent, modulo 2^32.
    pub sequence: u32,
    /// ts_i: when the packet was sent, on the sender's clock.
    pub sent: Timestamp,
    /// R_i: the sender's estimate of the round-trip time; `None` before it has one. The packet has whole microseconds,
    /// at least one.
    pub round_trip: Option<Duration>,
}

impl DataHeader {
    /// Reads the block.
    ///
    /// # Errors
    /// When it has another length; every block of the right length means something.
    pub fn parse(block: &[u8]) -> Result<Self, FieldError> {
        let &[s0, s1, s2, s3, t0, t1, t2, t3, t4, t5, t6, t7, r0, r1, r2, r3] = block else {
            let (block, length) = ("data header", block.len());
            return Err(FieldError::Length { block, length, expected: DATA_HEADER_LENGTH });
        };
        let round_trip = u32::from_be_bytes([r0, r1, r2, r3]);
        Ok(Self {
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            sent: Timestamp::from_nanos(u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7])),
            round_trip: (round_trip != 0).then(|| Duration::from_micros(u64::from(round_trip))),
        })
    }

    /// The block.
    pub fn emit(&self) -> [u8; DATA_HEADER_LENGTH] {
        let round_trip = self.round_trip.map_or(0, |round_trip| microseconds(round_trip).max(1));
        let mut block = [0; DATA_HEADER_LENGTH];
        block[..4].copy_from_slice(&self.sequence.to_be_bytes());
        block[4..12].copy_from_slice(&self.sent.as_nanos().to_be_bytes());
        block[12..].copy_from_slice(&round_trip.to_be_bytes());
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_block_is_a_header_and_the_same_again(block: [u8; DATA_HEADER_LENGTH]) {
            prop_assert_eq!(DataHeader::parse(&block).unwrap().emit(), block);
        }
    }

    #[test]
    fn a_known_round_trip_is_never_written_as_an_unknown_one() {
        let header = |round_trip| DataHeader { sequence: 1, sent: Timestamp::ZERO, round_trip };
        let written = |round_trip| DataHeader::parse(&header(round_trip).emit()).unwrap().round_trip;
        assert_eq!(written(Some(Duration::from_nanos(1))), Some(Duration::from_micros(1)));
        assert_eq!(written(Some(Duration::MAX)), Some(Duration::from_micros(u64::from(u32::MAX))));
        assert_eq!(written(None), None);
    }

    #[test]
    fn another_length_is_refused_by_name() {
        for length in [0, 15, 17] {
            let message = DataHeader::parse(&vec![0; length]).unwrap_err().to_string();
            assert_eq!(message, format!("data header of {length} bytes, and it has 16"));
        }
    }
}
