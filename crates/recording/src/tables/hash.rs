//! A hash of a table's content that does not depend on how it is stored.

use std::fmt;

use twox_hash::xxhash3_128::Hasher;

use super::column::{Column, Hashed, Reader};

/// XXH3 (128 bits, seed 0) over the canonical bytes of a table.
///
/// The canonical bytes are the table's name, then every column's name and type, then the cells row by row. A text is
/// its length (64 bits) and its bytes; a cell is one byte, 0 for null or 1, and then the value: whole numbers and
/// floating-point bits in little-endian order, truth values as one byte. A column that older tables are without is not
/// among the columns: behind a row whose value is not what those would have, nor null, there is its name and the cell; and
/// one that follows from the others is in no hash. So equal results are equal whatever version wrote them. It
/// distinguishes results; it is no protection against tables that were made to collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableHash(pub u128);

impl fmt::Display for TableHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The bytes of a row are given to the hash together: it is made for long inputs.
pub(super) struct TableHasher {
    hash: Hasher,
    row: Vec<u8>,
}

impl TableHasher {
    pub(super) fn new(table: &str) -> Self {
        let mut hasher = Self { hash: Hasher::new(), row: Vec::new() };
        hasher.text(table);
        hasher
    }

    pub(super) fn column<R>(&mut self, column: &Column<R>) {
        self.text(column.name);
        self.text(&column.type_name());
    }

    /// A cell of a column that older tables are without.
    pub(super) fn later_cell<R>(&mut self, column: &Column<R>, row: &R) {
        if let (Reader::Int32(read), Hashed::Since(before)) = (&column.reader, column.hashed)
            && read(row).is_some_and(|value| value != before)
        {
            self.text(column.name);
            self.cell(column, row);
        }
    }

    pub(super) fn cell<R>(&mut self, column: &Column<R>, row: &R) {
        match &column.reader {
            Reader::Boolean(read) => self.bytes(read(row).map(|value| [u8::from(value)])),
            Reader::Int32(read) => self.bytes(read(row).map(i32::to_le_bytes)),
            Reader::Int64(read) => self.bytes(read(row).map(i64::to_le_bytes)),
            Reader::Double(read) => self.bytes(read(row).map(|value| value.to_bits().to_le_bytes())),
            Reader::Text(read) => match read(row) {
                None => self.row.push(0),
                Some(text) => {
                    self.row.push(1);
                    self.text(&text);
                }
            },
        }
    }

    /// A row is complete.
    pub(super) fn end_row(&mut self) {
        self.hash.write(&self.row);
        self.row.clear();
    }

    pub(super) fn finish(mut self) -> TableHash {
        self.end_row();
        TableHash(self.hash.finish_128())
    }

    fn bytes<const N: usize>(&mut self, value: Option<[u8; N]>) {
        match value {
            None => self.row.push(0),
            Some(bytes) => {
                self.row.push(1);
                self.row.extend_from_slice(&bytes);
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.row.extend_from_slice(&(text.len() as u64).to_le_bytes());
        self.row.extend_from_slice(text.as_bytes());
    }
}
