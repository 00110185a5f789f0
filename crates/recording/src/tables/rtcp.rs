//! `rtcp.parquet`: what the ends of a flow reported to each other, and what was so.

use super::table::Table;
use crate::record::{FlowLog, RtcpRecord};

/// A report with the flow that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct RtcpRow<'a> {
    flow: &'a str,
    report: &'a RtcpRecord,
}

impl<'a> RtcpRow<'a> {
    /// The reports of a flow.
    pub(crate) fn all(log: &'a FlowLog) -> impl Iterator<Item = Self> {
        log.rtcp.iter().map(|report| Self { flow: &log.flow, report })
    }
}

/// A row per report.
pub fn rtcp<'a>() -> Table<RtcpRow<'a>> {
    Table::<RtcpRow<'a>>::named("rtcp")
        .text("flow", |r| r.flow.into())
        .text("from", |r| if r.report.from_sender { "sender" } else { "receiver" }.into())
        .int64("sent_ns", |r| r.report.sent)
        .int64("arrived_ns", |r| r.report.arrived)
        .int32("size", |r| r.report.size)
        .boolean("bye", |r| r.report.bye)
        .int64("packets", |r| r.report.packets.map(u64::from))
        .int64("octets", |r| r.report.octets.map(u64::from))
        .double("fraction_lost", |r| r.report.fraction_lost)
        .int64("lost", |r| r.report.lost.map(i64::from))
        .int64("highest_sequence", |r| r.report.highest_sequence.map(u64::from))
        .int64("jitter_ns", |r| r.report.jitter)
        .int64("round_trip_ns", |r| r.report.round_trip)
        .double("true_fraction_lost", |r| r.report.true_fraction_lost)
        .int64("true_lost", |r| r.report.true_lost)
        .int64("true_round_trip_ns", |r| r.report.true_round_trip)
        .int32("track", |r| u32::from(r.report.track))
}
