use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

/// How late a departure may be and still not delay the next one: a driver that wakes late does not lower the rate,
/// and one that slept does not cause a burst.
const CATCH_UP: Duration = Duration::from_millis(10);

/// Lets packets go one after the other: the next one leaves size / rate after the last (bytes of video, as the rate).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// When the last packet was due, and its size.
    last: Option<(Timestamp, DataSize)>,
}

impl Pacer {
    /// When the next packet is due at this rate: at once, before the first.
    pub(crate) fn due(&self, rate: Bitrate) -> Timestamp {
        self.last.map_or(Timestamp::ZERO, |(at, size)| at + rate.transmit_time(size))
    }

    /// Whether the next packet may leave.
    pub(crate) fn is_due(&mut self, now: Timestamp, rate: Bitrate) -> bool {
        if let Some((last, _)) = &mut self.last {
            *last = (*last).min(now); // a clock that went back does not hold packets up
        }
        now >= self.due(rate)
    }

    /// A packet of this size leaves.
    pub(crate) fn depart(&mut self, now: Timestamp, rate: Bitrate, size: DataSize) {
        let at = self.last.map_or(now, |_| self.due(rate).max(now - CATCH_UP).min(now));
        self.last = Some((at, size));
    }

    /// Lets a packet of this size go if it is due.
    pub(crate) fn try_depart(&mut self, now: Timestamp, rate: Bitrate, size: DataSize) -> bool {
        let is_due = self.is_due(now, rate);
        if is_due {
            self.depart(now, rate, size);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Bitrate = Bitrate::from_mbps(1);
    const SIZE: DataSize = DataSize::from_bytes(1_000); // 8 ms

    fn departures(pacer: &mut Pacer, millis: impl Iterator<Item = u64>) -> Vec<u64> {
        millis.filter(|&millis| pacer.try_depart(Timestamp::from_millis(millis), RATE, SIZE)).collect()
    }

    #[test]
    fn packets_leave_size_over_rate_apart() {
        let mut pacer = Pacer::default();
        assert_eq!(departures(&mut pacer, 100..140), [100, 108, 116, 124, 132]);
        assert_eq!(pacer.due(Bitrate::from_mbps(2)), Timestamp::from_millis(136), "a new rate counts at once");
    }

    #[test]
    fn a_late_driver_keeps_the_rate_and_a_sleeping_one_makes_no_burst() {
        let mut pacer = Pacer::default();
        assert_eq!(departures(&mut pacer, [0, 11, 16, 24].into_iter()), [0, 11, 16, 24]);
        // After ten seconds: what fits into 10 ms, then the rate.
        assert_eq!(departures(&mut pacer, 10_000..10_020), [10_000, 10_001, 10_006, 10_014]);
    }

    #[test]
    fn a_clock_that_goes_back_holds_a_packet_up_for_one_interval_at_most() {
        let mut pacer = Pacer::default();
        departures(&mut pacer, 1_000_000..1_000_020);
        assert_eq!(departures(&mut pacer, 0..20), [8, 16]);
    }
}
