//! Frames over a byte stream: the elementary stream itself, RTP packets each behind its length, a transport stream, or the samples
//! or fragments of a file, over TCP.

mod file;
mod fragments;
#[cfg(test)]
mod message_tests;
mod packets;
mod receiver;
mod sender;
#[cfg(test)]
mod sound_tests;
#[cfg(test)]
mod tests;

pub use file::FileSamples;
pub use fragments::{FileFragments, SoundTimes};
pub use packets::PacketStreamReceiver;
pub use receiver::{Pacing, StreamReceiver};
pub use sender::StreamSender;
