//! A TCP connection whose application always has data.

use framewire_link::Port;
use framewire_tcp::{Segment, TcpConfig};
use framewire_units::{DataSize, Seed, Timestamp};

use super::BulkFlow;
use super::outcome::BulkOutcome;
use super::wires::{Cargo, SharedWires};
use crate::bulk::{BulkConnection, Outlet};

/// A connection, and which flow of the experiment it is.
#[derive(Debug)]
pub(super) struct Bulk {
    flow: u16,
    connection: BulkConnection,
}

/// The network of the experiment, as a connection sends to it.
struct OwnWires<'a> {
    flow: u16,
    wires: &'a mut SharedWires,
}

impl Outlet for OwnWires<'_> {
    fn send(&mut self, now: Timestamp, from: Port, segment: Segment) {
        self.wires.send(now, from, 0, segment.packet_size(), Cargo::segment(self.flow, now, segment));
    }

    fn is_local(&self) -> bool {
        self.wires.is_local()
    }
}

impl Bulk {
    pub(super) fn new(flow: u16, config: &BulkFlow, start: Timestamp, seed: Seed) -> Self {
        let seed = Seed(seed.stream("tcp", &[u64::from(flow)]).next_u64());
        let config_of = |config: &TcpConfig| TcpConfig { seed, ..config.clone() };
        let (client, server) = (config_of(&config.sender), config_of(&config.receiver));
        Self { flow, connection: BulkConnection::new(&client, &server, start, config.stop) }
    }

    pub(super) fn next_timeout(&self) -> Timestamp {
        self.connection.next_timeout()
    }

    pub(super) fn handle_timeout(&mut self, now: Timestamp, wires: &mut SharedWires) {
        self.connection.handle_timeout(now, &mut OwnWires { flow: self.flow, wires });
    }

    /// A segment comes out at a host. Returns the bytes that the receiving application read.
    pub(super) fn handle_segment(
        &mut self,
        now: Timestamp,
        to: Port,
        segment: &Segment,
        wires: &mut SharedWires,
    ) -> DataSize {
        self.connection.handle_segment(now, to, segment, &mut OwnWires { flow: self.flow, wires })
    }

    /// The sender's own device has let go of a segment.
    pub(super) fn handle_released(&mut self, now: Timestamp, payload: u32, wires: &mut SharedWires) {
        self.connection.handle_released(now, payload, &mut OwnWires { flow: self.flow, wires });
    }

    pub(super) fn into_outcome(self) -> BulkOutcome {
        BulkOutcome { last: self.connection.client.info() }
    }
}
