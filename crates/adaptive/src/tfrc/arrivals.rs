//! Which packets are lost: those that three packets with higher numbers overtook (RFC 5348, section 5.1).

use std::collections::VecDeque;

use framewire_units::{Duration, Timestamp};

/// Packets with a higher number that must arrive before a packet counts as lost: NDUPACK.
const NDUPACK: u8 = 3;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) sequence: u64,
    pub(super) at: Timestamp,
}

/// Neighbouring packets that did not arrive, between two that did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) first: u64,
    pub(super) last: u64,
    before: Arrival,
    after: Arrival,
}

impl Gap {
    /// T_loss: when a packet of the gap would have arrived, by interpolation (section 5.2).
    pub(super) fn time_of(&self, sequence: u64) -> Timestamp {
        let span = u128::from(self.after.at.saturating_since(self.before.at).as_nanos() as u64);
        let place = u128::from(sequence.saturating_sub(self.before.sequence).min(self.packets()));
        self.before.at + Duration::from_nanos((span * place / u128::from(self.packets())) as u64)
    }

    /// The last packet of the gap that would have arrived at `at` or before; `sequence` when none after it would have.
    pub(super) fn last_until(&self, sequence: u64, at: Timestamp) -> u64 {
        if at < self.before.at {
            return sequence;
        }
        let span = u128::from((self.after.at.saturating_since(self.before.at).as_nanos() as u64).max(1));
        let since = u128::from(at.saturating_since(self.before.at).as_nanos() as u64) + 1;
        // The largest place with span * place / packets, rounded down, below `since`.
        let place = (since * u128::from(self.packets()) - 1) / span;
        let found = u128::from(self.before.sequence) + place;
        u64::try_from(found).unwrap_or(u64::MAX).clamp(sequence, self.last.max(sequence))
    }

    /// Time from packet to packet.
    pub(super) fn spacing(&self) -> Duration {
        let nanos = self.after.at.saturating_since(self.before.at).as_nanos() as u64;
        Duration::from_nanos(nanos / self.packets())
    }

    /// Dist(S_after, S_before).
    fn packets(&self) -> u64 {
        self.after.sequence.saturating_sub(self.before.sequence).max(1)
    }
}

/// What an arrival was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It was missing until now.
    Fresh,
    /// It is a duplicate, or was counted as lost before.
    Old,
}

/// A gap that may still be filled.
#[derive(Clone, Copy, Debug)]
struct Hole {
    gap: Gap,
    /// Packets with higher numbers that arrived since.
    overtaken: u8,
}

/// The packets that arrived, as far as it matters what is missing between them. Holds a few holes, whatever arrives:
/// each fresh packet ages all holes below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    highest: Option<Arrival>,
    holes: VecDeque<Hole>,
}

impl Arrivals {
    /// The highest number that arrived.
    pub(super) fn highest(&self) -> Option<u64> {
        self.highest.map(|arrival| arrival.sequence)
    }

    /// The flow begins with packet `first`, and `arrival` is the first of it that arrived.
    pub(super) fn begin(&mut self, first: u64, at: Timestamp) {
        self.highest = Some(Arrival { sequence: first.saturating_sub(1), at });
    }

    /// A packet arrived.
    pub(super) fn handle(&mut self, arrival: Arrival) -> Kind {
        match self.highest {
            Some(highest) if arrival.sequence <= highest.sequence => {
                if !self.fill(arrival.sequence) {
                    return Kind::Old;
                }
            }
            Some(before) => {
                self.append_gap(before, arrival);
                self.highest = Some(arrival);
            }
            None => self.highest = Some(arrival),
        }
        for hole in self.holes.iter_mut().filter(|hole| hole.gap.last < arrival.sequence) {
            hole.overtaken = hole.overtaken.saturating_add(1);
        }
        Kind::Fresh
    }

    /// A packet arrived marked: what is missing below it counts as lost at once (section 5.1).
    pub(super) fn overtake_all(&mut self) {
        self.holes.iter_mut().for_each(|hole| hole.overtaken = NDUPACK);
    }

    /// The next gap that counts as lost, the lowest first.
    pub(super) fn poll_lost(&mut self) -> Option<Gap> {
        let lost = self.holes.front().is_some_and(|hole| hole.overtaken >= NDUPACK);
        lost.then(|| self.holes.pop_front()).flatten().map(|hole| hole.gap)
    }

    fn append_gap(&mut self, before: Arrival, after: Arrival) {
        let (first, last) = (before.sequence + 1, after.sequence - 1);
        if first <= last {
            self.holes.push_back(Hole { gap: Gap { first, last, before, after }, overtaken: 0 });
        }
    }

    /// Takes a packet out of the hole that it is in, if it is in one.
    fn fill(&mut self, sequence: u64) -> bool {
        let found = self.holes.iter().position(|hole| (hole.gap.first..=hole.gap.last).contains(&sequence));
        let Some(index) = found else { return false };
        let hole = self.holes[index];
        let below = Hole { gap: Gap { last: sequence.saturating_sub(1), ..hole.gap }, ..hole };
        let above = Hole { gap: Gap { first: sequence.saturating_add(1), ..hole.gap }, ..hole };
        self.holes.remove(index);
        for (part, wanted) in [(above, sequence < hole.gap.last), (below, sequence > hole.gap.first)] {
            if wanted {
                self.holes.insert(index, part);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lost(arrivals: &mut Arrivals, numbers: &[u64]) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        for &sequence in numbers {
            arrivals.handle(Arrival { sequence, at: Timestamp::from_millis(10 * sequence) });
            gaps.extend(std::iter::from_fn(|| arrivals.poll_lost()).map(|gap| (gap.first, gap.last)));
        }
        gaps
    }

    #[test]
    fn three_later_packets_make_a_loss_and_two_do_not() {
        let mut arrivals = Arrivals::default();
        assert_eq!(lost(&mut arrivals, &[1, 2, 4, 5]), []);
        assert_eq!(lost(&mut arrivals, &[6]), [(3, 3)]);
        assert_eq!(lost(&mut arrivals, &[3, 6, 7, 8]), [], "late and twice: nothing new");
    }

    #[test]
    fn a_packet_that_two_overtook_is_no_loss() {
        let mut arrivals = Arrivals::default();
        assert_eq!(lost(&mut arrivals, &[1, 3, 4, 2, 5, 6, 7]), []);
    }

    #[test]
    fn a_duplicate_overtakes_nobody() {
        let mut arrivals = Arrivals::default();
        assert_eq!(lost(&mut arrivals, &[1, 3, 3, 3, 3]), []);
    }

    #[test]
    fn the_rest_of_a_gap_is_lost_when_its_middle_arrives_late() {
        let mut arrivals = Arrivals::default();
        // 5 overtakes 2 and 3 of the gap 2..=8, of which 9 and 10 overtake all.
        assert_eq!(lost(&mut arrivals, &[1, 9, 5, 10]), [(2, 4)]);
        assert_eq!(lost(&mut arrivals, &[11]), [(6, 8)]);
    }

    #[test]
    fn times_in_a_gap_are_interpolated_by_hand() {
        let arrival = |sequence, millis| Arrival { sequence, at: Timestamp::from_millis(millis) };
        let gap = Gap { first: 11, last: 14, before: arrival(10, 100), after: arrival(15, 200) };
        let times: Vec<u64> = (11..=14).map(|sequence| gap.time_of(sequence).as_nanos() / 1_000_000).collect();
        assert_eq!(times, [120, 140, 160, 180]);
        assert_eq!(gap.spacing(), Duration::from_millis(20));
        let until = |millis| gap.last_until(11, Timestamp::from_millis(millis));
        assert_eq!([until(0), until(120), until(139), until(140), until(165), until(900)], [11, 11, 11, 12, 13, 14]);
    }

    proptest! {
        #[test]
        fn what_is_lost_is_what_did_not_arrive_in_time(order in proptest::collection::vec(1u64..60, 0..80)) {
            let mut arrivals = Arrivals::default();
            let (mut arrived, mut declared) = (Vec::<u64>::new(), Vec::<u64>::new());
            for sequence in order {
                for (first, last) in lost(&mut arrivals, &[sequence]) {
                    declared.extend(first..=last);
                }
                if !arrived.contains(&sequence) && !declared.contains(&sequence) {
                    arrived.push(sequence);
                }
                // The definition, slowly: below the highest, above the first, not here, and three higher ones since.
                let missing: Vec<u64> = (arrived[0]..=*arrived.iter().max().unwrap())
                    .filter(|number| !arrived.contains(number)
                        && arrived.iter().filter(|&higher| higher > number).count() >= 3)
                    .collect();
                let mut sorted = declared.clone();
                sorted.sort_unstable();
                prop_assert_eq!(&sorted, &missing);
                prop_assert!(arrivals.holes.len() <= 12, "{} holes", arrivals.holes.len());
            }
        }

        #[test]
        fn the_end_of_a_round_trip_is_found(
            first in 1u64..1_000_000, length in 1u64..1_000_000_000, span in 0u64..1_000_000_000_000, at: u64,
        ) {
            let before = Arrival { sequence: first - 1, at: Timestamp::from_nanos(77) };
            let after = Arrival { sequence: first + length, at: Timestamp::from_nanos(77 + span) };
            let gap = Gap { first, last: first + length - 1, before, after };
            let at = Timestamp::from_nanos(at % (span + 200));
            let found = gap.last_until(first, at);
            prop_assert!(found == first || gap.time_of(found) <= at);
            prop_assert!(found == gap.last || gap.time_of(found + 1) > at);
        }
    }
}
