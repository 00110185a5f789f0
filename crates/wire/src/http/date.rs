//! Times of day, as HTTP writes them.

use framewire_units::{Duration, civil_date};

/// A time since 1970-01-01 UTC as an IMF-fixdate (RFC 9110, section 5.6.7).
pub(super) fn date(since_1970: Duration) -> String {
    // 1970 began with a Thursday.
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = since_1970.as_secs();
    let days = seconds / 86_400;
    let (year, month, day) = civil_date(days);
    let (name, month) = (DAYS[(days % 7) as usize], MONTHS[month as usize - 1]);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{name}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_document_is_written_as_it_stands_there() {
        assert_eq!(date(Duration::from_secs(784_111_777)), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date(Duration::ZERO), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(date(Duration::from_millis(951_868_799_999)), "Tue, 29 Feb 2000 23:59:59 GMT");
    }
}
