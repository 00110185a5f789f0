//! A bulk flow: TCP connections whose application always has data.

use framewire_recording::record::{FlowSample, RateSample};
use framewire_session::BulkSetup;
use framewire_session::half::End;
use framewire_session::lifecycle::{BulkSending, FlowOutcome};
use framewire_tcp::{Segment, TcpConfig};
use framewire_units::{Seed, Timestamp};

use super::connection::tcp_configs;
use crate::bulk::{BulkConnection, SegmentSink};
use crate::error::SimError;
use crate::packet_content::PacketContent;
use crate::record::FlowWires;
use crate::socket::{endpoint_sample, timed_out};
use crate::wires::FlowPath;

/// A bulk flow.
pub(crate) struct BulkFlow {
    number: usize,
    path: FlowPath,
    connections: Vec<BulkConnection>,
    /// When each connection has something to do by itself: asked after each change, because most events are another's.
    timeouts: Vec<Timestamp>,
    /// The first of these.
    first_timeout: Timestamp,
    /// That, or what the application does by itself before.
    deadline: Timestamp,
    /// Bytes that the application of each connection got.
    received: Vec<u64>,
    sending: BulkSending,
    /// Bytes that had been received when the sender's application ended.
    received_by_end: u64,
    over: bool,
}

/// The network, as one connection sends to it.
struct OwnWires<'a> {
    flow: usize,
    path: FlowPath,
    connection: u8,
    wires: &'a mut FlowWires,
}

impl SegmentSink for OwnWires<'_> {
    fn send(&mut self, now: Timestamp, from: End, segment: Segment) {
        let content = PacketContent::segment(self.flow, self.connection, segment);
        self.wires.send(now, from, self.path, content.packet_size(), content);
    }

    fn is_local(&self) -> bool {
        self.path.is_local
    }
}

impl BulkFlow {
    pub(crate) fn new(
        setup: &BulkSetup,
        (number, path): (usize, FlowPath),
        largest_packet: u16,
        seed: impl Fn(usize) -> Seed,
        start_of: impl Fn(usize) -> Timestamp,
    ) -> Result<Self, SimError> {
        let BulkSetup { start, stop, .. } = *setup;
        let (client, server) = tcp_configs(setup.common.name(), &setup.connection, largest_packet, Seed(0))?;
        let connection = |number| {
            let of = |config: &TcpConfig| TcpConfig { seed: seed(number), ..config.clone() };
            BulkConnection::new(&of(&client), &of(&server), start_of(number), stop)
        };
        let connections: Vec<_> = (0..usize::from(setup.connections)).map(connection).collect();
        let mut flow = Self {
            number,
            path,
            received: vec![0; connections.len()],
            timeouts: connections.iter().map(BulkConnection::next_timeout).collect(),
            first_timeout: Timestamp::MAX,
            deadline: Timestamp::MAX,
            connections,
            sending: BulkSending::new(start, stop, setup.common.samples()),
            received_by_end: 0,
            over: false,
        };
        flow.first_timeout = flow.timeouts.iter().copied().min().unwrap_or(Timestamp::MAX);
        flow.deadline = flow.next_deadline();
        Ok(flow)
    }

    /// When it has something to do by itself.
    pub(crate) fn deadline(&self) -> Timestamp {
        self.deadline
    }

    fn next_deadline(&self) -> Timestamp {
        if self.over {
            return Timestamp::MAX;
        }
        self.first_timeout.min(self.sending.next_timeout(|| self.is_left()).unwrap_or(Timestamp::MAX))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.over
    }

    /// A segment of one of its connections comes out at a host.
    pub(crate) fn handle_segment(
        &mut self,
        now: Timestamp,
        to: End,
        connection: u8,
        segment: &Segment,
        wires: &mut FlowWires,
    ) {
        if !self.over {
            let read =
                self.with_connection(connection, wires, |bulk, outlet| bulk.handle_segment(now, to, segment, outlet));
            self.received[usize::from(connection)] += read.as_bytes();
            self.deadline = self.next_deadline();
        }
    }

    /// The sender's own device has let go of a segment of one of its connections.
    pub(crate) fn handle_released(&mut self, now: Timestamp, connection: u8, payload: u32, wires: &mut FlowWires) {
        if !self.over {
            self.with_connection(connection, wires, |bulk, outlet| bulk.handle_released(now, payload, outlet));
            self.deadline = self.next_deadline();
        }
    }

    /// Does what is due at `now`.
    pub(crate) fn advance(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if self.over {
            return;
        }
        if self.sending.poll_end(now) {
            self.received_by_end = self.received.iter().sum();
        }
        for number in 0..self.connections.len() as u8 {
            if self.timeouts[usize::from(number)] <= now {
                self.with_connection(number, wires, |bulk, outlet| bulk.handle_timeout(now, outlet));
            }
        }
        if self.sending.is_sample_due(now, || self.is_left()) {
            self.sample(now);
        }
        self.deadline = self.next_deadline();
    }

    /// The run ends; `cut_short` where that was not planned.
    pub(crate) fn end(&mut self, now: Timestamp, cut_short: bool) {
        if self.over {
            return;
        }
        self.over = true;
        self.deadline = Timestamp::MAX;
        if self.sending.ended().is_none() {
            self.received_by_end = self.received.iter().sum();
        }
        self.sending.end(now, cut_short);
        if self.is_left() && now >= self.sending.start() {
            self.sample(now);
        }
    }

    /// What has come of each connection by `now`, but for what was counted of packets.
    pub(crate) fn rates(&self, now: Timestamp) -> Vec<RateSample> {
        let several = self.connections.len() > 1;
        let of = |(number, &received): (u8, &u64)| RateSample {
            at: now,
            connection: several.then_some(number),
            received_bytes: Some(received),
            ..RateSample::default()
        };
        (0..).zip(&self.received).map(of).collect()
    }

    pub(crate) fn into_outcome(mut self) -> FlowOutcome {
        if self.connections.iter().any(|connection| connection.client.has_failed()) {
            self.sending.fail(timed_out());
        }
        self.sending.into_outcome(self.received_by_end, None)
    }

    /// Lets a connection do something.
    fn with_connection<T>(
        &mut self,
        number: u8,
        wires: &mut FlowWires,
        act: impl FnOnce(&mut BulkConnection, &mut OwnWires<'_>) -> T,
    ) -> T {
        let mut outlet = OwnWires { flow: self.number, path: self.path, connection: number, wires };
        let connection = &mut self.connections[usize::from(number)];
        let done = act(connection, &mut outlet);
        let next = connection.next_timeout();
        let before = std::mem::replace(&mut self.timeouts[usize::from(number)], next);
        // Looked for among all only where the first one moved back.
        self.first_timeout = if next <= self.first_timeout || before > self.first_timeout {
            self.first_timeout.min(next)
        } else {
            self.timeouts.iter().copied().min().unwrap_or(Timestamp::MAX)
        };
        debug_assert_eq!(Some(self.first_timeout), self.timeouts.iter().copied().min());
        done
    }

    /// True while something is left in the sender's sockets.
    fn is_left(&self) -> bool {
        self.connections.iter().any(|connection| connection.client.queued().as_bytes() > 0)
    }

    fn sample(&mut self, at: Timestamp) {
        let several = self.connections.len() > 1;
        let connections = (0u8..).zip(self.connections.iter().zip(&self.received));
        let samples = connections.map(|(number, (connection, &received))| FlowSample {
            connection: several.then_some(number),
            queued_bytes: Some(connection.client.queued().as_bytes()),
            received_bytes: Some(received),
            ..endpoint_sample(&connection.client, at)
        });
        self.sending.sample(at, samples);
    }
}
