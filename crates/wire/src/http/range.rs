use std::fmt;
use std::ops::Range;

use crate::message::{Headers, decimal};

/// Which bytes of a resource a request asks for (RFC 9110, section 14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// All of them: it names no range, or one that is not understood, which is passed over (section 14.2).
    All,
    /// These.
    Part(Range<u64>),
    /// Some that there are not (section 14.1.1).
    Nothing,
}

/// Which bytes of a resource a response has (RFC 9110, section 14.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// These; `None` in a refusal.
    pub bytes: Option<Range<u64>>,
    /// Of so many; `None` where that is not known.
    pub length: Option<u64>,
}

impl RequestedRange {
    /// What these fields ask for of a resource of `length` bytes. Several ranges in one request are answered with the whole, as
    /// section 14.2 allows.
    pub fn of(headers: &Headers, length: u64) -> Self {
        let mut fields = headers.all("Range");
        let (Some(range), None) = (fields.next(), fields.next()) else { return Self::All };
        // If-Range names a state of the resource (section 13.1.5), of which there is none here: then all is sent.
        if headers.get("If-Range").is_some() {
            return Self::All;
        }
        Self::parse(range, length).unwrap_or(Self::All)
    }

    fn parse(range: &str, length: u64) -> Option<Self> {
        let (unit, range) = range.split_once('=')?;
        let (first, last) = range.trim().split_once('-')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        let bytes = match (first, last) {
            ("", last) => length.saturating_sub(number(last)?)..length,
            (first, "") => number(first)?..length,
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return None;
                }
                first..length.min(last.saturating_add(1))
            }
        };
        Some(if bytes.is_empty() { Self::Nothing } else { Self::Part(bytes) })
    }
}

/// At least one digit.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() { None } else { decimal(text) }
}

impl ContentRange {
    /// What the field says; `None` where it says nothing that is understood.
    pub fn parse(field: &str) -> Option<Self> {
        let (range, length) = field.trim().strip_prefix("bytes ")?.split_once('/')?;
        let length = if length == "*" { None } else { Some(number(length)?) };
        if range == "*" {
            return Some(Self { bytes: None, length });
        }
        let (first, last) = range.split_once('-')?;
        let bytes = number(first)?..number(last)?.checked_add(1)?;
        let fits = !bytes.is_empty() && length.is_none_or(|length| bytes.end <= length);
        fits.then_some(Self { bytes: Some(bytes), length })
    }
}

impl fmt::Display for ContentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bytes {
            Some(bytes) => write!(f, "bytes {}-{}/", bytes.start, bytes.end.saturating_sub(1))?,
            None => f.write_str("bytes */")?,
        }
        match self.length {
            Some(length) => write!(f, "{length}"),
            None => f.write_str("*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(range: &str) -> RequestedRange {
        RequestedRange::of(&Headers::default().with("Range", range), 10_000)
    }

    #[test]
    fn ranges_are_those_of_the_examples_of_the_document() {
        // RFC 9110, section 14.1.2.
        assert_eq!(asked("bytes=0-499"), RequestedRange::Part(0..500));
        assert_eq!(asked("bytes=500-999"), RequestedRange::Part(500..1_000));
        assert_eq!(asked("bytes=-500"), RequestedRange::Part(9_500..10_000));
        assert_eq!(asked("bytes=9500-"), RequestedRange::Part(9_500..10_000));
        assert_eq!(asked("bytes=0-"), RequestedRange::Part(0..10_000));
        assert_eq!(asked("bytes=9999-20000"), RequestedRange::Part(9_999..10_000), "it ends with the resource");
        assert_eq!(asked("bytes=-20000"), RequestedRange::Part(0..10_000));
        assert_eq!(asked("bytes=10000-"), RequestedRange::Nothing);
        assert_eq!(asked("bytes=-0"), RequestedRange::Nothing);
        for other in ["bytes=0-0,-1", "bytes=5-4", "seconds=1-2", "bytes=", "bytes=-", "bytes=a-b", "bytes=+1-2", ""] {
            assert_eq!(asked(other), RequestedRange::All, "{other}");
        }
        let conditional = Headers::default().with("Range", "bytes=1-2").with("If-Range", "\"state\"");
        assert_eq!(RequestedRange::of(&conditional, 10), RequestedRange::All);
        assert_eq!(RequestedRange::of(&Headers::default(), 10), RequestedRange::All);
    }

    #[test]
    fn a_range_of_a_response_comes_back_as_it_was_written() {
        for text in ["bytes 0-499/1234", "bytes 42-1233/*", "bytes */47022"] {
            assert_eq!(ContentRange::parse(text).unwrap().to_string(), text);
        }
        for wrong in
            ["bytes 5-4/10", "bytes 0-10/10", "0-1/2", "bytes 1/2", "bytes -1/2", "bytes 0-18446744073709551615/*"]
        {
            assert_eq!(ContentRange::parse(wrong), None, "{wrong}");
        }
    }
}
