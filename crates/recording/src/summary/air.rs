//! What happened to packets: which datagrams arrived, and how often each packet was sent over the air.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use framewire_units::Timestamp;
use serde::Serialize;

use super::statistics::LossRuns;
use crate::record::{FlowLog, PacketRecord, PacketsAhead, TransmissionCounts};
use crate::run::WriteError;
use crate::spool::{Lookup, Sorter, Spool};

/// The datagrams that were offered to the socket.
pub(super) struct DatagramCounts {
    pub offered: u32,
    pub lost: u32,
    pub runs: LossRuns,
}

impl DatagramCounts {
    /// Counts each sequence number once, in order.
    pub(crate) fn of(log: &FlowLog) -> Self {
        let number = |&number: &u64| number;
        let sequences = log.datagrams_sent.iter().map(|datagram| datagram.sequence);
        let offered = Sorter::of(log.frames.beside(), number, sequences);
        let sequences = log.datagrams_received.iter().map(|datagram| datagram.sequence);
        let received = Sorter::of(log.frames.beside(), number, sequences);
        let mut arrived = Lookup::new(received.iter().map(|sequence| (sequence, ())));
        let (mut counts, mut last) = (Self { offered: 0, lost: 0, runs: LossRuns::default() }, None);
        let lost = offered.iter().filter(|&sequence| last.replace(sequence) != Some(sequence)).map(|sequence| {
            let lost = arrived.of(sequence).is_none();
            counts.offered += 1;
            counts.lost += u32::from(lost);
            lost
        });
        let runs = LossRuns::of(lost);
        Self { runs, ..counts }
    }
}

/// UDP or TCP payload that the receiver got, each datagram counted once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload {
    pub bytes: u64,
    /// When the last of it came; `None` where that was not recorded.
    pub last: Option<Timestamp>,
}

impl Payload {
    /// `None` where it is not known.
    pub(crate) fn arrived(log: &FlowLog) -> Option<Self> {
        if log.found.is_some() {
            let counted = || payload_delivered(&log.packets);
            let of_packets = |ahead: &PacketsAhead| (!log.lacks_packets()).then_some(ahead.delivered);
            let bytes = log.ahead.as_ref().map_or_else(counted, of_packets)?;
            return Some(Self { bytes, last: None });
        }
        if let Some(bulk) = log.bulk {
            return Some(Self { bytes: bulk.received, last: None });
        }
        let datagrams = log.datagrams_received.iter().map(|datagram| (datagram.sequence, datagram.at, datagram.size));
        let key = |&(sequence, at, _): &(u64, Timestamp, u32)| (sequence, at);
        let datagrams = Sorter::of(log.frames.beside(), key, datagrams);
        let mut number = None;
        let once = datagrams.iter().filter(|&(sequence, ..)| number.replace(sequence) != Some(sequence));
        let mut payload = Self { bytes: 0, last: None };
        once.for_each(|(_, at, size)| payload.add(u64::from(size), at));
        let mut read = 0;
        for one in &log.stream_reads {
            payload.add(one.total.saturating_sub(read), one.at);
            read = read.max(one.total);
        }
        Some(payload)
    }

    fn add(&mut self, bytes: u64, at: Timestamp) {
        self.bytes += bytes;
        if bytes > 0 {
            self.last = self.last.max(Some(at));
        }
    }
}

/// `None` where the disk refused a part, which is the error of the log.
fn payload_delivered(packets: &Spool<PacketRecord>) -> Option<u64> {
    let records = packets.iter().map(Cow::into_owned);
    let hops = Sorter::of(packets.beside(), |packet: &PacketRecord| packet.packet, records);
    let mut delivered = Delivered::in_list(packets.beside());
    hops.iter().for_each(|packet| delivered.add(&packet));
    delivered.bytes().ok()
}

/// Payload of the packets that passed their last hop towards the receiver. Of those with the same sequence number one
/// counts, the first: a retransmission brings nothing new. The hops of a packet are added one after the other.
#[derive(Debug)]
pub struct Delivered {
    without_number: u64,
    numbered: Sorter<Brought, (&'static str, u64, u64)>,
    /// The packet whose hop was added last, and if it passed the hop, what it brought.
    last: Option<(u64, Option<Passed>)>,
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    payload: u32,
    sequence: Option<(&'static str, u64)>,
}

/// Protocol and sequence number of a packet that passed its last hop; its own number, and its payload.
type Brought = (&'static str, u64, (u64, u32));

impl Delivered {
    /// None yet. What is too much for the memory goes to a file without a name in `directory`; `None`: in the system's
    /// directory of temporary files.
    pub fn in_directory(directory: Option<Arc<Path>>) -> Self {
        Self::in_list(Spool::in_directory(directory))
    }

    fn in_list(list: Spool<Brought>) -> Self {
        let numbered = Sorter::new(list, |packet: &Brought| (packet.0, packet.1, packet.2.0));
        Self { without_number: 0, numbered, last: None }
    }

    /// Adds what became of a packet on a hop.
    pub fn add(&mut self, packet: &PacketRecord) {
        if !packet.forward {
            return;
        }
        if self.last.as_ref().is_none_or(|(number, _)| *number != packet.packet) {
            self.settle();
        }
        let sequence = packet.sequence.map(|sequence| (packet.protocol, sequence));
        let passed = packet.dropped.is_none() && packet.payload > 0;
        self.last = Some((packet.packet, passed.then_some(Passed { payload: packet.payload, sequence })));
    }

    /// The bytes of all that were added.
    ///
    /// # Errors
    /// When the disk refused a part.
    pub fn bytes(mut self) -> Result<u64, WriteError> {
        self.settle();
        self.numbered.ready();
        let mut last = None;
        let numbered = self.numbered.iter();
        let once = numbered.filter(|packet| last.replace((packet.0, packet.1)) != Some((packet.0, packet.1)));
        let sum = self.without_number + once.map(|(.., (_, payload))| u64::from(payload)).sum::<u64>();
        self.numbered.failure().map_or(Ok(sum), Err)
    }

    fn settle(&mut self) {
        let Some((number, Some(passed))) = self.last.take() else { return };
        match passed.sequence {
            Some((protocol, sequence)) => self.numbered.push((protocol, sequence, (number, passed.payload))),
            None => self.without_number += u64::from(passed.payload),
        }
    }
}

/// Shares of the packets with 1, 2, 3, 4, and 5 or more transmissions (table 3.2 of the thesis); they sum to 1.
pub type AirShares = [f64; 5];

/// Transmissions of the packets that the sender's device, or the access point, sent towards the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Transmissions {
    /// Mean number of transmissions.
    pub mean: f64,
    /// Shares by number of transmissions.
    pub shares: AirShares,
}

impl Transmissions {
    /// Counts the packets that were sent at least once; `None` when there were none.
    pub(crate) fn of(log: &FlowLog) -> Option<Self> {
        let counted = || count(transmitted(&log.packets).map(|packet| packet.transmissions.len()));
        if log.lacks_packets() {
            return None;
        }
        let counts = log.air.map_or_else(counted, |air| air.transmissions);
        Some(Self { mean: counts.total as f64 / packets(&counts)?, shares: shares(&counts)? })
    }
}

/// The same packets as the sniffer beside the sender saw them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sniffed {
    /// Shares by number of transmissions captured, of the packets captured at least once; `None` without one.
    pub shares: Option<AirShares>,
    /// Packets that were captured at least once.
    pub unique: u64,
    /// Transmissions that were captured.
    pub total: u64,
}

impl Sniffed {
    /// Counts what was captured; `None` without a sniffer.
    pub(crate) fn of(log: &FlowLog) -> Option<Self> {
        let counts = match log.air {
            _ if log.lacks_packets() => return None,
            Some(air) => air.sniffed?,
            None => {
                transmitted(&log.packets).find(|packet| packet.sniffed.is_some())?;
                count(transmitted(&log.packets).map(|packet| packet.sniffed.unwrap_or(0).into()))
            }
        };
        Some(Self { shares: shares(&counts), unique: counts.packets.iter().sum(), total: counts.total })
    }
}

fn transmitted(packets: &Spool<PacketRecord>) -> impl Iterator<Item = Cow<'_, PacketRecord>> {
    packets.iter().filter(|packet| packet.counts_transmissions())
}

fn count(transmissions: impl Iterator<Item = usize>) -> TransmissionCounts {
    let mut counts = TransmissionCounts::default();
    transmissions.for_each(|transmissions| counts.add(transmissions));
    counts
}

/// Packets that were sent; `None` for none.
fn packets(counts: &TransmissionCounts) -> Option<f64> {
    let packets: u64 = counts.packets.iter().sum();
    (packets > 0).then_some(packets as f64)
}

fn shares(counts: &TransmissionCounts) -> Option<AirShares> {
    let packets = packets(counts)?;
    Some(counts.packets.map(|count| count as f64 / packets))
}
