//! The loop: one network, its packets, and the flows that own them.

use framewire_link::{Network, Port};
use framewire_units::{Duration, Timestamp};

use super::adaptive::Adaptive;
use super::bulk::Bulk;
use super::meter::Meter;
use super::outcome::{FlowOutcome, KindOutcome, StreamingOutcome};
use super::wires::{Body, Cargo, SharedWires, Tally};
use super::{FlowConfig, FlowKind, StreamingExperiment};
use crate::error::SimError;
use crate::experiment::driver::is_local;
use crate::wires::{WireEvent, Wires};

/// Flows and their network.
///
/// At one time packets come first, in the order of [`Wires`], then what flows do by themselves, in the order of their
/// numbers: their clocks do not tick together, because each flow begins at a time of its own.
pub(super) struct Driver {
    wires: SharedWires,
    flows: Vec<Flow>,
    /// When each flow has something to do by itself: known without asking it.
    deadlines: Vec<Timestamp>,
    end: Timestamp,
}

/// A flow and what is counted of it.
struct Flow {
    start: Timestamp,
    role: Role,
    received: Meter,
    goodput: Meter,
    delay: Duration,
}

/// Both halves of a flow.
enum Role {
    Bulk(Box<Bulk>),
    Adaptive(Box<Adaptive>),
}

impl Driver {
    pub(super) fn new(experiment: StreamingExperiment, network: Network) -> Result<Self, SimError> {
        let StreamingExperiment { network: config, flows, duration, seed, interval, clocks } = experiment;
        let wires = Wires::new(network, is_local(&config), Tally::new(flows.len()));
        let flow = |(number, FlowConfig { start, kind })| {
            let role = match kind {
                FlowKind::Bulk(bulk) => Role::Bulk(Box::new(Bulk::new(number, &bulk, start, seed))),
                FlowKind::Adaptive(flow) => {
                    Role::Adaptive(Box::new(Adaptive::new(number, *flow, start, interval, clocks)?))
                }
            };
            let (received, goodput) = (Meter::new(interval), Meter::new(interval));
            Ok(Flow { start, role, received, goodput, delay: Duration::ZERO })
        };
        let flows = (0..).zip(flows).map(flow).collect::<Result<Vec<Flow>, SimError>>()?;
        let deadlines = flows.iter().map(Flow::next_timeout).collect();
        Ok(Self { wires, flows, deadlines, end: Timestamp::ZERO + duration })
    }

    pub(super) fn run(mut self) -> StreamingOutcome {
        let mut now = self.next();
        while now < self.end {
            self.step(now);
            now = self.next().max(now);
        }
        let tally = &self.wires.recorder;
        let flows = self.flows.into_iter().enumerate().map(|(number, flow)| flow.into_outcome(number, tally)).collect();
        StreamingOutcome { flows, end: self.end }
    }

    fn next(&mut self) -> Timestamp {
        let flows = self.deadlines.iter().min().copied().unwrap_or(Timestamp::MAX);
        self.wires.next().unwrap_or(Timestamp::MAX).min(flows)
    }

    fn step(&mut self, now: Timestamp) {
        self.wires.settle(now);
        while let Some(event) = self.wires.poll(now) {
            self.handle_wire_event(now, event);
        }
        for number in 0..self.flows.len() {
            if self.deadlines[number] <= now {
                self.flows[number].handle_timeout(now, &mut self.wires);
                self.deadlines[number] = self.flows[number].next_timeout();
            }
        }
    }

    fn handle_wire_event(&mut self, now: Timestamp, event: WireEvent) {
        let (WireEvent::Released(id) | WireEvent::Delivered(id, _)) = event;
        let cargo = self.wires.cargo(id);
        let number = usize::from(cargo.flow);
        match event {
            WireEvent::Released(_) => {
                let payload = cargo.payload;
                self.wires.finish_release(id);
                self.flows[number].handle_released(now, payload, &mut self.wires);
            }
            WireEvent::Delivered(_, to) => {
                let packet = cargo.take();
                self.wires.finish(id);
                if to == Port::Receiver {
                    self.wires.recorder.handle_delivery(number);
                    self.flows[number].count(now, &packet);
                }
                self.flows[number].handle_packet(now, to, packet.body, &mut self.wires);
            }
        }
        self.deadlines[number] = self.flows[number].next_timeout();
    }
}

impl Flow {
    fn next_timeout(&self) -> Timestamp {
        match &self.role {
            Role::Bulk(bulk) => bulk.next_timeout(),
            Role::Adaptive(adaptive) => adaptive.next_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Timestamp, wires: &mut SharedWires) {
        match &mut self.role {
            Role::Bulk(bulk) => bulk.handle_timeout(now, wires),
            Role::Adaptive(adaptive) => adaptive.handle_timeout(now, wires),
        }
    }

    fn handle_released(&mut self, now: Timestamp, payload: u32, wires: &mut SharedWires) {
        match &mut self.role {
            Role::Bulk(bulk) => bulk.handle_released(now, payload, wires),
            // Its sockets never block.
            Role::Adaptive(_) => {}
        }
    }

    fn handle_packet(&mut self, now: Timestamp, to: Port, body: Body, wires: &mut SharedWires) {
        match (&mut self.role, body) {
            (Role::Bulk(bulk), Body::Segment(segment)) => {
                let read = bulk.handle_segment(now, to, &segment, wires);
                self.goodput.add(now, read);
            }
            (Role::Adaptive(adaptive), Body::Datagram(channel, bytes)) => {
                let video = adaptive.handle_datagram(now, to, channel, &bytes, wires);
                self.goodput.add(now, video);
            }
            // No flow sends what is not its kind, and what came out comes out once.
            (Role::Bulk(_) | Role::Adaptive(_), _) => {}
        }
    }

    /// A packet has come out at the receiver.
    fn count(&mut self, now: Timestamp, packet: &Cargo) {
        self.received.add(now, packet.size);
        self.delay += now.saturating_since(packet.sent);
    }

    fn into_outcome(self, number: usize, tally: &Tally) -> FlowOutcome {
        let packets = tally.of(number);
        let nanos = self.delay.as_nanos() / u128::from(packets.delivered.max(1));
        FlowOutcome {
            start: self.start,
            received: self.received,
            goodput: self.goodput,
            packets,
            forward_delay: Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)),
            kind: match self.role {
                Role::Bulk(bulk) => KindOutcome::Bulk(Box::new(bulk.into_outcome())),
                Role::Adaptive(adaptive) => KindOutcome::Adaptive(Box::new(adaptive.into_outcome())),
            },
        }
    }
}
