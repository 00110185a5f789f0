//! Rows as text in a file, and as structures on the bus.

use std::fs::File;
use std::io::{BufWriter, Write};

use gst::glib;

use super::row::{COLUMNS, Column, Row, Value};

/// How rows are written into a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstFramewireStatFormat")]
pub enum Format {
    /// A table of frames and groups with all columns, empty where a row has no value.
    #[default]
    #[enum_value(name = "Comma-separated values with a header", nick = "csv")]
    Csv,
    /// An object for each frame and each group.
    #[enum_value(name = "A JSON object in each line", nick = "json-lines")]
    JsonLines,
}

/// A file of rows.
#[derive(Debug)]
pub(super) struct RowFile {
    file: BufWriter<File>,
    format: Format,
}

impl RowFile {
    /// Begins a file; what was there before is gone.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(location: &str, format: Format) -> std::io::Result<Self> {
        let mut file = BufWriter::new(File::create(location)?);
        if format == Format::Csv {
            writeln!(file, "{}", COLUMNS.join(","))?;
        }
        Ok(Self { file, format })
    }

    /// Appends a row. A reader of the file sees it up to the last group meanwhile.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, row: &Row) -> std::io::Result<()> {
        let line = match self.format {
            Format::Csv => csv(&row.columns()),
            Format::JsonLines => json(&row.columns()),
        };
        writeln!(self.file, "{line}")?;
        if let Row::Group(_) = row { self.flush() } else { Ok(()) }
    }

    /// Lets everything that was appended be read by others.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
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

/// A row as a structure. Underscores are dashes there, as is the habit; what is not known is not in it.
pub(super) fn structure(row: &Row) -> gst::Structure {
    let mut structure = gst::Structure::new_empty(row.message());
    for (column, value) in row.columns() {
        let field = column.replace('_', "-");
        match value {
            _ if column == "record" => {}
            Value::Nothing => {}
            Value::Count(count) => structure.set(field, count),
            Value::Signed(nanos) => structure.set(field, nanos),
            Value::Flag(flag) => structure.set(field, flag),
            Value::Text(text) => structure.set(field, text.as_str()),
        }
    }
    structure
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
