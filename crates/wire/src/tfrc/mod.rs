//! What TCP Friendly Rate Control puts into packets (RFC 5348, section 3.2), to the byte in `docs/tfrc.md`.
//!
//! The RFC names the fields and leaves their encoding to the protocol that uses them. Here [`DataHeader`] and
//! [`Feedback`] are blocks of fixed length that any protocol can carry, and [`rtp`] carries the first in the header
//! extension of RTP packets. All numbers are big-endian.

mod data;
mod error;
mod feedback;
pub mod rtp;

pub use data::{DATA_HEADER_LENGTH, DataHeader};
pub use error::FieldError;
pub use feedback::{FEEDBACK_LENGTH, Feedback};

use framewire_units::Duration;

/// Whole microseconds in 32 bits, the longest that fit when there are more (71 minutes).
fn microseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}
