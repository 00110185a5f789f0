//! What one end of a stream recorded by itself, where the other end is elsewhere: raw records, of which a ledger is made
//! when those of both ends are together.

use framewire_media::picture_order::Renumbering;

use super::table::Table;
use crate::record::{DatagramReceived, DatagramSent, FrameEvent, FrameEventKind, HandedOn, LossPlace, StreamRead};

/// Something that happened to a frame at the sender; of a frame that was written to its end into a stream, where that is.
pub(crate) type SentEvent = (FrameEvent, Option<u64>);

/// A frame whose numbers were changed before it was sent: by how much, and its size then.
pub type Renumbered = (u32, Renumbering, Option<u32>);

/// What happened to frames at the sender, in order.
pub(crate) fn sent_events() -> Table<SentEvent> {
    Table::<SentEvent>::named("sent_events")
        .int32("frame", |(event, _)| event.frame)
        .int64("at_ns", |(event, _)| event.at)
        .text("event", |(event, _)| event_name(&event.what).into())
        .int64("stream_end", |(_, end)| *end)
        .optional_text("place", |(event, _)| Some(discard(event)?.0.name().into()))
        .optional_text("rule", |(event, _)| Some(discard(event)?.1.into()))
}

/// Datagrams offered to the sender's socket, in order.
pub(crate) fn sent_datagrams() -> Table<DatagramSent> {
    Table::<DatagramSent>::named("sent_datagrams")
        .int64("sequence", |one| one.sequence)
        .int32("frame", |one| one.frame)
        .int32("size", |one| one.size)
        .int32("headers", |one| one.headers)
        .int64("at_ns", |one| one.at)
        .boolean("sent", |one| one.sent)
}

/// Frames whose numbers were changed before they were sent.
pub(crate) fn sent_renumbered() -> Table<Renumbered> {
    Table::<Renumbered>::named("sent_renumbered")
        .int32("frame", |one| one.0)
        .int64("frame_num", |one| i64::from(one.1.frame_num))
        .int64("order", |one| one.1.order)
        .int32("size", |one| one.2)
}

/// Datagrams that the receiver got, in order of arrival.
pub(crate) fn received_datagrams() -> Table<DatagramReceived> {
    Table::<DatagramReceived>::named("received_datagrams")
        .int64("sequence", |one| one.sequence)
        .int32("size", |one| one.size)
        .int64("at_ns", |one| one.at)
        .boolean("kept", |one| one.kept)
}

/// Reads of the receiver's byte stream, in order.
pub(crate) fn received_reads() -> Table<StreamRead> {
    Table::<StreamRead>::named("received_reads").int64("total", |one| one.total).int64("at_ns", |one| one.at)
}

/// The last datagrams of frames that the receiver discarded because it could not tell whether their first was missing.
pub(crate) fn received_discards() -> Table<u64> {
    Table::<u64>::named("received_discards").int64("sequence", |sequence| *sequence)
}

/// What the receiver handed on of frames that are not whole, by the first of their datagrams.
pub(crate) fn received_handed_on() -> Table<HandedOn> {
    Table::<HandedOn>::named("received_handed_on").int64("sequence", |one| one.sequence).int32("bytes", |one| one.bytes)
}

/// The kinds of events without anything beside them, by name.
const EVENTS: [(&str, FrameEventKind); 5] = [
    ("offered", FrameEventKind::Offered),
    ("queued", FrameEventKind::Queued),
    ("first byte", FrameEventKind::FirstByte),
    ("begins sequence", FrameEventKind::BeginsSequence),
    ("last byte", FrameEventKind::LastByte),
];

/// The event that is a discard, by a rule at a place.
const DISCARDED: &str = "discarded";

fn event_name(kind: &FrameEventKind) -> &'static str {
    EVENTS.iter().find(|(_, known)| known == kind).map_or(DISCARDED, |(name, _)| name)
}

fn discard(event: &FrameEvent) -> Option<(LossPlace, &str)> {
    if let FrameEventKind::Discarded { place, rule } = &event.what { Some((*place, rule)) } else { None }
}

/// The event of this name; `None` for a name that is none, and for a discard without place and rule.
pub(crate) fn event_named(name: &str, place: Option<&str>, rule: Option<&str>) -> Option<FrameEventKind> {
    if name == DISCARDED {
        let place = LossPlace::ALL.into_iter().find(|known| Some(known.name()) == place)?;
        return Some(FrameEventKind::Discarded { place, rule: rule?.to_owned() });
    }
    EVENTS.into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind)
}
