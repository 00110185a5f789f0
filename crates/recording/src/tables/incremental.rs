//! Row groups of a flow that are encoded while a run goes on, so that little is left to do when it ends.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;

use super::flow::{ReleaseRow, accuracy};
use super::packets::{CARRIED, Carried, PacketRow, carried_by_packets, carried_by_sequence, packets};
use super::table::{EncodedColumn, Table, TableWriter};
use crate::record::{FlowLog, PacketRecord, ReleaseRecord};
use crate::run::WriteError;
use crate::spool::Spool;
use crate::spool::file::{self, Block, ScratchFile};

/// Rows of a group: half of those of a table that is made at the end, since each flow of a run has one in memory.
const GROUP_ROWS: usize = 32_768;

/// The rows of one flow in two tables, made as they come. Recording cannot fail, as in a [`Spool`]: what the disk refuses
/// is reported at the end.
#[derive(Debug)]
pub struct TablesAhead {
    flow: String,
    directory: Option<Arc<Path>>,
    packets: Vec<PacketRecord>,
    releases: Vec<ReleaseRecord>,
    written: WrittenAhead,
    failure: Option<WriteError>,
}

/// Tables of a flow's packets that were made while the run went on.
#[derive(Clone, Debug, Default)]
pub struct WrittenAhead {
    packets: Groups,
    /// Of every row the sequence number that identifies what it carries, which only the sender's log knows.
    sequences: Spool<Option<u64>>,
    releases: Groups,
}

impl TablesAhead {
    /// Of the flow of this name. What is encoded goes to a file without a name in `directory`; `None`: in the system's
    /// directory of temporary files.
    pub fn new(flow: &str, directory: Option<Arc<Path>>) -> Self {
        let sequences = Spool::in_directory(directory.clone());
        Self {
            flow: flow.to_owned(),
            directory,
            packets: Vec::new(),
            releases: Vec::new(),
            written: WrittenAhead { sequences, ..WrittenAhead::default() },
            failure: None,
        }
    }

    /// Adds a row of the packet table.
    pub fn add_packet(&mut self, record: PacketRecord) {
        self.written.sequences.push(record.sequence.filter(|_| record.tells_its_frame()));
        self.packets.push(record);
        if self.packets.len() >= GROUP_ROWS {
            self.encode_packets();
        }
    }

    /// Adds a row of the table of releases.
    pub fn add_release(&mut self, release: ReleaseRecord) {
        self.releases.push(release);
        if self.releases.len() >= GROUP_ROWS {
            self.encode_releases();
        }
    }

    /// What was made, and of the rows that are left a last group each.
    ///
    /// # Errors
    /// When the disk refused a part.
    pub fn finish(mut self) -> Result<WrittenAhead, WriteError> {
        self.encode_packets();
        self.encode_releases();
        let refused = self.failure.or_else(|| self.written.sequences.failure());
        refused.map_or(Ok(self.written), Err)
    }

    /// What the disk refused so far.
    pub fn failure(&self) -> Option<&WriteError> {
        self.failure.as_ref()
    }

    fn encode_packets(&mut self) {
        let records = std::mem::take(&mut self.packets);
        let rows: Vec<PacketRow<'_>> = records.iter().map(|record| PacketRow::unplaced(&self.flow, record)).collect();
        let added = self.written.packets.add(&packets(), &rows, &CARRIED, self.directory.as_deref());
        self.failure = self.failure.take().or(added.err());
    }

    fn encode_releases(&mut self) {
        let releases = std::mem::take(&mut self.releases);
        let rows: Vec<ReleaseRow<'_>> = releases.iter().map(|&release| ReleaseRow::of(&self.flow, release)).collect();
        let added = self.written.releases.add(&accuracy(), &rows, &[], self.directory.as_deref());
        self.failure = self.failure.take().or(added.err());
    }
}

impl WrittenAhead {
    /// What could not be read again.
    pub(crate) fn failure(&self) -> Option<WriteError> {
        self.sequences.failure()
    }

    pub(crate) fn write_packets<W: Write + Send>(
        &self,
        writer: &mut TableWriter<'_, PacketRow<'_>, W>,
        log: &FlowLog,
    ) -> Result<(), ParquetError> {
        let mut datagrams = carried_by_sequence(log);
        let mut rows = self.sequences.iter().map(|sequence| datagrams.of((*sequence)?));
        let later = carried_by_packets();
        for group in &self.packets.groups {
            let carried: Vec<Option<Carried>> = rows.by_ref().take(group.rows).collect();
            writer.write_encoded(self.packets.columns(group), &later, &carried)?;
        }
        Ok(())
    }

    pub(crate) fn write_releases<W: Write + Send>(
        &self,
        writer: &mut TableWriter<'_, ReleaseRow<'_>, W>,
    ) -> Result<(), ParquetError> {
        let nothing = Table::<()>::named("nothing");
        for group in &self.releases.groups {
            writer.write_encoded(self.releases.columns(group), &nothing, &[])?;
        }
        Ok(())
    }
}

/// Encoded row groups, in a file.
#[derive(Clone, Debug, Default)]
struct Groups {
    file: Option<Arc<ScratchFile>>,
    groups: Vec<Group>,
}

#[derive(Clone, Debug)]
struct Group {
    rows: usize,
    columns: Vec<Option<Column>>,
}

#[derive(Clone, Debug)]
struct Column {
    bytes: Block,
    closed: ColumnCloseResult,
}

impl Groups {
    fn add<R>(
        &mut self,
        table: &Table<R>,
        rows: &[R],
        later: &[&str],
        directory: Option<&Path>,
    ) -> Result<(), WriteError> {
        if rows.is_empty() {
            return Ok(());
        }
        let encoded = table.encode(rows, later).map_err(|error| {
            let place = directory.map_or_else(std::env::temp_dir, Path::to_owned);
            WriteError { file: place.join(table.name()), reason: error.to_string(), code: None }
        })?;
        let mut columns = Vec::with_capacity(encoded.len());
        for column in encoded {
            columns.push(match column {
                None => None,
                Some(EncodedColumn { bytes, closed }) => {
                    Some(Column { bytes: file::append(&mut self.file, directory, &bytes, rows.len())?, closed })
                }
            });
        }
        self.groups.push(Group { rows: rows.len(), columns });
        Ok(())
    }

    fn columns<'a>(
        &'a self,
        group: &'a Group,
    ) -> impl Iterator<Item = Result<Option<EncodedColumn>, ParquetError>> + 'a {
        group.columns.iter().map(|column| {
            let Some(column) = column else { return Ok(None) };
            let file = self.file.as_ref().expect("invariant: a column is in a file");
            let bytes = file.read(&column.bytes).map_err(|error| ParquetError::External(Box::new(error)))?;
            Ok(Some(EncodedColumn { bytes, closed: column.closed.clone() }))
        })
    }
}
