//! Sans-IO assembly of one run: frame clock, flow wiring, events into the ledger.
