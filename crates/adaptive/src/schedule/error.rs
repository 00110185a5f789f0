use framewire_units::{DataSize, Duration};
use thiserror::Error;

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ScheduleError {
    /// Nothing to plan for.
    #[error("no level: a schedule needs one at least")]
    NoLevel,
    /// Nothing to send.
    #[error("no byte to send: a level needs frames that are not empty")]
    NoBytes,
    /// A player that starts at once.
    #[error(
        "a start-up time of 0 s: the first frame would have to be there before its first byte is sent; more is needed"
    )]
    NoStartup,
    /// A segment needs a frame.
    #[error("{count} segments: 1 to {frames}, the number of frames, is allowed")]
    Segments {
        /// How many were asked for.
        count: usize,
        /// Frames of the movie.
        frames: usize,
    },
    /// t_j that comes too late.
    #[error(
        "bytes are to be sent ahead until {}, but level {level} runs out of bytes at {}: until {} at the latest is \
         allowed",
        seconds(*.until), seconds(*.first_underflow), seconds(*.first_underflow)
    )]
    PreSendTooLate {
        /// t_j.
        until: Duration,
        /// The level that underflows first.
        level: usize,
        /// When it does.
        first_underflow: Duration,
    },
    /// t_j of nothing.
    #[error("bytes are to be sent ahead until 0 s, which would take an endless rate: more is needed")]
    PreSendAtOnce,
    /// A frame is larger than the buffer.
    #[error("frame {frame} of level {level} has {size}, a buffer of {buffer} cannot hold it")]
    BufferTooSmall {
        /// The level.
        level: usize,
        /// The frame, in decode order.
        frame: usize,
        /// Its size.
        size: DataSize,
        /// The buffer.
        buffer: DataSize,
    },
}

impl ScheduleError {
    pub(super) fn at_level(self, at: usize) -> Self {
        match self {
            Self::BufferTooSmall { frame, size, buffer, .. } => Self::BufferTooSmall { level: at, frame, size, buffer },
            other => other,
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}
