//! Packet formats as pure parse and emit: RTP, its payload formats of video and their descriptions, RTCP, RTSP, HTTP, RFC 4571, MPEG
//! transport streams, MP4, TFRC, VTP.
//!
//! Nothing here owns a socket or a clock: a [`rtp_payload::Packetizer`] turns the bytes of one access unit into
//! datagrams, a [`rtp_payload::Depacketizer`] turns datagrams, whatever arrives, back into access units.
#![warn(unreachable_pub)]

pub mod exchange;
pub mod http;
pub mod message;

pub mod mp4;
pub mod mpeg_ts;
pub mod rfc4571;
pub mod rtcp;
pub mod rtp;
pub mod rtp_payload;
pub mod rtsp;
pub mod sdp;
mod start_code;
pub mod tfrc;
pub mod vtp;
