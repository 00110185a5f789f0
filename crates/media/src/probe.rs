//! What is in an elementary stream of any codec that is known here, for a description of it and not for sending it.

use std::io;

use crate::error::OpenError;
use crate::index::Frame;
use crate::movie::read_frames;
use crate::order::DisplayOrder;
use crate::picture::{FrameRate, SequenceHeader};
use crate::streaming_file::ReadAt;

/// What is known of a stream when all of its frames were seen.
#[derive(Clone, Debug)]
pub struct Probed {
    /// The first sequence header.
    pub sequence: SequenceHeader,
    /// Frames per second, as the stream or its time stamps state them, or as given; `None` where nothing does.
    pub frame_rate: Option<FrameRate>,
    /// When its frames are shown and decoded.
    pub order: DisplayOrder,
}

/// Stands where there is no frame rate.
const NO_RATE: FrameRate = FrameRate { numerator: 1, denominator: 1 };

/// Finds the frames of an elementary stream, and gives each to `take`, in decode order:
/// numbers in display order and times are known in the end. Of a frame some twenty bytes are kept. `frame_rate` is that of
/// a stream that does not state its own.
///
/// # Errors
/// When it cannot be read, or is none of these, or `take` fails.
pub fn probe(
    source: &impl ReadAt,
    frame_rate: Option<FrameRate>,
    take: &mut dyn FnMut(Frame) -> io::Result<()>,
) -> Result<Probed, OpenError> {
    let (summary, order) = read_frames(source, frame_rate.or(Some(NO_RATE)), take)?;
    let stated = Some(summary.sequence.frame_rate).filter(|_| summary.states_frame_rate);
    Ok(Probed { sequence: summary.sequence, frame_rate: stated.or(frame_rate), order })
}
