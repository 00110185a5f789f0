//! Frames over datagrams: RTP packets (RFC 2250), over UDP.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use receiver::DatagramReceiver;
pub use sender::{DatagramSender, Overflow};
