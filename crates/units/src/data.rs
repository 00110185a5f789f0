use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;
use std::time::Duration;

use crate::parse::{Unit, UnitError, format_with_units, parse_with_units};

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataSize(u64);

impl DataSize {
    /// No data.
    pub const ZERO: Self = Self(0);

    /// A size from bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The size in bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }

    /// The size in bits.
    pub const fn as_bits(self) -> u64 {
        self.0 * 8
    }
}

impl Add for DataSize {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for DataSize {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for DataSize {
    type Output = Self;

    /// Saturates at zero.
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Sum for DataSize {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bitrate(u64);

impl Bitrate {
    /// A rate from bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate from kilobits (1,000 bits) per second.
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps * 1_000)
    }

    /// A rate from megabits (1,000,000 bits) per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Megabits per second.
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The time that `size` takes at this rate, to the nearest nanosecond; the longest duration at a rate of zero.
    pub fn transmit_time(self, size: DataSize) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // Up to 2 GB it fits: of wider numbers a division takes three times as long.
        let narrow = size.as_bits().checked_mul(1_000_000_000).and_then(|bits| bits.checked_add(self.0 / 2));
        if let Some(bit_nanos) = narrow {
            return Duration::from_nanos(bit_nanos / self.0);
        }
        let bit_nanos = u128::from(size.as_bits()) * 1_000_000_000;
        let rate = u128::from(self.0);
        Duration::from_nanos(u64::try_from((bit_nanos + rate / 2) / rate).unwrap_or(u64::MAX))
    }
}

impl Mul<Duration> for Bitrate {
    type Output = DataSize;

    /// Whole bytes that pass in the time, rounded down.
    fn mul(self, rhs: Duration) -> DataSize {
        let bytes = u128::from(self.0) * rhs.as_nanos() / 8_000_000_000;
        DataSize(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

const SIZE_UNITS: &[Unit] = &[
    Unit::new("GB", 1e9),
    Unit::new("MB", 1e6),
    Unit::new("kB", 1e3),
    Unit::new("MiB", 1_048_576.0),
    Unit::new("KiB", 1024.0),
    Unit::new("B", 1.0),
];

const RATE_UNITS: &[Unit] =
    &[Unit::new("Gbit/s", 1e9), Unit::new("Mbit/s", 1e6), Unit::new("kbit/s", 1e3), Unit::new("bit/s", 1.0)];

impl FromStr for DataSize {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_with_units(text, "size", SIZE_UNITS).map(Self)
    }
}

impl fmt::Display for DataSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format_with_units(f, self.0, SIZE_UNITS)
    }
}

impl FromStr for Bitrate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_with_units(text, "rate", RATE_UNITS).map(Self)
    }
}

impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format_with_units(f, self.0, RATE_UNITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_times_time_is_size() {
        assert_eq!(Bitrate::from_mbps(8) * Duration::from_millis(3), DataSize::from_bytes(3_000));
        assert_eq!(Bitrate::from_mbps(11).transmit_time(DataSize::from_bytes(1_500)).as_nanos(), 1_090_909);
        assert_eq!(Bitrate::from_bps(0).transmit_time(DataSize::from_bytes(1)), Duration::MAX);
    }

    #[test]
    fn text_round_trips() {
        for text in ["11 Mbit/s", "5.5 Mbit/s", "250 kbit/s", "1 bit/s", "2.5 Gbit/s"] {
            assert_eq!(text.parse::<Bitrate>().unwrap().to_string(), text);
        }
        for text in ["1500 B", "64 KiB", "2 MB"] {
            let size: DataSize = text.parse().unwrap();
            assert_eq!(size.to_string().parse::<DataSize>().unwrap(), size);
        }
    }

    #[test]
    fn a_wrong_unit_is_named_with_what_is_allowed() {
        let message = "11 MB".parse::<Bitrate>().unwrap_err().to_string();
        assert!(message.contains("11 MB") && message.contains("Mbit/s"), "{message}");
        assert!("-1 Mbit/s".parse::<Bitrate>().is_err());
        assert!("nan Mbit/s".parse::<Bitrate>().is_err());
        assert!("11".parse::<Bitrate>().is_err());
    }
}
