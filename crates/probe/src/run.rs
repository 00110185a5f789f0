//! Writes the tables of a run into its directory: all of them, or none.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use crate::ledger::Ledger;
use crate::record::{FlowLog, Playout};
use crate::summary::Summary;
use crate::tables::{self, LedgerRow, PacketRow, ReleaseRow, SampleRow, Table};

/// A table that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written: {reason}", file.display())]
pub struct WriteError {
    /// The file as it would have been called.
    pub file: PathBuf,
    /// The system's own words.
    pub reason: String,
}

/// Writes `frames`, `packets`, `flows`, `accuracy` and `summary` of the flows into the directory of the run, and
/// returns the summaries in the order of the flows.
///
/// Tables are written under temporary names and take their own when all of them are on the disk, so a run that cannot
/// be written leaves nothing half-written behind. Tables of an earlier run in the same directory are replaced.
///
/// # Errors
/// When a table cannot be written; the error names the file.
pub fn write_run(directory: &Path, logs: &[FlowLog], playout: Playout) -> Result<Vec<Summary>, WriteError> {
    let ledgers: Vec<Ledger> = logs.iter().map(|log| Ledger::build(log, playout)).collect();
    let summaries: Vec<Summary> =
        ledgers.iter().zip(logs).map(|(ledger, log)| Summary::build(ledger, log, &playout)).collect();
    let mut staged = Staged::new(directory);
    staged.table(&tables::frames(), ledgers.iter().map(LedgerRow::all))?;
    staged.table(&tables::packets(), logs.iter().map(PacketRow::all))?;
    staged.table(&tables::flows(), logs.iter().map(SampleRow::all))?;
    staged.table(&tables::accuracy(), logs.iter().map(ReleaseRow::all))?;
    staged.table(&tables::summary(), [summaries.clone()])?;
    staged.publish()?;
    Ok(summaries)
}

/// Files under temporary names; those that were not published are removed when this is dropped.
struct Staged<'a> {
    directory: &'a Path,
    /// Temporary and final names.
    files: Vec<(PathBuf, PathBuf)>,
}

impl<'a> Staged<'a> {
    fn new(directory: &'a Path) -> Self {
        Self { directory, files: Vec::new() }
    }

    fn table<R>(&mut self, table: &Table<R>, groups: impl IntoIterator<Item = Vec<R>>) -> Result<(), WriteError> {
        let file = self.directory.join(format!("{}.parquet", table.name));
        let temporary = self.directory.join(format!("{}.parquet.part", table.name));
        self.files.push((temporary.clone(), file.clone()));
        write_file(&temporary, table, groups).map_err(|error| WriteError { file, reason: reason(error) })
    }

    fn publish(mut self) -> Result<(), WriteError> {
        for (temporary, file) in &self.files {
            fs::rename(temporary, file)
                .map_err(|error| WriteError { file: file.clone(), reason: error.to_string() })?;
        }
        self.files.clear();
        Ok(())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        for (temporary, _) in &self.files {
            // The first error is the one to report; a file that was never made needs no removal.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// The file is synced before it is given its name: on a full disk, some file systems only then say so.
fn write_file<R>(path: &Path, table: &Table<R>, groups: impl IntoIterator<Item = Vec<R>>) -> Result<(), ParquetError> {
    let sink = table.write(BufWriter::new(File::create(path)?), groups)?;
    let mut file = sink.into_inner().map_err(|error| error.into_error())?;
    file.flush()?;
    file.sync_all()?;
    Ok(())
}

/// The system's words without the format library's around them.
fn reason(error: ParquetError) -> String {
    match error {
        ParquetError::External(source) => source.to_string(),
        other => other.to_string(),
    }
}
