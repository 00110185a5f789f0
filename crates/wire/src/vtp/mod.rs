//! Packets of the Video Transport Protocol (Balk et al., "Adaptive Video Streaming: Pre-encoded MPEG-4 with Bandwidth
//! Scaling"), to the byte in `docs/vtp.md`.
//!
//! The paper gives the fields of a packet (figure 5) and not their sizes; the sizes, the version and everything about
//! set-up and teardown are decided here. All numbers are big-endian. A packet is parsed whole or refused with a
//! [`PacketError`]; nothing is allocated for a packet that is refused.

mod control;
mod error;
mod header;

pub use control::{CONTROL_LENGTH, ControlPacket};
pub use error::PacketError;
pub use header::{HEADER_LENGTH, Header, PacketType, VERSION};
