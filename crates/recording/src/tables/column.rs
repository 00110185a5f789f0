//! One declarative description of a column: its name, its type and how to read it from a row.

use std::borrow::Cow;
use std::time::Duration;

use framewire_units::Timestamp;
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::Type;

/// A column of a table whose rows are `R`.
pub struct Column<R> {
    pub(super) name: &'static str,
    pub(super) nullable: bool,
    /// How much of it is in the hash of the table.
    pub(super) hashed: Hashed,
    pub(super) reader: Reader<R>,
}

type Read<R, T> = Box<dyn Fn(&R) -> Option<T>>;
type ReadText<R> = Box<dyn for<'row> Fn(&'row R) -> Option<Cow<'row, str>>>;

/// What of a column is in the hash of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hashed {
    /// All of it.
    Whole,
    /// Older tables are without it: values that say something else than this one, which those would have.
    Since(i32),
    /// Nothing: it follows from other columns of the run and from what was sent.
    Nothing,
}

/// How a column's value is read from a row, by type.
pub(super) enum Reader<R> {
    Boolean(Read<R, bool>),
    Int32(Read<R, i32>),
    Int64(Read<R, i64>),
    Double(Read<R, f64>),
    Text(ReadText<R>),
}

/// A Rust value, or an option of one, that goes into a column of the type `T`.
///
/// Numbers beyond the column's range are written as its largest number: a run holds no such value, and a table with
/// one wrong cell is worth more than none.
pub trait Cell<T> {
    /// True for options.
    const NULLABLE: bool;
    /// The value as it is written.
    fn into_cell(self) -> Option<T>;
}

macro_rules! cells {
    ($($from:ty => $to:ty: $convert:expr;)*) => { $(
        impl Cell<$to> for $from {
            const NULLABLE: bool = false;
            fn into_cell(self) -> Option<$to> {
                Some($convert(self))
            }
        }
        impl Cell<$to> for Option<$from> {
            const NULLABLE: bool = true;
            fn into_cell(self) -> Option<$to> {
                self.map($convert)
            }
        }
    )* };
}

cells! {
    bool => bool: |value| value;
    f64 => f64: |value| value;
    i64 => i64: |value| value;
    u16 => i32: i32::from;
    u32 => i32: |value| i32::try_from(value).unwrap_or(i32::MAX);
    u64 => i64: saturating_i64;
    Timestamp => i64: |value: Timestamp| saturating_i64(value.as_nanos());
    Duration => i64: |value: Duration| i64::try_from(value.as_nanos()).unwrap_or(i64::MAX);
}

fn saturating_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl<R> Column<R> {
    /// Its type as `docs/results.md` writes it; a question mark follows where it may be null.
    pub(crate) fn type_name(&self) -> String {
        let name = match self.reader {
            Reader::Boolean(_) => "bool",
            Reader::Int32(_) => "int32",
            Reader::Int64(_) => "int64",
            Reader::Double(_) => "double",
            Reader::Text(_) => "string",
        };
        format!("{name}{}", if self.nullable { "?" } else { "" })
    }

    pub(super) fn parquet_type(&self) -> Result<Type, ParquetError> {
        let physical = match self.reader {
            Reader::Boolean(_) => PhysicalType::BOOLEAN,
            Reader::Int32(_) => PhysicalType::INT32,
            Reader::Int64(_) => PhysicalType::INT64,
            Reader::Double(_) => PhysicalType::DOUBLE,
            Reader::Text(_) => PhysicalType::BYTE_ARRAY,
        };
        let repetition = if self.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let logical = matches!(self.reader, Reader::Text(_)).then_some(LogicalType::String);
        Type::primitive_type_builder(self.name, physical).with_repetition(repetition).with_logical_type(logical).build()
    }
}
