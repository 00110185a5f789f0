//! MPEG-1 and MPEG-2 video elementary streams over RTP (RFC 2250, section 3).

mod access_unit;
mod assembler;
mod cutter;
mod depacketizer;
mod header;
mod new_header;
mod numbering;
mod packetizer;
mod rule;

pub use access_unit::FrameError;
pub use depacketizer::{Arrival, Depacketizer, Limits, ReceivedFrame, RejectReason, StreamOrigin};
pub use header::{CodingType, HeaderError, HeaderRepr, HeaderView, MotionVectorCodes};
pub use packetizer::{ConfigError, Datagram, Packetizer};
pub use rule::PacketRule;

/// Payload type of MPEG video (`MPV`, RFC 3551, table 5).
pub const PAYLOAD_TYPE: u8 = 32;

/// Rate of the RTP clock in hertz (RFC 2250, section 3.3).
pub const CLOCK_RATE: u32 = 90_000;

/// Length of the MPEG video-specific header (RFC 2250, section 3.4).
pub(crate) const HEADER_LENGTH: usize = header::LENGTH;

/// The largest header of an elementary stream, which a payload must be able to hold whole (RFC 2250, section 3.1).
pub(crate) const LARGEST_STREAM_HEADER: usize = 261;
