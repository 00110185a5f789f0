//! X_recv_set: the receive rates that bound the sending rate (RFC 5348, section 4.3).

use std::collections::VecDeque;

use framewire_units::{Duration, Timestamp};

/// Receive rates that are kept. Two are usual; of a receiver that reports more often the last of them count.
const MOST: usize = 16;

/// Recent receive rates in bytes per second, with the time of their report.
#[derive(Clone, Debug)]
pub(super) struct ReceiveRates {
    set: VecDeque<(Timestamp, f64)>,
}

impl ReceiveRates {
    /// Infinity alone: nothing was reported yet.
    pub(super) fn new(now: Timestamp) -> Self {
        Self { set: VecDeque::from([(now, f64::INFINITY)]) }
    }

    /// The largest.
    pub(super) fn maximum(&self) -> f64 {
        self.set.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// Update X_recv_set(): adds a rate, and forgets what is older than two round-trip times.
    pub(super) fn update(&mut self, now: Timestamp, rate: f64, round_trip: Duration) {
        self.set.retain(|(at, _)| now.saturating_since(*at) <= round_trip * 2);
        self.set.push_back((now, rate));
        if self.set.len() > MOST {
            self.set.pop_front();
        }
    }

    /// Maximize X_recv_set(): the largest of all and a new one remains, as of now.
    pub(super) fn maximize(&mut self, now: Timestamp, rate: f64) {
        let reported = self.set.iter().map(|(_, rate)| *rate).filter(|rate| rate.is_finite());
        let largest = reported.fold(rate, f64::max);
        self.replace(now, largest);
    }

    /// Halves all.
    pub(super) fn halve(&mut self) {
        self.set.iter_mut().for_each(|(_, rate)| *rate /= 2.0);
    }

    /// One rate takes the place of all.
    pub(super) fn replace(&mut self, now: Timestamp, rate: f64) {
        self.set.clear();
        self.set.push_back((now, rate));
    }
}
