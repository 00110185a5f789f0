//! Sound beside the movie's frames: it goes before them, and is never given up for them.

use std::collections::VecDeque;

use bytes::Bytes;

/// A packet of sound on its way into a sending half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingSound {
    /// Its number, which no frame of the movie has.
    pub id: u32,
    /// When it begins to play, from the first frame shown, in nanoseconds; negative before that.
    pub at: i64,
    /// The whole packet with its header.
    pub bytes: Bytes,
}

impl OutgoingSound {
    /// When it begins to play in a clock of so many hertz, of which 0 is the first frame shown, to the nearest tick, modulo 2^32.
    pub fn timestamp(&self, clock_rate: u32) -> u32 {
        const NANOS_PER_SECOND: i128 = 1_000_000_000;
        let ticks = i128::from(self.at) * i128::from(clock_rate);
        (ticks + NANOS_PER_SECOND / 2).div_euclid(NANOS_PER_SECOND) as u32
    }
}

/// Sound that waits, oldest first. It waits beside a [frame queue](crate::queue::FrameQueue), whatever that holds or gives up.
pub(crate) type SoundQueue = VecDeque<OutgoingSound>;
