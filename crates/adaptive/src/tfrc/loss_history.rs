//! The average loss interval and its inverse, the loss event rate (RFC 5348, sections 5.3 to 5.5).

use std::collections::VecDeque;

use framewire_units::Timestamp;

/// n: loss intervals that are remembered beside the current one (section 5.4).
pub(crate) const INTERVALS: usize = 8;

/// The least that one long interval leaves of the weight of older ones: THRESHOLD of section 5.5.
const LEAST_DISCOUNT: f64 = 0.25;

/// What an interval counts, the newest first: w_0 to w_7.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights([f64; INTERVALS]);

impl Weights {
    /// Section 5.4: 1 for the newer half, then falling evenly.
    pub const RFC: Self = Self([1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]);

    /// As the paper prints them (section 6.4): its sixth and seventh are in the wrong order.
    pub const PAPER: Self = Self([1.0, 1.0, 1.0, 1.0, 0.8, 0.4, 0.6, 0.2]);

    /// Weights of one's own; `None` unless all are finite and none is below zero, and the first is above it.
    pub fn new(weights: [f64; INTERVALS]) -> Option<Self> {
        let sound = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) && weights[0] > 0.0;
        sound.then_some(Self(weights))
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self::RFC
    }
}

/// A loss event, and the interval that it ended.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LossEvent {
    /// Sequence number of its first packet.
    start: u64,
    /// When that packet would have arrived.
    at: Timestamp,
    /// Packets from the start of the event before to this one.
    interval: f64,
    /// DF when it began: what is left of the weight of all intervals older than the one it ended.
    discount: f64,
}

/// The last loss events of a flow.
///
/// Sequence numbers are extended: they never wrap. I_0 is the interval since the newest event, I_1 the one that this
/// event ended, and so on, as in the RFC.
#[derive(Clone, Debug)]
pub(crate) struct LossHistory {
    weights: Weights,
    discounting: bool,
    /// The newest first, at most [`INTERVALS`].
    events: VecDeque<LossEvent>,
}

/// A weighted sum of intervals and of their weights.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    packets: f64,
    weight: f64,
}

impl Average {
    fn add(&mut self, interval: f64, weight: f64) {
        self.packets += interval * weight;
        self.weight += weight;
    }

    fn mean(self) -> f64 {
        self.packets / self.weight
    }
}

impl LossHistory {
    /// No loss so far.
    pub(crate) fn new(weights: Weights, discounting: bool) -> Self {
        Self { weights, discounting, events: VecDeque::with_capacity(INTERVALS + 1) }
    }

    /// A loss event begins at packet `start`, which would have arrived at `at`.
    ///
    /// `first_interval` is asked for the length of the interval before the first event of all, which section 6.3.1
    /// makes up; other events end the interval that the one before began.
    pub(crate) fn begin_event(&mut self, start: u64, at: Timestamp, first_interval: impl FnOnce() -> f64) {
        let (interval, discount) = match self.events.front() {
            None => (first_interval().max(1.0), 1.0),
            Some(newest) => {
                let interval = start.saturating_sub(newest.start).max(1) as f64;
                (interval, self.discount(interval))
            }
        };
        self.events.push_front(LossEvent { start, at, interval, discount });
        self.events.truncate(INTERVALS);
    }

    /// First packet of the newest event and when it would have arrived.
    pub(crate) fn newest(&self) -> Option<(u64, Timestamp)> {
        self.events.front().map(|event| (event.start, event.at))
    }

    /// The newest event begins later than thought: its first packets arrived after all. Nothing moves backwards.
    pub(crate) fn postpone_newest(&mut self, start: u64, at: Timestamp) {
        if let Some(event) = self.events.front_mut().filter(|event| event.start < start) {
            event.interval += (start - event.start) as f64;
            (event.start, event.at) = (start, at);
        }
    }

    /// The newest event never happened: all its packets arrived after all. The interval that it ended goes on.
    pub(crate) fn remove_newest(&mut self) {
        self.events.pop_front();
    }

    /// p: one over the average loss interval, 0 before the first loss. `highest` is the highest sequence number that
    /// arrived.
    pub(crate) fn loss_event_rate(&self, highest: u64) -> f64 {
        let Some(newest) = self.events.front() else { return 0.0 };
        let current = (highest.saturating_sub(newest.start).saturating_add(1)) as f64;
        let mean = self.mean_with(current).max(self.closed().mean());
        (1.0 / mean).min(1.0)
    }

    /// I_1 to I_k with what is left of their weight (DF_i), the newest first.
    fn intervals(&self) -> impl Iterator<Item = (f64, f64)> {
        self.events.iter().scan(1.0, |left, event| {
            let discounted = (event.interval, *left);
            *left *= event.discount;
            Some(discounted)
        })
    }

    /// I_tot1 and W_tot1: without the current interval.
    fn closed(&self) -> Average {
        let mut average = Average::default();
        for ((interval, left), weight) in self.intervals().zip(self.weights.0) {
            average.add(interval, weight * left);
        }
        average
    }

    /// I_tot0 / W_tot0: the current interval, and all but the oldest.
    fn mean_with(&self, current: f64) -> f64 {
        let discount = self.discount(current);
        let mut average = Average::default();
        average.add(current, self.weights.0[0]);
        let others = self.events.len().saturating_sub(1);
        for ((interval, left), weight) in self.intervals().take(others).zip(&self.weights.0[1..]) {
            average.add(interval, weight * left * discount);
        }
        average.mean()
    }

    /// DF: less than 1 once the current interval is longer than twice the average of the others (section 5.5).
    fn discount(&self, current: f64) -> f64 {
        let mean = self.closed().mean();
        if self.discounting && current > 2.0 * mean { (2.0 * mean / current).max(LEAST_DISCOUNT) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn history(discounting: bool, first: f64, starts: &[u64]) -> LossHistory {
        let mut history = LossHistory::new(Weights::RFC, discounting);
        for &start in starts {
            history.begin_event(start, Timestamp::from_secs(start), || first);
        }
        history
    }

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn the_weights_are_those_of_the_rfcs_formula() {
        for i in 0..INTERVALS {
            let weight = if i < 4 { 1.0 } else { 2.0 * (8 - i) as f64 / (8 + 2) as f64 };
            close(Weights::RFC.0[i], weight);
        }
        assert!(Weights::new([0.0; 8]).is_none() && Weights::new([f64::NAN; 8]).is_none());
        assert_eq!(Weights::new(Weights::PAPER.0), Some(Weights::PAPER));
    }

    #[test]
    fn one_event_is_the_made_up_interval_until_the_current_one_is_longer() {
        let history = history(false, 50.0, &[100]);
        close(history.loss_event_rate(100), 1.0 / 50.0);
        close(history.loss_event_rate(149), 1.0 / 50.0);
        close(history.loss_event_rate(199), 1.0 / 100.0);
    }

    #[test]
    fn nine_events_by_hand() {
        // Events at 100, 110, 130, 160, 200, 250, 310, 380, 460: I_1 to I_8 are 80, 70, ..., 10.
        let starts = [100, 110, 130, 160, 200, 250, 310, 380, 460];
        let all = history(false, 1e6, &starts);
        // 80 + 70 + 60 + 50 + 40*0.8 + 30*0.6 + 20*0.4 + 10*0.2 = 320, weights 6.
        close(all.loss_event_rate(460), 6.0 / 320.0);
        // I_0 = 140: 140 + 80 + 70 + 60 + 50*0.8 + 40*0.6 + 30*0.4 + 20*0.2 = 430; longer than 320.
        close(all.loss_event_rate(599), 6.0 / 430.0);

        let mut printed = LossHistory::new(Weights::PAPER, false);
        starts.iter().for_each(|&start| printed.begin_event(start, Timestamp::ZERO, || 1e6));
        // 80 + 70 + 60 + 50 + 40*0.8 + 30*0.4 + 20*0.6 + 10*0.2 = 318.
        close(printed.loss_event_rate(460), 6.0 / 318.0);
    }

    #[test]
    fn a_long_interval_discounts_the_older_ones_by_hand() {
        let history = history(true, 100.0, &[1_000, 1_100, 1_200]);
        // All intervals are 100. I_0 = 200 is not more than twice as long: (200 + 100 + 100) / 3.
        close(history.loss_event_rate(1_399), 3.0 / 400.0);
        // I_0 = 400, DF = 2*100/400 = 0.5: (400 + 0.5*100 + 0.5*100) / (1 + 0.5 + 0.5).
        close(history.loss_event_rate(1_599), 2.0 / 500.0);
        // I_0 = 4000, DF = 0.25 at least: (4000 + 50) / 1.5.
        close(history.loss_event_rate(5_199), 1.5 / 4_050.0);
    }

    #[test]
    fn a_discount_stays_with_the_older_intervals_when_the_long_one_ends() {
        let mut history = history(true, 100.0, &[1_000, 1_100, 1_200]);
        history.begin_event(1_600, Timestamp::ZERO, || unreachable!("only the first event has a made-up interval"));
        // I_1 = 400 at full weight, the three of 100 at half of it: (400 + 3*50) / (1 + 3*0.5).
        close(history.loss_event_rate(1_600), 2.5 / 550.0);
        history.begin_event(1_700, Timestamp::ZERO, || unreachable!("as above"));
        // I = 100, 400, 100, 100, 100 with DF = 1, 1, 0.5, 0.5, 0.5 and w = 1, 1, 1, 1, 0.8: 100 + 400 + 50 + 50 + 40.
        close(history.loss_event_rate(1_700), 3.4 / 640.0);
    }

    #[test]
    fn an_event_that_did_not_happen_leaves_no_trace() {
        let before = history(true, 30.0, &[100, 200, 1_000]);
        let mut after = before.clone();
        after.begin_event(1_050, Timestamp::ZERO, || 0.0);
        assert!(after.loss_event_rate(1_060) > before.loss_event_rate(1_060));
        after.remove_newest();
        assert_eq!(after.loss_event_rate(1_060), before.loss_event_rate(1_060));

        let mut late = history(false, 30.0, &[100, 200]);
        late.postpone_newest(150, Timestamp::ZERO);
        assert_eq!(late.newest().unwrap().0, 200, "an event never moves backwards");
        late.postpone_newest(210, Timestamp::ZERO);
        assert_eq!(late.loss_event_rate(220), history(false, 30.0, &[100, 210]).loss_event_rate(220));
    }

    /// Section 5.5 step by step, as it stands: arrays that are shifted, and DF brought up to date at every packet. Its
    /// sums go to n; of fewer intervals they go as far as in section 5.4, which they modify.
    struct StepByStep {
        intervals: Vec<f64>,
        factors: Vec<f64>,
        general: f64,
    }

    #[expect(clippy::needless_range_loop, reason = "it counts as section 5.5 does")]
    impl StepByStep {
        fn new(first_interval: f64) -> Self {
            Self { intervals: vec![1.0, first_interval], factors: vec![1.0, 1.0], general: 1.0 }
        }

        fn packet(&mut self) {
            let (mut sum, mut weights) = (0.0, 0.0);
            for i in 1..self.intervals.len() {
                weights += Weights::RFC.0[i - 1] * self.factors[i];
                sum += self.intervals[i] * Weights::RFC.0[i - 1] * self.factors[i];
            }
            let mean = sum / weights;
            let current = self.intervals[0];
            self.general = if current > 2.0 * mean { (2.0 * mean / current).max(0.25) } else { 1.0 };
        }

        fn arrives(&mut self) {
            self.intervals[0] += 1.0;
            self.packet();
        }

        fn loss_event(&mut self) {
            self.factors[1..].iter_mut().for_each(|factor| *factor *= self.general);
            self.intervals.insert(0, 1.0);
            self.factors.insert(0, 1.0);
            self.intervals.truncate(INTERVALS + 1);
            self.factors.truncate(INTERVALS + 1);
            self.general = 1.0;
        }

        fn loss_event_rate(&self) -> f64 {
            let weights = Weights::RFC.0;
            let (mut sums, mut totals) = ([self.intervals[0] * weights[0], 0.0], [weights[0], 0.0]);
            for i in 1..self.intervals.len() - 1 {
                sums[0] += self.intervals[i] * weights[i] * self.factors[i] * self.general;
                totals[0] += weights[i] * self.factors[i] * self.general;
            }
            for i in 1..self.intervals.len() {
                sums[1] += self.intervals[i] * weights[i - 1] * self.factors[i];
                totals[1] += weights[i - 1] * self.factors[i];
            }
            (totals[0] / sums[0]).min(totals[1] / sums[1])
        }
    }

    proptest! {
        /// Intervals of 1 to 729 packets, so that DF falls to its least and builds up over several events.
        #[test]
        fn discounting_is_that_of_section_5_5_at_every_packet(
            first in 1.0f64..500.0, lengths in proptest::collection::vec(0u32..7, 1..25),
        ) {
            let mut rfc = StepByStep::new(first);
            let mut ours = history(true, first, &[1]);
            let (mut start, mut highest) = (1u64, 1u64);
            rfc.packet();
            for length in lengths {
                for _ in 1..3u64.pow(length) {
                    (highest, _) = (highest + 1, rfc.arrives());
                    let (expected, found) = (rfc.loss_event_rate(), ours.loss_event_rate(highest));
                    prop_assert!((found / expected.min(1.0) - 1.0).abs() < 1e-9, "{found}, not {expected}");
                }
                // The next packet is lost and begins an event; in it is the first of the new interval.
                (start, highest) = (highest + 1, highest + 1);
                rfc.loss_event();
                ours.begin_event(start, Timestamp::ZERO, || unreachable!("it has events"));
                let (expected, found) = (rfc.loss_event_rate(), ours.loss_event_rate(highest));
                prop_assert!((found / expected.min(1.0) - 1.0).abs() < 1e-9, "{found}, not {expected}");
            }
            prop_assert!(start == highest);
        }

        #[test]
        fn equal_intervals_are_their_own_average(interval in 1u64..1_000_000, events in 1u64..20, discounting: bool) {
            let starts: Vec<u64> = (1..=events).map(|event| event * interval).collect();
            let history = history(discounting, interval as f64, &starts);
            prop_assert!((history.loss_event_rate(events * interval) * interval as f64 - 1.0).abs() < 1e-9);
        }

        #[test]
        fn it_is_a_rate_that_falls_while_nothing_is_lost(
            steps in proptest::collection::vec(0u64..10_000, 0..30), first in -1.0f64..1e9, discounting: bool,
        ) {
            let starts: Vec<u64> = steps.iter().scan(5, |at, step| { *at += step; Some(*at) }).collect();
            let history = history(discounting, first, &starts);
            let last = starts.last().copied().unwrap_or(5);
            let rates: Vec<f64> = (0..50).map(|n| history.loss_event_rate(last + n * n * 10)).collect();
            prop_assert!(rates.iter().all(|rate| (0.0..=1.0).contains(rate) && (*rate == 0.0) == starts.is_empty()));
            prop_assert!(rates.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)), "{rates:?}");
        }
    }
}
