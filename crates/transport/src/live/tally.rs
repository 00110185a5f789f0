//! What is counted of frames on their way through a queue.

use std::collections::BTreeMap;

use framewire_media::PictureType;

use crate::frame::Payload;
use crate::queue::{Discard, Level};

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Frames.
    pub frames: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    /// Counts one of this size.
    pub fn add(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
    }
}

/// What passed and what did not.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Taken from upstream.
    pub accepted: Count,
    /// Given to downstream, which took them.
    pub sent: Count,
    /// Given up by a rule.
    pub dropped: Count,
    /// The same by coding type.
    pub dropped_by_type: BTreeMap<PictureType, u64>,
    /// The same by rule.
    pub dropped_by_rule: BTreeMap<&'static str, u64>,
    /// Groups of pictures of which a frame was given up that others need.
    pub groups_lost: u64,
    /// Key frames asked for.
    pub key_frame_requests: u64,
    /// Frames with headers that could not be read.
    pub unreadable: u64,
    /// Events given up, as too many waited.
    pub events_dropped: u64,
    /// The highest level so far.
    pub highest: Level,
}

impl Tally {
    /// Counts a frame that was given up.
    pub fn dropped<P: Payload>(&mut self, discard: &Discard<P>) {
        self.dropped.add(discard.frame.bytes.size());
        *self.dropped_by_type.entry(discard.frame.kind).or_default() += 1;
        *self.dropped_by_rule.entry(discard.rule).or_default() += 1;
    }

    /// Notes how much waits now.
    pub fn level(&mut self, level: Level) {
        self.highest.frames = self.highest.frames.max(level.frames);
        self.highest.bytes = self.highest.bytes.max(level.bytes);
        self.highest.time = self.highest.time.max(level.time);
    }
}
