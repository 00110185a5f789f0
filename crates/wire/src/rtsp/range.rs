use std::fmt;

use framewire_units::Duration;

/// Seconds of a day and more: no movie is longer, and sums of such times are no concern.
const LONGEST: u64 = 1 << 32;

/// A part of a movie, in normal play time (RFC 2326, sections 3.6 and 12.29).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NptRange {
    /// From there on; `None`: from where it is now.
    pub from: Option<Duration>,
    /// Up to there; `None`: to the end.
    pub until: Option<Duration>,
}

impl NptRange {
    /// From there on.
    pub fn from(from: Duration, until: Option<Duration>) -> Self {
        Self { from: Some(from), until }
    }

    /// Reads the value of a field Range, or of an attribute of a description; `None` where it is in another format of time, or not well
    /// formed.
    pub fn parse(value: &str) -> Option<Self> {
        // Behind a semicolon stands the time at which it is to be done, which is now.
        let range = value.split(';').next()?.trim();
        let (name, range) = range.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("npt") {
            return None;
        }
        let (from, until) = range.trim().split_once('-')?;
        let until = Some(until.trim()).filter(|until| !until.is_empty());
        let until = until.map(|until| time(until).ok_or(())).transpose().ok()?;
        match from.trim() {
            // "-20" is the last 20 s in other protocols, and not said of this one: there has to be an end at least.
            "" => until.map(|_| Self { from: None, until }),
            "now" => Some(Self { from: None, until }),
            from => Some(Self { from: Some(time(from)?), until }),
        }
    }
}

/// `12.5`, or `0:03:05.3`.
fn time(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.len() <= 10 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().ok()).flatten()
    };
    let seconds = match whole.split(':').collect::<Vec<_>>()[..] {
        [seconds] => number(seconds)?,
        [hours, minutes, seconds] => {
            let (minutes, seconds) = (number(minutes)?, number(seconds)?);
            if minutes > 59 || seconds > 59 {
                return None;
            }
            number(hours)?.checked_mul(3_600)? + minutes * 60 + seconds
        }
        _ => return None,
    };
    let digits: String = fraction.chars().take(9).collect();
    let nanos = match digits.as_str() {
        "" => 0,
        digits => number(digits)? * 10_u64.pow(9 - digits.len() as u32),
    };
    let is_plain = fraction.bytes().all(|byte| byte.is_ascii_digit());
    (is_plain && seconds < LONGEST).then(|| Duration::from_secs(seconds) + Duration::from_nanos(nanos))
}

impl fmt::Display for NptRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            Some(from) => write!(f, "npt={:.3}-", from.as_secs_f64())?,
            None => f.write_str("npt=now-")?,
        }
        self.until.map_or(Ok(()), |until| write!(f, "{:.3}", until.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn ranges_are_read_as_the_document_writes_them() {
        for (text, from, until) in [
            // Sections 3.6, 10.5 and 12.29.
            ("npt=0.000-", Some(ms(0)), None),
            ("npt=10-15", Some(ms(10_000)), Some(ms(15_000))),
            ("npt=now-", None, None),
            ("npt=12:05:35.3-", Some(ms(43_535_300)), None),
            ("NPT = 123.45 - 125 ;time=19970123T143720Z", Some(ms(123_450)), Some(ms(125_000))),
            ("npt=-20", None, Some(ms(20_000))),
        ] {
            assert_eq!(NptRange::parse(text), Some(NptRange { from, until }), "{text}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "npt",
            "npt=",
            "npt=-",
            "npt=5",
            "npt=a-",
            "npt=1-x",
            "npt=1.x-",
            "npt=1:2-",
            "npt=0:60:00-",
            "npt=+1-",
            "npt=99999999999-",
            "smpte=0:10:20-",
            "clock=19961108T143720.25Z-",
            "npt=1.-2.5.5",
        ] {
            assert_eq!(NptRange::parse(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_are_written_as_they_are_read() {
        for text in ["npt=0.000-", "npt=0.000-2.000", "npt=12.345-", "npt=12.345-20.000", "npt=now-"] {
            assert_eq!(NptRange::parse(text).unwrap().to_string(), text);
        }
    }
}
