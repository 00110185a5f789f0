//! From a lane's packet log to the packet table of each flow.

use framewire_emu::{Headers, PacketLog, Protocol};
use framewire_link::{DropCause, Hop, HopRecord, Outcome, Port};
use framewire_probe::record::{PacketRecord, Place, ReleaseRecord};

/// Tells the packets of one flow by its port, and extends their sequence numbers.
pub struct FlowPackets {
    port: u16,
    sniffed: bool,
    forward: Extender,
    backward: Extender,
    /// Verdicts, hop by hop.
    pub records: Vec<PacketRecord>,
    /// Releases of the network.
    pub releases: Vec<ReleaseRecord>,
}

impl FlowPackets {
    /// An empty table for the flow on `port`; `sniffed` says whether the scenario has a sniffer.
    pub fn new(port: u16, sniffed: bool) -> Self {
        Self {
            port,
            sniffed,
            forward: Extender::default(),
            backward: Extender::default(),
            records: Vec::new(),
            releases: Vec::new(),
        }
    }

    /// True when the packet belongs to this flow: the receiver's port is the flow's.
    pub fn owns(&self, packet: &PacketLog) -> bool {
        match packet.from {
            Port::Sender => packet.headers.destination_port == self.port,
            Port::Receiver => packet.headers.source_port == self.port,
        }
    }

    /// Adds a packet. Packets come in the order in which they entered the network.
    pub fn add(&mut self, packet: &PacketLog) {
        let extender = if packet.from == Port::Sender { &mut self.forward } else { &mut self.backward };
        let sequence = extender.extend(&packet.headers);
        self.records.extend(packet.hops.iter().map(|hop| record(packet, hop, sequence, self.sniffed)));
        self.releases.extend(packet.delivered.map(|release| ReleaseRecord {
            packet: packet.id.0,
            intended: release.intended,
            actual: release.actual,
        }));
    }
}

fn record(packet: &PacketLog, hop: &HopRecord, sequence: Option<u64>, sniffed: bool) -> PacketRecord {
    let wireless = matches!(hop.hop, Hop::SenderDevice | Hop::AccessPoint);
    PacketRecord {
        packet: packet.id.0,
        forward: packet.from == Port::Sender,
        protocol: match packet.headers.protocol {
            Protocol::Udp => "udp",
            Protocol::Tcp => "tcp",
            Protocol::Other(_) => "other",
        },
        size: packet.size,
        sequence,
        payload: packet.headers.payload,
        hop: match hop.hop {
            Hop::SenderDevice => "sender-device",
            Hop::AccessPoint => "access-point",
            Hop::Bottleneck => "bottleneck",
            Hop::Wire => "wire",
        },
        enqueued: hop.enqueued,
        started: hop.started,
        finished: hop.finished,
        transmissions: hop.transmissions.clone(),
        dropped: match hop.outcome {
            Outcome::Delivered => None,
            Outcome::Dropped(cause) => Some(place_and_cause(hop.hop, cause)),
        },
        clamped: hop.clamped,
        sniffed: (sniffed && wireless).then_some(packet.sniffed),
    }
}

/// Where, in the thesis' five places, a drop on a hop happened.
fn place_and_cause(hop: Hop, cause: DropCause) -> (Place, &'static str) {
    match (cause, hop) {
        (DropCause::QueueFull, Hop::SenderDevice) => (Place::SenderSocket, "queue full"),
        (DropCause::QueueFull, _) => (Place::IntermediateQueue, "queue full"),
        (DropCause::RetryLimit, _) => (Place::Link, "retry limit"),
        (DropCause::RandomLoss, _) => (Place::Link, "random loss"),
        (DropCause::Outage, _) => (Place::Link, "outage"),
    }
}

/// Extends the sequence numbers of one direction to 64 bits.
#[derive(Default)]
struct Extender {
    last: Option<u64>,
    first_tcp: Option<u32>,
}

impl Extender {
    /// RTP numbers count from 0, the lab's initial number; TCP numbers from the first one seen.
    fn extend(&mut self, headers: &Headers) -> Option<u64> {
        match (headers.rtp_sequence, headers.tcp_sequence) {
            (Some(number), _) => Some(self.nearest(u64::from(number), 1 << 16)),
            (None, Some(number)) => {
                let first = *self.first_tcp.get_or_insert(number);
                Some(self.nearest(u64::from(number.wrapping_sub(first)), 1 << 32))
            }
            (None, None) => None,
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
    use super::*;

    #[test]
    fn numbers_extend_over_the_wrap_and_back() {
        let mut extender = Extender::default();
        let extended: Vec<u64> =
            [0, 40_000, 65_535, 0, 65_534, 1, 30_000].map(|number| extender.nearest(number, 1 << 16)).to_vec();
        assert_eq!(extended, [0, 40_000, 65_535, 65_536, 65_534, 65_537, 95_536]);
    }

    #[test]
    fn a_drop_names_one_of_the_five_places() {
        assert_eq!(place_and_cause(Hop::SenderDevice, DropCause::QueueFull).0, Place::SenderSocket);
        assert_eq!(place_and_cause(Hop::AccessPoint, DropCause::QueueFull).0, Place::IntermediateQueue);
        assert_eq!(place_and_cause(Hop::SenderDevice, DropCause::RetryLimit).0, Place::Link);
    }
}
