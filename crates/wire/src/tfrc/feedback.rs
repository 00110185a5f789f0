use framewire_units::{Bitrate, Duration, Timestamp};

use super::error::FieldError;
use super::microseconds;

/// Bytes of a [`Feedback`].
pub const FEEDBACK_LENGTH: usize = 24;

/// What a feedback packet says (RFC 5348, section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// t_recvdata: sender's time stamp of the last data packet received.
    pub echoed: Timestamp,
    /// t_delay: from the arrival of that packet to this feedback. The packet has whole microseconds.
    pub delay: Duration,
    /// X_recv: rate at which data arrived lately (section 6.2).
    pub receive_rate: Bitrate,
    /// p: the receiver's loss event rate, 0 to 1. The packet has 32 bits of it, and only no loss at all is 0.
    pub loss_event_rate: f64,
}

impl Feedback {
    /// Reads the block.
    ///
    /// # Errors
    /// When it has another length; every block of the right length means something.
    pub fn parse(block: &[u8]) -> Result<Self, FieldError> {
        let &[e0, e1, e2, e3, e4, e5, e6, e7, d0, d1, d2, d3, x0, x1, x2, x3, x4, x5, x6, x7, p0, p1, p2, p3] = block
        else {
            let (block, length) = ("feedback", block.len());
            return Err(FieldError::Length { block, length, expected: FEEDBACK_LENGTH });
        };
        Ok(Self {
            echoed: Timestamp::from_nanos(u64::from_be_bytes([e0, e1, e2, e3, e4, e5, e6, e7])),
            delay: Duration::from_micros(u64::from(u32::from_be_bytes([d0, d1, d2, d3]))),
            receive_rate: Bitrate::from_bps(u64::from_be_bytes([x0, x1, x2, x3, x4, x5, x6, x7])),
            loss_event_rate: f64::from(u32::from_be_bytes([p0, p1, p2, p3])) / f64::from(u32::MAX),
        })
    }

    /// The block.
    pub fn emit(&self) -> [u8; FEEDBACK_LENGTH] {
        let mut block = [0; FEEDBACK_LENGTH];
        block[..8].copy_from_slice(&self.echoed.as_nanos().to_be_bytes());
        block[8..12].copy_from_slice(&microseconds(self.delay).to_be_bytes());
        block[12..20].copy_from_slice(&self.receive_rate.as_bps().to_be_bytes());
        block[20..].copy_from_slice(&fraction(self.loss_event_rate).to_be_bytes());
        block
    }
}

/// A share from 0 to 1 in steps of 1 / (2^32 - 1). Zero ends a sender's congestion avoidance, so that what is more than
/// zero stays it.
fn fraction(share: f64) -> u32 {
    let steps = (share * f64::from(u32::MAX)).round() as u32;
    if share > 0.0 { steps.max(1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_block_is_feedback_and_the_same_again(block: [u8; FEEDBACK_LENGTH]) {
            prop_assert_eq!(Feedback::parse(&block).unwrap().emit(), block);
        }

        #[test]
        fn a_loss_event_rate_keeps_nine_digits(share in 0.0f64..=1.0) {
            let read = f64::from(fraction(share)) / f64::from(u32::MAX);
            prop_assert!((read - share).abs() <= 1.2e-10, "{share} became {read}");
        }
    }

    #[test]
    fn a_loss_never_becomes_none() {
        assert_eq!(fraction(1e-300), 1);
        assert_eq!(fraction(0.0), 0);
        assert_eq!((fraction(-1.0), fraction(f64::NAN), fraction(2.0)), (0, 0, u32::MAX));
    }
}
