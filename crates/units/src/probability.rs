use std::fmt;
use std::str::FromStr;

use crate::parse::UnitError;

/// A probability, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// A probability; `None` when `value` is outside 0 to 1 or not a number.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// A probability from a computed value, clamped to 0 to 1 (not a number counts as 1, the pessimistic end).
    pub const fn clamped(value: f64) -> Self {
        if value.is_nan() { Self::ONE } else { Self(value.clamp(0.0, 1.0)) }
    }

    /// The value, from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Probability {
    type Err = UnitError;

    /// Reads `"2 %"` or `"0.02"`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError::new(text, "probability", "0 to 1, or 0 % to 100 %, is allowed");
        let trimmed = text.trim();
        let (number, scale) = match trimmed.strip_suffix('%') {
            Some(number) => (number.trim(), 100.0),
            None => (trimmed, 1.0),
        };
        let value: f64 = number.parse().map_err(|_| error())?;
        Self::new(value / scale).ok_or_else(error)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_and_fraction_mean_the_same() {
        assert_eq!("2 %".parse::<Probability>().unwrap(), Probability::new(0.02).unwrap());
        assert_eq!("0.02".parse::<Probability>().unwrap().get(), 0.02);
    }

    #[test]
    fn values_outside_are_refused() {
        for text in ["1.01", "101 %", "-0.1", "nan", "", "%"] {
            assert!(text.parse::<Probability>().is_err(), "{text}");
        }
        assert_eq!(Probability::clamped(f64::NAN), Probability::ONE);
    }
}
