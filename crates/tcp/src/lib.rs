//! A sans-IO TCP endpoint with pluggable congestion control, for virtual time.
//!
//! At the level of detail that decides throughput and latency, it does what the RFCs say, and what Linux 6.18 does where
//! the two differ. It carries numbers of bytes, not bytes: a stream is reliable and in order, so who drives the
//! endpoints keeps the bytes in a queue of its own. Sequence numbers have 64 bits and never wrap.
//!
//! [`Endpoint`] says how one end is driven. Two of them, with nothing between:
//!
//! ```
//! use framewire_tcp::{Endpoint, TcpConfig};
//! use framewire_units::Timestamp;
//!
//! let now = Timestamp::ZERO;
//! let mut client = Endpoint::client(&TcpConfig::default(), now);
//! let mut server = Endpoint::server(&TcpConfig::default());
//! let exchange = |client: &mut Endpoint, server: &mut Endpoint| {
//!     loop {
//!         let (there, back) = (client.poll_transmit(now), server.poll_transmit(now));
//!         there.iter().for_each(|segment| server.handle_segment(now, segment));
//!         back.iter().for_each(|segment| client.handle_segment(now, segment));
//!         there.iter().for_each(|segment| client.handle_released(now, segment.payload));
//!         if there.is_none() && back.is_none() {
//!             break;
//!         }
//!     }
//! };
//! exchange(&mut client, &mut server);
//! assert!(client.is_established() && server.is_established());
//! assert_eq!(client.write(now, 10_000), 10_000);
//! client.finish(now);
//! exchange(&mut client, &mut server);
//! assert_eq!(server.read(now, u64::MAX), 10_000);
//! assert!(server.has_ended() && client.is_done());
//! ```
//!
//! Not modelled: resets and simultaneous opening, urgent data, path MTU discovery, TCP Fast Open, keep-alive, corking by
//! the application, the merging of small packets when they are sent again, and memory pressure of the whole host.
#![warn(unreachable_pub)]

mod ack_policy;
mod buffers;
mod config;
pub mod congestion;
mod endpoint;
mod handshake;
mod info;
#[cfg(test)]
mod properties;
mod reassembly;
mod receive;
mod receive_queue;
mod receive_window;
mod segment;
mod send;
mod timer;

#[cfg(test)]
extern crate self as framewire_tcp;

pub use config::TcpConfig;
pub use endpoint::Endpoint;
pub use info::TcpInfo;
pub use segment::{Flags, IP_AND_TCP_HEADERS, SackBlock, SackBlocks, Segment, TimestampsOption};
pub use timer::{Reason, Timeout};
