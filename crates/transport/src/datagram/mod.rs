//! Frames over datagrams: RTP packets (RFC 2250), over UDP.

mod receiver;
mod sender;
mod spread;
#[cfg(test)]
mod spread_tests;
#[cfg(test)]
mod tests;

pub use receiver::DatagramReceiver;
pub use sender::{DatagramSender, Overflow};
pub use spread::Spread;
