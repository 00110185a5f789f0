//! Whether levels are the same movie, frame by frame.

use crate::codec::Codec;
use crate::ladder::{Difference, LadderError, Level, LevelFrame, MAX_LEVELS};

/// Compares every level with level 0, and sizes with the level below.
pub(super) fn check(levels: &[Level]) -> Result<(), LadderError> {
    let Some(first) = levels.first().filter(|_| levels.len() <= MAX_LEVELS) else {
        return Err(LadderError::LevelCount { count: levels.len() });
    };
    for (number, level) in levels.iter().enumerate().skip(1) {
        same_stream(number, level, first)?;
        same_frames(number, level, first)?;
        let (size, below) = (level.size(), levels[number - 1].size());
        if size <= below {
            return Err(LadderError::Order { level: number, size, below });
        }
    }
    Ok(())
}

fn same_stream(number: usize, level: &Level, first: &Level) -> Result<(), LadderError> {
    let name = |codec: Option<Codec>| codec.map_or("sizes without content".to_owned(), |codec| codec.to_string());
    if level.codec() != first.codec() {
        return Err(LadderError::Codec { level: number, codec: name(level.codec()), first: name(first.codec()) });
    }
    if level.frame_rate() != first.frame_rate() {
        return Err(LadderError::FrameRate { level: number, rate: level.frame_rate(), first: first.frame_rate() });
    }
    if level.picture_size() != first.picture_size() {
        return Err(LadderError::PictureSize {
            level: number,
            size: level.picture_size(),
            first: first.picture_size(),
        });
    }
    Ok(())
}

/// Types are compared as far as decoders and switching care: where decoding begins, and what is shown when. A P frame
/// that one encoder coded without prediction stays the same frame.
fn same_frames(number: usize, level: &Level, first: &Level) -> Result<(), LadderError> {
    let pairs = level.frames().iter().zip(first.frames());
    let departs = pairs.enumerate().find_map(|(frame, (here, there))| Some((frame, difference(here, there)?)));
    let (frames, wanted) = (level.frames().len(), first.frames().len());
    match departs {
        _ if frames != wanted => Err(LadderError::FrameCount { level: number, frames, first: wanted, departs }),
        Some((frame, difference)) => Err(LadderError::Pattern { level: number, frame, difference }),
        None => Ok(()),
    }
}

fn difference(here: &LevelFrame, there: &LevelFrame) -> Option<Difference> {
    match (here.key, there.key) {
        (Some(_), None) => Some(Difference::KeyHere),
        (None, Some(_)) => Some(Difference::KeyThere),
        (here, there) if here != there => Some(Difference::KeyKind),
        _ if here.display_index != there.display_index => {
            Some(Difference::DisplayIndex(here.display_index, there.display_index))
        }
        _ => None,
    }
}
