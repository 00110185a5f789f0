use std::ops::Range;

/// Sequence numbers below the highest that are remembered.
const WINDOW: u64 = 1_024;
const WORDS: usize = (WINDOW / 64) as usize;

/// Which packets have arrived: finds repeated ones and counts lost ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    /// One more than the highest number so far, without the wrap.
    next: u64,
    /// Bit of number n at n modulo the window.
    seen: [u64; WORDS],
    received: u64,
}

impl Arrivals {
    /// Takes a packet: its number without the wrap, and the numbers below it that were skipped and are missing from now
    /// on. `None` when it was here before, or is too old to know.
    pub(super) fn insert(&mut self, sequence: u32) -> Option<(u64, Range<u64>)> {
        let step = i64::from(sequence.wrapping_sub(self.next as u32) as i32);
        let number = self.next.checked_add_signed(step)?;
        if number + WINDOW < self.next {
            return None;
        }
        let skipped = self.next.min(number)..number;
        if number >= self.next {
            let skipped = number - self.next;
            if skipped >= WINDOW {
                self.seen = [0; WORDS];
            } else {
                (self.next..number).for_each(|number| self.set(number, false));
            }
            self.next = number + 1;
        } else if self.is_set(number) {
            return None;
        }
        self.set(number, true);
        self.received += 1;
        Some((number, skipped))
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Packets up to the highest that have not arrived (yet).
    pub(super) fn missing(&self) -> u64 {
        self.next - self.received
    }

    fn set(&mut self, number: u64, seen: bool) {
        let bit = 1 << (number % 64);
        let word = &mut self.seen[(number % WINDOW / 64) as usize];
        *word = if seen { *word | bit } else { *word & !bit };
    }

    fn is_set(&self, number: u64) -> bool {
        self.seen[(number % WINDOW / 64) as usize] & 1 << (number % 64) != 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repeats_are_found_and_losses_counted() {
        let mut arrivals = Arrivals::default();
        let taken = [0, 1, 3, 1, 2, 3, 7].map(|sequence| arrivals.insert(sequence));
        let new = |number, skipped| Some((number, skipped));
        let expected = [new(0, 0..0), new(1, 1..1), new(3, 2..3), None, new(2, 2..2), None, new(7, 4..7)];
        assert_eq!(taken, expected);
        assert_eq!((arrivals.received(), arrivals.missing()), (5, 3));
    }

    #[test]
    fn numbers_wrap() {
        let mut arrivals = Arrivals { next: u64::from(u32::MAX), ..Arrivals::default() };
        assert!([u32::MAX, 0, 1].into_iter().all(|sequence| arrivals.insert(sequence).is_some()));
        assert!(arrivals.insert(u32::MAX).is_none() && arrivals.insert(0).is_none());
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set(sequences in proptest::collection::vec(0u32..5_000, 0..300)) {
            let (mut arrivals, mut set, mut highest) = (Arrivals::default(), BTreeSet::new(), 0);
            for sequence in sequences {
                let old = u64::from(sequence) + WINDOW < highest;
                prop_assert_eq!(arrivals.insert(sequence).is_some(), !old && set.insert(sequence));
                highest = highest.max(u64::from(sequence) + 1);
            }
        }
    }
}
