//! Rows as text in a file, and as structures on the bus.

use std::fs::File;
use std::io::{BufWriter, Write};

use framewire_transport::arrivals::{COLUMNS, Row, Summary, Value};
use gst::glib;

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
    pub(crate) fn create(location: &str, format: Format) -> std::io::Result<Self> {
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
    pub(crate) fn append(&mut self, row: &Row) -> std::io::Result<()> {
        let line = match self.format {
            Format::Csv => row.csv(),
            Format::JsonLines => row.json(),
        };
        writeln!(self.file, "{line}")?;
        if let Row::Group(_) = row { self.flush() } else { Ok(()) }
    }

    /// Lets everything that was appended be read by others.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// A row as a structure. Underscores are dashes there, as is the habit; what is not known is not in it.
pub(super) fn structure(row: &Row) -> gst::Structure {
    let name = match row {
        Row::Frame(_) => "framewire-frame",
        Row::Group(_) => "framewire-group",
    };
    let mut structure = gst::Structure::new_empty(name);
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

/// The `stats` property. What is not known is not in it.
pub(super) fn summary(summary: &Summary) -> gst::Structure {
    let mut stats = gst::Structure::builder("application/x-framewire-video-stats")
        .field("frames", summary.frames)
        .field("frames-i", summary.by_type[0])
        .field("frames-p", summary.by_type[1])
        .field("frames-b", summary.by_type[2])
        .field("groups", summary.groups)
        .field("bytes", summary.bytes)
        .field("missing-reference", summary.missing_reference)
        .field("unreadable", summary.faults.unreadable)
        .field("incomplete", summary.faults.incomplete)
        .field("rejected-packets", summary.faults.rejected)
        .build();
    if let Some([least, mean, most]) = summary.latencies() {
        stats.set("latency-min", least);
        stats.set("latency-mean", mean);
        stats.set("latency-max", most);
    }
    if let Some(jitter) = summary.last_frame.as_ref().and_then(|frame| frame.jitter_nanos) {
        stats.set("jitter", jitter);
    }
    let last = [summary.last_frame.clone().map(Row::Frame), summary.last_group.clone().map(Row::Group)];
    for (field, row) in ["last-frame", "last-group"].into_iter().zip(last) {
        if let Some(row) = row {
            stats.set(field, structure(&row));
        }
    }
    stats
}
