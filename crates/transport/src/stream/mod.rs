//! Frames over a byte stream: the elementary stream itself, RTP packets each behind its length, a transport stream, or the samples
//! or fragments of a file, over TCP.

mod elementary_stream;
mod file;
mod format;
mod fragments;
#[cfg(test)]
mod message_tests;
mod packets;
mod receiver;
mod rtp;
mod sender;
#[cfg(test)]
mod sound_tests;
#[cfg(test)]
mod tests;
mod transport_stream;

pub use file::FileSamples;
pub use format::{Piece, StreamFormat, StreamReader};
pub use fragments::{FileFragments, SoundTimes};
pub use packets::PacketStreamReceiver;
pub use receiver::{Pacing, StreamReceiver};
pub use rtp::{RtpPackets, RtpReader};
pub use sender::StreamSender;
