//! Writes the tables of a run into its directory: all of them, or none.

use framewire_units::Playout;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use crate::ledger::Ledger;
use crate::record::{FlowLog, RateSample};
use crate::summary::Summary;
use crate::tables::{self, LedgerRow, PacketRow, RateRow, ReleaseRow, RtcpRow, SampleRow, Table, TableWriter};

/// A table that could not be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: cannot be written: {reason}", file.display())]
pub struct WriteError {
    /// The file as it would have been called.
    pub file: PathBuf,
    /// The system's own words.
    pub reason: String,
    /// The system's number for it, where it has one: a full disk is distinguished by this.
    pub code: Option<i32>,
}

impl WriteError {
    /// What the system said of `file`.
    pub fn new(file: PathBuf, error: &std::io::Error) -> Self {
        Self { file, reason: error.to_string(), code: error.raw_os_error() }
    }
}

/// Writes `frames`, `packets`, `flows`, `accuracy` and `summary` of the flows into the directory of the run, `rtcp` too where
/// a flow has reports, and returns the summaries in the order of the flows.
///
/// Tables are written under temporary names and take their own when all of them are on the disk, so a run that cannot
/// be written leaves nothing half-written behind. Tables of an earlier run in the same directory are replaced.
///
/// # Errors
/// When a table cannot be written; the error names the file.
pub fn write_run(directory: &Path, logs: &[FlowLog], playout: Playout) -> Result<Vec<Summary>, WriteError> {
    check_records(logs)?;
    let ledgers: Vec<Ledger> = logs.iter().map(|log| Ledger::build(log, playout)).collect();
    let summaries: Vec<Summary> =
        ledgers.iter().zip(logs).map(|(ledger, log)| Summary::build(ledger, log, &playout)).collect();
    let mut staged = Staged::new(directory);
    staged.table(&tables::frames(), ledgers.iter().flat_map(|ledger| groups(LedgerRow::all(ledger))))?;
    staged.written(&tables::packets(), |writer| write_packets(logs, writer))?;
    staged.table(&tables::flows(), logs.iter().flat_map(|log| groups(SampleRow::all(log))))?;
    staged.written(&tables::accuracy(), |writer| write_releases(logs, writer))?;
    staged.table(&tables::summary(), [summaries.clone()])?;
    staged.optional(&tables::rtcp(), logs.iter().flat_map(|log| groups(RtcpRow::all(log))))?;
    check_records(logs)?;
    staged.publish()?;
    Ok(summaries)
}

type Packets<'t, 'r> = TableWriter<'t, PacketRow<'r>, TableFile>;
type Releases<'t, 'r> = TableWriter<'t, ReleaseRow<'r>, TableFile>;

fn write_packets<'r>(logs: &'r [FlowLog], writer: &mut Packets<'_, 'r>) -> Result<(), ParquetError> {
    for log in logs {
        match &log.ahead {
            Some(ahead) => ahead.tables.write_packets(writer, log)?,
            None => groups(PacketRow::all(log)).try_for_each(|rows| writer.write_rows(&rows))?,
        }
    }
    Ok(())
}

fn write_releases<'r>(logs: &'r [FlowLog], writer: &mut Releases<'_, 'r>) -> Result<(), ParquetError> {
    for log in logs {
        match &log.ahead {
            Some(ahead) => ahead.tables.write_releases(writer)?,
            None => groups(ReleaseRow::all(log)).try_for_each(|rows| writer.write_rows(&rows))?,
        }
    }
    Ok(())
}

/// What a cell of a campaign keeps: `frames` and `summary`, and what else is wanted.
#[derive(Clone, Copy, Debug)]
pub struct CellTables<'a> {
    /// Everything recorded of each flow.
    pub logs: &'a [FlowLog],
    /// Their ledgers.
    pub ledgers: &'a [Ledger],
    /// Their summaries.
    pub summaries: &'a [Summary],
    /// Keep `packets`.
    pub packets: bool,
    /// Keep `flows`.
    pub flows: bool,
    /// For `rates`, the samples of each flow.
    pub rates: Option<&'a [Vec<RateSample>]>,
}

/// As [`write_run`], but only what a cell of a campaign keeps.
///
/// # Errors
/// When a table cannot be written; the error names the file.
pub fn write_cell(directory: &Path, cell: &CellTables<'_>) -> Result<(), WriteError> {
    let CellTables { logs, ledgers, summaries, packets, flows, rates } = *cell;
    let mut staged = Staged::new(directory);
    let frames = sized(tables::frames(), ledgers.iter().map(|ledger| ledger.rows.len()));
    staged.table(&frames, ledgers.iter().flat_map(|ledger| groups(LedgerRow::all(ledger))))?;
    if packets {
        staged.table(&tables::packets(), logs.iter().flat_map(|log| groups(PacketRow::all(log))))?;
    }
    if flows {
        staged.table(&tables::flows(), logs.iter().flat_map(|log| groups(SampleRow::all(log))))?;
    }
    if let Some(rates) = rates {
        let table = sized(tables::rates(), rates.iter().map(Vec::len));
        let of_flows = logs.iter().zip(rates);
        staged.table(&table, of_flows.flat_map(|(log, rates)| groups(RateRow::all(&log.flow, rates))))?;
    }
    staged.table(&sized(tables::summary(), [summaries.len()]), [summaries.to_vec()])?;
    check_records(logs)?;
    staged.publish()
}

/// Up to so many rows a table of a cell is not compressed. There are thousands of cells, and the dataset that is made of
/// them is compressed.
const SMALL: usize = 4_096;

fn sized<R>(table: Table<R>, rows: impl IntoIterator<Item = usize>) -> Table<R> {
    if rows.into_iter().sum::<usize>() <= SMALL { table.uncompressed() } else { table }
}

/// Whether everything that was recorded was there when it was read.
///
/// # Errors
/// When the disk did not take it, or did not give it back.
pub fn check_records(logs: &[FlowLog]) -> Result<(), WriteError> {
    logs.iter().find_map(FlowLog::failure).map_or(Ok(()), Err)
}

/// Rows of a row group: as many as fit into some ten megabytes of memory while they are written.
const GROUP_ROWS: usize = 65_536;

/// Rows in groups of a flow, each made when it is asked for.
pub(crate) fn groups<R>(rows: impl Iterator<Item = R>) -> impl Iterator<Item = Vec<R>> {
    let mut rows = rows.fuse();
    std::iter::from_fn(move || {
        let group: Vec<R> = rows.by_ref().take(GROUP_ROWS).collect();
        (!group.is_empty()).then_some(group)
    })
}

/// Files under temporary names; those that were not published are removed when this is dropped.
pub(crate) struct Staged<'a> {
    directory: &'a Path,
    /// Temporary and final names.
    files: Vec<(PathBuf, PathBuf)>,
    /// What is to be no more.
    outdated: Vec<PathBuf>,
}

impl<'a> Staged<'a> {
    pub(crate) fn new(directory: &'a Path) -> Self {
        Self { directory, files: Vec::new(), outdated: Vec::new() }
    }

    pub(crate) fn table<R>(
        &mut self,
        table: &Table<R>,
        groups: impl IntoIterator<Item = Vec<R>>,
    ) -> Result<(), WriteError> {
        self.written(table, |writer| groups.into_iter().try_for_each(|rows| writer.write_rows(&rows)))
    }

    /// A table that is there only where it has rows: without any, that of an earlier run is removed.
    pub(crate) fn optional<R>(
        &mut self,
        table: &Table<R>,
        groups: impl Iterator<Item = Vec<R>>,
    ) -> Result<(), WriteError> {
        let mut groups = groups.peekable();
        if groups.peek().is_some() {
            return self.table(table, groups);
        }
        self.outdated.push(self.directory.join(format!("{}.parquet", table.name)));
        Ok(())
    }

    fn written<R>(
        &mut self,
        table: &Table<R>,
        write: impl FnOnce(&mut TableWriter<'_, R, TableFile>) -> Result<(), ParquetError>,
    ) -> Result<(), WriteError> {
        let file = self.directory.join(format!("{}.parquet", table.name));
        let temporary = self.directory.join(format!("{}.parquet.part", table.name));
        self.files.push((temporary.clone(), file.clone()));
        write_file(&temporary, table, write).map_err(|error| write_error(file, &error))
    }

    pub(crate) fn publish(mut self) -> Result<(), WriteError> {
        for (temporary, file) in &self.files {
            fs::rename(temporary, file).map_err(|error| WriteError::new(file.clone(), &error))?;
        }
        self.files.clear();
        for file in &self.outdated {
            fs::remove_file(file).or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(()),
                _ => Err(WriteError::new(file.clone(), &error)),
            })?;
        }
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

/// Bytes of a table that are written to its file together.
const TOGETHER: usize = 1 << 16;

/// The file of a table. The format library flushes behind every column, of which a small table has a hundred; the bytes go
/// to the system when there are many, or no more.
struct TableFile(BufWriter<File>);

impl Write for TableFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file is synced before it is given its name: on a full disk, some file systems only then say so.
fn write_file<R>(
    path: &Path,
    table: &Table<R>,
    write: impl FnOnce(&mut TableWriter<'_, R, TableFile>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let mut writer = table.writer(TableFile(BufWriter::with_capacity(TOGETHER, File::create(path)?)))?;
    write(&mut writer)?;
    let TableFile(sink) = writer.finish()?;
    let file = sink.into_inner().map_err(|error| error.into_error())?;
    file.sync_all()?;
    Ok(())
}

/// The system's words without the format library's around them.
fn write_error(file: PathBuf, error: &ParquetError) -> WriteError {
    match error {
        ParquetError::External(source) => match (source.downcast_ref(), source.downcast_ref::<WriteError>()) {
            (Some(source), _) => WriteError::new(file, source),
            (None, Some(of_records)) => of_records.clone(),
            (None, None) => WriteError { file, reason: source.to_string(), code: None },
        },
        other => WriteError { file, reason: other.to_string(), code: None },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    use parquet::basic::Compression;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::spool::Spool;
    use crate::testing::{DatagramFlow, LIVE, movie};

    /// A fresh directory that is removed with its content.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("framewire-recording-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn logs() -> Vec<FlowLog> {
        let mut flow = DatagramFlow::new(movie(&[1200; 4]));
        (0..4).for_each(|frame| flow.send(frame, &[]));
        vec![flow.log]
    }

    #[test]
    fn a_run_is_five_tables_and_nothing_else() {
        let scratch = Scratch::new("five");
        let summaries = write_run(&scratch.0, &logs(), LIVE).unwrap();
        assert_eq!(summaries[0].fates.unwrap().shown, 4);
        let tables = ["accuracy.parquet", "flows.parquet", "frames.parquet", "packets.parquet", "summary.parquet"];
        assert_eq!(scratch.names(), tables);
    }

    #[test]
    fn a_cell_has_small_tables_as_they_are_and_compresses_large_ones() {
        let compression = |frames: usize| {
            let mut flow = DatagramFlow::new(movie(&vec![1_200; frames]));
            (0..frames as u32).for_each(|frame| flow.send(frame, &[]));
            let logs = [flow.log];
            let ledgers = [Ledger::build(&logs[0], LIVE)];
            let summaries = [Summary::build(&ledgers[0], &logs[0], &LIVE)];
            let (logs, ledgers, summaries) = (&logs[..], &ledgers[..], &summaries[..]);
            let scratch = Scratch::new(&format!("cell-{frames}"));
            let cell = CellTables { logs, ledgers, summaries, packets: false, flows: false, rates: None };
            write_cell(&scratch.0, &cell).unwrap();
            assert_eq!(scratch.names(), ["frames.parquet", "summary.parquet"]);
            let table = SerializedFileReader::new(File::open(scratch.0.join("frames.parquet")).unwrap()).unwrap();
            assert_eq!(table.metadata().file_metadata().num_rows(), frames as i64);
            table.metadata().row_group(0).column(0).compression()
        };
        assert_eq!(compression(SMALL), Compression::UNCOMPRESSED);
        assert!(matches!(compression(SMALL + 1), Compression::ZSTD(_)));
    }

    #[test]
    fn a_full_disk_is_one_error_and_leaves_what_was_there() {
        let scratch = Scratch::new("full");
        let earlier = scratch.0.join("frames.parquet");
        fs::write(&earlier, "of an earlier run").unwrap();
        // The device that is always full stands in for the disk: the third table goes there.
        symlink("/dev/full", scratch.0.join("flows.parquet.part")).unwrap();
        let error = write_run(&scratch.0, &logs(), LIVE).unwrap_err();
        assert_eq!(error.file, scratch.0.join("flows.parquet"));
        assert_eq!(error.code, Some(28), "ENOSPC");
        let message = error.to_string();
        assert!(message.contains("flows.parquet: cannot be written: No space left on device"), "{message}");
        assert_eq!(scratch.names(), ["frames.parquet"]);
        assert_eq!(fs::read_to_string(earlier).unwrap(), "of an earlier run");
    }

    #[test]
    fn records_that_the_disk_refused_are_one_error_and_no_tables() {
        let refused = |refuse: fn(&mut FlowLog, Arc<Path>)| {
            let scratch = Scratch::new("refused");
            let mut logs = logs();
            refuse(&mut logs[0], Arc::from(Path::new("/nonexistent/run")));
            let message = write_run(&scratch.0, &logs, LIVE).unwrap_err().to_string();
            assert!(message.starts_with("/nonexistent/run") && message.contains("No such file"), "{message}");
            assert!(scratch.names().is_empty());
            // A reader of them nevertheless finds as many rows as there are frames, and the same error.
            let ledger = Ledger::build(&logs[0], LIVE);
            assert_eq!(ledger.rows.iter().count(), logs[0].frames.iter().count());
            assert!(check_records(&logs).is_err());
        };
        refused(|log, nowhere| {
            let frames = log.frames.to_vec();
            log.frames = Spool::in_directory(Some(nowhere)).holding(2);
            log.frames.extend(frames);
        });
        refused(|log, nowhere| {
            let sent = log.datagrams_sent.to_vec();
            log.datagrams_sent = Spool::in_directory(Some(nowhere)).holding(2);
            log.datagrams_sent.extend(sent);
        });
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let error = write_run(Path::new("/nonexistent/run"), &logs(), LIVE).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/nonexistent/run/frames.parquet: cannot be written: No such file or directory (os error 2)"
        );
    }
}
