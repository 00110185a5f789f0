//! A ladder: one movie, coded at several levels of quality, with the same frames in each.
//!
//! A [`Level`] is read from an elementary stream or an AVI file; [`Ladder::new`] checks that levels belong together, and
//! says which frame of which level does not. What follows can then change from one level to another at every
//! [switch point](Ladder::is_switch_point) without asking again.

mod align;
mod error;
mod level;
mod mpeg4;
#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

use bytes::Bytes;
use framewire_units::{Bitrate, DataSize};

use crate::access_unit::KeyKind;

use crate::codec::Codec;
use crate::picture::FrameRate;
pub use error::{Difference, LadderError, LevelError};
pub use level::{Level, LevelFrame};

/// How many levels a ladder may have. Bounds the memory for a hostile file; so many are not encoded in practice.
pub(crate) const MAX_LEVELS: usize = 32;

/// Levels of one movie, aligned frame by frame. Level 0 is the lowest.
///
/// In all levels, frames are as many and shown in the same order at the same times, and key frames are the same ones.
/// Frames are numbered in decode order, from 0.
#[derive(Clone, Debug)]
pub struct Ladder {
    levels: Vec<Level>,
}

impl Ladder {
    /// Puts levels together, lowest first.
    ///
    /// # Errors
    /// When there is none or more than `MAX_LEVELS`, they are not aligned, or one does not have more bytes than the
    /// one below it.
    pub fn new(levels: Vec<Level>) -> Result<Self, LadderError> {
        align::check(&levels)?;
        Ok(Self { levels })
    }

    /// The levels, lowest first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Number of levels; at least one.
    pub fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// Number of frames, the same in every level; at least one.
    pub fn frame_count(&self) -> usize {
        self.levels[0].frames().len()
    }

    /// The codec; `None` where the frames are only sizes.
    pub fn codec(&self) -> Option<Codec> {
        self.levels[0].codec()
    }

    /// Frames per second.
    pub fn frame_rate(&self) -> FrameRate {
        self.levels[0].frame_rate()
    }

    /// How long a frame is shown, to the nearest nanosecond. For times along the movie use
    /// [`FrameRate::time_of`], which does not add up what was rounded.
    pub fn frame_duration(&self) -> Duration {
        self.frame_rate().time_of(1)
    }

    /// How long the movie is: all frames, each for its period.
    pub fn duration(&self) -> Duration {
        self.frame_rate().time_of(self.frame_count() as u64)
    }

    /// What is known of a frame at a level. Type, key and display index are those of level 0 in all levels, but for
    /// the types of frames that are no key frames.
    ///
    /// # Panics
    /// When there is no such level or frame.
    pub fn frame(&self, level: usize, frame: usize) -> &LevelFrame {
        &self.levels[level].frames()[frame]
    }

    /// The bytes of a frame at a level; of a level in memory a reference, not a copy.
    ///
    /// # Errors
    /// When they cannot be read any more.
    ///
    /// # Panics
    /// When there is no such level or frame.
    pub fn frame_bytes(&self, level: usize, frame: usize) -> io::Result<Bytes> {
        self.levels[level].frame_bytes(frame)
    }

    /// Whether a decoder may be given another level from this frame on: a key frame behind which nothing refers to
    /// what came before it.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn is_switch_point(&self, frame: usize) -> bool {
        self.levels[0].frames()[frame].key == Some(KeyKind::Closed)
    }

    /// When a frame is shown, from the first frame shown.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn display_time(&self, frame: usize) -> Duration {
        self.frame_rate().time_of(self.levels[0].frames()[frame].display_index.into())
    }

    /// All bytes of a level.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn size(&self, level: usize) -> DataSize {
        self.levels[level].size()
    }

    /// Mean rate of a level over the duration of the movie, to the nearest bit/s.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn mean_rate(&self, level: usize) -> Bitrate {
        self.levels[level].mean_rate()
    }
}
