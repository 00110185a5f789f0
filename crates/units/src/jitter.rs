//! Interarrival jitter.

/// Gain of the estimator: "the gain parameter 1/16 gives a good noise reduction ratio" (RFC 3550, section 6.4.1).
const GAIN: f64 = 1.0 / 16.0;

/// The jitter estimator of RTP (RFC 3550, section 6.4.1): J += (|D| - J) / 16, where D is the difference of the latencies
/// of an arrival and of the one before it.
///
/// ```
/// use framewire_units::JitterEstimator;
///
/// let mut estimator = JitterEstimator::default();
/// assert_eq!(estimator.update(5_000), None);
/// assert_eq!(estimator.update(21_000), Some(1_000)); // D is 16 us
/// assert_eq!(estimator.update(21_000), Some(938)); // and now nothing
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JitterEstimator {
    /// Latency of the last arrival in nanoseconds.
    last: Option<i64>,
    /// J in nanoseconds.
    jitter: f64,
}

impl JitterEstimator {
    /// Takes the latency of the next arrival and returns the estimate, both in nanoseconds. There is none at the first
    /// arrival, which has nothing to be compared with.
    pub fn update(&mut self, latency_nanos: i64) -> Option<i64> {
        let before = self.last.replace(latency_nanos)?;
        let difference = latency_nanos.abs_diff(before) as f64; // |D|
        self.jitter += (difference - self.jitter) * GAIN;
        Some(self.jitter.round() as i64)
    }
}
