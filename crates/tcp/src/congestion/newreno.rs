//! New Reno with the arithmetic of RFC 5681: the threshold after a loss is half of what is in flight (equation 4), where
//! Linux' `reno` takes half the window. Both are the same to a sender that fills its window; one that its application
//! limits has less in flight. Growth is that of [`reno`](super::reno).

use framewire_units::Timestamp;

use super::{Acknowledgement, CongestionControl, MINIMUM_THRESHOLD, Window, reno};

/// The algorithm; it has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NewReno;

impl CongestionControl for NewReno {
    fn name(&self) -> &'static str {
        "newreno"
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        reno::grow(window, ack);
    }

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        (window.flight_size / 2).max(MINIMUM_THRESHOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_half_of_what_is_in_flight() {
        for (flight_size, threshold) in [(40, 20), (41, 20), (3, 2), (0, 2)] {
            let window =
                Window { cwnd: 100, ssthresh: 50, cwnd_count: 0, prior_cwnd: 0, flight_size, maximum_segment: 1460 };
            assert_eq!(NewReno.reduced_threshold(&window, Timestamp::ZERO), threshold);
            assert_eq!(reno::reduced_threshold(&window), 50);
        }
    }
}
