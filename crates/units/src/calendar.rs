//! Days and dates.

/// The year, month and day of a day since 1970-01-01, in the Gregorian calendar (400 years of 146,097 days; from March on, five
/// months of 153 days).
pub fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_of_a_hundred_are_leap_years_every_fourth_time() {
        assert_eq!([0, 58, 59].map(civil_date), [(1970, 1, 1), (1970, 2, 28), (1970, 3, 1)]);
        assert_eq!([11_015, 11_016, 11_017].map(civil_date), [(2000, 2, 28), (2000, 2, 29), (2000, 3, 1)]);
        assert_eq!([47_540, 47_541].map(civil_date), [(2100, 2, 28), (2100, 3, 1)]);
    }
}
