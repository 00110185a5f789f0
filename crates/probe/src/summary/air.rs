//! What happened to packets: which datagrams arrived, and how often each packet was sent over the air.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use crate::record::{FlowLog, PacketRecord, TransmissionCounts};
use crate::spool::Spool;

/// In order of sequence number, for every datagram that was offered to the socket, whether it arrived.
pub(super) fn datagrams_arrived(log: &FlowLog) -> Vec<bool> {
    let mut received: Vec<u64> = log.datagrams_received.iter().map(|datagram| datagram.sequence).collect();
    received.sort_unstable();
    let mut offered: Vec<u64> = log.datagrams_sent.iter().map(|datagram| datagram.sequence).collect();
    offered.sort_unstable();
    offered.dedup();
    offered.iter().map(|sequence| received.binary_search(sequence).is_ok()).collect()
}

/// UDP or TCP payload that the receiver got, each datagram counted once; `None` where that is not known.
pub(super) fn payload_arrived(log: &FlowLog) -> Option<u64> {
    if log.found.is_some() {
        let counted = || Some(payload_delivered(&log.packets));
        return log.ahead.as_ref().map_or_else(counted, |ahead| (!log.lacks_packets()).then_some(ahead.delivered));
    }
    if let Some(bulk) = log.bulk {
        return Some(bulk.received);
    }
    let mut datagrams: Vec<(u64, u32)> =
        log.datagrams_received.iter().map(|datagram| (datagram.sequence, datagram.size)).collect();
    datagrams.sort_unstable();
    datagrams.dedup_by_key(|(sequence, _)| *sequence);
    let of_datagrams: u64 = datagrams.iter().map(|&(_, size)| u64::from(size)).sum();
    Some(of_datagrams + log.stream_reads.iter().map(|read| read.total).max().unwrap_or(0))
}

fn payload_delivered(packets: &Spool<PacketRecord>) -> u64 {
    let mut delivered = Delivered::default();
    packets.iter().for_each(|packet| delivered.add(&packet));
    delivered.bytes()
}

/// Payload of the packets that passed their last hop towards the receiver. Of those with the same sequence number one
/// counts: a retransmission brings nothing new. The hops of a packet are added one after the other.
#[derive(Debug, Default)]
pub struct Delivered {
    bytes: u64,
    seen: BTreeSet<(&'static str, u64)>,
    /// The packet of the last hop that was added: its number, and if it passed the hop, what it brought.
    last: Option<(u64, Option<Brought>)>,
}

#[derive(Clone, Copy, Debug)]
struct Brought {
    payload: u32,
    sequence: Option<(&'static str, u64)>,
}

impl Delivered {
    /// Adds what became of a packet on a hop.
    pub fn add(&mut self, packet: &PacketRecord) {
        if !packet.forward {
            return;
        }
        if self.last.is_none_or(|(number, _)| number != packet.packet) {
            self.settle();
        }
        let sequence = packet.sequence.map(|sequence| (packet.protocol, sequence));
        let brought = Brought { payload: packet.payload, sequence };
        let passed = packet.dropped.is_none() && packet.payload > 0;
        self.last = Some((packet.packet, passed.then_some(brought)));
    }

    /// The bytes of all that were added.
    pub fn bytes(mut self) -> u64 {
        self.settle();
        self.bytes
    }

    fn settle(&mut self) {
        let Some((_, Some(brought))) = self.last.take() else { return };
        if brought.sequence.is_none_or(|sequence| self.seen.insert(sequence)) {
            self.bytes += u64::from(brought.payload);
        }
    }
}

/// Shares of the packets with 1, 2, 3, 4, and 5 or more transmissions (table 3.2 of the thesis); they sum to 1.
pub type AirShares = [f64; 5];

/// Transmissions of the packets that the sender's device sent towards the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Transmissions {
    /// Mean number of transmissions.
    pub mean: f64,
    /// Shares by number of transmissions.
    pub shares: AirShares,
}

impl Transmissions {
    /// Counts the packets that were sent at least once; `None` when there were none.
    pub fn of(log: &FlowLog) -> Option<Self> {
        let counted = || count(sender_device(&log.packets).map(|packet| packet.transmissions.len()));
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
    pub fn of(log: &FlowLog) -> Option<Self> {
        let counts = match log.air {
            _ if log.lacks_packets() => return None,
            Some(air) => air.sniffed?,
            None => {
                sender_device(&log.packets).find(|packet| packet.sniffed.is_some())?;
                count(sender_device(&log.packets).map(|packet| packet.sniffed.unwrap_or(0).into()))
            }
        };
        Some(Self { shares: shares(&counts), unique: counts.packets.iter().sum(), total: counts.total })
    }
}

fn sender_device(packets: &Spool<PacketRecord>) -> impl Iterator<Item = Cow<'_, PacketRecord>> {
    packets.iter().filter(|packet| packet.forward && packet.hop == "sender-device")
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
