//! From packets to loss events (RFC 5348, sections 5.1 and 5.2): losses of one round-trip time are one event.

use framewire_units::{Duration, Timestamp};

use super::arrivals::{Arrival, Arrivals, Gap, Kind};
use super::loss_history::{INTERVALS, LossHistory};

/// Parts of the newest event that are remembered, in case that its packets are only late. Beyond it stays an event.
const MOST_PARTS: usize = 32;

/// Finds the loss events of a flow and keeps their history.
#[derive(Clone, Debug)]
pub(super) struct LossDetector {
    arrivals: Arrivals,
    history: LossHistory,
    /// What was lost in the newest event, in order.
    newest: Vec<(Gap, u64, u64)>,
    /// The newest event has a marked packet, or more parts than are remembered: it will not be taken back.
    newest_is_certain: bool,
}

impl LossDetector {
    pub(super) fn new(history: LossHistory) -> Self {
        Self { arrivals: Arrivals::default(), history, newest: Vec::new(), newest_is_certain: false }
    }

    /// The flow begins with packet `first`: if it does not arrive, it was lost.
    pub(super) fn begin(&mut self, first: u64, at: Timestamp) {
        self.arrivals.begin(first, at);
    }

    /// The highest number that arrived.
    pub(super) fn highest(&self) -> Option<u64> {
        self.arrivals.highest()
    }

    /// p.
    pub(super) fn loss_event_rate(&self) -> f64 {
        self.history.loss_event_rate(self.highest().unwrap_or_default())
    }

    /// A packet arrived; `marked` by ECN, which counts as lost.
    ///
    /// `first_interval` makes up the interval before the first event of all, which begins with the packet that it is
    /// given.
    pub(super) fn handle(
        &mut self,
        arrival: Arrival,
        marked: bool,
        round_trip: Duration,
        first_interval: &dyn Fn(u64) -> f64,
    ) -> Arrived {
        if self.arrivals.handle(arrival) == Kind::Old {
            return self.take_back(arrival.sequence);
        }
        if marked {
            self.arrivals.overtake_all();
        }
        let mut began = false;
        while let Some(gap) = self.arrivals.poll_lost() {
            began |= self.handle_lost(gap, round_trip, first_interval);
        }
        if marked {
            if self.is_new_event(arrival.at, round_trip) {
                self.begin_event(arrival.sequence, arrival.at, first_interval);
                began = true;
            }
            self.newest_is_certain = true;
        }
        if began { Arrived::WithLossEvent } else { Arrived::Fresh }
    }

    fn is_new_event(&self, at: Timestamp, round_trip: Duration) -> bool {
        self.history.newest().is_none_or(|(_, began)| at > began + round_trip)
    }

    fn begin_event(&mut self, start: u64, at: Timestamp, first_interval: &dyn Fn(u64) -> f64) {
        self.history.begin_event(start, at, || first_interval(start));
        self.newest.clear();
        self.newest_is_certain = false;
    }

    /// Cuts a gap into events. Of a gap of many round-trip times only as many of the last events are made as the
    /// history keeps, and the first, which ends the interval before.
    fn handle_lost(&mut self, gap: Gap, round_trip: Duration, first_interval: &dyn Fn(u64) -> f64) -> bool {
        let kept = (round_trip + gap.spacing()).saturating_mul(INTERVALS as u32 + 2);
        let skip_to = gap.last_until(gap.first, gap.time_of(gap.last) - kept);
        let (mut next, mut began) = (gap.first, false);
        while next <= gap.last {
            let at = gap.time_of(next);
            if self.is_new_event(at, round_trip) {
                self.begin_event(next, at, first_interval);
                began = true;
            }
            let event_began = self.history.newest().map_or(at, |(_, began)| began);
            let last = gap.last_until(next, event_began + round_trip);
            self.remember(gap, next, last);
            next = (last + 1).max(skip_to);
        }
        began
    }

    fn remember(&mut self, gap: Gap, first: u64, last: u64) {
        if self.newest.len() < MOST_PARTS {
            self.newest.push((gap, first, last));
        } else {
            self.newest_is_certain = true;
        }
    }

    /// A packet arrived that may have been counted as lost: the RFC lets the receiver count again (section 5.1). Only
    /// the newest event is open to it.
    fn take_back(&mut self, sequence: u64) -> Arrived {
        let Some(index) = self.newest.iter().position(|&(_, first, last)| (first..=last).contains(&sequence)) else {
            return Arrived::Twice;
        };
        let (gap, first, last) = self.newest.remove(index);
        for (first, last) in [(sequence + 1, last), (first, sequence.saturating_sub(1))] {
            if first <= last {
                self.newest.insert(index, (gap, first, last));
            }
        }
        if self.newest_is_certain {
            return Arrived::Late;
        }
        match self.newest.iter().min_by_key(|(_, first, _)| *first) {
            Some((gap, first, _)) => {
                self.history.postpone_newest(*first, gap.time_of(*first));
                Arrived::Late
            }
            None => {
                self.history.remove_newest();
                Arrived::WithoutLossEvent
            }
        }
    }
}

/// What the arrival of a packet meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    /// Nothing but itself.
    Fresh,
    /// With it, other packets count as lost that belong to no event before.
    WithLossEvent,
    /// It had been counted as lost.
    Late,
    /// The same, and the newest loss event is gone with it: none of its packets was lost.
    WithoutLossEvent,
    /// It had arrived before, or too long ago to know.
    Twice,
}

#[cfg(test)]
mod tests {
    use super::super::loss_history::Weights;
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(100);

    struct Flow(LossDetector);

    impl Flow {
        fn new() -> Self {
            Self(LossDetector::new(LossHistory::new(Weights::RFC, false)))
        }

        /// Packets each 10 ms; every missing number is lost.
        fn arrive(&mut self, numbers: impl IntoIterator<Item = u64>) -> Vec<Arrived> {
            numbers.into_iter().map(|sequence| self.arrive_at(sequence, 10 * sequence)).collect()
        }

        fn arrive_at(&mut self, sequence: u64, millis: u64) -> Arrived {
            let arrival = Arrival { sequence, at: Timestamp::from_millis(millis) };
            self.0.handle(arrival, false, ROUND_TRIP, &|_| 1e9)
        }

        fn starts(&mut self) -> Vec<u64> {
            let mut history = self.0.history.clone();
            let mut starts = Vec::new();
            while let Some((start, _)) = history.newest() {
                starts.push(start);
                history.remove_newest();
            }
            starts.reverse();
            starts
        }
    }

    fn without(range: std::ops::RangeInclusive<u64>, lost: &[u64]) -> Vec<u64> {
        range.filter(|number| !lost.contains(number)).collect()
    }

    #[test]
    fn losses_of_one_round_trip_are_one_event() {
        let mut flow = Flow::new();
        // Lost at 200 ms, 250 ms and 300 ms (one round-trip time later, not more), then at 310 ms.
        let arrived = flow.arrive(without(1..=40, &[20, 25, 30, 31]));
        assert_eq!(flow.starts(), [20, 31]);
        assert_eq!(arrived.iter().filter(|arrived| **arrived == Arrived::WithLossEvent).count(), 2);
    }

    #[test]
    fn a_gap_of_several_round_trips_is_several_events() {
        let mut flow = Flow::new();
        let gap: Vec<u64> = (20..=45).collect();
        flow.arrive(without(1..=50, &gap));
        assert_eq!(flow.starts(), [20, 31, 42]);
    }

    #[test]
    fn an_endless_gap_is_counted_in_no_time() {
        let mut flow = Flow::new();
        flow.arrive([1, 2]);
        let (far, millis) = (1 << 40, 1 << 43);
        for number in 0..3 {
            flow.arrive_at(far + number, millis + number);
        }
        assert_eq!(flow.starts().len(), INTERVALS);
        // A packet each 8 ms: 13 packets are the first that take more than 100 ms.
        let interval = 1.0 / flow.0.loss_event_rate();
        assert!((13.0..14.0).contains(&interval), "{interval}");
    }

    #[test]
    fn slow_packets_are_an_event_each() {
        let mut flow = Flow::new();
        flow.arrive([1]);
        for (number, millis) in [(20, 10_000), (21, 10_001), (22, 10_002)] {
            flow.arrive_at(number, millis);
        }
        assert_eq!(flow.0.loss_event_rate(), 6.0 / 9.0, "I_0 = 4, all others 1: (4 + 5) / 6");
    }

    #[test]
    fn a_late_packet_takes_its_event_back() {
        let mut flow = Flow::new();
        flow.arrive(without(1..=60, &[20, 40]));
        assert_eq!(flow.starts(), [20, 40]);
        assert_eq!(flow.arrive_at(40, 700), Arrived::WithoutLossEvent);
        assert_eq!(flow.starts(), [20]);
        assert_eq!(flow.arrive_at(40, 701), Arrived::Twice);
        assert_eq!(flow.arrive_at(20, 702), Arrived::Twice, "only the newest event is open");
        assert_eq!(flow.starts(), [20]);
    }

    #[test]
    fn a_late_packet_moves_its_event_to_the_next_that_is_lost() {
        let mut flow = Flow::new();
        flow.arrive(without(1..=30, &[20, 21, 22, 25]));
        assert_eq!([flow.arrive_at(21, 310), flow.arrive_at(20, 311)], [Arrived::Late; 2]);
        assert_eq!(flow.starts(), [22]);
        assert_eq!([flow.arrive_at(22, 312), flow.arrive_at(25, 313)], [Arrived::Late, Arrived::WithoutLossEvent]);
        assert_eq!(flow.starts(), []);
        assert_eq!(flow.0.loss_event_rate(), 0.0);
    }

    #[test]
    fn a_mark_is_a_loss_that_arrives() {
        let mut flow = Flow::new();
        flow.arrive(1..=10);
        let mark = |flow: &mut Flow, sequence| {
            let arrival = Arrival { sequence, at: Timestamp::from_millis(10 * sequence) };
            flow.0.handle(arrival, true, ROUND_TRIP, &|_| 50.0)
        };
        assert_eq!(mark(&mut flow, 11), Arrived::WithLossEvent);
        assert_eq!(mark(&mut flow, 12), Arrived::Fresh, "within a round-trip time");
        assert_eq!(mark(&mut flow, 22), Arrived::WithLossEvent);
        assert_eq!(flow.starts(), [11, 22]);
    }

    /// The example of section 5.1: n - 1 and n + 1 arrive, then n + 2 with a mark.
    #[test]
    fn an_event_begins_with_the_packet_that_is_missing_before_a_mark() {
        let mut flow = Flow::new();
        flow.arrive([1, 2, 3, 5]);
        let marked = Arrival { sequence: 6, at: Timestamp::from_millis(60) };
        assert_eq!(flow.0.handle(marked, true, ROUND_TRIP, &|_| 50.0), Arrived::WithLossEvent);
        assert_eq!(flow.starts(), [4]);
        assert_eq!(flow.arrive_at(4, 65), Arrived::Late, "the marked packet is still of the event");
        assert_eq!(flow.starts(), [4]);
    }
}
