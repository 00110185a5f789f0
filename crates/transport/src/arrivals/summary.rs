//! What the properties report: counts, latencies, and the last rows.

use framewire_media::PictureType;

use super::row::{FrameRow, GroupRow, Row};

/// What could not be analysed, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Access units with headers that could not be read.
    pub unreadable: u64,
    /// Frames of which a packet is missing.
    pub incomplete: u64,
    /// Packets that are not of the stream, or too late.
    pub rejected: u64,
}

/// Everything so far.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Frames that arrived whole.
    pub frames: u64,
    /// What could not be analysed.
    pub faults: Faults,
    /// Groups of pictures.
    pub groups: u64,
    /// Bytes of the frames.
    pub bytes: u64,
    /// Frames by coding type: I, P, and B or D.
    pub by_type: [u64; 3],
    /// Frames that refer to one that never came.
    pub missing_reference: u64,
    latency: Extent,
    /// The last frame.
    pub last_frame: Option<FrameRow>,
    /// The last group of pictures.
    pub last_group: Option<GroupRow>,
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

    /// The least latency, their mean and the largest one in nanoseconds; `None` before one is known.
    pub fn latencies(&self) -> Option<[i64; 3]> {
        self.latency.range.map(|(least, most)| [least, self.latency.mean(), most])
    }

    /// Latency of the last frame in nanoseconds.
    pub fn latency(&self) -> i64 {
        self.last_frame.as_ref().and_then(|frame| frame.latency_nanos).unwrap_or(0)
    }

    /// Jitter after the last frame in nanoseconds.
    pub fn jitter(&self) -> i64 {
        self.last_frame.as_ref().and_then(|frame| frame.jitter_nanos).unwrap_or(0)
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
