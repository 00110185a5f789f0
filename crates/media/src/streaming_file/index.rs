//! The index at the end of a streaming file: where frames begin, and the checksums of their records.
//!
//! | bytes | field |
//! |---|---|
//! | | for each frame, in decode order: |
//! | 8 | where its first record stands in the file |
//! | 4 | its number in display order |
//! | 1 | its type: I, P, B or D, in ASCII |
//! | 1 | 0 no key frame, 1 closed, 2 open, 3 broken link |
//! | 2 | zeros |
//! | 16 | with audio: that of the frame ([`audio`](super::audio)) |
//! | 8 L | for each level: its bytes of video (4), and the CRC-32 of its records, with their headers (4) |
//! | 4 | CRC-32 of all bytes of the index before it |

use framewire_units::DataSize;

use crate::access_unit::KeyKind;
use crate::audio::MAX_PACKETS;
use crate::picture::PictureType;
use crate::streaming_file::audio::{self, AudioDescription, AudioEntry};
use crate::streaming_file::header::{CHECKSUM, Header, Reader, check_sum, within};
use crate::streaming_file::record::RECORD_HEADER;
use crate::streaming_file::{FrameEntry, MAX_FRAME, PAYLOADS, ReadAt, StreamingFileError};

const FRAME: usize = 16;
const LEVEL: usize = 8;

/// The index as it stands in the file; its entries are valid.
#[derive(Debug)]
pub(super) struct Index {
    bytes: Vec<u8>,
    levels: usize,
    has_audio: bool,
}

/// A frame at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelEntry {
    pub(super) bytes: u32,
    pub(super) checksum: u32,
}

/// Where the records of a frame at a level stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: usize,
    pub(super) checksum: u32,
}

/// Bytes of the index, with its checksum.
pub(super) fn length(frames: usize, levels: usize, has_audio: bool) -> u64 {
    frames as u64 * entry_length(levels, has_audio) as u64 + CHECKSUM as u64
}

fn entry_length(levels: usize, has_audio: bool) -> usize {
    FRAME + if has_audio { audio::ENTRY } else { 0 } + levels * LEVEL
}

/// Bytes of the records of a frame at a level.
pub(super) fn records_length(bytes: u32, payload: u32) -> u64 {
    u64::from(bytes.div_ceil(payload)) * RECORD_HEADER as u64 + u64::from(bytes)
}

/// Writes the entry of a frame.
pub(super) fn emit(entry: FrameEntry, audio: Option<AudioEntry>, levels: &[LevelEntry], bytes: &mut Vec<u8>) {
    let kind = match entry.kind {
        PictureType::I => b'I',
        PictureType::P => b'P',
        PictureType::B => b'B',
        PictureType::D => b'D',
    };
    let key = match entry.key {
        None => 0,
        Some(KeyKind::Closed) => 1,
        Some(KeyKind::Open) => 2,
        Some(KeyKind::BrokenLink) => 3,
    };
    bytes.extend(entry.offset.to_be_bytes());
    bytes.extend(entry.display_index.to_be_bytes());
    bytes.extend([kind, key, 0, 0]);
    if let Some(audio) = audio {
        audio.emit(bytes);
    }
    for level in levels {
        bytes.extend(level.bytes.to_be_bytes());
        bytes.extend(level.checksum.to_be_bytes());
    }
}

impl Index {
    /// Reads and checks the index of a file.
    pub(super) fn read(source: &impl ReadAt, header: &Header) -> Result<Self, StreamingFileError> {
        let levels = header.levels.len();
        let has_audio = header.audio.is_some();
        let length = header.index_length();
        let offset = header.file_length.checked_sub(length).filter(|&offset| offset >= header.length());
        let Some(offset) = offset else {
            return Err(StreamingFileError::Length { stated: header.length() + length, length: header.file_length });
        };
        within("start of the index", header.index_offset, offset..=offset)?;
        let mut bytes = vec![0; length as usize];
        source.read_exact_at(&mut bytes, offset)?;
        check_sum("index", &bytes)?;
        let index = Self { bytes, levels, has_audio };
        index.check(header)?;
        Ok(index)
    }

    /// Frames follow each other without a gap, and their bytes are those that the header promises.
    fn check(&self, header: &Header) -> Result<(), StreamingFileError> {
        let mut next = header.length();
        let mut sums = vec![DataSize::ZERO; self.levels];
        let mut heard = Heard::default();
        for frame in 0..header.frames as usize {
            let mut reader = self.reader(frame);
            within("place of a frame", reader.u64(), next..=next)?;
            within("display index", reader.u32(), 0..=u64::from(header.frames - 1))?;
            // Decoding has to begin somewhere: at a frame that refers to none.
            let (kinds, field, allowed) = match frame {
                0 => (&b"ID"[..], "type of the first frame", "I (73) or D (68)"),
                _ => (&b"IPBD"[..], "frame type", "one of I (73), P (80), B (66) and D (68)"),
            };
            let kind = reader.u8();
            if !kinds.contains(&kind) {
                let allowed = allowed.to_owned();
                return Err(StreamingFileError::BadField { field, value: kind.into(), allowed });
            }
            within("key of a frame", reader.u8(), if frame == 0 { 1..=3 } else { 0..=3 })?;
            within("reserved field", reader.u16(), 0..=0)?;
            if self.has_audio {
                next += heard.add(AudioEntry::parse(&mut reader))?;
            }
            for sum in &mut sums {
                let bytes = within("size of a frame", reader.u32(), 1..=MAX_FRAME.into())? as u32;
                let _checksum = reader.u32();
                *sum += DataSize::from_bytes(bytes.into());
                next += records_length(bytes, header.payload);
            }
        }
        within("start of the index", header.index_offset, next..=next)?;
        for (sum, stated) in sums.into_iter().zip(&header.levels) {
            within("size of a level", stated.as_bytes(), sum.as_bytes()..=sum.as_bytes())?;
        }
        header.audio.map_or(Ok(()), |audio| heard.check(&audio))
    }

    fn reader(&self, frame: usize) -> Reader<'_> {
        Reader { bytes: &self.bytes, at: frame * entry_length(self.levels, self.has_audio) }
    }

    pub(super) fn frame(&self, frame: usize) -> FrameEntry {
        let mut reader = self.reader(frame);
        FrameEntry {
            offset: reader.u64(),
            display_index: reader.u32(),
            kind: match reader.u8() {
                b'I' => PictureType::I,
                b'P' => PictureType::P,
                b'B' => PictureType::B,
                _ => PictureType::D,
            },
            key: match reader.u8() {
                1 => Some(KeyKind::Closed),
                2 => Some(KeyKind::Open),
                3 => Some(KeyKind::BrokenLink),
                _ => None,
            },
        }
    }

    /// The audio of a frame; none where the file has none.
    pub(super) fn audio(&self, frame: usize) -> AudioEntry {
        if !self.has_audio {
            return AudioEntry::default();
        }
        let mut reader = self.reader(frame);
        reader.at += FRAME;
        AudioEntry::parse(&mut reader)
    }

    pub(super) fn level(&self, frame: usize, level: usize) -> LevelEntry {
        let mut reader = self.reader(frame);
        reader.at += entry_length(level, self.has_audio);
        LevelEntry { bytes: reader.u32(), checksum: reader.u32() }
    }

    pub(super) fn place(&self, frame: usize, level: usize, payload: u32) -> Place {
        let before = (0..level).map(|lower| records_length(self.level(frame, lower).bytes, payload));
        let LevelEntry { bytes, checksum } = self.level(frame, level);
        Place {
            offset: self.frame(frame).offset + self.audio(frame).records_length() + before.sum::<u64>(),
            length: records_length(bytes, payload) as usize,
            checksum,
        }
    }
}

/// Audio of the frames so far.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    packets: u32,
    size: DataSize,
}

impl Heard {
    /// The frame that follows, and the bytes of its records.
    fn add(&mut self, entry: AudioEntry) -> Result<u64, StreamingFileError> {
        within("number of a frame's first audio packet", entry.first, self.packets.into()..=self.packets.into())?;
        let count =
            within("audio packets of a frame", entry.count, 0..=(MAX_PACKETS as u64 - u64::from(self.packets)))?;
        let most = u64::from(MAX_FRAME).min(count * u64::from(*PAYLOADS.end()));
        within("audio bytes of a frame", entry.bytes, count..=most)?;
        self.packets += entry.count;
        self.size += DataSize::from_bytes(entry.bytes.into());
        Ok(entry.records_length())
    }

    fn check(self, audio: &AudioDescription) -> Result<(), StreamingFileError> {
        within("number of audio packets", audio.packets, self.packets.into()..=self.packets.into())?;
        let size = self.size.as_bytes();
        within("size of the audio", audio.size.as_bytes(), size..=size).map(drop)
    }
}
