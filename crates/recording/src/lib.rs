//! What is recorded, in every world: frame ledger, packet log, flow state, summary, as columnar tables.
//!
//! The way through: a world and the session fill a [`record::FlowLog`] per flow; [`ledger::Ledger::build`] derives what
//! became of every frame; [`summary::Summary::build`] sums it up; [`tables`] writes both, with the raw records, as
//! Parquet. [`write_run`] does all of it. The format is described in `docs/results.md`.
#![warn(unreachable_pub)]

mod end_records;
pub mod ledger;
pub mod playout;
pub mod record;
mod run;
mod samples;
pub mod spool;
pub mod summary;
pub mod tables;
#[cfg(test)]
mod testing;

pub use end_records::{SentRecords, network_packets, read_received, transits, write_received};
pub use run::{CellTables, WriteError, check_records, write_cell, write_run};
pub use samples::Samples;
