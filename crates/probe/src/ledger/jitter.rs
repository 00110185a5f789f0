//! Interarrival jitter of frames (RFC 3550, 6.4.1), over the latencies in order of arrival.

use super::FrameRow;

/// Gain of the estimator: "the gain parameter 1/16 gives a good noise reduction ratio" (RFC 3550, 6.4.1).
const GAIN: f64 = 1.0 / 16.0;

/// Fills in the jitter of every frame that arrived, but for the first: it has none to be compared with.
///
/// J += (|D| - J) / 16, where D is the difference of the latencies of a frame and of the one that arrived before it,
/// as in section 3.4 of the thesis. Frames that arrived at the same moment are taken in decode order.
pub(super) fn estimate(rows: &mut [FrameRow]) {
    let mut arrived: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].arrival.is_some()).collect();
    arrived.sort_by_key(|&index| (rows[index].arrival, index));
    let mut jitter = 0.0; // J
    for pair in arrived.windows(2) {
        let (Some(before), Some(latency)) = (rows[pair[0]].latency_nanos, rows[pair[1]].latency_nanos) else {
            continue;
        };
        let difference = latency.abs_diff(before) as f64; // |D|
        jitter += (difference - jitter) * GAIN;
        rows[pair[1]].jitter_nanos = Some(jitter.round() as i64);
    }
}
