//! What is kept of packets: all of it, or only what the ledger and the summary need.

use framewire_adaptive::datagram::Channel;
use framewire_link::{Hop, HopRecord, Outcome, PacketId, Port, SniffedFrame};
use framewire_probe::record::{AirCounts, TransmissionCounts};
use framewire_session::video_sequence;
use framewire_units::DataSize;
use framewire_world::{FlowPackets, PacketDescription, Sequence, port};

use crate::flow::{Body, Cargo};
use crate::wires::Recorder;

/// What is known of a packet when it enters the network.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: u16,
    from: Port,
    datagram: bool,
    /// It is at the second port of its flow: a control packet of an adaptive stream.
    control: bool,
    size: u32,
    payload: u32,
    /// Sequence number of RTP, of an adaptive stream's video or of TCP, from 0, without wrap; all ones where there is none.
    sequence: u64,
    sniffed: u16,
    /// It crossed the hop whose transmissions the summary counts.
    counted: bool,
}

const NO_SEQUENCE: u64 = u64::MAX;

/// Keeps the verdicts of all packets, or of those that were dropped: a ledger is the same either way, because what was
/// neither dropped nor received was cut off by the end of the run.
pub(crate) struct PacketRecorder {
    keep_all: bool,
    entries: Vec<Entry>,
    hops: Vec<HopRecord>,
    flows: Vec<FlowRecord>,
}

/// What is kept per flow.
#[derive(Clone, Copy, Debug, Default)]
struct FlowRecord {
    last_rtp: u64,
    transmissions: TransmissionCounts,
    crossed_device: bool,
}

impl PacketRecorder {
    /// A recorder for flows with numbers below `flows`; `keep_all`: for the packet table.
    pub(crate) fn new(keep_all: bool, flows: usize) -> Self {
        Self { keep_all, entries: Vec::new(), hops: Vec::new(), flows: vec![FlowRecord::default(); flows] }
    }

    /// Number of packets that entered the network.
    pub(crate) fn packets(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The packet tables of the flows, and what was counted for each. `sniffed` says whether there is a sniffer.
    pub(crate) fn into_tables(mut self, sniffed: bool) -> Vec<(FlowPackets, Option<AirCounts>)> {
        let numbered = (0..self.flows.len()).map(|flow| FlowPackets::new(port(flow), sniffed));
        let mut tables: Vec<FlowPackets> = numbered.collect();
        self.hops.sort_by_key(|hop| hop.packet);
        for hops in self.hops.chunk_by(|one, other| one.packet == other.packet) {
            let id = hops[0].packet;
            let entry = &self.entries[id.0 as usize];
            tables[usize::from(entry.flow)].add(&entry.describe(id), hops);
        }
        let counts = self.counts(sniffed);
        tables.into_iter().zip(counts).collect()
    }

    fn counts(&self, sniffed: bool) -> Vec<Option<AirCounts>> {
        let mut captured = vec![TransmissionCounts::default(); self.flows.len()];
        for entry in self.entries.iter().filter(|entry| entry.counted) {
            captured[usize::from(entry.flow)].add(usize::from(entry.sniffed));
        }
        let of_flow = |(flow, captured): (&FlowRecord, TransmissionCounts)| {
            let sniffed = (sniffed && flow.crossed_device).then_some(captured);
            Some(AirCounts { transmissions: flow.transmissions, sniffed })
        };
        self.flows.iter().zip(captured).map(of_flow).collect()
    }
}

impl Entry {
    fn describe(&self, id: PacketId) -> PacketDescription {
        let port = port(usize::from(self.flow)) + u16::from(self.control);
        PacketDescription {
            id,
            from: self.from,
            protocol: if self.datagram { "udp" } else { "tcp" },
            source_port: port,
            destination_port: port,
            size: self.size,
            payload: self.payload,
            sequence: if self.sequence == NO_SEQUENCE { Sequence::None } else { Sequence::Unbounded(self.sequence) },
            sniffed: self.sniffed,
        }
    }
}

impl FlowRecord {
    /// The RTP sequence number of a datagram (RFC 3550, 5.1) without wrap. Datagrams are sent in order of it.
    fn extend(&mut self, datagram: &[u8]) -> u64 {
        let Some(&[high, low]) = datagram.get(2..4) else { return NO_SEQUENCE };
        let number = u16::from_be_bytes([high, low]);
        self.last_rtp += u64::from(number.wrapping_sub(self.last_rtp as u16));
        self.last_rtp
    }
}

impl Recorder<Cargo> for PacketRecorder {
    fn handle_packet(&mut self, id: u64, from: Port, size: DataSize, cargo: &Cargo) {
        debug_assert_eq!(id, self.entries.len() as u64);
        let (datagram, control, sequence) = match &cargo.body {
            Body::Datagram(bytes) => (true, false, self.flows[usize::from(cargo.flow)].extend(bytes)),
            Body::Session(channel, bytes) => {
                (true, *channel == Channel::Control, video_sequence(bytes).map_or(NO_SEQUENCE, u64::from))
            }
            Body::Segment(segment) => (false, false, segment.sequence),
        };
        self.entries.push(Entry {
            flow: cargo.flow,
            from,
            datagram,
            control,
            size: size.as_bytes() as u32,
            payload: cargo.payload,
            sequence,
            sniffed: 0,
            counted: false,
        });
    }

    fn handle_hop(&mut self, hop: HopRecord) {
        let entry = &mut self.entries[hop.packet.0 as usize];
        if hop.hop == Hop::SenderDevice && hop.from == Port::Sender {
            let flow = &mut self.flows[usize::from(entry.flow)];
            flow.transmissions.add(hop.transmissions.len());
            flow.crossed_device = true;
            entry.counted = true;
        }
        if self.keep_all || matches!(hop.outcome, Outcome::Dropped(_)) {
            self.hops.push(hop);
        }
    }

    fn handle_sniffed(&mut self, frame: SniffedFrame) {
        self.entries[frame.packet.0 as usize].sniffed += 1;
    }
}
