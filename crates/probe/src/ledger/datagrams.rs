//! Frames on datagrams: what was sent, what arrived and what the link said are joined by sequence number.

use std::collections::BTreeMap;

use framewire_units::Timestamp;

use super::sender::SenderLife;
use super::{RootCause, Transfer, end_of_run};
use crate::record::{DatagramSent, FlowLog, FlowStatus, FrameFacts, Place};

/// How every frame crossed the network, and when the first datagram arrived.
pub(super) fn transfers(log: &FlowLog, senders: &[SenderLife]) -> (Vec<Transfer>, Option<Timestamp>) {
    let cut = by_frame(log);
    let header = header_bytes(&log.frames, &cut);
    let arrivals = Arrivals::of_log(log);
    let verdicts = Verdicts::of(log, &arrivals);
    let frames = log.frames.iter().zip(senders).zip(&cut);
    let transfers = frames.map(|((facts, sender), datagrams)| {
        let mut transfer = transfer(facts, datagrams, header, &arrivals);
        let whole =
            sender.last_byte.is_some() && !datagrams.is_empty() && parts(datagrams).all(|part| arrivals.keep(part));
        if whole {
            transfer.bytes_received = u64::from(facts.size);
            transfer.bytes_sent = u64::from(facts.size);
        } else {
            transfer.arrival = None;
            transfer.loss = loss(sender, datagrams, &arrivals, &verdicts, &log.status);
        }
        transfer
    });
    (transfers.collect(), arrivals.first)
}

/// The datagrams of every frame, in order of sequence number; copies of a part stand together.
fn by_frame(log: &FlowLog) -> Vec<Vec<&DatagramSent>> {
    let mut cut = vec![Vec::new(); log.frames.len()];
    for datagram in &log.datagrams_sent {
        if let Some(datagrams) = datagram.frame.and_then(|frame| cut.get_mut(frame as usize)) {
            datagrams.push(datagram);
        }
    }
    for datagrams in &mut cut {
        datagrams.sort_by_key(|datagram| (datagram.part, datagram.sequence));
    }
    cut
}

/// Bytes of every datagram that are not bytes of the frame: the RTP header and the payload format's.
///
/// The payloads of a frame that was cut whole are its size and that many headers; a frame that was given up half-way
/// shows less. So the largest value that any frame shows is the true one.
fn header_bytes(frames: &[FrameFacts], cut: &[Vec<&DatagramSent>]) -> u32 {
    let shown = frames.iter().zip(cut).filter(|(_, datagrams)| !datagrams.is_empty()).map(|(facts, datagrams)| {
        let payload: u64 = parts(datagrams).map(|part| u64::from(part[0].size)).sum();
        payload.saturating_sub(u64::from(facts.size)) / parts(datagrams).count() as u64
    });
    u32::try_from(shown.max().unwrap_or(0)).unwrap_or(u32::MAX)
}

/// The transfer of one frame as far as its datagrams tell it: `arrival` is that of the last part that came.
fn transfer(facts: &FrameFacts, datagrams: &[&DatagramSent], header: u32, arrivals: &Arrivals) -> Transfer {
    let size = u64::from(facts.size);
    let mut transfer = Transfer::default();
    let mut lost = 0;
    for part in parts(datagrams) {
        let bytes = u64::from(part[0].size.saturating_sub(header));
        let came = part.iter().filter_map(|copy| arrivals.of(copy)).min_by_key(|arrival| (!arrival.kept, arrival.at));
        if let Some(arrival) = came {
            transfer.bytes_received += bytes;
            transfer.arrival = transfer.arrival.max(Some(arrival.at));
        }
        lost += part.iter().filter(|copy| arrivals.of(copy).is_none()).count() as u32;
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
fn parts<'a, 'd>(datagrams: &'a [&'d DatagramSent]) -> impl Iterator<Item = &'a [&'d DatagramSent]> {
    datagrams.chunk_by(|one, next| one.part.is_some() && one.part == next.part)
}

/// The loss that doomed a frame: that of its first datagram that did not arrive, or that came when the receiver had given
/// the frame up. When all that were cut arrived, it was given up before it was cut whole.
fn loss(
    sender: &SenderLife,
    datagrams: &[&DatagramSent],
    arrivals: &Arrivals,
    verdicts: &Verdicts,
    status: &FlowStatus,
) -> Option<RootCause> {
    Some(match parts(datagrams).find(|part| !arrivals.keep(part)).map(|part| part[0]) {
        Some(datagram) if arrivals.of(datagram).is_some() => RootCause::new(Place::ReceiverPipeline, GIVEN_UP),
        Some(datagram) if datagram.sent => return verdicts.loss_of(datagram.sequence, status),
        Some(_) => sender
            .discards
            .first()
            .cloned()
            .unwrap_or_else(|| RootCause::new(Place::SenderSocket, "no room in the socket")),
        None => {
            let ended = || RootCause::new(Place::SenderPipeline, end_of_run(status));
            sender.discards.first().cloned().unwrap_or_else(ended)
        }
    })
}

/// Why a frame is lost of which every part came: the receiver had stopped waiting for one of them.
const GIVEN_UP: &str = "came after its frame was given up";

/// The datagrams that arrived, each once.
struct Arrivals {
    /// By sequence number.
    sorted: Vec<Arrival>,
    first: Option<Timestamp>,
}

#[derive(Clone, Copy)]
struct Arrival {
    sequence: u64,
    /// For the first time, and of an arrival that was kept where there is one.
    at: Timestamp,
    kept: bool,
}

impl Arrivals {
    fn of_log(log: &FlowLog) -> Self {
        let received = log.datagrams_received.iter();
        let mut sorted: Vec<_> = received
            .map(|datagram| Arrival { sequence: datagram.sequence, at: datagram.at, kept: datagram.kept })
            .collect();
        let first = sorted.iter().map(|arrival| arrival.at).min();
        sorted.sort_unstable_by_key(|arrival| (arrival.sequence, !arrival.kept, arrival.at));
        sorted.dedup_by_key(|arrival| arrival.sequence);
        Self { sorted, first }
    }

    /// Whether the receiver has one of these.
    fn keep(&self, datagrams: &[&DatagramSent]) -> bool {
        datagrams.iter().any(|datagram| self.of(datagram).is_some_and(|arrival| arrival.kept))
    }

    fn of(&self, datagram: &DatagramSent) -> Option<Arrival> {
        let index = self.sorted.binary_search_by_key(&datagram.sequence, |arrival| arrival.sequence).ok()?;
        Some(self.sorted[index])
    }
}

/// What the link said of each datagram.
struct Verdicts {
    by_sequence: BTreeMap<u64, Verdict>,
    /// The hop that datagrams passed last before they arrived.
    last_hop: Option<&'static str>,
    /// Packets were not looked at: of a datagram without a verdict nothing is known.
    incomplete: bool,
}

/// The verdict that decides: a drop, or else the hop that delivered it last.
#[derive(Clone, Copy)]
enum Verdict {
    Dropped(Timestamp, Place, &'static str),
    Delivered(Timestamp, &'static str),
}

impl Verdict {
    /// A drop outweighs deliveries (of other hops, or of other fragments); the first drop and the last delivery count.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Dropped(at, ..), Self::Dropped(other_at, ..)) => {
                if other_at < at {
                    other
                } else {
                    self
                }
            }
            (Self::Dropped(..), Self::Delivered(..)) => self,
            (Self::Delivered(..), Self::Dropped(..)) => other,
            (Self::Delivered(at, _), Self::Delivered(other_at, _)) => {
                if other_at >= at {
                    other
                } else {
                    self
                }
            }
        }
    }
}

impl Verdicts {
    fn of(log: &FlowLog, arrivals: &Arrivals) -> Self {
        let mut by_sequence = BTreeMap::new();
        for packet in log.packets.iter().filter(|packet| packet.tells_its_frame()) {
            let Some(sequence) = packet.sequence else { continue };
            let verdict = match packet.dropped {
                Some((place, cause)) => Verdict::Dropped(packet.finished, place, cause),
                None => Verdict::Delivered(packet.finished, packet.hop),
            };
            by_sequence
                .entry(sequence)
                .and_modify(|known: &mut Verdict| *known = known.and(verdict))
                .or_insert(verdict);
        }
        let last_hop = arrivals.sorted.iter().find_map(|arrival| match by_sequence.get(&arrival.sequence) {
            Some(Verdict::Delivered(_, hop)) => Some(*hop),
            _ => None,
        });
        Self { by_sequence, last_hop, incomplete: log.lacks_packets() }
    }

    /// Why a datagram that was sent did not arrive. Delivered by the last hop, it was lost in the receiver's socket;
    /// without a last verdict, the run ended while it was under way.
    fn loss_of(&self, sequence: u64, status: &FlowStatus) -> Option<RootCause> {
        match self.by_sequence.get(&sequence) {
            Some(&Verdict::Dropped(_, place, cause)) => Some(RootCause::new(place, cause)),
            Some(Verdict::Delivered(_, hop)) if Some(*hop) == self.last_hop => {
                Some(RootCause::new(Place::ReceiverPipeline, "not read by the receiver"))
            }
            None if self.incomplete => None,
            _ => Some(RootCause::new(Place::Link, end_of_run(status))),
        }
    }
}
