//! Sans-IO sender and receiver halves of every transport, over two small socket traits.

pub mod datagram;
pub mod event;
pub mod ifd;
mod kind;
mod progress;
pub mod queue;
mod rules;
pub mod socket;
pub mod stream;
#[cfg(test)]
mod testing;

pub use datagram::{DatagramReceiver, DatagramSender, Overflow};
pub use kind::{Profile, QueueKind, SocketKind, TransportKind, UnknownTransport};
pub use progress::WriteProgress;
pub use stream::{Pacing, StreamReceiver, StreamSender};
