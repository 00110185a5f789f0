//! Latencies by the thesis' own arithmetic: what its `mpegstat` element could tell from the stream it received.
//!
//! Its section 3.2 gives every frame two times: when it came, from the first packet that did, and when it was expected
//! (in transport order), from the stream. The latter is the time code of a group of pictures, plus the frame's place in
//! the group. An element that reads a stream knows only the headers that arrived, and they travel with the group's I
//! frame: where one is lost, "the nth frame of a GOP" has the time of the nth frame of the group before (section 3.8),
//! and its latency grows by the length of a group until the next header comes. This is what distorts the latencies of
//! its figures 3.41 and 3.42.

use framewire_units::{Duration, Timestamp};

use super::FrameRow;
use crate::record::FrameFacts;

/// Replaces the latencies of the frames that arrived.
///
/// Frames are taken in order of arrival, and those of one moment in decode order. Before the first header comes, frames
/// count from the start of the stream.
pub(super) fn time_latencies(rows: &mut [FrameRow], frames: &[FrameFacts]) {
    let places = places_in_group(frames);
    let mut arrived: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].arrival.is_some()).collect();
    arrived.sort_by_key(|&index| (rows[index].arrival, index));
    let mut group_time = Duration::ZERO;
    for index in arrived {
        group_time = frames[index].group_time.unwrap_or(group_time);
        let expected = group_time + places[index]; // S_i
        rows[index].latency_nanos = rows[index].arrival_relative.map(|arrival| nanos(arrival) - nanos(expected));
    }
}

/// When each frame is due, counted from the first frame of its group: its temporal reference, brought into transport
/// order.
fn places_in_group(frames: &[FrameFacts]) -> Vec<Duration> {
    let mut group: Option<(u32, Timestamp)> = None;
    let place = |frame: &FrameFacts| {
        let start = match group {
            Some((number, start)) if number == frame.gop => start,
            _ => frame.due,
        };
        group = Some((frame.gop, start));
        frame.due.saturating_since(start)
    };
    frames.iter().map(place).collect()
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
