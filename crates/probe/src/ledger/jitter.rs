//! Interarrival jitter of frames, over the latencies in order of arrival.

use framewire_units::JitterEstimator;

use super::FrameRow;

/// Fills in the jitter of every frame that arrived, but for the first: it has none to be compared with.
///
/// As in section 3.4 of the thesis. Frames that arrived at the same moment are taken in decode order.
pub(super) fn estimate(rows: &mut [FrameRow]) {
    let mut arrived: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].arrival.is_some()).collect();
    arrived.sort_by_key(|&index| (rows[index].arrival, index));
    let mut estimator = JitterEstimator::default();
    for index in arrived {
        rows[index].jitter_nanos = rows[index].latency_nanos.and_then(|latency| estimator.update(latency));
    }
}
