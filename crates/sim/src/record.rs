//! What is kept of packets: all of it, or only what the ledger and the summary need.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use framewire_link::{Hop, HopRecord, Outcome, PacketId, SniffedFrame};
use framewire_recording::WriteError;
use framewire_recording::record::{AirCounts, FIRST_OF_SOUND, TransmissionCounts};
use framewire_session::half::End;
use framewire_session::{Carries, ChannelSetup};
use framewire_transport::{CLOCK_WRAP, DatagramNumber};
use framewire_units::DataSize;
use framewire_world::{FlowPackets, HopNames, PacketDescription, Sequence, port};

use crate::packet_content::{Body, PacketContent};
use crate::wires::{Recorder, Wires};

/// The network of a simulation of flows.
pub(crate) type FlowWires = Wires<PacketContent, PacketRecorder>;

/// What is known of a packet, from when it enters the network until nothing more is said of it.
#[derive(Debug)]
struct Entry {
    flow: u16,
    from: End,
    datagram: bool,
    /// At both ends.
    port: u16,
    size: u32,
    payload: u32,
    /// Sequence number of RTP, of an adaptive stream's video or of TCP, from 0, without wrap; all ones where there is none.
    sequence: u64,
    sniffed: u16,
    /// It crossed the hop whose transmissions the summary counts.
    counted: bool,
    /// Nothing more is said of it.
    settled: bool,
    /// Verdicts that are kept, in the order in which they were given.
    hops: Vec<HopRecord>,
}

const NO_SEQUENCE: u64 = u64::MAX;

/// What is to be recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    /// Keep the verdicts of all packets, for the packet table.
    pub(crate) keep_all: bool,
    /// The network records deliveries too.
    pub(crate) deliveries: bool,
    /// There is a sniffer.
    pub(crate) sniffed: bool,
    /// Where a table too long for the memory goes.
    pub(crate) scratch: Option<Arc<Path>>,
    /// What the hops are called.
    pub(crate) hops: HopNames,
}

/// Keeps the verdicts of all packets, or of those that were dropped: a ledger is the same either way, because what was
/// neither dropped nor received was cut off by the end of the run.
///
/// Packets are held while something may still be said of them, and go to their flows' tables in the order of their
/// numbers.
pub(crate) struct PacketRecorder {
    recording: Recording,
    /// Number of the first packet that is held.
    first: u64,
    held: VecDeque<Entry>,
    flows: Vec<FlowRecord>,
}

/// What is kept per flow.
#[derive(Debug)]
struct FlowRecord {
    port: u16,
    channels: Vec<ChannelSetup>,
    /// With which sequence numbers of RTP its movie and its sound begin.
    first_sequences: [u16; 2],
    last_number: u64,
    last_of_sound: u64,
    transmissions: TransmissionCounts,
    captured: TransmissionCounts,
    crossed_device: bool,
    table: FlowPackets,
}

impl PacketRecorder {
    /// A recorder for flows with these channels, of a bulk flow none, and these first sequence numbers of RTP.
    pub(crate) fn new(recording: Recording, flows: Vec<(Vec<ChannelSetup>, [u16; 2])>) -> Self {
        let flow = |(number, (channels, first_sequences))| FlowRecord {
            port: port(number),
            channels,
            first_sequences,
            last_number: 0,
            last_of_sound: 0,
            transmissions: TransmissionCounts::default(),
            captured: TransmissionCounts::default(),
            crossed_device: false,
            table: FlowPackets::new(port(number), recording.sniffed, recording.scratch.as_ref())
                .with_hops(recording.hops.clone()),
        };
        let flows = flows.into_iter().enumerate().map(flow).collect();
        Self { recording, first: 0, held: VecDeque::new(), flows }
    }

    /// Number of packets that entered the network.
    pub(crate) fn packets(&self) -> u64 {
        self.first + self.held.len() as u64
    }

    /// The packet tables of the flows, and what was counted for each.
    pub(crate) fn into_tables(mut self) -> Vec<(FlowPackets, Option<AirCounts>)> {
        // The end of the run settles what was under way.
        while self.keep_first() {}
        let sniffer = self.recording.sniffed;
        let counts = |flow: &FlowRecord| AirCounts {
            transmissions: flow.transmissions,
            sniffed: (sniffer && flow.crossed_device).then_some(flow.captured),
        };
        let flows = self.flows.into_iter().map(|flow| {
            let counts = counts(&flow);
            (flow.table, Some(counts))
        });
        flows.collect()
    }

    /// Why records are missing, if they are.
    pub(crate) fn failure(&self) -> Option<WriteError> {
        self.flows.iter().find_map(|flow| flow.table.records.failure())
    }

    fn entry(&mut self, id: u64) -> &mut Entry {
        let place = id.checked_sub(self.first).and_then(|place| self.held.get_mut(place as usize));
        place.expect("invariant: a network says nothing of a packet after its last record")
    }

    fn settle(&mut self, id: u64) {
        self.entry(id).settled = true;
        while self.held.front().is_some_and(|entry| entry.settled) {
            self.keep_first();
        }
    }

    /// Moves what is kept of the first packet that is held to where it stays; false when none is held.
    fn keep_first(&mut self) -> bool {
        let Some(entry) = self.held.pop_front() else { return false };
        let flow = &mut self.flows[usize::from(entry.flow)];
        if entry.counted {
            flow.captured.add(usize::from(entry.sniffed));
        }
        if !entry.hops.is_empty() {
            flow.table.add(&entry.describe(PacketId(self.first)), &entry.hops);
        }
        self.first += 1;
        true
    }
}

impl Entry {
    fn describe(&self, id: PacketId) -> PacketDescription {
        PacketDescription {
            id,
            forward: self.from == End::Sender,
            protocol: if self.datagram { "udp" } else { "tcp" },
            source_port: self.port,
            destination_port: self.port,
            size: self.size,
            payload: self.payload,
            sequence: if self.sequence == NO_SEQUENCE { Sequence::None } else { Sequence::Unbounded(self.sequence) },
            sniffed: self.sniffed,
        }
    }
}

impl FlowRecord {
    /// What goes on a channel, and at which port that is: of a bulk flow, bytes at its own.
    fn channel(&self, id: u8) -> (Option<Carries>, u16) {
        let channel = self.channels.iter().find(|setup| setup.id.0 == id);
        (channel.map(|setup| setup.carries), self.port + channel.map_or(0, |setup| setup.port))
    }

    /// The RTP sequence number of a datagram (RFC 3550, 5.1) from the stream's first one on, without wrap, or the clock reference of one of a transport
    /// stream. Datagrams are sent in order of it.
    fn extend(&mut self, datagram: &[u8], is_sound: bool) -> u64 {
        let (number, turn) = match DatagramNumber::of(datagram) {
            None => return NO_SEQUENCE,
            Some(DatagramNumber::Rtp(number)) => {
                (number.wrapping_sub(self.first_sequences[usize::from(is_sound)]).into(), 1 << 16)
            }
            Some(DatagramNumber::Clock(reference)) => (reference, CLOCK_WRAP),
        };
        let (last, first) = match is_sound {
            true => (&mut self.last_of_sound, FIRST_OF_SOUND),
            false => (&mut self.last_number, 0),
        };
        *last += (number + turn - *last % turn) % turn;
        first + *last
    }
}

impl Recorder<PacketContent> for PacketRecorder {
    fn handle_packet(&mut self, id: u64, from: End, size: DataSize, content: &PacketContent) {
        debug_assert_eq!(id, self.packets());
        let flow = &mut self.flows[usize::from(content.flow)];
        let (carries, port) = flow.channel(content.connection);
        let (datagram, sequence) = match (&content.body, carries) {
            (Body::Datagram(_, bytes), Some(Carries::Movie)) => (true, flow.extend(bytes, false)),
            (Body::Datagram(_, bytes), Some(Carries::Sound)) => (true, flow.extend(bytes, true)),
            (Body::Datagram(sequence, _), _) => (true, sequence.map_or(NO_SEQUENCE, u64::from)),
            (Body::Segment(segment), _) => (false, segment.sequence),
        };
        self.held.push_back(Entry {
            flow: content.flow,
            from,
            datagram,
            port,
            size: size.as_bytes() as u32,
            payload: content.payload,
            sequence,
            sniffed: 0,
            counted: false,
            settled: false,
            hops: Vec::new(),
        });
    }

    fn handle_hop(&mut self, hop: HopRecord, last: bool) {
        let (id, keep_all) = (hop.packet.0, self.recording.keep_all);
        let entry = self.entry(id);
        // As PacketRecord::counts_transmissions: a packet passes one of the two.
        let crosses_device = matches!(hop.hop, Hop::SenderDevice | Hop::AccessPoint) && entry.from == End::Sender;
        let (number, transmissions) = (usize::from(entry.flow), hop.transmissions.len());
        entry.counted |= crosses_device;
        if keep_all || matches!(hop.outcome, Outcome::Dropped(_)) {
            entry.hops.push(hop);
        }
        if crosses_device {
            let flow = &mut self.flows[number];
            flow.transmissions.add(transmissions);
            flow.crossed_device = true;
        }
        if last {
            self.settle(id);
        }
    }

    fn handle_delivered(&mut self, id: u64) {
        if !self.recording.deliveries {
            self.settle(id);
        }
    }

    fn handle_sniffed(&mut self, frame: SniffedFrame) {
        self.entry(frame.packet.0).sniffed += 1;
    }
}
