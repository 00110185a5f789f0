//! Frames over a byte stream: the elementary stream itself, over TCP.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use receiver::{LARGEST_FRAME, Pacing, StreamReceiver};
pub use sender::StreamSender;
