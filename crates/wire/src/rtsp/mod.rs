//! RTSP 1.0 (RFC 2326): its messages, packets of RTP between them, authentication, and both ends of a session of one stream.
//!
//! [`Reader`] takes a connection apart into [requests](Request), [responses](Response) and interleaved packets. [`Server`] is one
//! connection of a client to a stream, [`Client`] one that plays a stream; both only say what is to be sent, and when. The
//! packets themselves are written by who has them: between messages by [`put_interleaved`], or as datagrams.

mod client;
mod controls;
mod digest;
mod message;
mod range;
mod reader;
mod rtp_info;
mod server;
#[cfg(test)]
mod tests;
mod transport;

pub use client::{Client, ClientEvent, ClientSettings, Want};
pub use digest::{Account, Challenge};
pub use message::{Request, Response, Rtsp10};
pub use range::NptRange;
pub use reader::{FRAME_HEADER, Item, MOST_BODY_BYTES, Reader, RtspError, put_interleaved};
pub use rtp_info::{PlayedStream, RtpInfo};
pub use server::{Delivery, Playing, Presentation, SESSION_TIMEOUT, Server, ServerEvent, ServerSettings, StreamStart};
pub use transport::{Carriage, Transport};

pub use crate::message::{Answered, Asked, Headers, MOST_FIELDS, MOST_HEADER_BYTES, Status};
