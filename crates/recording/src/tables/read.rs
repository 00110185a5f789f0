//! Reads tables again that this crate has written: row by row, whatever is in the file.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use super::table::Table;

/// A table that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: cannot be read as a table: {reason}", file.display())]
pub struct ReadError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// One row, by the places of its columns. `None` also where a value is not of the type that is asked for.
pub(crate) struct Cells<'a>(Vec<&'a Field>);

impl Cells<'_> {
    pub(crate) fn whole(&self, place: usize) -> Option<i64> {
        match self.0.get(place)? {
            Field::Int(value) => Some(i64::from(*value)),
            Field::Long(value) => Some(*value),
            _ => None,
        }
    }

    /// A number that is not negative, of whatever type has it.
    pub(crate) fn number<T: TryFrom<i64>>(&self, place: usize) -> Option<T> {
        T::try_from(self.whole(place)?).ok()
    }

    pub(crate) fn flag(&self, place: usize) -> Option<bool> {
        if let Field::Bool(value) = self.0.get(place)? { Some(*value) } else { None }
    }

    pub(crate) fn text(&self, place: usize) -> Option<&str> {
        if let Field::Str(value) = self.0.get(place)? { Some(value) } else { None }
    }
}

impl<R> Table<R> {
    /// Gives `take` the rows of the table's file in a directory, in order; it says `None` of a row that is none.
    ///
    /// # Errors
    /// When the file is not there, is no such table, or has a row that is none.
    pub(crate) fn read(&self, directory: &Path, take: impl FnMut(&Cells<'_>) -> Option<()>) -> Result<(), ReadError> {
        let file = directory.join(format!("{}.parquet", self.name));
        // At some damaged files the library panics, as at lengths that are negative (parquet 60.1). What was taken until then
        // belongs to the one who asked, and is given up with the error.
        let read = catch_unwind(AssertUnwindSafe(|| self.read_rows(&file, take)));
        read.unwrap_or_else(|_| Err(ReadError { file, reason: "it is damaged".to_owned() }))
    }

    fn read_rows(&self, file: &Path, mut take: impl FnMut(&Cells<'_>) -> Option<()>) -> Result<(), ReadError> {
        let error = |reason: String| ReadError { file: file.to_owned(), reason };
        let opened = File::open(file).map_err(|cause| error(cause.to_string()))?;
        let broken = |cause: ParquetError| error(cause.to_string());
        let reader = SerializedFileReader::new(opened).map_err(broken)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let names = schema.columns().iter().map(|column| column.name());
        if !names.eq(self.columns.iter().map(|column| column.name)) {
            return Err(error("it has other columns than this version writes".to_owned()));
        }
        for (row, number) in reader.get_row_iter(None).map_err(broken)?.zip(0u64..) {
            let row: Row = row.map_err(broken)?;
            let cells = Cells(row.get_column_iter().map(|(_, field)| field).collect());
            take(&cells).ok_or_else(|| error(format!("row {number} has a value that cannot be")))?;
        }
        Ok(())
    }

    /// The same of a table that is only there where it has rows.
    ///
    /// # Errors
    /// As [`read`](Self::read), but for a file that is not there.
    pub(crate) fn read_if_there(
        &self,
        directory: &Path,
        take: impl FnMut(&Cells<'_>) -> Option<()>,
    ) -> Result<(), ReadError> {
        match directory.join(format!("{}.parquet", self.name)).exists() {
            true => self.read(directory, take),
            false => Ok(()),
        }
    }
}
