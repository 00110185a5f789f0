//! Latencies by the thesis' own arithmetic: what its `mpegstat` element could derive from the stream it received.
//!
//! Its section 3.2 gives every frame two times: when it came, from the first packet that did, and when it was expected
//! (in transport order), from the stream. The latter is the time code of a group of pictures, plus the frame's place in
//! the group. An element that reads a stream knows only the headers that arrived, and they travel with the group's I
//! frame: where one is lost, "the nth frame of a GOP" has the time of the nth frame of the group before (section 3.8),
//! and its latency grows by the length of a group until the next header comes. This is what distorts the latencies of
//! its figures 3.41 and 3.42.

use framewire_units::{Duration, Timestamp};

use super::delays::InOrder;
use crate::record::FrameFacts;

/// The time of the stream as its group headers state it, to a receiver that gets the frames in order of arrival, and
/// those of one moment in decode order. Before the first header comes, frames count from the start of the stream.
#[derive(Debug, Default)]
pub(super) struct GroupClock(Duration);

impl GroupClock {
    /// How much later than expected the next frame came, in nanoseconds.
    pub(crate) fn latency(&mut self, frame: &InOrder) -> Option<i64> {
        self.0 = frame.group_time.unwrap_or(self.0);
        let expected = self.0 + frame.place; // S_i
        frame.relative.map(|arrival| nanos(arrival) - nanos(expected))
    }
}

/// When each frame is due, counted from the first frame of its group: its temporal reference, brought into transport
/// order.
#[derive(Debug, Default)]
pub(super) struct Places(Option<(u32, Timestamp)>);

impl Places {
    /// That of the next frame in decode order.
    pub(crate) fn take(&mut self, frame: &FrameFacts) -> Duration {
        let start = match self.0 {
            Some((number, start)) if number == frame.gop => start,
            _ => frame.due,
        };
        self.0 = Some((frame.gop, start));
        frame.due.saturating_since(start)
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
