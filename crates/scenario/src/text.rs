//! Quantities as texts with units, the same in TOML and JSON.

use std::path::Path;

use framewire_link::{Interval, QueueLimit};
use framewire_units::{
    Bitrate, DataSize, Duration, Probability, Timestamp, UnitError, format_duration, parse_duration,
};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A value that the file writes as text.
pub trait Text: Sized {
    /// A regular expression (ECMA 262) of the text's shape, for the schema.
    const PATTERN: &str;

    /// Reads the text; the error says what is allowed.
    fn parse(text: &str) -> Result<Self, String>;

    /// Writes the text that [`Text::parse`] reads back to the same value.
    fn show(&self) -> String;

    /// The schema of the text.
    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": Self::PATTERN })
    }
}

/// `#[serde(serialize_with = "text::serialize")]` for a value.
pub(crate) fn serialize<T: Text, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.show())
}

/// The same for an optional value; absent values are skipped, TOML has no null.
pub(crate) fn serialize_optional<T: Text, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(Text::show).serialize(serializer)
}

/// `#[schemars(schema_with = "text::schema::<T>")]`: a text of the value's shape.
pub(crate) fn schema<T: Text>(generator: &mut SchemaGenerator) -> Schema {
    T::schema(generator)
}

/// The same for a list of intervals.
pub(crate) fn intervals_schema(_: &mut SchemaGenerator) -> Schema {
    let time = json_schema!({ "type": "string", "pattern": Duration::PATTERN });
    let interval = json_schema!({ "type": "array", "items": time, "minItems": 2, "maxItems": 2 });
    json_schema!({ "type": "array", "items": interval })
}

/// What is allowed, and what was probably meant.
fn hinting(allowed: &str, error: &UnitError) -> String {
    let hint = error.meant().map_or(String::new(), |meant| format!(" (did you mean \"{meant}\"?)"));
    format!("{allowed}{hint}")
}

/// The longest duration that a scenario may state: a day.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The highest rate that a scenario may state.
const FASTEST: Bitrate = Bitrate::from_mbps(1_000_000);
/// The largest size that a scenario may state.
const LARGEST: DataSize = DataSize::from_bytes(1 << 40);

impl Text for Duration {
    const PATTERN: &str = r"^\s*[0-9][0-9._]*\s*(min|s|ms|us|ns)\s*$";

    fn parse(text: &str) -> Result<Self, String> {
        let duration =
            parse_duration(text).map_err(|error| hinting("a number and one of min, s, ms, us, ns", &error))?;
        if duration > LONGEST { Err("at most 1440 min".to_owned()) } else { Ok(duration) }
    }

    fn show(&self) -> String {
        if self.is_zero() { "0 s".to_owned() } else { format_duration(*self) }
    }
}

impl Text for Bitrate {
    const PATTERN: &str = r"^\s*[0-9][0-9._]*\s*([GMk]?bit/s)\s*$";

    fn parse(text: &str) -> Result<Self, String> {
        let rate: Self =
            text.parse().map_err(|error| hinting("a number and one of Gbit/s, Mbit/s, kbit/s, bit/s", &error))?;
        match rate {
            rate if rate.as_bps() == 0 => Err("a rate above zero".to_owned()),
            rate if rate > FASTEST => Err(format!("at most {FASTEST}")),
            rate => Ok(rate),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Text for DataSize {
    const PATTERN: &str = r"^\s*[0-9][0-9._]*\s*([GMk]?B|[MK]iB)\s*$";

    fn parse(text: &str) -> Result<Self, String> {
        let size: Self =
            text.parse().map_err(|error| hinting("a number and one of GB, MB, kB, MiB, KiB, B", &error))?;
        match size {
            size if size == Self::ZERO => Err("a size above zero".to_owned()),
            size if size > LARGEST => Err("at most 1048576 MiB".to_owned()),
            size => Ok(size),
        }
    }

    /// Prefers a whole number of binary units, as buffer sizes are.
    fn show(&self) -> String {
        match self.as_bytes() {
            bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
            bytes if bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
            bytes if bytes % 1_000 == 0 => self.to_string(),
            bytes => format!("{bytes} B"),
        }
    }
}

impl Text for Probability {
    const PATTERN: &str = r"^\s*[0-9.eE+-]+\s*%?\s*$";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "0 to 1, or 0 % to 100 %,".to_owned())
    }

    /// A percentage where that reads back to the same number, else the fraction, which always does.
    fn show(&self) -> String {
        let percent = format!("{} %", (self.get() * 100.0 * 1e6).round() / 1e6);
        if percent.parse() == Ok(*self) { percent } else { self.to_string() }
    }
}

/// A level or ratio in decibels.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Decibel(pub f64);

impl Text for Decibel {
    const PATTERN: &str = r"^\s*[0-9.eE+-]+\s*dB\s*$";

    fn parse(text: &str) -> Result<Self, String> {
        const ALLOWED: &str = "a number from -100 to 100 and dB";
        let number = text.trim().strip_suffix("dB").ok_or(ALLOWED)?.trim();
        let value: f64 = number.parse().map_err(|_| ALLOWED)?;
        if (-100.0..=100.0).contains(&value) { Ok(Self(value)) } else { Err(ALLOWED.to_owned()) }
    }

    fn show(&self) -> String {
        format!("{} dB", self.0)
    }
}

impl Text for QueueLimit {
    const PATTERN: &str = r"^\s*[0-9][0-9._]*\s*(packets?|[GMk]?B|[MK]iB|min|s|ms|us|ns)\s*$";

    fn parse(text: &str) -> Result<Self, String> {
        const ALLOWED: &str = "\"1 packets\" to \"1000000 packets\", a size (\"64 KiB\") or a time (\"50 ms\")";
        if let Some(number) = text.trim().strip_suffix("packets").or(text.trim().strip_suffix("packet")) {
            return match number.trim().parse() {
                Ok(count @ 1..=1_000_000) => Ok(Self::Packets(count)),
                _ => Err(ALLOWED.to_owned()),
            };
        }
        match (<DataSize as Text>::parse(text), <Duration as Text>::parse(text)) {
            (Ok(size), _) => Ok(Self::Bytes(size)),
            (_, Ok(time)) if !time.is_zero() => Ok(Self::Time(time)),
            _ => match (text.parse::<DataSize>(), parse_duration(text)) {
                (Err(size), Err(time)) => Err(hinting(ALLOWED, if size.meant().is_some() { &size } else { &time })),
                _ => Err(ALLOWED.to_owned()),
            },
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Packets(count) => format!("{count} packets"),
            Self::Bytes(size) => size.show(),
            Self::Time(time) => time.show(),
        }
    }
}

/// An interval as the file has it: times from the origin of the run, the moment when the first frame is due.
pub(crate) fn interval_texts(interval: &Interval) -> [String; 2] {
    [interval.start, interval.end].map(|at| at.saturating_since(Timestamp::ZERO).show())
}

/// The same for messages.
pub(crate) fn show_interval(interval: &Interval) -> String {
    let [start, end] = interval_texts(interval);
    format!("[\"{start}\", \"{end}\"]")
}

/// `#[serde(serialize_with = "text::serialize_intervals")]` for a list of them.
pub(crate) fn serialize_intervals<S: Serializer>(intervals: &[Interval], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(intervals.iter().map(interval_texts))
}

/// A path of a scenario as seen from the directory that its relative paths start from.
pub(crate) fn from_directory(directory: Option<&Path>, path: String) -> String {
    match directory {
        Some(directory) => directory.join(&path).to_string_lossy().into_owned(),
        None => path,
    }
}
