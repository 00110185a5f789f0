//! Frames over datagrams: RTP packets, over UDP.

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
