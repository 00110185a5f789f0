//! A bulk flow: TCP connections whose application always has data.

use framewire_link::Port;
use framewire_recording::record::{BulkTotals, FlowSample, FlowStatus};
use framewire_recording::spool::Spool;
use framewire_session::{BulkSetup, ReceiverLog, SenderLog};
use framewire_tcp::{Segment, TcpConfig};
use framewire_units::{Seed, Timestamp};
use framewire_world::{FlowOutcome, SAMPLE_INTERVAL};

use super::cargo::{Cargo, FlowWires};
use super::sending::endpoint_sample;
use super::tcp_configs;
use crate::bulk::{BulkConnection, Outlet};
use crate::error::SimError;

/// A bulk flow.
pub(crate) struct BulkFlow {
    number: usize,
    station: usize,
    connections: Vec<BulkConnection>,
    /// Bytes that the application of each connection got.
    received: Vec<u64>,
    start: Timestamp,
    stop: Option<Timestamp>,
    next_sample: Timestamp,
    samples: Spool<FlowSample>,
    /// Bytes that had been received when it ended, and when that was.
    totals: Option<BulkTotals>,
    over: bool,
    cut_short: bool,
}

/// The network, as one connection sends to it.
struct OwnWires<'a> {
    flow: usize,
    station: usize,
    connection: u8,
    wires: &'a mut FlowWires,
}

impl Outlet for OwnWires<'_> {
    fn send(&mut self, now: Timestamp, from: Port, segment: Segment) {
        let station = if from == Port::Sender { self.station } else { 0 };
        let cargo = Cargo::segment_of(self.flow, self.connection, segment);
        self.wires.send(now, from, station, segment.packet_size(), cargo);
    }

    fn is_local(&self) -> bool {
        self.wires.is_local()
    }
}

impl BulkFlow {
    pub(crate) fn new(
        setup: &BulkSetup,
        number: usize,
        largest_packet: u16,
        seed: impl Fn(usize) -> Seed,
    ) -> Result<Self, SimError> {
        let BulkSetup { start, stop, .. } = *setup;
        let (client, server) = tcp_configs(&setup.common, &setup.connection, largest_packet, Seed(0))?;
        let connection = |number| {
            let of = |config: &TcpConfig| TcpConfig { seed: seed(number), ..config.clone() };
            BulkConnection::new(&of(&client), &of(&server), start, stop)
        };
        let connections: Vec<_> = (0..usize::from(setup.connections)).map(connection).collect();
        Ok(Self {
            number,
            station: setup.common.station(),
            received: vec![0; connections.len()],
            connections,
            start,
            stop,
            next_sample: start,
            samples: setup.common.records(),
            totals: None,
            over: false,
            cut_short: false,
        })
    }

    /// When it has something to do by itself.
    pub(crate) fn deadline(&self) -> Timestamp {
        if self.over {
            return Timestamp::MAX;
        }
        let connections = self.connections.iter().map(BulkConnection::next_timeout).min().unwrap_or(Timestamp::MAX);
        connections.min(self.sample_time())
    }

    pub(crate) fn is_done(&self) -> bool {
        self.over
    }

    /// A segment of one of its connections comes out at a host.
    pub(crate) fn handle_segment(
        &mut self,
        now: Timestamp,
        to: Port,
        connection: u8,
        segment: &Segment,
        wires: &mut FlowWires,
    ) {
        if !self.over {
            let (bulk, mut outlet) = self.connection(connection, wires);
            let read = bulk.handle_segment(now, to, segment, &mut outlet);
            self.received[usize::from(connection)] += read.as_bytes();
        }
    }

    /// The sender's own device has let go of a segment of one of its connections.
    pub(crate) fn handle_released(&mut self, now: Timestamp, connection: u8, payload: u32, wires: &mut FlowWires) {
        if !self.over {
            let (bulk, mut outlet) = self.connection(connection, wires);
            bulk.handle_released(now, payload, &mut outlet);
        }
    }

    /// Does what is due at `now`.
    pub(crate) fn advance(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if self.over {
            return;
        }
        if self.stop.is_some_and(|stop| now >= stop) {
            self.count(now);
        }
        for number in 0..self.connections.len() as u8 {
            let (bulk, mut outlet) = self.connection(number, wires);
            if bulk.next_timeout() <= now {
                bulk.handle_timeout(now, &mut outlet);
            }
        }
        if self.sample_time() <= now {
            self.sample(now);
            self.next_sample = now + SAMPLE_INTERVAL;
        }
    }

    /// The run ends; `cut_short` where that was not planned.
    pub(crate) fn end(&mut self, now: Timestamp, cut_short: bool) {
        if !self.over {
            self.count(now);
            if self.sample_time() < Timestamp::MAX && now >= self.start {
                self.sample(now);
            }
            (self.over, self.cut_short) = (true, cut_short);
        }
    }

    pub(crate) fn into_outcome(self) -> FlowOutcome {
        let failed = self.connections.iter().any(|connection| connection.client.has_failed());
        let status = match (failed, self.cut_short) {
            // errno(3): the words of ETIMEDOUT.
            (true, _) => FlowStatus::Failed("sender: write: Connection timed out".to_owned()),
            (false, true) => FlowStatus::Partial,
            (false, false) => FlowStatus::Complete,
        };
        FlowOutcome {
            sent: SenderLog::default(),
            samples: self.samples,
            received: ReceiverLog::default(),
            kept_bytes: 0,
            bulk: self.totals,
            status,
            doubt: None,
        }
    }

    fn connection<'a>(&'a mut self, number: u8, wires: &'a mut FlowWires) -> (&'a mut BulkConnection, OwnWires<'a>) {
        let outlet = OwnWires { flow: self.number, station: self.station, connection: number, wires };
        (&mut self.connections[usize::from(number)], outlet)
    }

    /// Notes what was received by the end of the flow; once.
    fn count(&mut self, now: Timestamp) {
        let totals = BulkTotals { start: self.start.min(now), end: now, received: self.received.iter().sum() };
        self.totals.get_or_insert(totals);
    }

    /// The next sample; none any more when nothing is left of a flow that was stopped.
    fn sample_time(&self) -> Timestamp {
        let left = || self.connections.iter().any(|connection| connection.client.queued().as_bytes() > 0);
        if self.totals.is_some() && !left() { Timestamp::MAX } else { self.next_sample }
    }

    fn sample(&mut self, at: Timestamp) {
        let several = self.connections.len() > 1;
        for (number, (connection, &received)) in (0u8..).zip(self.connections.iter().zip(&self.received)) {
            self.samples.push(FlowSample {
                connection: several.then_some(number),
                queued_bytes: Some(connection.client.queued().as_bytes()),
                received_bytes: Some(received),
                ..endpoint_sample(&connection.client, at)
            });
        }
    }
}
