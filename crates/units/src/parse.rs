use std::fmt;
use std::time::Duration;

use crate::unit_suggestions::meant;

/// A text that is not a quantity of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    text: String,
    quantity: &'static str,
    allowed: String,
    meant: Option<String>,
}

impl UnitError {
    pub(crate) fn new(text: &str, quantity: &'static str, allowed: impl Into<String>) -> Self {
        Self { text: text.to_owned(), quantity, allowed: allowed.into(), meant: meant(text, quantity) }
    }

    /// What was probably meant, where the unit is one that is written otherwise here: `6 Mbit/s` of `6 Mbps`.
    pub fn meant(&self) -> Option<&str> {
        self.meant.as_deref()
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not a {}: {}", self.text, self.quantity, self.allowed)?;
        self.meant.iter().try_for_each(|meant| write!(f, " (did you mean \"{meant}\"?)"))
    }
}

impl std::error::Error for UnitError {}

pub(crate) struct Unit {
    name: &'static str,
    factor: f64,
}

impl Unit {
    pub(crate) const fn new(name: &'static str, factor: f64) -> Self {
        Self { name, factor }
    }
}

/// Splits `"5.5 Mbit/s"` into number and unit; `None` without a finite non-negative number.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    number.is_finite().then_some((number, text[end..].trim()))
}

/// Reads a number with one of `units` into the base unit, to the nearest whole.
pub(crate) fn parse_with_units(text: &str, quantity: &'static str, units: &[Unit]) -> Result<u64, UnitError> {
    let error = || {
        let names: Vec<_> = units.iter().map(|unit| unit.name).collect();
        UnitError::new(text, quantity, format!("a number and one of {} is allowed", names.join(", ")))
    };
    let (number, unit_name) = split_number(text).ok_or_else(error)?;
    let unit = units.iter().find(|unit| unit.name == unit_name).ok_or_else(error)?;
    let value = (number * unit.factor).round();
    if value <= 9e18 { Ok(value as u64) } else { Err(error()) }
}

/// Writes `value` in the largest unit that shows it without loss in three decimals.
pub(crate) fn format_with_units(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let fits = |unit: &&Unit| {
        let shown = value as f64 / unit.factor;
        shown >= 1.0 && (shown * 1e3).fract() == 0.0
    };
    let smallest = units.last().expect("invariant: every table of units has an entry");
    let unit = units.iter().find(fits).unwrap_or(smallest);
    write!(f, "{} {}", value as f64 / unit.factor, unit.name)
}

const TIME_UNITS: &[Unit] =
    &[Unit::new("min", 60e9), Unit::new("s", 1e9), Unit::new("ms", 1e6), Unit::new("us", 1e3), Unit::new("ns", 1.0)];

/// Reads a duration such as `"40 ms"`.
///
/// # Errors
/// When the text is not a non-negative number with one of `min`, `s`, `ms`, `us`, `ns`.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    parse_with_units(text, "duration", TIME_UNITS).map(Duration::from_nanos)
}

/// Writes a duration in the notation that [`parse_duration`] reads.
pub fn format_duration(duration: Duration) -> String {
    struct Shown(u64);
    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            format_with_units(f, self.0, &TIME_UNITS[1..])
        }
    }
    Shown(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_round_trip() {
        for (text, nanos) in [("40 ms", 40_000_000), ("20 s", 20_000_000_000), ("1.5 us", 1_500), ("0 ns", 0)] {
            let duration = parse_duration(text).unwrap();
            assert_eq!(duration.as_nanos(), nanos);
            assert_eq!(format_duration(duration), text);
        }
        assert_eq!(parse_duration("1 min").unwrap(), Duration::from_secs(60));
    }

    #[test]
    fn text_without_a_unit_is_refused() {
        for text in ["", "40", "ms", "4 0 ms", "1e3 ms", "inf s", "40 sec"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
