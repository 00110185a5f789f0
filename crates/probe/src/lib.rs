//! What is recorded: frame ledger, packet log, flow state, summary, as columnar tables.
