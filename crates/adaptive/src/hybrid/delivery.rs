use std::collections::VecDeque;

use framewire_units::{DataSize, Duration, Timestamp};

/// What the rate is taken over, at least: two reports of five packets at the lowest level. Measured: 0.28 and 0.56 s
/// change nothing (docs/vtp-hybrid.md, Constants).
const WINDOW: Duration = Duration::from_millis(400);

/// Reports that are remembered at most.
const MOST: usize = 512;

/// The rate at which video arrives: bytes over the time between the arrivals of two packets, without the bias of
/// equation 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    /// Arrivals by the receiver's clock, and the bytes that came since the one before.
    reports: VecDeque<(Timestamp, u64)>,
}

impl Delivery {
    /// A report: what came until the arrival of the packet that asked for it.
    pub(super) fn update(&mut self, arrival: Timestamp, size: DataSize) {
        if self.reports.back().is_some_and(|&(last, _)| arrival <= last) {
            self.reports.clear(); // the receiver's clock went back
        }
        self.reports.push_back((arrival, size.as_bytes()));
        let is_long_without = |reports: &VecDeque<(Timestamp, u64)>| {
            reports.get(1).is_some_and(|&(second, _)| arrival.saturating_since(second) >= WINDOW)
        };
        while self.reports.len() > MOST || is_long_without(&self.reports) {
            self.reports.pop_front();
        }
    }

    /// In bits per second; `None` before a second report.
    pub(super) fn rate(&self) -> Option<f64> {
        let (&(first, _), &(last, _)) = (self.reports.front()?, self.reports.back()?);
        let time = last.saturating_since(first).as_secs_f64();
        let bytes = self.reports.iter().skip(1).fold(0u64, |sum, &(_, size)| sum.saturating_add(size));
        (time > 0.0).then(|| 8.0 * bytes as f64 / time)
    }
}
