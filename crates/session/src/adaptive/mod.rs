//! Adaptive streams: both halves of a session of `framewire-adaptive`, with logs that a ledger is made of.
//!
//! Like the sessions of other transports, they are sans-IO: a world moves datagrams between the sockets of
//! [`AdaptiveSender`] and [`AdaptiveReceiver`], and both only record.

mod ladder;
mod receiver;
mod sender;

pub use ladder::{LadderContent, LadderContentError};
pub use receiver::AdaptiveReceiver;
pub use sender::AdaptiveSender;

/// Bytes that IPv4 (RFC 791, 3.1) and UDP (RFC 768) put before a datagram.
pub(crate) const IP_AND_UDP_HEADERS: usize = 28;
