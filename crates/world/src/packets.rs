//! From what a network said of packets to the packet table of each flow.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use framewire_link::{HopRecord, Outcome, PacketId};
use framewire_recording::record::{FIRST_OF_SOUND, PacketRecord, ReleaseRecord};
use framewire_recording::spool::Spool;

use crate::groups::sound_port;
use crate::hops::HopNames;

/// A packet as every world can describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketDescription {
    /// Its number in its network.
    pub id: PacketId,
    /// It goes from the flow's sender to its receiver.
    pub forward: bool,
    /// `"udp"`, `"tcp"` or `"other"`.
    pub protocol: &'static str,
    /// Source port; 0 where there is none.
    pub source_port: u16,
    /// Destination port; 0 where there is none.
    pub destination_port: u16,
    /// Bytes of the IP datagram.
    pub size: u32,
    /// Bytes above UDP or TCP.
    pub payload: u32,
    /// Its place in its flow's direction.
    pub sequence: Sequence,
    /// Transmissions that the sniffer captured; 0 also without a sniffer.
    pub sniffed: u16,
}

/// A sequence number as a packet carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// It has none.
    None,
    /// Of RTP (RFC 3550, 5.1).
    Rtp(u16),
    /// The clock reference of a transport stream's datagram, in ticks of 27 MHz, which wraps (ISO/IEC 13818-1, 2.4.2.1).
    Clock(u64),
    /// Of TCP (RFC 9293, 3.4), counted from the first one seen.
    Tcp(u32),
    /// Of a simulated TCP, which counts from 0 and never wraps.
    Unbounded(u64),
}

/// Where clock references wrap: a base of 33 bits, and an extension up to 299 (ISO/IEC 13818-1, 2.4.3.5).
const CLOCK_WRAP: u64 = 300 << 33;

/// Tells the packets of one flow by its port, and extends the sequence numbers of each of its connections.
#[derive(Debug)]
pub struct FlowPackets {
    port: u16,
    hops: HopNames,
    sniffed: bool,
    /// With which sequence numbers of RTP its movie and its sound begin.
    first_sequences: [u16; 2],
    /// By protocol, source and destination port.
    extenders: BTreeMap<(&'static str, u16, u16), Extender>,
    has_clock_references: bool,
    /// Verdicts, hop by hop.
    pub records: Spool<PacketRecord>,
    /// Releases of the network.
    pub releases: Spool<ReleaseRecord>,
}

impl FlowPackets {
    /// An empty table for the flow on `port`; `sniffed` says whether the scenario has a sniffer. A table too long for
    /// the memory goes to `scratch`, a directory, or to that of the system's temporary files.
    pub fn new(port: u16, sniffed: bool, scratch: Option<&Arc<Path>>) -> Self {
        let extenders = BTreeMap::new();
        let (records, releases) = (Spool::in_directory(scratch.cloned()), Spool::in_directory(scratch.cloned()));
        let hops = HopNames::default();
        Self { port, hops, sniffed, first_sequences: [0; 2], extenders, has_clock_references: false, records, releases }
    }

    /// The same of a flow whose packets of RTP begin with these numbers, of the movie and of the sound: they are counted from there.
    #[must_use]
    pub fn beginning_with(self, first_sequences: [u16; 2]) -> Self {
        Self { first_sequences, ..self }
    }

    /// The same in a network whose links have these names.
    #[must_use]
    pub fn with_hops(self, hops: HopNames) -> Self {
        Self { hops, ..self }
    }

    /// Whether a packet came whose place is given by a clock reference ([`Sequence::Clock`]).
    pub fn has_clock_references(&self) -> bool {
        self.has_clock_references
    }

    /// True when the packet belongs to this flow: at one of its ends is the flow's port or that of its sound, or the next one
    /// up of either, which is that of RTCP (RFC 3550, section 11). Which end listens is up to the application.
    pub fn owns(&self, packet: &PacketDescription) -> bool {
        Self::is_at(packet, self.port) || Self::is_at(packet, sound_port(self.port))
    }

    fn is_at(packet: &PacketDescription, first: u16) -> bool {
        [packet.source_port, packet.destination_port].iter().any(|&port| port == first || port == first + 1)
    }

    /// Adds a packet with the verdict of every hop that it entered. Packets come in the order in which they entered
    /// the network.
    pub fn add(&mut self, packet: &PacketDescription, hops: &[HopRecord]) {
        let records = self.records_of(packet, hops);
        self.records.extend(records);
    }

    /// The rows of a packet, in the order of its hops; they are not added.
    pub fn records_of<'a>(
        &mut self,
        packet: &'a PacketDescription,
        hops: &'a [HopRecord],
    ) -> impl Iterator<Item = PacketRecord> + use<'a> {
        let extender =
            self.extenders.entry((packet.protocol, packet.source_port, packet.destination_port)).or_default();
        // What a simulation counts it numbers so itself.
        let is_sound = matches!(packet.sequence, Sequence::Rtp(_)) && Self::is_at(packet, sound_port(self.port));
        let first = self.first_sequences[usize::from(is_sound)];
        let (sequence, sniffed) = (extender.extend(packet.sequence, first), self.sniffed);
        self.has_clock_references |= matches!(packet.sequence, Sequence::Clock(_));
        let sequence = sequence.map(|number| if is_sound { FIRST_OF_SOUND + number } else { number });
        let names = self.hops.clone();
        hops.iter().map(move |hop| record(&names, packet, hop, sequence, sniffed))
    }
}

fn record(
    names: &HopNames,
    packet: &PacketDescription,
    hop: &HopRecord,
    sequence: Option<u64>,
    sniffed: bool,
) -> PacketRecord {
    PacketRecord {
        packet: packet.id.0,
        forward: packet.forward,
        protocol: packet.protocol,
        size: packet.size,
        sequence,
        payload: packet.payload,
        hop: names.name(hop.hop),
        enqueued: hop.enqueued,
        started: hop.started,
        finished: hop.finished,
        transmissions: hop.transmissions.to_vec(),
        dropped: match hop.outcome {
            Outcome::Delivered => None,
            Outcome::Dropped(cause) => Some(names.place_and_cause(hop.hop, cause)),
        },
        marked: hop.marked,
        clamped: hop.clamped,
        sniffed: (sniffed && names.is_wireless(hop.hop)).then_some(packet.sniffed),
    }
}

/// Extends the sequence numbers of one direction to 64 bits.
#[derive(Debug, Default)]
struct Extender {
    last: Option<u64>,
    first_tcp: Option<u32>,
}

impl Extender {
    /// RTP numbers count from the flow's first one; TCP numbers from the first one seen.
    fn extend(&mut self, sequence: Sequence, first_of_rtp: u16) -> Option<u64> {
        match sequence {
            Sequence::None => None,
            Sequence::Unbounded(number) => Some(number),
            Sequence::Rtp(number) => Some(self.nearest(u64::from(number.wrapping_sub(first_of_rtp)), 1 << 16)),
            Sequence::Clock(reference) => Some(self.nearest(reference, CLOCK_WRAP)),
            Sequence::Tcp(number) => {
                let first = *self.first_tcp.get_or_insert(number);
                Some(self.nearest(u64::from(number.wrapping_sub(first)), 1 << 32))
            }
        }
    }

    /// The number congruent to `number` that is nearest to the last one (RFC 3550, A.1; RFC 9293, 3.4).
    fn nearest(&mut self, number: u64, modulus: u64) -> u64 {
        let last = self.last.unwrap_or(0);
        let base = last - last % modulus + number;
        let candidates = [base.checked_sub(modulus), Some(base), base.checked_add(modulus)];
        let nearest = candidates.into_iter().flatten().min_by_key(|candidate| candidate.abs_diff(last));
        let extended = nearest.expect("invariant: the middle candidate exists");
        self.last = Some(extended);
        extended
    }
}

#[cfg(test)]
mod tests {
    use framewire_link::{DropCause, Hop};
    use framewire_recording::record::LossPlace;
    use framewire_units::{DataSize, Timestamp};

    use super::*;

    fn hop(packet: u64) -> HopRecord {
        HopRecord {
            packet: PacketId(packet),
            size: DataSize::from_bytes(100),
            hop: Hop::Bottleneck,
            enqueued: Timestamp::ZERO,
            started: None,
            finished: Timestamp::ZERO,
            transmissions: Default::default(),
            marked: false,
            outcome: Outcome::Delivered,
            clamped: false,
        }
    }

    #[test]
    fn numbers_extend_over_the_wrap_and_back() {
        let mut extender = Extender::default();
        let extended: Vec<u64> =
            [0, 40_000, 65_535, 0, 65_534, 1, 30_000].map(|number| extender.nearest(number, 1 << 16)).to_vec();
        assert_eq!(extended, [0, 40_000, 65_535, 65_536, 65_534, 65_537, 95_536]);
    }

    #[test]
    fn a_drop_names_one_of_the_five_places() {
        let of = |hop, cause| HopNames::default().place_and_cause(hop, cause).0;
        assert_eq!(of(Hop::SenderDevice, DropCause::QueueFull), LossPlace::SenderSocket);
        assert_eq!(of(Hop::AccessPoint, DropCause::QueueFull), LossPlace::IntermediateQueue);
        assert_eq!(of(Hop::SenderDevice, DropCause::ActiveQueueManagement), LossPlace::SenderSocket);
        assert_eq!(of(Hop::Bottleneck, DropCause::ActiveQueueManagement), LossPlace::IntermediateQueue);
        assert_eq!(of(Hop::SenderDevice, DropCause::RetryLimit), LossPlace::Link);
    }

    #[test]
    fn each_connection_counts_from_its_own_first_number() {
        let mut flow = FlowPackets::new(5_004, false, None);
        let hop = hop(0);
        let firsts = [(40_001, u32::MAX - 99), (40_002, 7)];
        for (source_port, number) in firsts.into_iter().chain([(40_001, 400), (40_002, 1_007)]) {
            let sequence = Sequence::Tcp(number);
            flow.add(
                &PacketDescription { protocol: "tcp", sequence, ..packet(true, source_port, 5_004) },
                std::slice::from_ref(&hop),
            );
        }
        let sequences: Vec<_> = flow.records.iter().map(|record| record.sequence.unwrap()).collect();
        assert_eq!(sequences, [0, 0, 500, 1_000]);
    }

    fn packet(forward: bool, source_port: u16, destination_port: u16) -> PacketDescription {
        PacketDescription {
            id: PacketId(0),
            forward,
            protocol: "udp",
            source_port,
            destination_port,
            size: 100,
            payload: 72,
            sequence: Sequence::None,
            sniffed: 0,
        }
    }

    #[test]
    fn packets_are_told_by_the_flows_port_at_either_end() {
        let flow = FlowPackets::new(5_004, false, None);
        for forward in [true, false] {
            assert!(flow.owns(&packet(forward, 9, 5_004)) && flow.owns(&packet(forward, 5_004, 9)));
            assert!(flow.owns(&packet(forward, 40_000, 5_005)), "RTCP");
            assert!(flow.owns(&packet(forward, 40_000, 6_004)) && flow.owns(&packet(forward, 6_005, 6_005)), "sound");
            assert!(!flow.owns(&packet(forward, 5_006, 5_003)), "the next flow's and no flow's");
            assert!(!flow.owns(&packet(forward, 6_006, 6_003)), "the next flow's sound and no flow's");
        }
    }

    #[test]
    fn sound_that_has_packets_for_itself_is_numbered_beyond_those_of_the_movie() {
        let mut flow = FlowPackets::new(5_004, false, None);
        for (number, (port, sequence)) in (0..).zip([
            (5_004, Sequence::Rtp(7)),
            (6_004, Sequence::Rtp(7)),
            (6_005, Sequence::None),
            (6_004, Sequence::Unbounded(9)),
        ]) {
            let packet = PacketDescription { sequence, ..packet(true, port, port) };
            flow.add(&packet, std::slice::from_ref(&hop(number)));
        }
        let sequences: Vec<_> = flow.records.iter().map(|record| record.sequence).collect();
        assert_eq!(sequences, [Some(7), Some(FIRST_OF_SOUND + 7), None, Some(9)]);
    }

    #[test]
    fn numbers_of_rtp_count_from_the_first_one_of_their_stream_over_the_wrap() {
        let mut flow = FlowPackets::new(5_004, false, None).beginning_with([65_534, 7]);
        for (port, number) in [(5_004, 65_534), (5_004, 65_535), (5_004, 1), (5_004, 0), (6_004, 7), (6_004, 9)] {
            let packet = PacketDescription { sequence: Sequence::Rtp(number), ..packet(true, port, port) };
            flow.add(&packet, std::slice::from_ref(&hop(0)));
        }
        let sequences: Vec<_> = flow.records.iter().map(|record| record.sequence.unwrap()).collect();
        assert_eq!(sequences, [0, 1, 3, 2, FIRST_OF_SOUND, FIRST_OF_SOUND + 2]);
    }

    #[test]
    fn clock_references_are_seen_where_they_came() {
        let seen = |sequences: &[Sequence]| {
            let mut flow = FlowPackets::new(5_004, false, None);
            for &sequence in sequences {
                let packet = PacketDescription { sequence, ..packet(true, 5_004, 5_004) };
                flow.add(&packet, std::slice::from_ref(&hop(0)));
            }
            flow.has_clock_references()
        };
        assert!(seen(&[Sequence::None, Sequence::Clock(27_000_000)]));
        assert!(!seen(&[]) && !seen(&[Sequence::Rtp(1), Sequence::Unbounded(2), Sequence::Tcp(3), Sequence::None]));
    }
}
