use std::fmt;
use std::io;

use framewire_units::DataSize;
use thiserror::Error;

use crate::access_unit::AccessUnitError;

use crate::avi::{AviError, FourCc};
use crate::codec::Codec;
use crate::error::{OpenError, ScanError};
use crate::ladder::MAX_LEVELS;
use crate::picture::FrameRate;

/// Why a file cannot be a level.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LevelError {
    /// It is no elementary stream.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// It is an AVI file that cannot be read.
    #[error(transparent)]
    Avi(#[from] AviError),
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(String),
    /// The encoder left a frame out.
    #[error(
        "frame {frame} was skipped by its encoder ({how}); a level needs every frame, as other levels have it: use an \
         encoder that keeps its frame rate"
    )]
    SkippedFrame {
        /// Its number, in decode order; in display order where only time stamps show it.
        frame: usize,
        /// What shows it.
        how: &'static str,
    },
    /// Time stamps are not those of a constant frame rate.
    #[error(
        "frame {frame} in display order comes {ticks} ticks of its time base after the one before it, others after \
         {period}: a constant frame rate is needed"
    )]
    UnevenTimes {
        /// Its number in display order.
        frame: usize,
        /// Ticks since the frame before it.
        ticks: i64,
        /// Ticks between other frames.
        period: i64,
    },
    /// Two VOPs in one chunk.
    #[error(
        "frame {frame} holds {vops} VOPs (a packed bitstream); unpack it with \
         `ffmpeg -c copy -bsf:v mpeg4_unpack_bframes`"
    )]
    Packed {
        /// Its number in decode order.
        frame: usize,
        /// VOPs in it.
        vops: usize,
    },
    /// A key frame without the headers that a decoder must have to begin there.
    #[error(
        "key frame {frame} does not repeat the stream's headers, so that no decoder can change to this level there; \
         repeat them with `ffmpeg -c copy -bsf:v dump_extra=freq=keyframe`"
    )]
    NoHeaders {
        /// Its number in decode order.
        frame: usize,
    },
    /// The stream does not begin with a key frame.
    #[error("frame 0 is no key frame: a level has to begin with one")]
    NoKeyFirst,
    /// A frame cannot be read.
    #[error("{0}")]
    Unit(#[from] AccessUnitError),
    /// A codec that is not known.
    #[error(
        "the AVI file's video is coded as \"{0}\": MPEG-4 part 2 (DIVX, DX50, FMP4, MP4V, XVID), MPEG-2 (MPG2), H.264 \
         (H264, X264, AVC1) and H.265 (HEVC, H265, HEV1) are allowed"
    )]
    UnknownCodec(FourCc),
    /// There are no two frames whose times would give the rate.
    #[error("an MPEG-4 part 2 stream of one frame does not tell its frame rate; two at least are needed")]
    NoFrameRate,
    /// Frames in chunks and in the stream that they make differ.
    #[error("the AVI file has {chunks} frames, the {codec} stream in it {frames}: one frame in each chunk is needed")]
    ChunksAreNoFrames {
        /// The codec.
        codec: Codec,
        /// Chunks of video.
        chunks: usize,
        /// Frames in the stream.
        frames: usize,
    },
    /// No frame at all, or one that is empty, in a level made of sizes.
    #[error("{0}")]
    Sizes(&'static str),
}

impl From<io::Error> for LevelError {
    fn from(error: io::Error) -> Self {
        Self::Read(error.to_string())
    }
}

impl From<OpenError> for LevelError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Io(error) => error.into(),
            OpenError::Scan(error) => error.into(),
        }
    }
}

/// In what a frame differs from the same one of level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is a key frame here, and not there.
    KeyHere,
    /// It is a key frame there, and not here.
    KeyThere,
    /// Decoding can begin there for other frames than here: one group is closed, one open.
    KeyKind,
    /// It is shown as another frame: here, and there.
    DisplayIndex(u32, u32),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyHere => f.write_str("a key frame, which it is not in level 0"),
            Self::KeyThere => f.write_str("no key frame, which it is in level 0"),
            Self::KeyKind => f.write_str("the start of a closed group in one, and of an open one in the other"),
            Self::DisplayIndex(here, there) => write!(f, "shown as frame {here}, in level 0 as frame {there}"),
        }
    }
}

/// Why levels are not one ladder.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LadderError {
    /// None, or too many.
    #[error("{count} levels: 1 to {MAX_LEVELS} are allowed")]
    LevelCount {
        /// How many.
        count: usize,
    },
    /// Another codec.
    #[error("level {level} is {codec}, level 0 is {first}: all levels need the same codec")]
    Codec {
        /// The level.
        level: usize,
        /// Its codec.
        codec: String,
        /// That of level 0.
        first: String,
    },
    /// Another frame rate.
    #[error(
        "level {level} has {}/{} frames per second, level 0 has {}/{}: all levels need the same",
        .rate.numerator, .rate.denominator, .first.numerator, .first.denominator
    )]
    FrameRate {
        /// The level.
        level: usize,
        /// Its frame rate.
        rate: FrameRate,
        /// That of level 0.
        first: FrameRate,
    },
    /// Another picture size.
    #[error(
        "level {level} is {}x{} pixels large, level 0 {}x{}: all levels need the same",
        .size.0, .size.1, .first.0, .first.1
    )]
    PictureSize {
        /// The level.
        level: usize,
        /// Its width and height.
        size: (u16, u16),
        /// Those of level 0.
        first: (u16, u16),
    },
    /// More or fewer frames, as of an encoder that skips some.
    #[error(
        "level {level} has {frames} frames, level 0 has {first}{}: an encoder that skips frames makes no ladder",
        departure(*.departs)
    )]
    FrameCount {
        /// The level.
        level: usize,
        /// Its frames.
        frames: usize,
        /// Those of level 0.
        first: usize,
        /// The first frame that differs, where one does before either ends.
        departs: Option<(usize, Difference)>,
    },
    /// The same number of frames, but not the same ones.
    #[error("frame {frame} of level {level} is {difference}: all levels need the same frame and GOP pattern")]
    Pattern {
        /// The level.
        level: usize,
        /// The frame, in decode order.
        frame: usize,
        /// What is different.
        difference: Difference,
    },
    /// Levels out of order.
    #[error(
        "level {level} has {size}, level {} below it {below}: levels are given from the lowest to the highest, each with \
         more bytes than the one below",
        .level - 1
    )]
    Order {
        /// The level.
        level: usize,
        /// Its bytes.
        size: DataSize,
        /// Those of the level below.
        below: DataSize,
    },
}

fn departure(first: Option<(usize, Difference)>) -> String {
    match first {
        Some((frame, difference)) => format!(" (the first frame to differ is {frame}, {difference})"),
        None => String::new(),
    }
}
