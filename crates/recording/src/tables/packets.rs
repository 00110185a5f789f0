//! `packets.parquet`: one row per packet and hop.

use std::borrow::Cow;

use framewire_units::Bitrate;

use super::table::Table;
use crate::record::{FlowLog, PacketRecord};
use crate::spool::{Found, Sorter};

/// What the sender's log says of a datagram: the frame that it carries a part of, and bytes of headers above UDP.
pub(super) type Carried = (Option<u32>, u16);

/// A packet record with the flow that it belongs to and what it carries.
#[derive(Clone, Debug)]
pub struct PacketRow<'a> {
    flow: &'a str,
    record: Cow<'a, PacketRecord>,
    carried: Option<Carried>,
}

impl<'a> PacketRow<'a> {
    /// A packet of a flow, of whose content nothing is known yet.
    pub(super) fn unplaced(flow: &'a str, record: &'a PacketRecord) -> Self {
        Self { flow, record: Cow::Borrowed(record), carried: None }
    }

    /// The packets of a flow.
    pub fn all(log: &'a FlowLog) -> impl Iterator<Item = Self> {
        let mut datagrams = carried_by_sequence(log);
        let mut carried_by = move |record: &PacketRecord| {
            let sequence = record.sequence.filter(|_| record.tells_its_frame())?;
            datagrams.of(sequence)
        };
        log.packets.iter().map(move |record| {
            let carried = carried_by(&record);
            Self { flow: &log.flow, record, carried }
        })
    }
}

/// What each datagram carries, by its sequence number: of sound, which is numbered behind the frames, none of these.
pub(super) fn carried_by_sequence(log: &FlowLog) -> Found<Carried> {
    let frames = log.frames.iter().take_while(|facts| facts.track == 0).count();
    let sent = log.datagrams_sent.iter().map(|datagram| {
        let frame = datagram.frame.filter(|&frame| (frame as usize) < frames);
        (datagram.sequence, (frame, datagram.headers))
    });
    let sent = Sorter::of(log.frames.beside(), |&one: &(u64, Carried)| one, sent);
    Found::new(log.frames.beside(), sent.iter())
}

/// The columns that only the sender's log determines, in order.
pub(super) const CARRIED: [&str; 2] = ["headers", "frame"];

/// These columns alone.
pub(super) fn carried_by_packets() -> Table<Option<Carried>> {
    let [headers, frame] = CARRIED;
    Table::<Option<Carried>>::named("packets")
        .int32(headers, |carried| carried.map(|(_, headers)| headers))
        .int32(frame, |carried| carried.and_then(|(frame, _)| frame))
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
        .int32("headers", |r| r.carried.map(|(_, headers)| headers))
        .following()
        .int32("frame", |r| r.carried.and_then(|(frame, _)| frame))
        .text("hop", |r| r.record.hop.into())
        .int64("enqueued_ns", |r| r.record.enqueued)
        .int64("started_ns", |r| r.record.started)
        .int64("finished_ns", |r| r.record.finished)
        .int32("transmissions", |r| r.record.transmissions.len() as u32)
        .text("rates", |r| rates(&r.record.transmissions).into())
        .text("outcome", |r| if r.record.dropped.is_some() { "dropped" } else { "delivered" }.into())
        .optional_text("cause", |r| cause(&r.record).map(Into::into))
        .boolean("clamped", |r| r.record.clamped)
        .int32("sniffed", |r| r.record.sniffed)
}

/// Why it was dropped; of a packet that came through, that a queue marked it.
fn cause(record: &PacketRecord) -> Option<&'static str> {
    record.dropped.map(|(_, cause)| cause).or(record.marked.then_some(CONGESTION_EXPERIENCED))
}

/// What stands as the cause of a packet that was delivered with a mark (RFC 3168, section 5).
const CONGESTION_EXPERIENCED: &str = "congestion experienced";

/// The rate of each transmission in Mbit/s, as `11,11,5.5`.
fn rates(transmissions: &[Bitrate]) -> String {
    let rates: Vec<String> = transmissions.iter().map(|rate| rate.as_mbps_f64().to_string()).collect();
    rates.join(",")
}
