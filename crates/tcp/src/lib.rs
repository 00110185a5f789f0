//! A sans-IO TCP endpoint with pluggable congestion control, for virtual time.
//!
//! At the level of detail that decides throughput and latency, it does what the RFCs say, and what Linux does where
//! the two differ. It carries numbers of bytes, not bytes: a stream is reliable and in order, so who drives the
//! endpoints keeps the bytes in a queue of its own. Sequence numbers have 64 bits and never wrap.

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
pub use segment::{Ecn, Flags, SackBlock, SackBlocks, Segment, TimestampsOption};
pub use timer::{Reason, Timeout};
