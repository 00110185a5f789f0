//! The packetised streaming file (figure 7 of the paper): a ladder cut into packets, ready to be sent.
//!
//! Packets are sorted by frame, then by level, then by their number within the frame. A server that reads on finds every
//! level of the next frame there, so that changing levels needs no seek. `docs/ladder.md` has the layout to the byte;
//! [`header`] and [`record`] have it in code. Numbers are in network byte order.
//!
//! [`write`](fn@write) makes a file in one pass, without seeking; but for the index, its memory does not grow with the movie.
//! [`StreamingFile::open`] reads the header and the index and checks both; every frame is checked when it is read, so
//! that nothing damaged is ever sent. Packets of audio stand before the frame in whose time they begin to play.

pub mod audio;
#[cfg(test)]
mod audio_tests;
mod error;
pub mod header;
mod index;
mod plan;
mod read_at;
pub mod record;
#[cfg(test)]
mod tests;
mod write;

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use framewire_units::{Bitrate, DataSize};

use crate::access_unit::KeyKind;

use crate::audio::AudioPacket;
use crate::codec::Codec;
use crate::picture::{FrameRate, PictureType};
pub use audio::AudioDescription;
pub use error::StreamingFileError;
use header::Header;
use index::Index;
pub use plan::{PlanStep, StoredPlan};
pub use read_at::{ReadAt, Version};
use record::{RECORD_HEADER, RecordHeader};
pub use write::{write, write_with_audio};

/// Bytes of video in a packet: the paper's 1 Kbyte (section 6.1), which is read as 1,024 bytes, as its capital K was
/// meant then. Where rates are reckoned in packets, a packet has 1,000 bytes (`docs/vtp.md`).
pub const PAPER_PAYLOAD: u32 = 1_024;

/// Allowed bytes of video in a packet. More than the upper bound fits into no UDP datagram (65,507 bytes) with headers.
pub const PAYLOADS: std::ops::RangeInclusive<u32> = 64..=65_000;

/// The largest frame that a file may hold: beyond what any level of H.264 and H.265 allows. Bounds the memory of who
/// reads.
pub(crate) const MAX_FRAME: u32 = 1 << 26;

/// A streaming file that was opened: header and index are sound.
///
/// Frames can be read in any order, by any number of threads; reading takes memory for one frame.
#[derive(Debug)]
pub struct StreamingFile<S> {
    source: S,
    header: Header,
    index: Index,
    /// Every frame was checked, in a source that does not change.
    verified: OnceLock<()>,
}

/// What is known of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameEntry {
    /// Where its first record stands in the file.
    pub offset: u64,
    /// Number in display order.
    pub display_index: u32,
    /// Coding type.
    pub kind: PictureType,
    /// Set where decoding can begin.
    pub key: Option<KeyKind>,
}

impl<S: ReadAt> StreamingFile<S> {
    /// Opens a file: reads and checks the header and the index.
    ///
    /// # Errors
    /// When it is no streaming file, of an unknown version, cut off, damaged, or cannot be read.
    pub fn open(source: S) -> Result<Self, StreamingFileError> {
        let header = Header::read(&source)?;
        let index = Index::read(&source, &header)?;
        Ok(Self { source, header, index, verified: OnceLock::new() })
    }

    /// Reads every byte, as a server would that sends all levels. Of a source that does not change
    /// ([`ReadAt::version`]), frames are not checked again when they are read afterwards.
    ///
    /// # Errors
    /// When a frame is damaged or cannot be read.
    pub fn verify(&self) -> Result<(), StreamingFileError> {
        for frame in 0..self.frame_count() {
            self.audio_packets(frame)?;
            for level in 0..self.level_count() {
                self.packets(level, frame)?;
            }
        }
        if self.source.version()?.is_none() {
            let _ = self.verified.set(());
        }
        Ok(())
    }

    /// Number of levels; at least one.
    pub fn level_count(&self) -> usize {
        self.header.levels.len()
    }

    /// Number of frames in each level; at least one.
    pub fn frame_count(&self) -> usize {
        self.header.frames as usize
    }

    /// Frames per second.
    pub fn frame_rate(&self) -> FrameRate {
        self.header.frame_rate
    }

    /// How long the movie is.
    pub fn duration(&self) -> Duration {
        self.frame_rate().time_of(self.header.frames.into())
    }

    /// The codec; `None` for a ladder of sizes.
    pub fn codec(&self) -> Option<Codec> {
        self.header.codec
    }

    /// Width and height in pixels; zeros where they are not known.
    pub fn picture_size(&self) -> (u16, u16) {
        self.header.picture_size
    }

    /// Bytes of video in each packet but the last of a frame, which may have fewer.
    pub fn payload(&self) -> u32 {
        self.header.payload
    }

    /// The plan that it was written with: no step where there was none.
    pub fn plan(&self) -> &StoredPlan {
        &self.header.plan
    }

    /// What is known of a frame.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn frame(&self, frame: usize) -> FrameEntry {
        self.index.frame(frame)
    }

    /// When a frame is shown, from the first frame shown.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn display_time(&self, frame: usize) -> Duration {
        self.frame_rate().time_of(self.frame(frame).display_index.into())
    }

    /// Whether another level may be taken over at this frame.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn is_switch_point(&self, frame: usize) -> bool {
        self.frame(frame).key == Some(KeyKind::Closed)
    }

    /// Bytes of video of a frame at a level.
    ///
    /// # Panics
    /// When there is no such level or frame.
    pub fn frame_size(&self, level: usize, frame: usize) -> u32 {
        assert!(level < self.level_count(), "there is no level {level}");
        self.index.level(frame, level).bytes
    }

    /// Packets of a frame at a level.
    ///
    /// # Panics
    /// When there is no such level or frame.
    pub fn packet_count(&self, level: usize, frame: usize) -> u32 {
        self.frame_size(level, frame).div_ceil(self.header.payload)
    }

    /// All bytes of video of a level.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn size(&self, level: usize) -> DataSize {
        self.header.levels[level]
    }

    /// Mean rate of a level over the duration of the movie, to the nearest bit/s.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn mean_rate(&self, level: usize) -> Bitrate {
        self.frame_rate().mean_of(self.size(level), self.frame_count())
    }

    /// The packets of a frame at a level, checked.
    ///
    /// # Errors
    /// When they are damaged or cannot be read.
    ///
    /// # Panics
    /// When there is no such level or frame.
    pub fn packets(&self, level: usize, frame: usize) -> Result<FramePackets, StreamingFileError> {
        assert!(level < self.level_count(), "there is no level {level}");
        let place = self.index.place(frame, level, self.header.payload);
        let records = self.source.bytes_at(place.offset, place.length)?;
        let packets = FramePackets { records, payload: self.header.payload as usize };
        if self.verified.get().is_none() {
            packets.check(place.checksum, &self.expected(level, frame))?;
        }
        Ok(packets)
    }

    /// The bytes of video of a frame at a level, joined.
    ///
    /// # Errors
    /// As [`packets`](Self::packets).
    ///
    /// # Panics
    /// When there is no such level or frame.
    pub fn frame_bytes(&self, level: usize, frame: usize) -> Result<Bytes, StreamingFileError> {
        let packets = self.packets(level, frame)?;
        let mut bytes = BytesMut::with_capacity(self.frame_size(level, frame) as usize);
        (0..packets.count()).for_each(|number| bytes.extend_from_slice(&packets.data(number)));
        Ok(bytes.freeze())
    }

    /// The track of audio; `None` where there is none.
    pub fn audio(&self) -> Option<AudioDescription> {
        self.header.audio
    }

    /// Mean rate of the audio over the duration of the movie, to the nearest bit/s; 0 without audio.
    pub fn audio_rate(&self) -> Bitrate {
        self.audio().map_or(Bitrate::default(), |audio| self.frame_rate().mean_of(audio.size, self.frame_count()))
    }

    /// Packets of audio that stand before the records of a frame, by their numbers: those that begin to play while the
    /// frame of this number in decode order is the one that is taken.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn audio_of(&self, frame: usize) -> Range<u32> {
        let entry = self.index.audio(frame);
        entry.first..entry.first + entry.count
    }

    /// These packets, checked; none where the file has no audio.
    ///
    /// # Errors
    /// When they are damaged or cannot be read.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn audio_packets(&self, frame: usize) -> Result<Vec<AudioPacket>, StreamingFileError> {
        let entry = self.index.audio(frame);
        if entry.count == 0 {
            return Ok(Vec::new());
        }
        let offset = self.frame(frame).offset;
        let records = self.source.bytes_at(offset, entry.records_length() as usize)?;
        let times = write::audio_times(self.frame_rate(), frame);
        let place = audio::Place { frame: frame as u32, offset, times, payload: self.header.payload };
        audio::packets(entry, &place, &records)
    }

    /// What the records of a frame have to say, but for what differs between them.
    fn expected(&self, level: usize, frame: usize) -> RecordHeader {
        let entry = self.frame(frame);
        RecordHeader::of_frame(&self.header, level, frame as u32, entry.display_index, entry.key.is_some())
    }
}

/// The packets of one frame at one level.
#[derive(Clone, Debug)]
pub struct FramePackets {
    records: Bytes,
    payload: usize,
}

impl FramePackets {
    /// How many there are; at least one.
    pub fn count(&self) -> usize {
        self.records.len().div_ceil(RECORD_HEADER + self.payload)
    }

    /// What stands before the bytes of video of a packet.
    ///
    /// # Panics
    /// When there is no such packet.
    pub fn header(&self, packet: usize) -> RecordHeader {
        let header = self.records[self.record(packet)].first_chunk::<RECORD_HEADER>();
        RecordHeader::parse(header.expect("invariant: records are whole, as was checked"))
    }

    /// The bytes of video of a packet; a reference, not a copy.
    ///
    /// # Panics
    /// When there is no such packet.
    pub fn data(&self, packet: usize) -> Bytes {
        let record = self.record(packet);
        self.records.slice(record.start + RECORD_HEADER..record.end)
    }

    /// Where a packet stands in the records, with what stands before its bytes of video.
    fn record(&self, packet: usize) -> Range<usize> {
        let start = packet * (RECORD_HEADER + self.payload);
        start..(start + RECORD_HEADER + self.payload).min(self.records.len())
    }

    /// Checks the checksum, and that every record says what it has to. The rate is not held against the plan: files of
    /// earlier writers have that of the moment at which the frame is due, and not that of the frame.
    fn check(&self, checksum: u32, expected: &RecordHeader) -> Result<(), StreamingFileError> {
        let damaged =
            |reason| StreamingFileError::DamagedFrame { frame: expected.frame, level: expected.level, reason };
        if crc32fast::hash(&self.records) != checksum {
            return Err(damaged("the checksum of its records is another one"));
        }
        let count = self.count();
        let expected = RecordHeader { rate: self.header(0).rate, ..*expected };
        for packet in 0..count {
            let size = self.record(packet).len() - RECORD_HEADER;
            if self.header(packet) != expected.packet(packet as u32, size as u32, packet + 1 == count) {
                return Err(damaged("a record contradicts the index"));
            }
        }
        Ok(())
    }
}
