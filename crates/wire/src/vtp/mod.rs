//! Packets of the Video Transport Protocol (Balk et al., "Adaptive Video Streaming: Pre-encoded MPEG-4 with Bandwidth
//! Scaling"), to the byte in `docs/vtp.md`.
//!
//! The paper gives the fields of a packet (figure 5) and not their sizes; the sizes, the version and everything about
//! set-up and teardown are decided here. All numbers are big-endian. A packet is parsed whole or refused with a
//! [`PacketError`]; nothing is allocated for a packet that is refused.

mod authentication;
mod control;
mod description;
mod error;
mod header;
mod missing;
mod offer;
mod opening;
mod packet;
mod report;
mod teardown;
#[cfg(test)]
mod tests;
mod video;

pub use authentication::{Cookie, Key, Origin, Secret};
pub use control::ControlPacket;
pub use description::{AudioDescription, Description, MAX_LEVELS};
pub use error::PacketError;
pub use header::{HEADER_LENGTH, Header, PacketType, VERSION};
pub use missing::{MAX_MISSING_RANGES, MISSING_WINDOW, Missing, MissingRange};
pub use offer::{Features, Offer};
pub use opening::{Request, Start, Title};
pub use packet::Packet;
pub use report::Report;
pub use teardown::{Reason, Teardown};
pub use video::{MAX_PAYLOAD, VIDEO_HEADER_LENGTH, VideoHeader};
