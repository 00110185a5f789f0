//! When the sender sent all that it was allowed to (RFC 5348, section 8.2.1).

use std::collections::VecDeque;

use framewire_units::Timestamp;

/// Spans that are remembered: far more than feedback packets are on the way. Of more, the two oldest are taken for one.
const MOST_SPANS: usize = 16;

/// The times when the sender was not data-limited.
#[derive(Clone, Debug, Default)]
pub(super) struct DataLimits {
    /// First and last packet of each span in which every packet left as soon as it was allowed to.
    unlimited: VecDeque<(Timestamp, Timestamp)>,
    /// The last packet belongs to the last span.
    open: bool,
}

impl DataLimits {
    /// A packet leaves; `data_limited` says that it could have left earlier, had there been data.
    pub(super) fn handle_sent(&mut self, now: Timestamp, data_limited: bool) {
        match self.unlimited.back_mut().filter(|_| self.open && !data_limited) {
            Some((_, last)) => *last = now,
            None if !data_limited => self.unlimited.push_back((now, now)),
            None => {}
        }
        self.open = !data_limited;
        if self.unlimited.len() > MOST_SPANS {
            let oldest = self.unlimited.pop_front().map(|(first, _)| first);
            if let (Some(first), Some(next)) = (oldest, self.unlimited.front_mut()) {
                next.0 = first;
            }
        }
    }

    /// Whether all of the time after `from` until `to` was data-limited. What ended before is forgotten.
    pub(super) fn was_data_limited(&mut self, from: Timestamp, to: Timestamp) -> bool {
        while self.unlimited.front().is_some_and(|(_, last)| *last <= from) && self.unlimited.len() > 1 {
            self.unlimited.pop_front();
        }
        !self.unlimited.iter().any(|&(first, last)| first <= to && last > from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn one_packet_that_filled_the_allowance_makes_an_interval_unlimited() {
        let mut limits = DataLimits::default();
        for millis in 0..100 {
            limits.handle_sent(at(millis), millis != 55);
        }
        assert!(limits.was_data_limited(at(0), at(54)));
        assert!(!limits.was_data_limited(at(54), at(70)));
        assert!(limits.was_data_limited(at(55), at(99)), "an interval begins after its first moment");
    }

    #[test]
    fn a_long_greedy_time_is_one_span() {
        let mut limits = DataLimits::default();
        for millis in 0..10_000 {
            limits.handle_sent(at(millis), false);
        }
        assert_eq!(limits.unlimited.len(), 1);
        assert!(!limits.was_data_limited(at(7_000), at(7_001)));
    }

    #[test]
    fn a_restless_sender_is_remembered_within_bounds() {
        let mut limits = DataLimits::default();
        for millis in 0..10_000 {
            limits.handle_sent(at(millis), millis % 2 == 0);
        }
        assert!(limits.unlimited.len() <= MOST_SPANS);
        assert!(!limits.was_data_limited(at(9_990), at(9_999)));
    }
}
