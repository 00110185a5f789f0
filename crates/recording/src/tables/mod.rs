//! The tables of a run directory. Each schema stands here once; `docs/results.md` explains the columns.

mod column;
mod flow;
mod frames;
mod hash;
mod incremental;
mod packets;
mod rates;
mod read;
mod rtcp;
pub(crate) mod side;
mod summary;
mod table;
#[cfg(test)]
mod tests;

pub use column::{Cell, Column};
pub use flow::{ReleaseRow, SampleRow, accuracy, flows};
pub use frames::{LedgerRow, frames};
pub use hash::TableHash;
pub use incremental::{TablesAhead, WrittenAhead};
pub use packets::{PacketRow, packets};
pub use rates::{RateRow, rates};
pub use read::ReadError;
pub use rtcp::{RtcpRow, rtcp};
pub use side::Renumbered;
pub use summary::summary;
pub(crate) use table::TableWriter;
pub use table::{FORMAT_VERSION, Table};
