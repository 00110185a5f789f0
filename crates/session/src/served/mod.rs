//! A sender with many receivers, which ask for what it has: one half of a session for each of them.
//!
//! What it has is a [`Catalogue`], which all share. Each connection is a [`Client`]: one of HTTP/1.1 is made by [`http_client`], one of
//! RTSP 1.0 by [`rtsp_client`]. It is a [`Half`](crate::half::Half) with one channel, a stream that the receiver opens: a world
//! accepts, reads, drives, and closes when it is finished. What every receiver got is a [`Record`]. A [`Ledger`] of frames is
//! kept only where the world has room for one, so that memory does not grow with the number of receivers.

mod body;
mod catalogue;
mod client;
mod http;
mod page;
mod record;
mod rtsp;
#[cfg(test)]
mod tests;

use framewire_scenario::Pacing;
use framewire_units::Duration;

use crate::channels::REQUESTS_CHANNEL;
use crate::half::ChannelId;

pub use catalogue::{Catalogue, Title};
pub use http::http_client;
pub use record::{Client, Ending, Ledger, Opening, Record};
pub use rtsp::rtsp_client;

/// The channel of the connection on which a client asks.
pub const CONNECTION: ChannelId = REQUESTS_CHANNEL;

/// How a sender treats its receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServingPolicy {
    /// Movies go by their frame clocks, or as fast as they are taken.
    pub pacing: Pacing,
    /// How much of a movie is due when it begins.
    pub ahead: Duration,
    /// Streams that have no length begin anew where they have ended.
    pub is_endless: bool,
    /// How long the first request is waited for.
    pub first_request: Duration,
    /// How long each other one is waited for; of RTSP, any sign of life (RFC 2326, section 12.37).
    pub next_request: Duration,
}
