//! Writes the rows of a table as Parquet: zstd, one row group per flow, the format's version in the metadata. Small
//! tables of which there are thousands can be left as they are.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer, get_typed_column_writer_mut,
};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type, TypePtr};

use super::column::{Cell, Column, Hashed, Reader};
use super::hash::{TableHash, TableHasher};

/// Version of the results format (`docs/results.md`).
pub const FORMAT_VERSION: u32 = 6;

/// Key in the metadata of every table that holds [`FORMAT_VERSION`].
pub(crate) const FORMAT_KEY: &str = "framewire.format";

/// Rows that are turned into column values at a time: large enough for the encoder, small enough for the cache.
const BATCH_ROWS: usize = 4096;

/// A table: its name and its columns, in order. Whether a column is nullable follows from what its reader returns.
pub struct Table<R> {
    pub(crate) name: &'static str,
    pub(super) columns: Vec<Column<R>>,
    compression: Compression,
}

impl<R> Table<R> {
    /// A table without columns; the methods below add them, in order.
    pub(crate) fn named(name: &'static str) -> Self {
        let level = ZstdLevel::try_new(3).expect("invariant: zstd has this level");
        Self { name, columns: Vec::new(), compression: Compression::ZSTD(level) }
    }

    /// Adds a column of truth values.
    pub(crate) fn boolean<C: Cell<bool>>(self, name: &'static str, read: impl Fn(&R) -> C + 'static) -> Self {
        self.with::<C, _>(name, Reader::Boolean(Box::new(move |row| read(row).into_cell())))
    }

    /// Adds a column of 32-bit numbers: counts and sizes.
    pub(crate) fn int32<C: Cell<i32>>(self, name: &'static str, read: impl Fn(&R) -> C + 'static) -> Self {
        self.with::<C, _>(name, Reader::Int32(Box::new(move |row| read(row).into_cell())))
    }

    /// Adds a column of 32-bit numbers that older tables are without; in the place of what they have not got, readers take
    /// `before`. Where a row has that too, or null, it is [equal](Self::hash) to one of an older table.
    pub(crate) fn int32_since<C: Cell<i32>>(
        mut self,
        name: &'static str,
        before: i32,
        read: impl Fn(&R) -> C + 'static,
    ) -> Self {
        self = self.int32(name, read);
        self.hash_last(Hashed::Since(before));
        self
    }

    /// Leaves the last column out of the [hash](Self::hash): it follows from others and from what was sent.
    pub(crate) fn following(mut self) -> Self {
        self.hash_last(Hashed::Nothing);
        self
    }

    fn hash_last(&mut self, hashed: Hashed) {
        self.columns.iter_mut().rev().take(1).for_each(|column| column.hashed = hashed);
    }

    /// Adds a column of 64-bit numbers: times in nanoseconds, bytes, rates.
    pub(crate) fn int64<C: Cell<i64>>(self, name: &'static str, read: impl Fn(&R) -> C + 'static) -> Self {
        self.with::<C, _>(name, Reader::Int64(Box::new(move |row| read(row).into_cell())))
    }

    /// Adds a column of floating-point numbers.
    pub(crate) fn double<C: Cell<f64>>(self, name: &'static str, read: impl Fn(&R) -> C + 'static) -> Self {
        self.with::<C, _>(name, Reader::Double(Box::new(move |row| read(row).into_cell())))
    }

    /// Adds a column of texts without nulls.
    pub(crate) fn text(
        mut self,
        name: &'static str,
        read: impl for<'row> Fn(&'row R) -> Cow<'row, str> + 'static,
    ) -> Self {
        let reader = Reader::Text(Box::new(move |row| Some(read(row))));
        self.columns.push(Column { name, nullable: false, hashed: Hashed::Whole, reader });
        self
    }

    /// Adds a column of texts and nulls.
    pub(crate) fn optional_text(
        mut self,
        name: &'static str,
        read: impl for<'row> Fn(&'row R) -> Option<Cow<'row, str>> + 'static,
    ) -> Self {
        self.columns.push(Column { name, nullable: true, hashed: Hashed::Whole, reader: Reader::Text(Box::new(read)) });
        self
    }

    fn with<C: Cell<T>, T>(mut self, name: &'static str, reader: Reader<R>) -> Self {
        self.columns.push(Column { name, nullable: C::NULLABLE, hashed: Hashed::Whole, reader });
        self
    }

    /// The same table, written without compression: what a compressor needs for each column takes longer to set up than
    /// a few thousand rows to write.
    pub(crate) fn uncompressed(self) -> Self {
        Self { compression: Compression::UNCOMPRESSED, ..self }
    }

    /// Name of the table, which is that of its file without `.parquet`.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The same table in the making, one row group after the other.
    ///
    /// # Errors
    /// When `sink` cannot be written to.
    pub(crate) fn writer<W: Write + Send>(&self, sink: W) -> Result<TableWriter<'_, R, W>, ParquetError> {
        Ok(TableWriter { table: self, file: SerializedFileWriter::new(sink, self.schema()?, self.properties()?)? })
    }

    /// The columns of a row group as a file holds them, each with what describes it, but for those that are named
    /// in `later`.
    pub(super) fn encode(&self, rows: &[R], later: &[&str]) -> Result<Vec<Option<EncodedColumn>>, ParquetError> {
        let schema = SchemaDescriptor::new(self.schema()?);
        let properties = self.properties()?;
        let encode = |(column, place): (&Column<R>, usize)| {
            if later.contains(&column.name) {
                return Ok(None);
            }
            let mut sink = TrackedWrite::new(Vec::new());
            let pages = Box::new(SerializedPageWriter::new(&mut sink));
            let mut writer = get_column_writer(schema.column(place), Arc::clone(&properties), pages);
            write_column(column, rows, &mut writer)?;
            let closed = writer.close()?;
            Ok(Some(EncodedColumn { bytes: sink.into_inner()?, closed }))
        };
        self.columns.iter().zip(0..).map(encode).collect()
    }

    /// Hash of the table's content: the same for the same rows in the same order, however they are grouped or
    /// compressed. Two runs are equal when the hashes of their tables are.
    pub fn hash(&self, rows: impl IntoIterator<Item = R>) -> TableHash {
        let mut hasher = TableHasher::new(self.name);
        let (old, later): (Vec<_>, Vec<_>) = self.columns.iter().partition(|column| column.hashed == Hashed::Whole);
        old.iter().for_each(|column| hasher.column(column));
        for row in rows {
            old.iter().for_each(|column| hasher.cell(column, &row));
            later.iter().for_each(|column| hasher.later_cell(column, &row));
            hasher.end_row();
        }
        hasher.finish()
    }

    fn schema(&self) -> Result<TypePtr, ParquetError> {
        let fields = self.columns.iter().map(|column| column.parquet_type().map(Arc::new)).collect::<Result<_, _>>()?;
        Ok(Arc::new(Type::group_type_builder(self.name).with_fields(fields).build()?))
    }

    /// Whole numbers are stored as differences (times and counters grow slowly), the rest through a dictionary.
    /// Statistics are kept per flow; an index of pages would be larger than most of the tables.
    fn properties(&self) -> Result<WriterPropertiesPtr, ParquetError> {
        let version = KeyValue::new(FORMAT_KEY.to_owned(), FORMAT_VERSION.to_string());
        let mut builder = WriterProperties::builder()
            .set_created_by(concat!("framewire ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(self.compression)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(vec![version]));
        for column in &self.columns {
            if matches!(column.reader, Reader::Int32(_) | Reader::Int64(_)) {
                let path = ColumnPath::from(column.name);
                builder = builder
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
        }
        Ok(Arc::new(builder.build()))
    }
}

/// A column of a row group as a file holds it.
pub(super) struct EncodedColumn {
    pub(super) bytes: Vec<u8>,
    pub(super) closed: ColumnCloseResult,
}

/// A table in the making.
pub(crate) struct TableWriter<'t, R, W: Write + Send> {
    table: &'t Table<R>,
    file: SerializedFileWriter<W>,
}

impl<R, W: Write + Send> TableWriter<'_, R, W> {
    /// Adds a row group; one without rows leaves no trace.
    pub(crate) fn write_rows(&mut self, rows: &[R]) -> Result<(), ParquetError> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in &self.table.columns {
            write_next_column(&mut group, column, rows)?;
        }
        group.close()?;
        Ok(())
    }

    /// Adds a row group whose columns were encoded before, but for those that are `None`: they are made of the rows of
    /// `later`, a table of them alone.
    pub(super) fn write_encoded<L>(
        &mut self,
        columns: impl IntoIterator<Item = Result<Option<EncodedColumn>, ParquetError>>,
        later: &Table<L>,
        rows: &[L],
    ) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        let mut later = later.columns.iter();
        for column in columns {
            match column? {
                Some(EncodedColumn { bytes, closed }) => group.append_column(&Bytes::from(bytes), closed)?,
                None => {
                    let column = later.next().expect("invariant: what was left for later is a column of that table");
                    write_next_column(&mut group, column, rows)?;
                }
            }
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<W, ParquetError> {
        self.file.into_inner()
    }
}

fn write_next_column<R, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column<R>,
    rows: &[R],
) -> Result<(), ParquetError> {
    let mut sink = group.next_column()?.expect("invariant: the schema was made of these columns");
    write_column(column, rows, sink.untyped())?;
    sink.close()
}

fn write_column<R>(column: &Column<R>, rows: &[R], sink: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
    let nullable = column.nullable;
    match &column.reader {
        Reader::Boolean(read) => write_values(get_typed_column_writer_mut::<BoolType>(sink), rows, nullable, read),
        Reader::Int32(read) => write_values(get_typed_column_writer_mut::<Int32Type>(sink), rows, nullable, read),
        Reader::Int64(read) => write_values(get_typed_column_writer_mut::<Int64Type>(sink), rows, nullable, read),
        Reader::Double(read) => write_values(get_typed_column_writer_mut::<DoubleType>(sink), rows, nullable, read),
        Reader::Text(read) => {
            let mut last = LastText::default();
            let sink = get_typed_column_writer_mut::<ByteArrayType>(sink);
            write_values(sink, rows, nullable, |row| Some(last.shared(read(row)?)))
        }
    }
}

fn write_values<R, D: DataType>(
    sink: &mut ColumnWriterImpl<'_, D>,
    rows: &[R],
    nullable: bool,
    mut read: impl FnMut(&R) -> Option<D::T>,
) -> Result<(), ParquetError> {
    let mut values = Vec::with_capacity(BATCH_ROWS.min(rows.len()));
    let mut levels = Vec::with_capacity(BATCH_ROWS.min(rows.len()));
    for batch in rows.chunks(BATCH_ROWS) {
        values.clear();
        levels.clear();
        for row in batch {
            let value = read(row);
            levels.push(i16::from(value.is_some()));
            values.extend(value);
        }
        sink.write_batch(&values, nullable.then_some(&levels), None)?;
    }
    Ok(())
}

/// The text of the row before: most text columns repeat it, and sharing it saves an allocation per row.
#[derive(Default)]
struct LastText(Option<ByteArray>);

impl LastText {
    fn shared(&mut self, text: Cow<'_, str>) -> ByteArray {
        if let Some(last) = &self.0
            && last.data() == text.as_bytes()
        {
            return last.clone();
        }
        self.0.insert(ByteArray::from(text.as_bytes().to_vec())).clone()
    }
}
