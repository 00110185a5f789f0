//! `packets.parquet`: one row per packet and hop.

use std::borrow::Cow;

use framewire_units::Bitrate;

use super::table::Table;
use crate::record::{FlowLog, PacketRecord};
use crate::spool::{Found, Sorter};

/// A packet record with the flow and the frame that it belongs to.
#[derive(Clone, Debug)]
pub struct PacketRow<'a> {
    flow: &'a str,
    record: Cow<'a, PacketRecord>,
    frame: Option<u32>,
}

impl<'a> PacketRow<'a> {
    /// A packet of a flow, of whose frame nothing is known yet.
    pub(super) fn unplaced(flow: &'a str, record: &'a PacketRecord) -> Self {
        Self { flow, record: Cow::Borrowed(record), frame: None }
    }

    /// The packets of a flow.
    pub fn all(log: &'a FlowLog) -> impl Iterator<Item = Self> {
        let mut frames = frames_by_sequence(log);
        let mut frame_of = move |record: &PacketRecord| {
            let sequence = record.sequence.filter(|_| record.tells_its_frame())?;
            frames.of(sequence)
        };
        log.packets.iter().map(move |record| {
            let frame = frame_of(&record);
            Self { flow: &log.flow, record, frame }
        })
    }
}

/// Whose frame each datagram carries, by its sequence number.
pub(super) fn frames_by_sequence(log: &FlowLog) -> Found<u32> {
    let sent = log.datagrams_sent.iter();
    let sent = sent.filter_map(|datagram| Some((datagram.sequence, datagram.frame?)));
    let sent = Sorter::of(log.frames.beside(), |&one: &(u64, u32)| one, sent);
    Found::new(log.frames.beside(), sent.iter())
}

/// The column that only the sender's log determines.
pub(super) const FRAME: &str = "frame";

/// That column alone.
pub(super) fn frames_of_packets() -> Table<Option<u32>> {
    Table::<Option<u32>>::named("packets").int32(FRAME, |frame| *frame)
}

/// The packet log: one row per packet and hop.
pub fn packets<'a>() -> Table<PacketRow<'a>> {
    Table::<PacketRow<'a>>::named("packets")
        .text("flow", |r| r.flow.into())
        .int64("packet", |r| r.record.packet)
        .text("direction", |r| if r.record.forward { "forward" } else { "backward" }.into())
        .text("protocol", |r| r.record.protocol.into())
        .int32("size", |r| r.record.size)
        .int64("sequence", |r| r.record.sequence)
        .int32("payload", |r| r.record.payload)
        .int32(FRAME, |r| r.frame)
        .text("hop", |r| r.record.hop.into())
        .int64("enqueued_ns", |r| r.record.enqueued)
        .int64("started_ns", |r| r.record.started)
        .int64("finished_ns", |r| r.record.finished)
        .int32("transmissions", |r| r.record.transmissions.len() as u32)
        .text("rates", |r| rates(&r.record.transmissions).into())
        .text("outcome", |r| if r.record.dropped.is_some() { "dropped" } else { "delivered" }.into())
        .optional_text("cause", |r| Some(r.record.dropped?.1.into()))
        .boolean("clamped", |r| r.record.clamped)
        .int32("sniffed", |r| r.record.sniffed)
}

/// The rate of each transmission in Mbit/s, as `11,11,5.5`.
fn rates(transmissions: &[Bitrate]) -> String {
    let rates: Vec<String> = transmissions.iter().map(|rate| rate.as_mbps_f64().to_string()).collect();
    rates.join(",")
}
