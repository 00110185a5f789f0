//! What an element counts, and how it tells.

use std::collections::BTreeMap;

use crate::frames::Held;
use framewire_media::PictureType;
use framewire_transport::frame::{OutgoingFrame, Payload};
use framewire_transport::queue::{Discard, Level};

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
    pub fn dropped(&mut self, discard: &Discard<Held>) {
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

    /// The `stats` property.
    pub fn structure(&self, level: Level) -> gst::Structure {
        let by_type = |kind| self.dropped_by_type.get(&kind).copied().unwrap_or(0);
        let rules = self.dropped_by_rule.iter().map(|(rule, count)| {
            gst::Structure::builder("dropped-by-rule").field("rule", *rule).field("frames", *count).build()
        });
        gst::Structure::builder("application/x-framewire-queue-stats")
            .field("accepted", self.accepted.frames)
            .field("accepted-bytes", self.accepted.bytes)
            .field("sent", self.sent.frames)
            .field("sent-bytes", self.sent.bytes)
            .field("dropped", self.dropped.frames)
            .field("dropped-bytes", self.dropped.bytes)
            .field("dropped-i", by_type(PictureType::I))
            .field("dropped-p", by_type(PictureType::P))
            .field("dropped-b", by_type(PictureType::B) + by_type(PictureType::D))
            .field("dropped-by-rule", gst::Array::new(rules))
            .field("groups-lost", self.groups_lost)
            .field("key-frame-requests", self.key_frame_requests)
            .field("unreadable", self.unreadable)
            .field("events-dropped", self.events_dropped)
            .field("current-level-buffers", u64::from(level.frames))
            .field("current-level-bytes", level.bytes.as_bytes())
            .field("current-level-time", nanos(level))
            .field("highest-level-buffers", u64::from(self.highest.frames))
            .field("highest-level-bytes", self.highest.bytes.as_bytes())
            .field("highest-level-time", nanos(self.highest))
            .build()
    }
}

/// The time that waits, as GStreamer counts it.
pub fn nanos(level: Level) -> u64 {
    u64::try_from(level.time.as_nanos()).unwrap_or(u64::MAX)
}

/// What the message `framewire-frame-dropped` says of a frame.
pub fn drop_message(
    frame: &OutgoingFrame<Held>,
    rule: &str,
    segment: Option<&gst::FormattedSegment<gst::ClockTime>>,
) -> gst::Structure {
    let Held { buffer, .. } = &frame.bytes;
    let times = segment.zip(buffer.pts());
    gst::Structure::builder("framewire-frame-dropped")
        .field("frame", frame.bytes.number)
        .field("group", frame.bytes.group)
        .field("type", frame.kind.to_string())
        .field("rule", rule)
        .field("size", frame.bytes.size())
        .field("pts", buffer.pts())
        .field("dts", buffer.dts())
        .field("duration", frame.bytes.duration())
        .field("running-time", times.and_then(|(segment, pts)| segment.to_running_time(pts)))
        .field("stream-time", times.and_then(|(segment, pts)| segment.to_stream_time(pts)))
        .build()
}
