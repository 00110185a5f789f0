//! What a lane does when a pump thread looks after it.

use std::sync::Arc;

use bytes::Bytes;
use framewire_link::{HopRecord, NetworkEvent, NodeId, Outcome, Packet, PacketId};
use framewire_units::{DataSize, Duration, Ecn, Timestamp};

use super::agenda::{Action, Agenda};
use super::congestion;
use super::headers::Headers;
use super::in_flight::{Held, HeldPackets};
use super::live::Live;
use super::log::{LOGGED_AT_MOST, PacketLog, Release};
use super::topology::{HubPort, forward_header};
use super::window::LogWindow;
use super::writer::LogBuffer;
use crate::Clock;
use crate::capture::CaptureBuffer;
use crate::kernel::nfqueue::{HeldId, PacketQueue, READ_BATCH};
use crate::kernel::packet_ring::{ETHERNET_HEADER, SEND_BATCH};
use crate::model::{LinkModel, other_end};

/// Packets taken from each end at a time, so that what is due is not kept waiting by what comes in.
const INTAKE: usize = READ_BATCH;

/// How far the model's clock stays behind the present. An arrival that is seen within this time is still in order,
/// and is not moved. On an 802.11 medium nothing happens sooner than 200 us after the moment for which it is settled; a
/// wire whose queue is settled at departures delivers a transmission and the propagation delay after it, which is late
/// by the rest where it is less than this.
const SETTLING_LAG: Duration = Duration::from_micros(100);

/// Packets under way at most, in number: 10 s of 100,000 per second. What exceeds it is given up and counted, so that
/// memory stays bounded whatever the model and the hosts do.
const HELD_AT_MOST: usize = 1_000_000;

/// A packet that has just come into the network.
struct Arrival {
    at: Timestamp,
    from: NodeId,
    frame: Bytes,
    gate: Option<HeldId>,
}

/// A packet that is due now.
struct DuePacket {
    id: PacketId,
    intended: Timestamp,
    frame: Bytes,
}

/// Things that went wrong beyond the model; each spoils the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaneFaults {
    /// Frames that a device refused to send.
    pub(crate) refused: u64,
    /// Datagrams larger than the MTU, which a local bottleneck cannot carry.
    pub(crate) oversized: u64,
    /// Verdicts that the kernel did not take.
    pub(crate) verdict_errors: u64,
    /// Packets that were given up because too many were under way.
    pub(crate) overflowed: u64,
    /// Packets that the log had no room for.
    pub(crate) not_logged: u64,
}

/// Everything of a lane that changes while it runs. Its holder steps the whole lane.
pub(crate) struct LaneState {
    clock: Clock,
    model: Box<dyn LinkModel>,
    mtu: u16,
    pub(crate) queue: Option<PacketQueue>,
    held: HeldPackets,
    agenda: Agenda,
    packets: LogWindow,
    log: LogBuffer,
    pub(crate) faults: LaneFaults,
    capture: Option<CaptureBuffer>,
    live: Arc<Live>,
    arrivals: Vec<Arrival>,
    due: [Vec<DuePacket>; 2],
    freed: Vec<(PacketId, Timestamp)>,
}

impl LaneState {
    pub(crate) fn new(
        clock: Clock,
        model: Box<dyn LinkModel>,
        mtu: u16,
        queue: Option<PacketQueue>,
        log: LogBuffer,
        capture: Option<CaptureBuffer>,
        live: Arc<Live>,
    ) -> Self {
        Self {
            clock,
            model,
            mtu,
            queue,
            held: HeldPackets::default(),
            agenda: Agenda::default(),
            packets: LogWindow::new(),
            log,
            faults: LaneFaults::default(),
            capture,
            live,
            arrivals: Vec::new(),
            due: [Vec::new(), Vec::new()],
            freed: Vec::new(),
        }
    }

    /// Takes in what came, lets the model decide, releases what is due, until nothing is left to do now. Returns when
    /// there will be.
    pub(crate) fn step(&mut self, hub_ports: &[HubPort; 2]) -> Timestamp {
        loop {
            let taken = self.take_in(hub_ports);
            self.settle();
            let released = self.release(hub_ports);
            if taken < INTAKE && !released {
                break;
            }
        }
        if let Some(capture) = &mut self.capture {
            capture.hand_over();
        }
        self.log.hand_over(self.packets.known());
        self.next_deadline()
    }

    /// When something is to be done next; never, if only a packet can change something.
    fn next_deadline(&self) -> Timestamp {
        let settling = self.model.next_timeout().map(|at| at + SETTLING_LAG + Duration::from_nanos(1));
        [settling, self.agenda.next()].into_iter().flatten().min().unwrap_or(Timestamp::MAX)
    }

    /// Reads packets from both hosts and gives them to the model in the order of their stamps. Returns how many came
    /// from the busiest of the sources.
    fn take_in(&mut self, hub_ports: &[HubPort; 2]) -> usize {
        let offset = Clock::realtime_offset();
        let Self { clock, arrivals, queue, faults, mtu, .. } = self;
        let mut busiest = 0;
        for (hub_port, from) in hub_ports.iter().zip([NodeId::SENDER, NodeId::RECEIVER]) {
            let count = hub_port.ring.read(INTAKE, |stamp, frame| {
                let at = clock.from_realtime(stamp, offset);
                arrivals.push(Arrival { at, from, frame: Bytes::copy_from_slice(frame), gate: None });
            });
            busiest = busiest.max(count);
        }
        if let Some(queue) = queue {
            let at = clock.now();
            let mut refused = Vec::new();
            let count = queue.read(|id, datagram| {
                if datagram.len() > usize::from(*mtu) {
                    refused.push(id);
                    return;
                }
                let frame = [forward_header().as_slice(), datagram].concat().into();
                arrivals.push(Arrival { at, from: NodeId::SENDER, frame, gate: Some(id) });
            });
            faults.oversized += refused.len() as u64;
            refused.into_iter().for_each(|id| queue.free(id));
            busiest = busiest.max(count);
        }
        let mut arrivals = std::mem::take(&mut self.arrivals);
        arrivals.sort_by_key(|arrival| arrival.at);
        let now = self.clock.now();
        for arrival in arrivals.drain(..) {
            self.admit(now, arrival);
        }
        self.arrivals = arrivals;
        busiest
    }

    fn admit(&mut self, now: Timestamp, arrival: Arrival) {
        let Arrival { at, from, frame, gate } = arrival;
        let size = frame.len().saturating_sub(ETHERNET_HEADER);
        if let Some(capture) = &mut self.capture {
            capture.add(from, at, &frame);
        }
        if self.held.len() >= HELD_AT_MOST {
            self.faults.overflowed += 1;
            if let (Some(queue), Some(gate)) = (&mut self.queue, gate) {
                queue.free(gate);
            }
            return;
        }
        let datagram = frame.get(ETHERNET_HEADER..).unwrap_or(&[]);
        let headers = Headers::parse(datagram);
        let (ecn, flow) = (congestion::field_of(datagram), congestion::connection_of(datagram));
        let id = self.held.insert(Held { frame, from, gate, release_due: false, done: false });
        self.live.arrived(from);
        if self.packets.count() < LOGGED_AT_MOST {
            self.packets.push(PacketLog {
                id,
                from,
                arrived: at,
                size: size as u32,
                headers,
                hops: Vec::new(),
                delivered: None,
                released: None,
                sniffed: 0,
            });
        } else {
            self.faults.not_logged += 1;
        }
        let packet = Packet { ecn, flow, to: other_end(from), ..Packet::new(id, DataSize::from_bytes(size as u64)) };
        self.model.handle_packet(now, at, from, packet);
        self.drain_model();
    }

    /// Moves the model's clock on if it has something to settle.
    fn settle(&mut self) {
        let horizon = self.clock.now() - SETTLING_LAG;
        if self.model.next_timeout().is_some_and(|at| at < horizon) {
            self.model.handle_timeout(horizon);
            self.drain_model();
        }
    }

    fn drain_model(&mut self) {
        while let Some(event) = self.model.poll_event() {
            match event {
                NetworkEvent::Deliver { packet, at } => {
                    self.mark(packet.id, packet.ecn);
                    self.agenda.add(at, Action::Deliver(packet.id, packet.to));
                }
                NetworkEvent::Released { packet, at } => self.plan_release(packet, at),
                NetworkEvent::Hop { record, last } => self.note_hop(record, last),
                NetworkEvent::Sniffed(frame) => {
                    if let Some(log) = self.packets.get_mut(frame.packet) {
                        log.sniffed = log.sniffed.saturating_add(1);
                    }
                }
            }
        }
    }

    /// The copy says what the queues on the way said.
    fn mark(&mut self, packet: PacketId, ecn: Ecn) {
        if ecn != Ecn::Ce {
            return;
        }
        let Some(held) = self.held.get_mut(packet) else { return };
        let datagram = held.frame.get(ETHERNET_HEADER..).unwrap_or(&[]);
        if congestion::field_of(datagram) != Ecn::Ce {
            let mut frame = held.frame.to_vec();
            congestion::mark(&mut frame[ETHERNET_HEADER..]);
            held.frame = frame.into();
        }
    }

    fn plan_release(&mut self, packet: PacketId, at: Timestamp) {
        let Some(held) = self.held.get_mut(packet) else { return };
        if held.gate.is_some() && !held.release_due {
            held.release_due = true;
            self.agenda.add(at, Action::Release(packet));
        }
    }

    fn note_hop(&mut self, record: HopRecord, last: bool) {
        if let Outcome::Dropped(_) = record.outcome
            && let Some(held) = self.held.get_mut(record.packet)
        {
            held.done = true;
            self.live.dropped(held.from);
            self.forget_if_finished(record.packet);
        }
        self.packets.note_hop(record, last);
    }

    /// Releases one batch of what is due; false when nothing was.
    fn release(&mut self, hub_ports: &[HubPort; 2]) -> bool {
        let now = self.clock.now();
        let mut count = 0;
        while count < SEND_BATCH
            && let Some((intended, action)) = self.agenda.pop_due(now)
        {
            match action {
                Action::Release(id) => self.freed.push((id, intended)),
                Action::Deliver(id, to) => {
                    if let Some(held) = self.held.get_mut(id) {
                        let frame = std::mem::take(&mut held.frame);
                        self.due[plug_number(to)].push(DuePacket { id, intended, frame });
                    }
                }
            }
            count += 1;
        }
        self.free_originals();
        for to in [NodeId::RECEIVER, NodeId::SENDER] {
            self.deliver(to, &hub_ports[plug_number(to)]);
        }
        count > 0
    }

    /// Lets the kernel free the originals that left the sender's device.
    fn free_originals(&mut self) {
        let Some(queue) = &mut self.queue else { return };
        for &(id, _) in &self.freed {
            if let Some(gate) = self.held.get_mut(id).and_then(|held| held.gate.take()) {
                queue.free(gate);
            }
        }
        if queue.flush().is_err() {
            self.faults.verdict_errors += 1;
        }
        let actual = self.clock.now();
        let mut freed = std::mem::take(&mut self.freed);
        for (id, intended) in freed.drain(..) {
            if let Some(log) = self.packets.get_mut(id) {
                log.released = Some(Release { intended, actual });
            }
            self.forget_if_finished(id);
        }
        self.freed = freed;
    }

    /// Writes the batch to a host's wire.
    fn deliver(&mut self, to: NodeId, hub_port: &HubPort) {
        let mut batch = std::mem::take(&mut self.due[plug_number(to)]);
        if !batch.is_empty() {
            let sent = hub_port.ring.send(batch.iter().map(|packet| &packet.frame[..]));
            self.faults.refused += sent.refused;
            // The stamp of the whole batch is taken after its last frame, so that no error looks smaller than it is.
            let actual = self.clock.now();
            for packet in batch.drain(..) {
                self.note_delivery(to, packet, actual);
            }
        }
        self.due[plug_number(to)] = batch;
    }

    fn note_delivery(&mut self, to: NodeId, packet: DuePacket, actual: Timestamp) {
        let DuePacket { id, intended, frame } = packet;
        if let Some(log) = self.packets.get_mut(id) {
            log.delivered = Some(Release { intended, actual });
        }
        self.live.delivered(other_end(to), frame.len().saturating_sub(ETHERNET_HEADER) as u64);
        if let Some(capture) = &mut self.capture {
            capture.add(to, actual, &frame);
        }
        if let Some(held) = self.held.get_mut(id) {
            held.done = true;
        }
        self.forget_if_finished(id);
    }

    fn forget_if_finished(&mut self, id: PacketId) {
        if self.held.forget_if_finished(id) {
            self.packets.settle(id);
            self.live.settled(self.held.oldest());
        }
    }

    /// Lets the writers of the capture and of the log end.
    pub(crate) fn end_recording(&mut self) {
        self.capture = None;
        self.log.finish(self.packets.take_all());
    }
}

/// The number of the hub_port at which a host hangs.
pub(crate) fn plug_number(port: NodeId) -> usize {
    usize::from(port == NodeId::RECEIVER)
}
