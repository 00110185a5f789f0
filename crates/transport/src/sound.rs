//! Sound beside the movie's frames: it goes before them, and is never given up for them.

use std::collections::VecDeque;

use bytes::Bytes;

/// A packet of sound on its way into a sending half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingSound {
    /// Its number, which no frame of the movie has.
    pub id: u32,
    /// When it begins to play, in the 90 kHz clock of [`OutgoingFrame`](crate::frame::OutgoingFrame).
    pub timestamp: u32,
    /// The whole packet with its header.
    pub bytes: Bytes,
}

/// Sound that waits, oldest first. It waits beside a [frame queue](crate::queue::FrameQueue), whatever that holds or gives up.
pub(crate) type SoundQueue = VecDeque<OutgoingSound>;
