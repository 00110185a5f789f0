//! Frames over a byte stream: the elementary stream itself, or RTP packets each behind its length, over TCP.

#[cfg(test)]
mod message_tests;
mod packets;
mod receiver;
mod sender;
#[cfg(test)]
mod sound_tests;
#[cfg(test)]
mod tests;

pub use packets::PacketStreamReceiver;
pub use receiver::{Pacing, StreamReceiver};
pub use sender::StreamSender;
