//! Units as people write them elsewhere, and what is written here instead.

/// What a quantity that was refused was meant to be: `6 Mbit/s` of `6 Mbps`, `64 kB` of `64 KB`, `40 ms` of `40 msec`.
/// `None` where it has no number, or its unit is none that is known to be written otherwise.
pub(crate) fn meant(text: &str, quantity: &str) -> Option<String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let value: f64 = number.replace('_', "").parse().ok()?;
    match quantity {
        "rate" => rate(number, value, unit),
        "size" => size(number, unit),
        "duration" => duration(number, unit),
        _ => None,
    }
}

fn rate(number: &str, value: f64, unit: &str) -> Option<String> {
    let (prefix, rest) = split_prefix(unit);
    // A capital B is a byte: "6 MB/s", "6 MBps".
    if matches!(rest, "B/s" | "Bps" | "bytes/s" | "byte/s") {
        return Some(format!("{} {prefix}bit/s", value * 8.0));
    }
    let is_bits = matches!(
        rest.to_ascii_lowercase().as_str(),
        "bps" | "b/s" | "b" | "bit" | "bits" | "bit/s" | "bits/s" | "bitps"
    );
    is_bits.then(|| format!("{number} {prefix}bit/s"))
}

fn size(number: &str, unit: &str) -> Option<String> {
    let (prefix, rest) = split_prefix(unit);
    match rest.to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => Some(format!("{number} {prefix}B")),
        "ib" if prefix == "k" => Some(format!("{number} KiB")),
        "ib" if prefix == "M" => Some(format!("{number} MiB")),
        _ => None,
    }
}

fn duration(number: &str, unit: &str) -> Option<String> {
    let unit = match unit.to_ascii_lowercase().as_str() {
        "sec" | "secs" | "second" | "seconds" | "s" => "s",
        "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" | "ms" => "ms",
        "usec" | "usecs" | "microsecond" | "microseconds" | "\u{b5}s" | "\u{3bc}s" | "us" => "us",
        "nsec" | "nanosecond" | "nanoseconds" | "ns" => "ns",
        "m" | "mins" | "minute" | "minutes" | "min" => "min",
        _ => return None,
    };
    Some(format!("{number} {unit}"))
}

/// The prefix, as it is written here, and what follows it. A thousandth of a bit or of a byte is never meant.
fn split_prefix(unit: &str) -> (&'static str, &str) {
    let prefixes = [(["k", "K"], "k"), (["m", "M"], "M"), (["g", "G"], "G")];
    let found = prefixes.iter().find_map(|(written, here)| {
        let rest = written.iter().find_map(|prefix| unit.strip_prefix(prefix))?;
        Some((*here, rest))
    });
    found.unwrap_or(("", unit))
}

#[cfg(test)]
mod tests {
    use crate::{Bitrate, DataSize, parse_duration};

    /// What is suggested is taken, and stands for what was written.
    #[test]
    fn what_is_suggested_is_right() {
        let rates = [
            ("6 Mbps", "6 Mbit/s"),
            ("6Mbps", "6 Mbit/s"),
            ("800 kbps", "800 kbit/s"),
            ("800 Kbps", "800 kbit/s"),
            ("800 Kb", "800 kbit/s"),
            ("1.5 mbit/s", "1.5 Mbit/s"),
            ("1 Gb/s", "1 Gbit/s"),
            ("64000 bps", "64000 bit/s"),
            ("6 Mbits/s", "6 Mbit/s"),
            ("2 MB/s", "16 Mbit/s"),
            ("1.5 MBps", "12 Mbit/s"),
        ];
        for (written, expected) in rates {
            let refused = written.parse::<Bitrate>().unwrap_err();
            assert_eq!(refused.meant(), Some(expected), "{written}");
            assert!(expected.parse::<Bitrate>().is_ok());
            assert!(refused.to_string().ends_with(&format!("(did you mean \"{expected}\"?)")), "{refused}");
        }
        for (written, expected) in [("64 KB", "64 kB"), ("2 mb", "2 MB"), ("2 mib", "2 MiB"), ("9 bytes", "9 B")] {
            assert_eq!(written.parse::<DataSize>().unwrap_err().meant(), Some(expected), "{written}");
            assert!(expected.parse::<DataSize>().is_ok());
        }
        for (written, expected) in
            [("40 msec", "40 ms"), ("3 sec", "3 s"), ("5 \u{b5}s", "5 us"), ("2 minutes", "2 min")]
        {
            assert_eq!(parse_duration(written).unwrap_err().meant(), Some(expected), "{written}");
            assert!(parse_duration(expected).is_ok());
        }
    }

    #[test]
    fn what_cannot_be_guessed_is_not() {
        for written in ["fast", "6", "", "Mbps", "6 furlongs", "6 M bps", "-6 Mbps", "6 Mbit/s/s"] {
            assert_eq!(written.parse::<Bitrate>().unwrap_err().meant(), None, "{written}");
        }
        assert_eq!(parse_duration("3 h").unwrap_err().meant(), None);
        assert_eq!("3 PB".parse::<DataSize>().unwrap_err().meant(), None);
    }
}
