/// Equation 2: B_i = α B_(i-1) + (1 - α) (b_i + b_(i-1)) / 2, in bits per second.
///
/// The equation does not define its beginning: here the first sample is also the one before it and the estimate
/// before it, so that the first estimate is the first sample.
#[derive(Clone, Debug)]
pub(crate) struct BandwidthEstimator {
    /// α.
    alpha: f64,
    /// b_(i-1) and B_(i-1).
    before: Option<(f64, f64)>,
}

impl BandwidthEstimator {
    /// An estimator that has seen nothing. `alpha` is at least 0 and below 1.
    pub(crate) fn new(alpha: f64) -> Self {
        Self { alpha, before: None }
    }

    /// Takes the sample b_i and returns B_i.
    pub(crate) fn update(&mut self, sample: f64) -> f64 {
        let (last_sample, last_estimate) = self.before.unwrap_or((sample, sample));
        let estimate = self.alpha * last_estimate + (1.0 - self.alpha) * (sample + last_sample) / 2.0;
        self.before = Some((sample, estimate));
        estimate
    }

    /// b_i, the last sample.
    pub(crate) fn sample(&self) -> Option<f64> {
        self.before.map(|(sample, _)| sample)
    }

    /// B_i.
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.before.map(|(_, estimate)| estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, α = 0.75: B_1 = 100; B_2 = 75 + 0.25 × 150 = 112.5; B_3 = 84.375 + 0.25 × 150 = 121.875;
    /// B_4 = 91.40625 + 0.25 × 75 = 110.15625.
    #[test]
    fn equation_2_by_hand() {
        let mut estimator = BandwidthEstimator::new(0.75);
        assert_eq!(estimator.estimate(), None);
        let estimates: Vec<f64> = [100.0, 200.0, 100.0, 50.0].map(|sample| estimator.update(sample)).into();
        assert_eq!(estimates, [100.0, 112.5, 121.875, 110.15625]);
        assert_eq!((estimator.sample(), estimator.estimate()), (Some(50.0), Some(110.15625)));
    }

    #[test]
    fn without_history_the_estimate_is_the_mean_of_two_samples() {
        let mut estimator = BandwidthEstimator::new(0.0);
        estimator.update(10.0);
        assert_eq!(estimator.update(30.0), 20.0);
    }
}
