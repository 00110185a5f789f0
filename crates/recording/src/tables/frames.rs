//! `frames.parquet`: the ledger.

use std::borrow::Cow;

use super::table::Table;
use crate::ledger::{FrameRow, Ledger};

/// A row of the ledger with the flow that it belongs to.
#[derive(Clone, Debug)]
pub struct LedgerRow<'a> {
    flow: &'a str,
    row: Cow<'a, FrameRow>,
}

impl<'a> LedgerRow<'a> {
    /// The rows of a ledger.
    pub fn all(ledger: &'a Ledger) -> impl Iterator<Item = Self> {
        ledger.rows.iter().map(|row| Self { flow: &ledger.flow, row })
    }
}

/// The ledger: one row per frame, or packet of sound, and flow.
pub fn frames<'a>() -> Table<LedgerRow<'a>> {
    Table::<LedgerRow<'a>>::named("frames")
        .text("flow", |r| r.flow.into())
        .int32_since("track", 0, |r| u16::from(r.row.track))
        .int32("frame", |r| r.row.frame)
        .int32("display", |r| r.row.display)
        .text("type", |r| r.row.kind.to_string().into())
        .int32("gop", |r| r.row.gop)
        .int32("size", |r| r.row.size)
        .int32("level", |r| r.row.level.map(u16::from))
        .int64("display_ns", |r| r.row.display_time)
        .following()
        .int64("due_ns", |r| r.row.due)
        .int64("offered_ns", |r| r.row.offered)
        .int64("queued_ns", |r| r.row.queued)
        .int64("first_byte_ns", |r| r.row.first_byte)
        .int64("last_byte_ns", |r| r.row.last_byte)
        .int64("arrival_ns", |r| r.row.arrival)
        .int64("arrival_rel_ns", |r| r.row.arrival_relative)
        .int64("latency_ns", |r| r.row.latency_nanos)
        .int64("jitter_ns", |r| r.row.jitter_nanos)
        .int32("packets", |r| r.row.packets)
        .int32("packets_lost", |r| r.row.packets_lost)
        .int64("bytes_received", |r| r.row.bytes_received)
        .boolean("complete", |r| r.row.complete)
        .boolean("decodable", |r| r.row.decodable)
        .int64("ready_ns", |r| r.row.ready)
        .following()
        .int64("deadline_ns", |r| r.row.deadline)
        .text("fate", |r| r.row.fate.name().into())
        .optional_text("root_cause_place", |r| Some(r.row.root_cause.as_ref()?.place.name().into()))
        .optional_text("root_cause", |r| Some(Cow::from(&r.row.root_cause.as_ref()?.cause)))
        .optional_text("discarded_at", |r| Some(r.row.discarded_at?.name().into()))
        .int32("missing_reference", |r| r.row.missing_reference)
        .int32_since("handed_on", 0, |r| r.row.handed_on)
}
