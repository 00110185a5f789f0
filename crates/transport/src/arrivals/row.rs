//! What is reported of a frame and of a group of pictures, column by column. The columns that the lab's
//! `frames.parquet` has too are described in `docs/results.md`.

use framewire_media::{GopHeader, PictureType};

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Not measured, or not in the stream.
    Nothing,
    /// A count, or a time that cannot be negative.
    Count(u64),
    /// A time that can be negative.
    Signed(i64),
    /// Yes or no.
    Flag(bool),
    /// Letters, digits, colons and dashes.
    Text(String),
}

/// A column with its value.
pub type Column = (&'static str, Value);

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRow {
    /// Its number in transport order among those that arrived, from 0.
    pub frame: u64,
    /// Group that it is in, from 0.
    pub group: u64,
    /// When it arrived, from the first packet of the stream.
    pub arrival_nanos: u64,
    /// When it was expected to, from the first frame of the stream.
    pub expected_nanos: Option<i64>,
    /// Arrival less expectation.
    pub latency_nanos: Option<i64>,
    /// Jitter of the latencies so far (RFC 3550, section 6.4.1).
    pub jitter_nanos: Option<i64>,
    /// Coding type.
    pub kind: PictureType,
    /// Whether decoding can begin with it.
    pub key: bool,
    /// Number in display order within its group, as the stream gives it: temporal reference, picture order count, or
    /// order hint.
    pub temporal_reference: Option<i64>,
    /// Presentation time in the clock of RTP.
    pub rtp_timestamp: Option<u32>,
    /// Bytes.
    pub size: u64,
    /// Whether it refers to a frame that never came.
    pub missing_reference: bool,
}

/// One group of pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// Its number among those that arrived, from 0.
    pub group: u64,
    /// Number of its first frame.
    pub frame: u64,
    /// When that arrived.
    pub arrival_nanos: u64,
    /// Its header (MPEG-1, MPEG-2).
    pub header: Option<GopHeader>,
    /// RTP time stamp of the first frame of it that is shown.
    pub rtp_timestamp: Option<u32>,
}

/// Either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// Of a frame.
    Frame(FrameRow),
    /// Of a group of pictures.
    Group(GroupRow),
}

impl Row {
    /// Its columns.
    pub fn columns(&self) -> Vec<Column> {
        match self {
            Self::Frame(row) => row.columns(),
            Self::Group(row) => row.columns(),
        }
    }

    /// As a line of a table with the columns [`COLUMNS`], empty where it has no value.
    pub fn csv(&self) -> String {
        csv(&self.columns())
    }

    /// As a JSON object.
    pub fn json(&self) -> String {
        json(&self.columns())
    }
}

/// All columns of a table with frames and groups, in order.
pub const COLUMNS: [&str; 18] = [
    "record",
    "frame",
    "group",
    "arrival_ns",
    "expected_ns",
    "latency_ns",
    "jitter_ns",
    "type",
    "key",
    "temporal_reference",
    "rtp_timestamp",
    "size",
    "missing_reference",
    "time_code",
    "pictures",
    "drop_frame",
    "closed",
    "broken_link",
];

impl FrameRow {
    fn columns(&self) -> Vec<Column> {
        vec![
            ("record", Value::Text("frame".to_owned())),
            ("frame", Value::Count(self.frame)),
            ("group", Value::Count(self.group)),
            ("arrival_ns", Value::Count(self.arrival_nanos)),
            ("expected_ns", signed(self.expected_nanos)),
            ("latency_ns", signed(self.latency_nanos)),
            ("jitter_ns", signed(self.jitter_nanos)),
            ("type", Value::Text(self.kind.to_string())),
            ("key", Value::Flag(self.key)),
            ("temporal_reference", signed(self.temporal_reference)),
            ("rtp_timestamp", count(self.rtp_timestamp)),
            ("size", Value::Count(self.size)),
            ("missing_reference", Value::Flag(self.missing_reference)),
        ]
    }
}

impl GroupRow {
    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![
            ("record", Value::Text("group".to_owned())),
            ("frame", Value::Count(self.frame)),
            ("group", Value::Count(self.group)),
            ("arrival_ns", Value::Count(self.arrival_nanos)),
            ("rtp_timestamp", count(self.rtp_timestamp)),
        ];
        if let Some(header) = self.header {
            let code = header.time_code;
            let text = format!("{:02}:{:02}:{:02}", code.hours, code.minutes, code.seconds);
            columns.extend([
                ("time_code", Value::Text(text)),
                ("pictures", Value::Count(code.pictures.into())),
                ("drop_frame", Value::Flag(code.drop_frame)),
                ("closed", Value::Flag(header.closed)),
                ("broken_link", Value::Flag(header.broken_link)),
            ]);
        }
        columns
    }
}

fn signed(value: Option<i64>) -> Value {
    value.map_or(Value::Nothing, Value::Signed)
}

fn count(value: Option<u32>) -> Value {
    value.map_or(Value::Nothing, |value| Value::Count(value.into()))
}

fn csv(row: &[Column]) -> String {
    let cell = |column: &&str| match row.iter().find(|(name, _)| name == column) {
        None | Some((_, Value::Nothing)) => String::new(),
        Some((_, value)) => plain(value),
    };
    COLUMNS.iter().map(cell).collect::<Vec<_>>().join(",")
}

fn json(row: &[Column]) -> String {
    let member = |(name, value): &Column| match value {
        Value::Nothing => format!("\"{name}\":null"),
        // No text of a row has a character that JSON escapes.
        Value::Text(text) => format!("\"{name}\":\"{text}\""),
        value => format!("\"{name}\":{}", plain(value)),
    };
    format!("{{{}}}", row.iter().map(member).collect::<Vec<_>>().join(","))
}

fn plain(value: &Value) -> String {
    match value {
        Value::Nothing => String::new(),
        Value::Count(count) => count.to_string(),
        Value::Signed(nanos) => nanos.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Text(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_kinds_fit_one_table() {
        let row = [("record", Value::Text("group".into())), ("frame", Value::Count(3)), ("closed", Value::Flag(true))];
        assert_eq!(csv(&row), "group,3,,,,,,,,,,,,,,,true,");
        assert_eq!(json(&row), r#"{"record":"group","frame":3,"closed":true}"#);
        assert_eq!(csv(&[("latency_ns", Value::Signed(-5))]).matches(',').count(), COLUMNS.len() - 1);
        assert_eq!(json(&[("jitter_ns", Value::Nothing)]), r#"{"jitter_ns":null}"#);
    }
}
