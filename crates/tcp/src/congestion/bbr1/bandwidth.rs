//! Bandwidths and gains as BBR calculates with them.

use framewire_units::{Bitrate, Duration};

/// One, in the fixed point of gains. Linux: `BBR_UNIT`.
pub(in crate::congestion) const UNIT: u64 = 256;
/// Linux: `BW_UNIT`.
const SCALE: u32 = 24;
/// Pacing stays below the estimate by this many percent, so that queues drain. Linux: `bbr_pacing_margin_percent`;
/// draft-ietf-ccwg-bbr: BBR.PacingMarginPercent.
const PACING_MARGIN: u64 = 1;

/// Packets per microsecond, times 2^24: from below a kilobit to terabits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::congestion) struct Bandwidth(pub(in crate::congestion) u64);

impl Bandwidth {
    /// No bound.
    pub(in crate::congestion) const INFINITE: Self = Self(u64::MAX);

    /// `packets` per `time`, which is taken as a microsecond where it is shorter.
    pub(in crate::congestion) fn of(packets: u64, time: Duration) -> Self {
        Self((packets << SCALE) / micros(time).max(1))
    }

    /// Whole packets in `time`.
    pub(in crate::congestion) fn packets_in(self, time: Duration) -> u64 {
        let packets = (u128::from(self.0) * u128::from(micros(time))) >> SCALE;
        u64::try_from(packets).unwrap_or(u64::MAX)
    }

    /// Packets in `time` at `gain` 256ths of the bandwidth, rounded up, so that rounding does not feed on itself.
    pub(in crate::congestion) fn packets_in_with_gain(self, time: Duration, gain: u64) -> u32 {
        let packets = u128::from(self.0) * u128::from(micros(time));
        let scaled = packets.saturating_mul(u128::from(gain)) / u128::from(UNIT);
        let packets = scaled.div_ceil(1 << SCALE);
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    /// `gain` 256ths of it.
    pub(in crate::congestion) fn times(self, gain: u64) -> Self {
        Self((u128::from(self.0) * u128::from(gain) / u128::from(UNIT)) as u64)
    }

    /// The rate for packets of `packet` bytes to be paced at, with `gain` 256ths of the bandwidth less the margin.
    pub(in crate::congestion) fn pacing_rate(self, packet: u32, gain: u64) -> Bitrate {
        let bytes = (u128::from(self.0) * u128::from(packet) * u128::from(gain)) / u128::from(UNIT);
        let per_second = (bytes * u128::from(1_000_000 / 100 * (100 - PACING_MARGIN))) >> SCALE;
        Bitrate::from_bps(u64::try_from(per_second * 8).unwrap_or(u64::MAX))
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_megabits_per_second() {
        // 100 packets of 1,250 bytes in 100 ms.
        let bandwidth = Bandwidth::of(100, Duration::from_millis(100));
        assert_eq!(bandwidth.packets_in(Duration::from_millis(40)), 39, "floor of just below 40");
        assert_eq!(bandwidth.packets_in_with_gain(Duration::from_millis(40), UNIT), 40);
        assert_eq!(bandwidth.packets_in_with_gain(Duration::from_millis(40), 2 * UNIT), 80);
        let rate = bandwidth.pacing_rate(1_250, UNIT).as_bps();
        assert!((9_899_000..=9_900_000).contains(&rate), "{rate}");
        let probing = bandwidth.pacing_rate(1_250, UNIT * 5 / 4).as_bps();
        assert!((12_373_000..=12_375_000).contains(&probing), "{probing}");
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(Bandwidth::INFINITE.packets_in_with_gain(Duration::MAX, UNIT), u32::MAX);
        assert_eq!(Bandwidth::INFINITE.pacing_rate(9_000, 4 * UNIT).as_bps(), u64::MAX);
        assert!(Bandwidth::of(1, Duration::ZERO) > Bandwidth::default());
    }
}
