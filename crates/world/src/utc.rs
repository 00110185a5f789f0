//! Times of day, for people.

use framewire_units::{Duration, civil_date};

/// A time since 1970 as ISO 8601 in UTC, to the millisecond.
pub fn utc(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (year, month, day) = civil_date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since_1970.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_gregorian() {
        assert_eq!(utc(Duration::ZERO), "1970-01-01T00:00:00.000Z");
        assert_eq!(utc(Duration::from_millis(951_782_400_500)), "2000-02-29T00:00:00.500Z");
        assert_eq!(utc(Duration::from_secs(1_795_219_199)), "2026-11-20T23:59:59.000Z");
    }
}
