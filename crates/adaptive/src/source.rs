//! What the two ends of a session stream: packets of aligned levels, and the plan of rates that goes with them.

use bytes::Bytes;
use framewire_units::{Bitrate, Duration};

/// The number of frames of a stream that goes on for as long as it does: a live one.
pub const ENDLESS: u32 = u32::MAX;

/// Whether a frame can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Ready,
    /// It has not come yet.
    NotYet,
    /// It is no longer kept. The stream goes on with another frame after it, at which a level may be entered.
    Gone {
        /// That frame.
        next: u32,
    },
    /// The stream ended before it.
    End,
}

/// One movie as packets at several levels: the streaming file of figure 7, or something that looks like it.
///
/// All levels have the same frames, and a level may be entered at the same frames in all of them.
///
/// A movie is whole from the start. A live stream grows at its end and is forgotten at its beginning while it is sent: it
/// has [`ENDLESS`] frames, its [`duration`](Self::duration) is that of so many, and
/// [`beginning`](Self::beginning) and [`availability`](Self::availability) say what there is of it now.
pub trait PacketSource: Send + Sync {
    /// Number of levels, at least one; level 0 is the lowest.
    fn levels(&self) -> usize;

    /// Number of frames, the same in every level; [`ENDLESS`] of a live stream.
    fn frames(&self) -> u32;

    /// The frame with which a session begins that starts now. A level may be entered there, and its clients count frames
    /// and time from it.
    fn beginning(&self) -> u32 {
        0
    }

    /// Whether a frame can be sent now. What is said of a frame changes in the order of [`Availability`] only, but that
    /// the end comes instead of what was not there yet.
    fn availability(&self, frame: u32) -> Availability {
        if frame < self.frames() { Availability::Ready } else { Availability::End }
    }

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
