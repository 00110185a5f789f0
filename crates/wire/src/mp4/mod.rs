//! MP4 files whose index stands in front, or that are in fragments (ISO/IEC 14496-12, -14, -15): written for streams of video and
//! sound, and read as they come over a stream of bytes. How each coding stands in a file is a row of the table in `coding`.
//!
//! [`Track`] takes the access units of one stream, of which it keeps sizes and times, [`Layout`] makes the index of several, and
//! [`sample`] turns an access unit into the bytes that stand in the file. [`Fragmenter`] makes fragments of one access unit each, of
//! which some can be left out. [`Demultiplexer`] does the other way: it finds the
//! index, cuts the samples as they come, and gives out access units.
//!
//! # What is kept
//! NAL units stand in samples behind their lengths and not behind start codes; what comes out has the start codes that annex B
//! demands, as of RTP ([`rtp_payload`](crate::rtp_payload)). Parameter sets stay where they are, and the first ones are in the index too, so
//! that the entries are `avc3` and `hev1` (ISO/IEC 14496-15, 5.4.2.1.1 and 8.4.1.1.1). Temporal units of AV1 stand without their delimiters,
//! and come out behind them, every unit with its size. MPEG video, MPEG-4 part 2, MPEG audio and Opus come out to the
//! byte. AAC is written without its ADTS headers, and comes out with such that say the fullness of no buffer and have no check: as
//! FFmpeg writes them.

mod bits;
mod boxes;
mod coding;
mod demultiplexer;
mod descriptors;
mod fragments;
mod index;
mod layout;
#[cfg(test)]
mod tests;

pub use coding::{Coding, ReadTrack, SampleError, Shape, sample};
pub use demultiplexer::{Demultiplexer, Unit};
pub use fragments::{Fragmenter, SampleTime};
pub use index::{IndexError, LeftOut, MOST_INDEX_BYTES};
pub use layout::{Layout, Track};
