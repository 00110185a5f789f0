//! What is recorded, in every world: frame ledger, packet log, flow state, summary, as columnar tables.
//!
//! The format is described in `docs/results.md`.

pub mod record;
