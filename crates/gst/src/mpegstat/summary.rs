//! What the properties report: counts, latencies, and the last rows.

use framewire_media::PictureType;

use super::input::Faults;
use super::output::structure;
use super::row::{FrameRow, GroupRow, Row};

/// Everything so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// Frames that arrived whole.
    pub frames: u64,
    /// What could not be analysed.
    pub faults: Faults,
    groups: u64,
    bytes: u64,
    by_type: [u64; 3],
    missing_reference: u64,
    latency: Extent,
    last_frame: Option<FrameRow>,
    last_group: Option<GroupRow>,
}

/// Least, most and sum of latencies in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    range: Option<(i64, i64)>,
    sum: i128,
    count: u32,
}

impl Extent {
    fn add(&mut self, nanos: i64) {
        self.range = Some(self.range.map_or((nanos, nanos), |(least, most)| (least.min(nanos), most.max(nanos))));
        self.sum += i128::from(nanos);
        self.count = self.count.saturating_add(1);
    }

    fn mean(&self) -> i64 {
        i64::try_from(self.sum / i128::from(self.count.max(1))).unwrap_or(i64::MAX)
    }
}

impl Summary {
    /// Takes a row in.
    pub fn note(&mut self, row: Row) {
        match row {
            Row::Frame(frame) => self.note_frame(frame),
            Row::Group(group) => {
                self.groups += 1;
                self.last_group = Some(group);
            }
        }
    }

    /// Latency of the last frame in nanoseconds.
    pub fn latency(&self) -> i64 {
        self.last_frame.as_ref().and_then(|frame| frame.latency_nanos).unwrap_or(0)
    }

    /// Jitter after the last frame in nanoseconds.
    pub fn jitter(&self) -> i64 {
        self.last_frame.as_ref().and_then(|frame| frame.jitter_nanos).unwrap_or(0)
    }

    /// The `stats` property. What is not known is not in it.
    pub fn structure(&self) -> gst::Structure {
        let mut stats = gst::Structure::builder("application/x-framewire-video-stats")
            .field("frames", self.frames)
            .field("frames-i", self.by_type[0])
            .field("frames-p", self.by_type[1])
            .field("frames-b", self.by_type[2])
            .field("groups", self.groups)
            .field("bytes", self.bytes)
            .field("missing-reference", self.missing_reference)
            .field("unreadable", self.faults.unreadable)
            .field("incomplete", self.faults.incomplete)
            .field("rejected-packets", self.faults.rejected)
            .build();
        if let Some((least, most)) = self.latency.range {
            stats.set("latency-min", least);
            stats.set("latency-mean", self.latency.mean());
            stats.set("latency-max", most);
        }
        if let Some(jitter) = self.last_frame.as_ref().and_then(|frame| frame.jitter_nanos) {
            stats.set("jitter", jitter);
        }
        let last = [self.last_frame.clone().map(Row::Frame), self.last_group.clone().map(Row::Group)];
        for (field, row) in ["last-frame", "last-group"].into_iter().zip(last) {
            if let Some(row) = row {
                stats.set(field, structure(&row));
            }
        }
        stats
    }

    fn note_frame(&mut self, frame: FrameRow) {
        self.frames += 1;
        self.bytes += frame.size;
        self.missing_reference += u64::from(frame.missing_reference);
        let kind = match frame.kind {
            PictureType::I => 0,
            PictureType::P => 1,
            PictureType::B | PictureType::D => 2,
        };
        self.by_type[kind] += 1;
        if let Some(latency) = frame.latency_nanos {
            self.latency.add(latency);
        }
        self.last_frame = Some(frame);
    }
}
