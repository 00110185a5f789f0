//! Packet formats as pure parse and emit: RTP, RFC 2250, RFC 4571, MPEG transport streams, TFRC, VTP.
//!
//! Nothing here owns a socket or a clock: a [`mpeg_video::Packetizer`] turns the bytes of one access unit into
//! datagrams, a [`mpeg_video::Depacketizer`] turns datagrams, whatever arrives, back into access units.
#![warn(unreachable_pub)]

pub mod mpeg_ts;
pub mod mpeg_video;
pub mod nal_units;
pub mod rfc4571;
pub mod rtp;
mod start_code;
pub mod tfrc;
pub mod vtp;
