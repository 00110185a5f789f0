//! One level: the frames of one stream.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use framewire_units::{Bitrate, DataSize};

use crate::access_unit::KeyKind;

use crate::avi::Avi;
use crate::codec::Codec;
use crate::index::FrameIndex;
use crate::ladder::{LevelError, mpeg4};
use crate::movie::head_of;
use crate::picture::{FrameRate, PictureType};
use crate::source::{Joined, Source};
use crate::start_code;
use crate::streaming_file::ReadAt;

/// A frame of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelFrame {
    /// Size in bytes, at least 1.
    pub size: u32,
    /// Coding type.
    pub kind: PictureType,
    /// Set where decoding can begin. An open group that no frame is shown before counts as closed.
    pub key: Option<KeyKind>,
    /// Number in display order, from 0.
    pub display_index: u32,
    /// Where its bytes begin in those of the level.
    pub(super) offset: u64,
}

impl LevelFrame {
    /// Whether decoding can begin here.
    pub fn is_key(&self) -> bool {
        self.key.is_some()
    }
}

/// A movie at one level of quality.
#[derive(Clone, Debug)]
pub struct Level {
    codec: Option<Codec>,
    frame_rate: FrameRate,
    picture_size: (u16, u16),
    frames: Vec<LevelFrame>,
    source: Source,
}

/// What a reader of one codec found.
pub(super) struct Parts {
    pub(super) codec: Codec,
    pub(super) frame_rate: FrameRate,
    pub(super) picture_size: (u16, u16),
    /// Frames in decode order, with whether each is shown before the key frame that it follows.
    pub(super) frames: Vec<(LevelFrame, bool)>,
    pub(super) source: Source,
}

impl Level {
    /// Reads a level from a file: an elementary stream of MPEG-1 or MPEG-2 video, MPEG-4 part 2, H.264 or H.265, or an
    /// AVI file with one of these, recognised by the bytes. The file stays open, and every frame is read when it is
    /// asked for.
    ///
    /// # Errors
    /// When it cannot be read or is none of these, frames were skipped or share a chunk, time stamps are uneven, or a key
    /// frame comes without its headers.
    pub fn open(file: impl ReadAt + 'static) -> Result<Self, LevelError> {
        Self::read(Source::Read(Arc::new(file)))
    }

    /// Reads a level from a file in memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn parse(bytes: Bytes) -> Result<Self, LevelError> {
        Self::read(Source::Memory(bytes))
    }

    fn read(source: Source) -> Result<Self, LevelError> {
        let head = head_of(&source)?;
        let parts = if Avi::is_one(&head) {
            from_avi(&Avi::read(source)?)?
        } else if crate::mpeg4::recognises(&head) {
            mpeg4::from_stream(source)?
        } else {
            from_movie(source, None)?
        };
        Self::checked(parts)
    }

    /// Which codec a frame is of that brings its headers, as the closed key frames of every level do; `None` when its
    /// bytes do not show it.
    pub fn codec_of(key_frame: &[u8]) -> Option<Codec> {
        let first = || start_code::parts(key_frame).next()?.first().copied();
        match Codec::of_stream(key_frame) {
            Some(codec) => Some(codec),
            None => (first() == Some(start_code::value::SEQUENCE_HEADER)).then_some(Codec::MpegVideo),
        }
    }

    /// A level of nothing but sizes, for experiments: every `key_interval`th frame is an I frame, the others are P
    /// frames, and all bytes are zeros.
    ///
    /// # Errors
    /// When there is no size, one is zero, the interval is zero, or the frame rate has a zero.
    pub fn of_sizes(frame_rate: FrameRate, key_interval: usize, sizes: &[u32]) -> Result<Self, LevelError> {
        if key_interval == 0 || frame_rate.numerator == 0 || frame_rate.denominator == 0 {
            return Err(LevelError::Sizes("a key interval and a frame rate above zero are needed"));
        }
        let Some(&largest) = sizes.iter().max() else {
            return Err(LevelError::Sizes("there is no frame; one at least is needed"));
        };
        if sizes.contains(&0) || sizes.len() > crate::movie::MAX_FRAMES {
            return Err(LevelError::Sizes("frames of one byte at least are needed, and at most 4,194,304 of them"));
        }
        let frames = sizes.iter().enumerate().map(|(index, &size)| LevelFrame {
            size,
            kind: if index % key_interval == 0 { PictureType::I } else { PictureType::P },
            key: (index % key_interval == 0).then_some(KeyKind::Closed),
            display_index: index as u32,
            // All frames show the same zeros.
            offset: 0,
        });
        let frames = frames.collect();
        let source = Source::Memory(BytesMut::zeroed(largest as usize).freeze());
        Ok(Self { codec: None, frame_rate, picture_size: (0, 0), frames, source })
    }

    /// The same with another kind of key frame.
    #[cfg(test)]
    pub(super) fn with_key(mut self, frame: usize, key: KeyKind) -> Self {
        self.frames[frame].key = Some(key);
        self
    }

    fn checked(parts: Parts) -> Result<Self, LevelError> {
        let Parts { codec, frame_rate, picture_size, frames, source } = parts;
        let leading: Vec<bool> = frames.iter().map(|(_, leading)| *leading).collect();
        let frames = frames.into_iter().map(|(frame, _)| frame).collect();
        let mut level = Self { codec: Some(codec), frame_rate, picture_size, frames, source };
        level.close_groups(&leading);
        level.check_keys(codec)?;
        Ok(level)
    }

    /// What no leading frame follows is closed, whatever its header promises.
    fn close_groups(&mut self, leading: &[bool]) {
        let mut open = false;
        for (frame, &leading) in self.frames.iter_mut().zip(leading).rev() {
            open |= leading;
            if frame.is_key() {
                if !open {
                    frame.key = Some(KeyKind::Closed);
                }
                open = false;
            }
        }
    }

    fn check_keys(&self, codec: Codec) -> Result<(), LevelError> {
        // A stream that lies of its first frame may call one a key frame that refers to others.
        if !self.frames[0].is_key() || matches!(self.frames[0].kind, PictureType::P | PictureType::B) {
            return Err(LevelError::NoKeyFirst);
        }
        for frame in (0..self.frames.len()).filter(|&frame| self.frames[frame].key == Some(KeyKind::Closed)) {
            if !has_headers(codec, &self.frame_bytes(frame)?) {
                return Err(LevelError::NoHeaders { frame });
            }
        }
        Ok(())
    }

    /// The codec; `None` for a level of sizes.
    pub fn codec(&self) -> Option<Codec> {
        self.codec
    }

    /// Frames per second.
    pub fn frame_rate(&self) -> FrameRate {
        self.frame_rate
    }

    /// Width and height in pixels; zeros for a level of sizes.
    pub fn picture_size(&self) -> (u16, u16) {
        self.picture_size
    }

    /// Frames in decode order; at least one.
    pub fn frames(&self) -> &[LevelFrame] {
        &self.frames
    }

    /// The bytes of a frame; of a level in memory a reference, not a copy.
    ///
    /// # Errors
    /// When they cannot be read any more.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn frame_bytes(&self, frame: usize) -> io::Result<Bytes> {
        let LevelFrame { offset, size, .. } = self.frames[frame];
        self.source.range(offset, size.into())
    }

    /// Bytes of all frames.
    pub fn size(&self) -> DataSize {
        self.frames.iter().map(|frame| DataSize::from_bytes(frame.size.into())).sum()
    }

    /// Mean rate over the duration of the movie, to the nearest bit/s.
    pub fn mean_rate(&self) -> Bitrate {
        self.frame_rate.mean_of(self.size(), self.frames.len())
    }
}

fn from_movie(source: Source, frame_rate: Option<FrameRate>) -> Result<Parts, LevelError> {
    let (FrameIndex { sequence, frames }, _) = FrameIndex::read(&source, frame_rate)?;
    let frames = frames.into_iter().map(|frame| {
        let level_frame = LevelFrame {
            size: frame.size,
            kind: frame.kind,
            key: frame.key,
            display_index: frame.display_index,
            offset: frame.offset,
        };
        (level_frame, frame.leading)
    });
    Ok(Parts {
        codec: sequence.codec,
        frame_rate: sequence.frame_rate,
        picture_size: (sequence.width, sequence.height),
        frames: frames.collect(),
        source,
    })
}

fn from_avi(avi: &Avi) -> Result<Parts, LevelError> {
    let codec = Codec::of_four_characters(avi.codec.0);
    // Before the codec: that a frame was left out is worth knowing of any.
    if let Some(frame) = avi.ranges().iter().position(Range::is_empty) {
        return Err(LevelError::SkippedFrame { frame, how: "its chunk in the AVI file is empty" });
    }
    let codec = codec.ok_or(LevelError::UnknownCodec(avi.codec))?;
    if codec == Codec::Mpeg4Part2 {
        return mpeg4::from_avi(avi);
    }
    let stream = Joined::new(avi.source().clone(), avi.ranges().to_vec());
    let parts = from_movie(Source::Read(Arc::new(stream)), Some(avi.frame_rate))?;
    if parts.frames.len() != avi.frame_count() {
        let (chunks, frames) = (avi.frame_count(), parts.frames.len());
        return Err(LevelError::ChunksAreNoFrames { codec: parts.codec, chunks, frames });
    }
    Ok(Parts { frame_rate: avi.frame_rate, ..parts })
}

/// Whether a frame brings the headers that a decoder begins with: a sequence header, a video object layer, a sequence
/// parameter set.
fn has_headers(codec: Codec, frame: &[u8]) -> bool {
    let Some(holds_sequence) = codec.profile().holds_sequence else { return true };
    start_code::parts(frame).any(holds_sequence)
}
