//! Frames on datagrams: what was sent, what arrived and what the link said are joined by sequence number.

use std::iter::Peekable;

use framewire_units::Timestamp;

use super::sender::SenderLife;
use super::verdict::{Verdict, Verdicts};
use super::{RootCause, Transfer, end_of_run};
use crate::record::{DatagramReceived, DatagramSent, FlowLog, FrameFacts, LossPlace};
use crate::spool::{Lookup, Sorter};

/// The frames of a flow over datagrams.
pub(super) struct Datagrams<'a> {
    log: &'a FlowLog,
    crossings: Sorter<Crossing, (u32, Option<u16>, u64)>,
    /// The hop that datagrams passed last before they arrived.
    last_hop: Option<&'static str>,
    /// When the first datagram arrived.
    pub first_arrival: Option<Timestamp>,
}

/// One datagram with a part of a frame, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    pub frame: u32,
    pub part: Option<u16>,
    pub sequence: u64,
    /// Bytes of the frame.
    pub bytes: u32,
    pub sent: bool,
    pub arrival: Option<Arrival>,
    pub verdict: Option<Verdict>,
    /// It was the last of a frame that the receiver discarded.
    pub discarded: bool,
    /// It was the first of a frame of which the receiver handed on so many bytes, though it is not whole.
    pub handed_on: Option<u32>,
}

/// That a datagram arrived: for the first time, and of an arrival that was kept where there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at: Timestamp,
    pub kept: bool,
}

impl<'a> Datagrams<'a> {
    pub(crate) fn of(log: &'a FlowLog) -> Self {
        let received = log.datagrams_received.iter().map(|datagram| datagram.into_owned());
        let key = |datagram: &DatagramReceived| (datagram.sequence, !datagram.kept, datagram.at);
        let received = Sorter::of(log.frames.beside(), key, received);
        let verdicts = Verdicts::of(log);
        let crossings = crossings(log, arrivals(received.iter()), &verdicts);
        let first_arrival = log.datagrams_received.iter().map(|datagram| datagram.at).min();
        let last_hop = verdicts.last_hop(arrivals(received.iter()).map(|(sequence, _)| sequence));
        Self { log, crossings, last_hop, first_arrival }
    }

    /// How every frame crossed the network, asked for in decode order.
    pub(crate) fn transfers(&self) -> impl FnMut(u32, &FrameFacts, &SenderLife) -> Transfer {
        let mut frames = Lookup::new(frames(self.crossings.iter()));
        move |frame, facts, sender| {
            let datagrams = frames.of(frame.into()).unwrap_or_default();
            let mut transfer = transfer(facts, &datagrams);
            let came = sender.last_byte.is_some() && !datagrams.is_empty() && parts(&datagrams).all(keeps);
            let whole = came && !datagrams.iter().any(|datagram| datagram.discarded);
            if whole {
                transfer.bytes_received = u64::from(facts.size);
                transfer.bytes_sent = u64::from(facts.size);
            } else {
                transfer.arrival = None;
                transfer.loss = self.loss(sender, &datagrams);
                transfer.handed_on = datagrams.iter().filter_map(|datagram| datagram.handed_on).max().unwrap_or(0);
            }
            transfer
        }
    }

    /// The loss that doomed a frame: that of its first datagram that did not arrive, or that came when the receiver had
    /// given the frame up. When all that were cut arrived, it was given up before it was cut whole.
    fn loss(&self, sender: &SenderLife, datagrams: &[Crossing]) -> Option<RootCause> {
        Some(match parts(datagrams).find(|part| !keeps(part)).map(|part| &part[0]) {
            Some(datagram) if datagram.arrival.is_some() => RootCause::new(LossPlace::ReceiverPipeline, GIVEN_UP),
            Some(datagram) if datagram.sent => return loss_of(datagram, self.last_hop, self.log),
            Some(_) => sender
                .discards
                .first()
                .cloned()
                .unwrap_or_else(|| RootCause::new(LossPlace::SenderSocket, "no room in the socket")),
            None if datagrams.iter().any(|datagram| datagram.discarded) => {
                RootCause::new(LossPlace::ReceiverPipeline, BEGINNING_OPEN)
            }
            None => {
                let ended = || RootCause::new(LossPlace::SenderPipeline, end_of_run(&self.log.status));
                sender.discards.first().cloned().unwrap_or_else(ended)
            }
        })
    }
}

/// Why a frame is lost of which every part came: the receiver had stopped waiting for one of them.
const GIVEN_UP: &str = "came after its frame was given up";

/// Why a frame is lost of which every part came, and was there in time: packets before it were lost, and a receiver cannot
/// tell that none of them was its first.
const BEGINNING_OPEN: &str = "behind a loss, its beginning not certain";

/// Every datagram with a part of a frame, by frame, part and sequence number: copies of a part stand together.
fn crossings(
    log: &FlowLog,
    arrivals: impl Iterator<Item = (u64, Arrival)>,
    verdicts: &Verdicts,
) -> Sorter<Crossing, (u32, Option<u16>, u64)> {
    let sent = log.datagrams_sent.iter().map(|datagram| datagram.into_owned());
    let sent = Sorter::of(log.frames.beside(), |datagram: &DatagramSent| datagram.sequence, sent);
    let (mut arrivals, mut verdicts) = (Lookup::new(arrivals), Lookup::new(verdicts.iter()));
    let mut discarded = Lookup::new(log.discarded.iter().map(|sequence| (sequence.into_owned(), ())));
    let mut handed_on = Lookup::new(log.handed_on.iter().map(|one| (one.sequence, one.bytes)));
    let frames = log.frames.len();
    let crossings = sent.iter().filter_map(|datagram| {
        let frame = datagram.frame.filter(|&frame| (frame as usize) < frames)?;
        let DatagramSent { sequence, part, sent, .. } = datagram;
        let bytes = datagram.size.saturating_sub(datagram.headers.into());
        let (arrival, verdict) = (arrivals.of(sequence), verdicts.of(sequence));
        let discarded = discarded.of(sequence).is_some();
        let handed_on = handed_on.of(sequence);
        Some(Crossing { frame, part, sequence, bytes, sent, arrival, verdict, discarded, handed_on })
    });
    Sorter::of(log.frames.beside(), |one: &Crossing| (one.frame, one.part, one.sequence), crossings)
}

/// The datagrams that arrived, each once, of those in ascending order.
fn arrivals(received: impl Iterator<Item = DatagramReceived>) -> impl Iterator<Item = (u64, Arrival)> {
    let mut last = None;
    received.filter_map(move |DatagramReceived { sequence, at, kept, .. }| {
        (last.replace(sequence) != Some(sequence)).then_some((sequence, Arrival { at, kept }))
    })
}

/// The datagrams of each frame that has any.
fn frames(crossings: impl Iterator<Item = Crossing>) -> impl Iterator<Item = (u64, Vec<Crossing>)> {
    let mut crossings: Peekable<_> = crossings.peekable();
    std::iter::from_fn(move || {
        let first = crossings.next()?;
        let frame = first.frame;
        let mut datagrams = vec![first];
        while let Some(next) = crossings.next_if(|next| next.frame == frame) {
            datagrams.push(next);
        }
        Some((frame.into(), datagrams))
    })
}

/// The transfer of one frame as far as its datagrams show it: `arrival` is that of the last part that came.
fn transfer(facts: &FrameFacts, datagrams: &[Crossing]) -> Transfer {
    let size = u64::from(facts.size);
    let mut transfer = Transfer::default();
    let mut lost = 0;
    for part in parts(datagrams) {
        let bytes = u64::from(part[0].bytes);
        let came = part.iter().filter_map(|copy| copy.arrival).min_by_key(|arrival| (!arrival.kept, arrival.at));
        if let Some(arrival) = came {
            transfer.bytes_received += bytes;
            transfer.arrival = transfer.arrival.max(Some(arrival.at));
        }
        lost += part.iter().filter(|copy| copy.arrival.is_none()).count() as u32;
        if part.iter().any(|copy| copy.sent) {
            transfer.bytes_sent += bytes;
        }
    }
    transfer.bytes_received = transfer.bytes_received.min(size);
    transfer.bytes_sent = transfer.bytes_sent.min(size);
    let count = u32::try_from(datagrams.len()).unwrap_or(u32::MAX);
    transfer.packets = (count > 0).then_some((count, lost));
    transfer
}

/// The datagrams of a frame, in order, by the part of it that they carry: a part that was sent again has several.
fn parts(datagrams: &[Crossing]) -> impl Iterator<Item = &[Crossing]> {
    datagrams.chunk_by(|one, next| one.part.is_some() && one.part == next.part)
}

/// Whether the receiver has one of these.
fn keeps(datagrams: &[Crossing]) -> bool {
    datagrams.iter().any(|datagram| datagram.arrival.is_some_and(|arrival| arrival.kept))
}

/// Why a datagram that was sent did not arrive. Delivered by the last hop, it was lost in the receiver's socket; without a
/// last verdict, the run ended while it was under way. Not known where packets were not looked at.
fn loss_of(datagram: &Crossing, last_hop: Option<&'static str>, log: &FlowLog) -> Option<RootCause> {
    Some(match datagram.verdict {
        Some(Verdict::Dropped(_, place, cause)) => RootCause::new(place, cause),
        Some(Verdict::Delivered(_, hop)) if Some(hop) == last_hop => {
            RootCause::new(LossPlace::ReceiverPipeline, "not read by the receiver")
        }
        None if log.lacks_packets() => return None,
        _ => RootCause::new(LossPlace::Link, end_of_run(&log.status)),
    })
}
