//! The header of a streaming file.
//!
//! | at | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic: 89 56 54 50 0D 0A 1A 0A |
//! | 8 | 2 | version: 1; 2 with audio |
//! | 10 | 2 | number of levels, L |
//! | 12 | 4 | number of frames, F |
//! | 16 | 4 | frames per second, numerator |
//! | 20 | 4 | frames per second, denominator |
//! | 24 | 4 | bytes of video in a packet |
//! | 28 | 1 | codec: 0 none, 1 MPEG-1 or MPEG-2, 2 MPEG-4 part 2, 3 H.264, 4 H.265, 5 AV1 |
//! | 29 | 3 | zeros |
//! | 32 | 2 | width |
//! | 34 | 2 | height |
//! | 36 | 4 | length of this header, with its checksum |
//! | 40 | 8 | where the index begins |
//! | 48 | 8 | length of the file |
//! | 56 | 8 | b_min: bytes that a client has to be able to hold; 0 without a plan |
//! | 64 | 8 | start-up time that the plan is made for, nanoseconds |
//! | 72 | | for each level, lowest first: |
//! | | 8 | bytes of video |
//! | | 4 | steps of its plan, S; 0 without a plan |
//! | | 12 S | for each step: its start (8, nanoseconds) and its rate (4, bit/s) |
//! | | 20 | with audio: its description ([`audio`]) |
//! | | 4 | CRC-32 of all bytes of the header before it |

use std::time::Duration;

use framewire_units::{Bitrate, DataSize};

use crate::codec::Codec;
use crate::ladder::MAX_LEVELS;
use crate::movie::MAX_FRAMES;
use crate::picture::FrameRate;
use crate::streaming_file::audio::{self, AudioDescription};
use crate::streaming_file::index;
use crate::streaming_file::{PAYLOADS, PlanStep, ReadAt, StoredPlan, StreamingFileError};

/// The first bytes of every streaming file: as those of PNG, they do not survive a transfer as text.
pub(crate) const MAGIC: [u8; 8] = *b"\x89VTP\r\n\x1a\n";

/// The version that is written where there is no audio.
pub const VERSION: u16 = 1;

/// The version that is written where there is.
pub(crate) const VERSION_WITH_AUDIO: u16 = 2;

/// Bytes before the table of levels.
const FIXED: usize = 72;
const LEVEL: usize = 12;
const STEP: usize = 12;
pub(super) const CHECKSUM: usize = 4;

/// A plan needs no more steps than there are frames, so that no header is longer than this.
const LONGEST: u64 = (FIXED + audio::DESCRIPTION + CHECKSUM + MAX_LEVELS * (LEVEL + (MAX_FRAMES + 2) * STEP)) as u64;

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) frames: u32,
    pub(super) frame_rate: FrameRate,
    pub(super) payload: u32,
    pub(super) codec: Option<Codec>,
    pub(super) picture_size: (u16, u16),
    /// Where the index begins.
    pub(super) index_offset: u64,
    pub(super) file_length: u64,
    /// Bytes of video of each level.
    pub(super) levels: Vec<DataSize>,
    pub(super) plan: StoredPlan,
    pub(super) audio: Option<AudioDescription>,
}

impl Header {
    /// Bytes that it takes.
    pub(super) fn length(&self) -> u64 {
        let steps: usize = self.plan.levels.iter().map(Vec::len).sum();
        let audio = self.audio.map_or(0, |_| audio::DESCRIPTION);
        (FIXED + self.levels.len() * LEVEL + steps * STEP + audio + CHECKSUM) as u64
    }

    /// Bytes of the index.
    pub(super) fn index_length(&self) -> u64 {
        index::length(self.frames as usize, self.levels.len(), self.audio.is_some())
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length() as usize);
        bytes.extend(MAGIC);
        bytes.extend(self.audio.map_or(VERSION, |_| VERSION_WITH_AUDIO).to_be_bytes());
        bytes.extend((self.levels.len() as u16).to_be_bytes());
        bytes.extend(self.frames.to_be_bytes());
        bytes.extend(self.frame_rate.numerator.to_be_bytes());
        bytes.extend(self.frame_rate.denominator.to_be_bytes());
        bytes.extend(self.payload.to_be_bytes());
        bytes.extend([code_of(self.codec), 0, 0, 0]);
        bytes.extend(self.picture_size.0.to_be_bytes());
        bytes.extend(self.picture_size.1.to_be_bytes());
        bytes.extend((self.length() as u32).to_be_bytes());
        bytes.extend(self.index_offset.to_be_bytes());
        bytes.extend(self.file_length.to_be_bytes());
        bytes.extend(self.plan.client_buffer.as_bytes().to_be_bytes());
        bytes.extend(nanos(self.plan.startup).to_be_bytes());
        for (level, size) in self.levels.iter().enumerate() {
            let steps = self.plan.levels.get(level).map_or(&[][..], Vec::as_slice);
            bytes.extend(size.as_bytes().to_be_bytes());
            bytes.extend((steps.len() as u32).to_be_bytes());
            for step in steps {
                bytes.extend(nanos(step.start).to_be_bytes());
                bytes.extend(u32::try_from(step.rate.as_bps()).unwrap_or(u32::MAX).to_be_bytes());
            }
        }
        if let Some(audio) = &self.audio {
            audio.emit(&mut bytes);
        }
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        bytes
    }

    /// Reads and checks the header of a file.
    pub(super) fn read(source: &impl ReadAt) -> Result<Self, StreamingFileError> {
        let length = source.length()?;
        let mut fixed = vec![0; length.min(FIXED as u64) as usize];
        source.read_exact_at(&mut fixed, 0)?;
        let magic = &fixed[..fixed.len().min(MAGIC.len())];
        if magic != MAGIC {
            return Err(StreamingFileError::OtherFormat(magic.to_vec()));
        }
        if fixed.len() < FIXED {
            return Err(StreamingFileError::Length { stated: FIXED as u64, length });
        }
        let mut reader = Reader { bytes: &fixed, at: MAGIC.len() };
        let version = reader.u16();
        if ![VERSION, VERSION_WITH_AUDIO].contains(&version) {
            return Err(StreamingFileError::UnknownVersion { version });
        }
        let header_length = u64::from(Reader { bytes: &fixed, at: 36 }.u32());
        if !((FIXED + CHECKSUM) as u64..=LONGEST).contains(&header_length) {
            return Err(bad("header length", header_length, format!("{} to {LONGEST}", FIXED + CHECKSUM)));
        }
        if header_length > length {
            return Err(StreamingFileError::Length { stated: header_length, length });
        }
        let mut bytes = vec![0; header_length as usize];
        source.read_exact_at(&mut bytes, 0)?;
        check_sum("header", &bytes)?;
        Self::parse(&bytes, length)
    }

    /// Reads the fields of a header whose checksum is right. They are judged nevertheless: a hostile file can have one
    /// too.
    fn parse(bytes: &[u8], length: u64) -> Result<Self, StreamingFileError> {
        let mut reader = Reader { bytes, at: MAGIC.len() };
        let has_audio = reader.u16() == VERSION_WITH_AUDIO;
        let level_count = within("number of levels", reader.u16(), 1..=MAX_LEVELS as u64)? as usize;
        let frames = within("number of frames", reader.u32(), 1..=MAX_FRAMES as u64)? as u32;
        let numerator = within("frame rate's numerator", reader.u32(), 1..=u32::MAX.into())? as u32;
        let denominator = within("frame rate's denominator", reader.u32(), 1..=u32::MAX.into())? as u32;
        let payloads = u64::from(*PAYLOADS.start())..=u64::from(*PAYLOADS.end());
        let payload = within("packet size", reader.u32(), payloads)? as u32;
        let codec = codec_of(reader.u8())?;
        within("reserved field", u32::from(reader.u8()) | u32::from(reader.u16()), 0..=0)?;
        let picture_size = (reader.u16(), reader.u16());
        let (header_length, index_offset, file_length) = (reader.u32(), reader.u64(), reader.u64());
        if file_length != length {
            return Err(StreamingFileError::Length { stated: file_length, length });
        }
        let (client_buffer, startup) = (DataSize::from_bytes(reader.u64()), Duration::from_nanos(reader.u64()));
        let (mut levels, mut steps) = (Vec::new(), Vec::new());
        for _ in 0..level_count {
            reader.needs(LEVEL)?;
            levels.push(DataSize::from_bytes(reader.u64()));
            steps.push(plan_of_level(&mut reader)?);
        }
        let audio = if has_audio {
            reader.needs(audio::DESCRIPTION)?;
            Some(AudioDescription::parse(&mut reader)?)
        } else {
            None
        };
        let end = reader.at + CHECKSUM;
        within("header length", header_length, end as u64..=end as u64)?;
        let plan = StoredPlan { client_buffer, startup, levels: steps };
        let frame_rate = FrameRate { numerator, denominator };
        Ok(Self { frames, frame_rate, payload, codec, picture_size, index_offset, file_length, levels, plan, audio })
    }
}

fn plan_of_level(reader: &mut Reader<'_>) -> Result<Vec<PlanStep>, StreamingFileError> {
    let count = reader.u32() as usize;
    reader.needs(count.saturating_mul(STEP))?;
    let steps: Vec<_> = (0..count)
        .map(|_| PlanStep { start: Duration::from_nanos(reader.u64()), rate: Bitrate::from_bps(reader.u32().into()) })
        .collect();
    match steps.windows(2).find(|pair| pair[0].start >= pair[1].start) {
        Some(pair) => Err(bad("start of a step", nanos(pair[1].start), "more than that of the step before".to_owned())),
        None => Ok(steps),
    }
}

/// Compares the last four bytes of a part with the checksum of the others.
pub(super) fn check_sum(part: &'static str, bytes: &[u8]) -> Result<(), StreamingFileError> {
    let (content, stated) = bytes.split_last_chunk::<CHECKSUM>().expect("invariant: every part ends in a checksum");
    let (stated, computed) = (u32::from_be_bytes(*stated), crc32fast::hash(content));
    if stated == computed { Ok(()) } else { Err(StreamingFileError::Checksum { part, stated, computed }) }
}

pub(super) fn within(
    field: &'static str,
    value: impl Into<u64>,
    allowed: std::ops::RangeInclusive<u64>,
) -> Result<u64, StreamingFileError> {
    let value = value.into();
    if allowed.contains(&value) {
        return Ok(value);
    }
    Err(bad(field, value, format!("{} to {}", allowed.start(), allowed.end())))
}

fn bad(field: &'static str, value: u64, allowed: String) -> StreamingFileError {
    StreamingFileError::BadField { field, value, allowed }
}

pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn code_of(codec: Option<Codec>) -> u8 {
    codec.map_or(0, |codec| codec.profile().streaming_file_code)
}

fn codec_of(code: u8) -> Result<Option<Codec>, StreamingFileError> {
    let most = Codec::ALL.iter().map(|codec| codec.profile().streaming_file_code).max();
    within("codec", code, 0..=most.unwrap_or(0).into())?;
    Ok(Codec::of_streaming_file(code))
}

/// Takes numbers one after the other from bytes that are long enough.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl Reader<'_> {
    fn take<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        let taken = self.bytes[self.at..].first_chunk().copied();
        self.at += COUNT;
        taken.expect("invariant: the length was checked before")
    }

    pub(super) fn u8(&mut self) -> u8 {
        u8::from_be_bytes(self.take())
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take())
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    pub(super) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }

    /// Refuses to go on where fewer bytes are left, besides the checksum.
    fn needs(&self, count: usize) -> Result<(), StreamingFileError> {
        let left = self.bytes.len() - CHECKSUM - self.at;
        if count <= left {
            return Ok(());
        }
        Err(bad("header length", self.bytes.len() as u64, format!("{} more", count - left)))
    }
}
