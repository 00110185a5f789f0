//! What the two ends of a session stream: packets of aligned levels, and the plan of rates that goes with them.

use std::sync::Arc;

use bytes::Bytes;
use framewire_media::audio::{AudioFormat, AudioPacket};
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

    /// Whether a frame can be sent now. The answer for a frame changes in the order of [`Availability`] only, but that
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

    /// The audio beside the video, the same at every level; only a movie has any, no live stream.
    fn audio(&self) -> Option<SourceAudio> {
        None
    }

    /// Packets of audio that are sent before a frame: with those of the frames before it, and all of them behind the last
    /// frame.
    fn audio_before(&self, _frame: u32) -> u32 {
        0
    }

    /// The packet of audio with this number, from 0.
    ///
    /// # Errors
    /// When there is no such packet, or it cannot be read.
    fn audio_packet(&self, number: u32) -> Result<AudioPacket, SourceError> {
        Err(SourceError::Audio { number, reason: "there is no audio".to_owned() })
    }
}

/// What is known of the audio of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceAudio {
    /// Codec, sample rate and channels.
    pub format: AudioFormat,
    /// Packets; at least one.
    pub packets: u32,
    /// Mean rate over the duration of the movie.
    pub rate: Bitrate,
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
pub enum SourceError {
    /// A packet of video.
    #[error("packet {index} of frame {frame} at level {level}: {reason}")]
    Video {
        /// The frame asked for.
        frame: u32,
        /// The level asked for.
        level: usize,
        /// The packet asked for.
        index: u32,
        /// What is wrong.
        reason: String,
    },
    /// A packet of audio.
    #[error("packet {number} of the audio: {reason}")]
    Audio {
        /// The packet asked for.
        number: u32,
        /// What is wrong.
        reason: String,
    },
}

/// Reference rates along the stream (section 5.2): how fast each level has to be sent.
pub trait Plan: Send + Sync {
    /// Number of levels, at least one.
    fn levels(&self) -> usize;

    /// The planned rate of a level at a place of the stream, in bytes of video per time.
    fn rate_at(&self, level: usize, at: Duration) -> Bitrate;
}

/// A plan of video with the rate of the audio beside it at every level: what a controller has to reckon with.
pub struct PlanWithAudio {
    plan: Arc<dyn Plan>,
    audio: Bitrate,
}

impl PlanWithAudio {
    /// The plan for a source: the same where it has no audio.
    pub fn of(source: &dyn PacketSource, plan: Arc<dyn Plan>) -> Arc<dyn Plan> {
        match source.audio() {
            Some(audio) => Arc::new(Self { plan, audio: audio.rate }),
            None => plan,
        }
    }
}

impl Plan for PlanWithAudio {
    fn levels(&self) -> usize {
        self.plan.levels()
    }

    fn rate_at(&self, level: usize, at: Duration) -> Bitrate {
        Bitrate::from_bps(self.plan.rate_at(level, at).as_bps().saturating_add(self.audio.as_bps()))
    }
}
