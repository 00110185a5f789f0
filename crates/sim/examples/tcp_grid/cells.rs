//! Cells as rows of a file: which connection over which network, and what was measured of it, if anything.

use std::fmt::Display;
use std::str::FromStr;

use framewire_link::{LossConfig, NetworkConfig, QueueLimit};
use framewire_sim::lone_connection::{LoneConnection, Traffic, bottleneck};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed};

/// Columns that name a cell.
pub const CELL_COLUMNS: [&str; 6] = ["algorithm", "rate_mbps", "rtt_ms", "loss", "queue", "mode"];
/// The stream's frame where the file has no column `frame_bytes`: 7.5 Mbit/s at 25 frames per second.
const FRAME_BYTES: u64 = 37_500;
const FRAME_INTERVAL: Duration = Duration::from_millis(40);
/// What hosts and emulator add to a round trip of the kernel's dataset: so much always, and as much again by chance.
/// Measured in captures of both ends: 12 to 61 us from data to acknowledgement, about 30 us at the sender, and 17 to
/// 34 us (99 %: 60 us) at each release of the emulator. Without it, acknowledgements release packets exactly when
/// places in the queue fall free, and the same one of two outcomes comes in every run (phase effects: Floyd and
/// Jacobson, 1992).
const HOST_LATENCY: Duration = Duration::from_micros(90);

/// A file of comma-separated values with a header.
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// One row of a table.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
    number: usize,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// Names the line that has not as many fields as the header.
    pub fn parse(text: &str) -> Result<Self, String> {
        let split = |line: &str| line.split(',').map(|field| field.trim().to_owned()).collect::<Vec<_>>();
        let mut lines = text.lines().enumerate();
        let header = lines.next().map(|(_, line)| split(line)).ok_or("the file is empty")?;
        let mut rows = Vec::new();
        for (number, line) in lines {
            let row = split(line);
            if row.len() != header.len() {
                return Err(format!("line {}: {} fields, the header has {}", number + 1, row.len(), header.len()));
            }
            rows.push(row);
        }
        Ok(Self { header, rows })
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.rows.len()).map(|number| Row { table: self, number })
    }
}

impl Row<'_> {
    /// The field of a column, if there is such a column.
    pub fn text(&self, column: &str) -> Option<&str> {
        let position = self.table.header.iter().position(|name| name == column)?;
        Some(&self.table.rows[self.number][position])
    }

    /// The value of a column.
    ///
    /// # Errors
    /// Names the line, the column and the value that is no such value.
    pub fn value<T: FromStr<Err: Display>>(&self, column: &str) -> Result<T, String> {
        let line = self.number + 2;
        let text = self.text(column).ok_or_else(|| format!("there is no column {column}"))?;
        text.parse().map_err(|error| format!("line {line}, {column} = {text}: {error}"))
    }

    /// The fields that name the cell, as they stand.
    pub fn cell(&self) -> String {
        CELL_COLUMNS.map(|column| self.text(column).unwrap_or_default()).join(",")
    }

    /// The experiment that the row describes.
    ///
    /// # Errors
    /// Names the line and the value that makes no sense.
    pub fn experiment(&self) -> Result<LoneConnection, String> {
        let loss = match self.value::<f64>("loss")? {
            0.0 => LossConfig::None,
            loss => LossConfig::Bernoulli(Probability::new(loss).ok_or("loss: 0 to 1 is allowed")?),
        };
        let queue = match self.text("queue_packets") {
            Some(_) => QueueLimit::Packets(self.value("queue_packets")?),
            None => QueueLimit::Bytes(DataSize::from_bytes(self.value("queue_bytes")?)),
        };
        let rate = Bitrate::from_mbps(self.value("rate_mbps")?);
        let mut network = bottleneck(rate, Duration::from_millis(self.value("rtt_ms")?), loss, queue);
        if let (Some(_), NetworkConfig::Wired(wired)) = (self.text("kernel"), &mut network) {
            wired.backward.delay += HOST_LATENCY;
            wired.backward.jitter = HOST_LATENCY;
        }
        let traffic = match self.text("mode") {
            Some("bulk") => Traffic::Bulk,
            Some("stream") => Traffic::Paced { frame: DataSize::from_bytes(self.frame()?), interval: FRAME_INTERVAL },
            other => return Err(format!("mode = {}: bulk and stream are allowed", other.unwrap_or_default())),
        };
        Ok(LoneConnection {
            traffic,
            duration: Duration::from_secs(self.value("seconds")?),
            seed: Seed(self.value("seed")?),
            ..LoneConnection::new(self.value("algorithm")?, network)
        })
    }

    fn frame(&self) -> Result<u64, String> {
        if self.text("frame_bytes").is_some() { self.value("frame_bytes") } else { Ok(FRAME_BYTES) }
    }
}
