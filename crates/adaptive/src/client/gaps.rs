use std::collections::BTreeMap;
use std::ops::Range;

use framewire_units::{Duration, Timestamp};
use framewire_wire::vtp::{MAX_MISSING_RANGES, MISSING_WINDOW, MissingRange};

use crate::liveness::UNKNOWN_ROUND_TRIP;

/// Packets behind a missing one that end the wait for it (RFC 5681, section 3.2: three duplicate acknowledgements).
const REORDERING: u64 = 3;

/// And the time that ends it: a quarter of a round trip (RFC 8985, section 6.2), within these.
const REORDERING_TIME: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(50)];

/// How often a packet is named, as names can be lost too.
const NAMES: u8 = 3;

/// What a repeat may take beyond one and a half round trips before its packet is named again.
const PATIENCE: Duration = Duration::from_millis(50);

/// Time between two lists at least.
const INTERVAL: Duration = Duration::from_millis(10);

/// Packets that did not arrive, and when to name them.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    /// By their numbers without the wrap, none older than the window.
    missing: BTreeMap<u64, Gap>,
    /// One more than the newest number that arrived.
    next: u64,
    round_trip: Option<Duration>,
    last: Option<Timestamp>,
    /// A list is to go out also when it names nothing.
    forced: bool,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    noticed: Timestamp,
    named: u8,
    /// When it was last named.
    at: Timestamp,
    /// It came, and there was no room for it.
    refused: bool,
}

impl Gaps {
    /// A packet arrived that was not here before; `skipped` are the numbers below it that became missing by that.
    /// `settles` is the packet that it repeats. One that was `refused` for want of room is missing too, and is named when
    /// there is some; a repeat of it that is refused again goes on with the names that it had.
    pub(super) fn handle_packet(
        &mut self,
        now: Timestamp,
        number: u64,
        skipped: Range<u64>,
        settles: Option<u32>,
        refused: bool,
    ) {
        let mut settled = self.missing.remove(&number);
        let oldest = (number + 1).max(self.next).saturating_sub(u64::from(MISSING_WINDOW));
        self.missing.extend(
            (skipped.start.max(oldest)..skipped.end)
                .map(|number| (number, Gap { noticed: now, named: 0, at: now, refused: false })),
        );
        self.next = self.next.max(number + 1);
        if let Some(repeated) = settles {
            // Modulo 2^32, before this one.
            let back = u64::from((number as u32).wrapping_sub(repeated));
            if let Some(repeated) = number.checked_sub(back) {
                settled = self.missing.remove(&repeated).or(settled);
            }
        }
        if refused {
            let named = settled.map_or(0, |gap| gap.named);
            self.missing.insert(number, Gap { noticed: now, named, at: now, refused });
        }
        while self.missing.first_key_value().is_some_and(|(&first, _)| first < oldest) {
            self.missing.pop_first();
        }
    }

    /// The server's estimate of the round trip.
    pub(super) fn set_round_trip(&mut self, round_trip: Duration) {
        self.round_trip = (!round_trip.is_zero()).then_some(round_trip);
    }

    /// A list goes out next, so that the server knows what the newest packet was.
    pub(super) fn force(&mut self) {
        self.forced = true;
    }

    /// What is to be named now, oldest first; of what was refused, no more than there is `room` for.
    pub(super) fn poll(&mut self, now: Timestamp, room: usize) -> Option<(u32, Vec<MissingRange>)> {
        self.mend_clock(now);
        if self.next_timeout(room).is_none_or(|due| due > now) {
            return None;
        }
        let (wait, retry) = (self.reordering(), self.retry());
        let mut unclaimed = self.unclaimed(room);
        let mut ranges: Vec<MissingRange> = vec![];
        let mut given_up = vec![];
        for (&number, gap) in &mut self.missing {
            let waits = gap.refused && (room == 0 || gap.named == 0 && unclaimed == 0);
            if waits || due_at(gap, number, self.next, wait, retry) > now {
                continue;
            }
            if gap.named == NAMES {
                given_up.push(number);
                continue;
            }
            let back = (self.next - number) as u16;
            let is_full = ranges.len() == MAX_MISSING_RANGES;
            match ranges.last_mut() {
                Some(range) if range.back - range.count == back => range.count += 1,
                _ if is_full => break,
                _ => ranges.push(MissingRange { back, count: 1 }),
            }
            if gap.refused && gap.named == 0 {
                unclaimed -= 1;
            }
            (gap.named, gap.at) = (gap.named + 1, now);
        }
        for number in given_up {
            self.missing.remove(&number);
        }
        if ranges.is_empty() && !self.forced {
            return None;
        }
        (self.forced, self.last) = (false, Some(now));
        Some((self.next as u32, ranges))
    }

    /// When there may be something to name, with room for so many packets.
    pub(super) fn next_timeout(&self, room: usize) -> Option<Timestamp> {
        if self.missing.is_empty() && !self.forced {
            return None;
        }
        let (wait, retry) = (self.reordering(), self.retry());
        let unclaimed = self.unclaimed(room);
        let waits = |gap: &Gap| gap.refused && (room == 0 || gap.named == 0 && unclaimed == 0);
        let asked = self.missing.iter().filter(|(_, gap)| !waits(gap));
        let due = asked.map(|(&number, gap)| due_at(gap, number, self.next, wait, retry)).min();
        let due = if self.forced { Some(Timestamp::ZERO) } else { due };
        due.map(|due| self.last.map_or(due, |last| due.max(last + INTERVAL)))
    }

    /// Of the room, what no refused packet that was named is to have.
    fn unclaimed(&self, room: usize) -> usize {
        room.saturating_sub(self.missing.values().filter(|gap| gap.refused && gap.named > 0).count())
    }

    /// A clock that went back holds nothing up.
    fn mend_clock(&mut self, now: Timestamp) {
        if self.last.is_some_and(|last| last > now) {
            self.last = Some(now);
            self.missing.values_mut().for_each(|gap| {
                (gap.noticed, gap.at) = (gap.noticed.min(now), gap.at.min(now));
            });
        }
    }

    fn reordering(&self) -> Duration {
        let [least, most] = REORDERING_TIME;
        (self.round_trip.unwrap_or(UNKNOWN_ROUND_TRIP) / 4).clamp(least, most)
    }

    fn retry(&self) -> Duration {
        self.round_trip.unwrap_or(UNKNOWN_ROUND_TRIP).mul_f64(1.5).saturating_add(PATIENCE)
    }
}

fn due_at(gap: &Gap, number: u64, next: u64, wait: Duration, retry: Duration) -> Timestamp {
    match gap.named {
        0 if gap.refused || next > number + REORDERING => gap.noticed,
        0 => gap.noticed + wait,
        _ => gap.at + retry,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// For all that is refused.
    const ROOM: usize = 1_024;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn range(back: u16, count: u16) -> MissingRange {
        MissingRange { back, count }
    }

    #[test]
    fn a_gap_is_named_after_three_packets_or_a_quarter_of_a_round_trip() {
        let mut gaps = Gaps::default();
        gaps.set_round_trip(Duration::from_millis(100));
        gaps.handle_packet(at(0), 0, 0..0, None, false);
        assert_eq!((gaps.poll(at(0), ROOM), gaps.next_timeout(ROOM)), (None, None));
        gaps.handle_packet(at(10), 2, 1..2, None, false);
        assert_eq!((gaps.poll(at(34), ROOM), gaps.next_timeout(ROOM)), (None, Some(at(35))));
        assert_eq!(gaps.poll(at(35), ROOM), Some((3, vec![range(2, 1)])));
        // Again after one and a half round trips and 50 ms.
        assert_eq!(gaps.next_timeout(ROOM), Some(at(235)));
        gaps.handle_packet(at(40), 6, 3..6, None, false);
        gaps.handle_packet(at(41), 7, 7..7, None, false);
        // 3 and 4 are behind three packets; 5 waits until 65 ms.
        assert_eq!(gaps.poll(at(45), ROOM), Some((8, vec![range(5, 2)])));
        assert_eq!(gaps.poll(at(65), ROOM), Some((8, vec![range(3, 1)])));
    }

    #[test]
    fn what_arrives_or_is_repeated_is_not_named_again_and_nothing_more_than_three_times() {
        let mut gaps = Gaps::default();
        gaps.set_round_trip(Duration::from_millis(20));
        gaps.handle_packet(at(0), 5, 0..5, None, false);
        gaps.handle_packet(at(1), 3, 3..3, None, false);
        gaps.handle_packet(at(2), 6, 6..6, Some(1), false);
        let mut named = vec![];
        let mut now = at(2);
        while let Some(next) = gaps.next_timeout(ROOM) {
            now = next.max(now);
            named.extend(gaps.poll(now, ROOM).map(|(_, ranges)| ranges));
        }
        // 0 and 2 are seven and five before the next; 4, after 0.
        let first: Vec<_> = named.iter().flatten().filter(|range| range.back == 7).collect();
        assert_eq!(first.len(), 3);
        assert!(named.iter().flatten().all(|range| range.count == 1 && [7, 5, 3].contains(&range.back)), "{named:?}");
        assert!(gaps.missing.is_empty());
    }

    /// What came and had no room is asked for as soon as there is some, so much of it as there is room for, and by all the
    /// names of its repeats together three times.
    #[test]
    fn what_was_refused_is_named_when_there_is_room() {
        let mut gaps = Gaps::default();
        gaps.set_round_trip(Duration::from_millis(100));
        (0..5).for_each(|number| gaps.handle_packet(at(0), number, number..number, None, number >= 2));
        assert_eq!((gaps.next_timeout(0), gaps.poll(at(5_000), 0)), (None, None), "for as long as it takes");
        assert_eq!(gaps.poll(at(5_000), 2), Some((5, vec![range(3, 2)])), "2 and 3");
        assert_eq!(gaps.poll(at(5_100), 2), None, "4 would be a third one");
        assert_eq!(gaps.poll(at(5_100), 3), Some((5, vec![range(1, 1)])));
        // 2 and 3 come, 4 is refused again.
        gaps.handle_packet(at(5_150), 5, 5..5, Some(2), false);
        gaps.handle_packet(at(5_150), 6, 6..6, Some(3), false);
        gaps.handle_packet(at(5_150), 7, 7..7, Some(4), true);
        assert_eq!(gaps.missing.keys().copied().collect::<Vec<_>>(), [7]);
        let mut names = 1;
        for number in 8..20 {
            let Some(next) = gaps.next_timeout(1) else { break };
            match gaps.poll(next, 1) {
                Some(named) => assert_eq!(named, (number as u32, vec![range(1, 1)])),
                None => break,
            }
            names += 1;
            gaps.handle_packet(next, number, number..number, Some(number as u32 - 1), true);
        }
        assert_eq!((names, gaps.missing.len()), (3, 0), "and given up");
    }

    #[test]
    fn a_forced_list_says_what_was_newest() {
        let mut gaps = Gaps::default();
        gaps.handle_packet(at(0), 0, 0..0, None, false);
        gaps.force();
        assert_eq!(gaps.poll(at(1), ROOM), Some((1, vec![])));
        assert_eq!(gaps.poll(at(50), ROOM), None);
    }

    proptest! {
        /// Any packets at any times: bounded, and what is named is within the window, in order, and did not arrive.
        #[test]
        fn only_what_is_missing_is_named(steps in proptest::collection::vec((0u64..40, 0u64..3_000, any::<bool>()), 1..200)) {
            let mut gaps = Gaps::default();
            let (mut next, mut arrived) = (0u64, std::collections::BTreeSet::new());
            for (step, millis, poll) in steps {
                let number = (next + step).saturating_sub(10);
                if arrived.insert(number) {
                    gaps.handle_packet(at(millis), number, next.min(number)..number, None, false);
                    next = next.max(number + 1);
                }
                if poll && let Some((of, ranges)) = gaps.poll(at(millis), ROOM) {
                    prop_assert_eq!(u64::from(of), next);
                    let mut most = u64::from(MISSING_WINDOW) + 1;
                    for range in ranges {
                        let (back, count) = (u64::from(range.back), u64::from(range.count));
                        prop_assert!(count >= 1 && count <= back && back < most);
                        prop_assert!((next - back..next - back + count).all(|number| !arrived.contains(&number)));
                        most = back - count;
                    }
                }
                prop_assert!(gaps.missing.len() <= usize::from(MISSING_WINDOW));
            }
        }
    }
}
