//! The rates of a packet's transmissions, without an allocation for nearly every packet.

use framewire_units::Bitrate;

/// Rates in order, run-length coded: a packet is repeated a few times at one rate, so that the first run is nearly
/// always the only one, and it is stored in place.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Rates {
    first: Run,
    /// What follows the first run; each run differs from the one before it.
    rest: Vec<Run>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    rate: Bitrate,
    count: u16,
}

impl Rates {
    /// No transmission yet.
    pub const fn new() -> Self {
        Self { first: Run { rate: Bitrate::from_bps(0), count: 0 }, rest: Vec::new() }
    }

    /// One more transmission. A packet has far fewer than the 65,535 that a run can count.
    pub fn push(&mut self, rate: Bitrate) {
        let last = self.rest.last_mut().unwrap_or(&mut self.first);
        if last.count == 0 || last.rate == rate {
            *last = Run { rate, count: last.count.saturating_add(1) };
        } else {
            self.rest.push(Run { rate, count: 1 });
        }
    }

    /// Number of transmissions.
    pub fn len(&self) -> usize {
        usize::from(self.first.count) + self.rest.iter().map(|run| usize::from(run.count)).sum::<usize>()
    }

    /// True for a packet that was never sent.
    pub fn is_empty(&self) -> bool {
        self.first.count == 0
    }

    /// The rates, one per transmission, in order.
    pub fn iter(&self) -> impl Iterator<Item = Bitrate> {
        let runs = std::iter::once(&self.first).chain(&self.rest);
        runs.flat_map(|run| std::iter::repeat_n(run.rate, usize::from(run.count)))
    }

    /// The rates, one per transmission, in order.
    pub fn to_vec(&self) -> Vec<Bitrate> {
        self.iter().collect()
    }
}

impl FromIterator<Bitrate> for Rates {
    fn from_iter<I: IntoIterator<Item = Bitrate>>(rates: I) -> Self {
        let mut collected = Self::new();
        rates.into_iter().for_each(|rate| collected.push(rate));
        collected
    }
}

impl From<Bitrate> for Rates {
    fn from(rate: Bitrate) -> Self {
        Self { first: Run { rate, count: 1 }, rest: Vec::new() }
    }
}

impl PartialEq<[Bitrate]> for Rates {
    fn eq(&self, other: &[Bitrate]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

impl std::fmt::Debug for Rates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_read_as_the_list_that_was_written(kinds in prop::collection::vec(0..3u64, 0..40)) {
            let list: Vec<Bitrate> = kinds.into_iter().map(Bitrate::from_mbps).collect();
            let rates: Rates = list.iter().copied().collect();
            prop_assert_eq!(rates.len(), list.len());
            prop_assert_eq!(rates.is_empty(), list.is_empty());
            prop_assert_eq!(&rates, list.as_slice());
            prop_assert_eq!(rates.to_vec(), list);
        }
    }

    #[test]
    fn one_rate_needs_no_allocation() {
        let rates: Rates = std::iter::repeat_n(Bitrate::from_mbps(11), 256).collect();
        assert_eq!((rates.len(), rates.rest.capacity()), (256, 0));
    }
}
