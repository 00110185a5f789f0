//! What came, by time.

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

/// Packets and bytes counted in intervals of equal length from the origin on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meter {
    interval: Duration,
    bytes: Vec<u64>,
}

impl Meter {
    /// Counts nothing yet.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, bytes: Vec::new() }
    }

    pub(super) fn add(&mut self, at: Timestamp, size: DataSize) {
        let place = self.place(at);
        if self.bytes.len() <= place {
            self.bytes.resize(place + 1, 0);
        }
        self.bytes[place] += size.as_bytes();
    }

    fn place(&self, at: Timestamp) -> usize {
        (u128::from(at.as_nanos()) / self.interval.as_nanos()) as usize
    }

    /// Length of an interval.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Bytes of each interval, up to the last that has any.
    pub fn bytes(&self) -> &[u64] {
        &self.bytes
    }

    /// All that came.
    pub fn total(&self) -> DataSize {
        DataSize::from_bytes(self.bytes.iter().sum())
    }

    /// The mean rate of the whole intervals between `from` and `to`; zero where there is none.
    pub fn throughput(&self, from: Timestamp, to: Timestamp) -> Bitrate {
        let nanos = self.interval.as_nanos();
        let first = u128::from(from.as_nanos()).div_ceil(nanos) as usize;
        let end = self.place(to);
        if end <= first {
            return Bitrate::default();
        }
        let bytes: u64 = self.bytes.iter().take(end).skip(first).sum();
        let rate = u128::from(bytes) * 8_000_000_000 / (nanos * (end - first) as u128);
        Bitrate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}
