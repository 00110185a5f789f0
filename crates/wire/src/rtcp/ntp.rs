use framewire_units::{Duration, Timestamp};

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// A time of NTP: seconds in the upper 32 bits, and 2^-32 s in the lower ones (RFC 3550, section 4).
///
/// ```
/// use framewire_units::Timestamp;
/// use framewire_wire::rtcp::NtpTime;
///
/// let time = NtpTime::of(Timestamp::from_millis(1_500));
/// assert_eq!(time, NtpTime(0x0000_0001_8000_0000));
/// assert_eq!(time.middle(), 0x0001_8000);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NtpTime(pub u64);

impl NtpTime {
    /// Time since the origin of a run: who knows no wall clock may give the time that has passed (RFC 3550, section 6.4.1).
    pub fn of(time: Timestamp) -> Self {
        Self(((u128::from(time.as_nanos()) << 32) / NANOS_PER_SECOND) as u64)
    }

    /// The middle 32 of its 64 bits: 16 of seconds, 16 of their fraction (LSR in section 6.4.1).
    pub fn middle(self) -> u32 {
        (self.0 >> 16) as u32
    }
}

/// A time in units of 2^-16 s, as DLSR has it (section 6.4.1), to the nearest one; at most 65,535.99 s.
pub(super) fn short_units(time: Duration) -> u32 {
    u32::try_from(((time.as_nanos() << 16) + NANOS_PER_SECOND / 2) / NANOS_PER_SECOND).unwrap_or(u32::MAX)
}

/// The time of so many units of 2^-16 s.
pub(super) fn from_short_units(units: u32) -> Duration {
    Duration::from_nanos(((u128::from(units) * NANOS_PER_SECOND) >> 16) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_figure_of_a_round_trip() {
        // RFC 3550, figure 2: a report sent at 46853.125 s, received after 5.25 s less than 51.375 s is a middle of bits.
        let sent = NtpTime(0xB44D_B705_2000_0000);
        assert_eq!(sent.middle(), 0xB705_2000);
        assert_eq!(short_units(Duration::from_millis(5_250)), 0x0005_4000);
        assert_eq!(from_short_units(0x0005_4000), Duration::from_millis(5_250));
    }

    #[test]
    fn units_are_rounded_and_bounded() {
        assert_eq!(short_units(Duration::from_nanos(7_630)), 1, "half a unit is 7,629.4 ns");
        assert_eq!(short_units(Duration::from_nanos(7_629)), 0);
        assert_eq!(short_units(Duration::MAX), u32::MAX);
        assert_eq!(NtpTime::of(Timestamp::MAX).0 >> 32, 18_446_744_073 % (1 << 32), "seconds wrap");
    }
}
