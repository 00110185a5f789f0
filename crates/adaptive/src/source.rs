//! What the two ends of a session stream: packets of aligned levels, and the plan of rates that goes with them.

use bytes::Bytes;
use framewire_units::{Bitrate, Duration};

/// One movie as packets at several levels: the streaming file of figure 7, or something that looks like it.
///
/// All levels have the same frames, and a level may be entered at the same frames in all of them.
pub trait PacketSource: Send + Sync {
    /// Number of levels, at least one; level 0 is the lowest.
    fn levels(&self) -> usize;

    /// Number of frames, the same in every level.
    fn frames(&self) -> u32;

    /// Media time at which a frame is played out, relative to the first one.
    fn time_of(&self, frame: u32) -> Duration;

    /// Media time at which the last frame has been shown.
    fn duration(&self) -> Duration;

    /// Whether another level may be taken over at this frame: an I frame that nothing after it looks behind.
    fn is_switch_point(&self, frame: u32) -> bool;

    /// The packet of a frame with this index, from 0.
    ///
    /// # Errors
    /// When there is no such packet, or it cannot be read.
    fn packet(&self, frame: u32, level: usize, index: u32) -> Result<SourcePacket, SourceError>;
}

/// One packet of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePacket {
    /// The bytes of video.
    pub bytes: Bytes,
    /// Whether it is the last packet of its frame.
    pub last: bool,
    /// Whether its frame is an I frame.
    pub key: bool,
}

/// Why a source has no packet to give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("packet {index} of frame {frame} at level {level}: {reason}")]
pub struct SourceError {
    /// The frame asked for.
    pub frame: u32,
    /// The level asked for.
    pub level: usize,
    /// The packet asked for.
    pub index: u32,
    /// What is wrong.
    pub reason: String,
}

/// Reference rates along the stream (section 5.2): how fast each level has to be sent.
pub trait Plan: Send + Sync {
    /// Number of levels, at least one.
    fn levels(&self) -> usize;

    /// The planned rate of a level at a place of the stream, in bytes of video per time.
    fn rate_at(&self, level: usize, at: Duration) -> Bitrate;
}
