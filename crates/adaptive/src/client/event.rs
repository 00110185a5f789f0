use bytes::Bytes;
use framewire_units::{Duration, Timestamp};
use framewire_wire::vtp::{Description, Reason, VideoHeader};

use super::assembly::Frame;

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The server described the movie.
    Described(Description),
    /// A video packet arrived that was not here before (only where [`packet_events`](super::ClientSettings::packet_events) asks for it).
    Packet {
        /// When.
        arrived: Timestamp,
        /// Its content.
        header: VideoHeader,
        /// Whether it became a part of its frame: not where the frame had come whole or been given up.
        kept: bool,
    },
    /// A frame arrived whole; frames come in their order.
    FrameComplete(Frame),
    /// From this frame on, another level arrives.
    LevelChanged {
        /// The first whole frame of the new level.
        frame: u32,
        /// The level before.
        from: usize,
        /// The level now.
        to: usize,
    },
    /// Frames of which not every packet came.
    FramesLost {
        /// The first.
        first: u32,
        /// How many.
        count: u32,
    },
    /// A packet of audio; packets come in their order.
    Audio(AudioPacket),
    /// Packets of audio that did not come.
    AudioLost {
        /// The first.
        first: u32,
        /// How many.
        count: u32,
    },
    /// The session is over.
    Ended(Reason),
}

/// A packet of audio that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AudioPacket {
    /// Its number, from 0.
    pub number: u32,
    /// When it begins to play, on the time line of the frames.
    pub media_time: Duration,
    /// When it arrived.
    pub arrived: Timestamp,
    /// Its bytes.
    pub bytes: Bytes,
}
