//! A TCP connection whose application always has data.

use framewire_link::Port;
use framewire_tcp::{Endpoint, Segment, TcpConfig};
use framewire_units::{DataSize, Seed, Timestamp};

use super::BulkFlow;
use super::outcome::BulkOutcome;
use super::wires::{Cargo, SharedWires};

/// What the application writes at once, as iperf3 does by default.
const CHUNK: u64 = 131_072;

/// The two endpoints and the application between them.
#[derive(Debug)]
pub(super) struct Bulk {
    flow: u16,
    client: Endpoint,
    server: Endpoint,
    start: Timestamp,
    begun: bool,
    /// When the application ends its stream; never again once it did.
    stop: Timestamp,
}

impl Bulk {
    pub(super) fn new(flow: u16, config: &BulkFlow, start: Timestamp, seed: Seed) -> Self {
        let seed = Seed(seed.stream("tcp", &[u64::from(flow)]).next_u64());
        let config_of = |config: &TcpConfig| TcpConfig { seed, ..config.clone() };
        Self {
            flow,
            client: Endpoint::client(&config_of(&config.sender), start),
            server: Endpoint::server(&config_of(&config.receiver)),
            start,
            begun: false,
            stop: config.stop.unwrap_or(Timestamp::MAX),
        }
    }

    pub(super) fn next_timeout(&self) -> Timestamp {
        if !self.begun {
            return self.start;
        }
        let at = |endpoint: &Endpoint| endpoint.next_timeout().map_or(Timestamp::MAX, |timeout| timeout.at);
        at(&self.client).min(at(&self.server)).min(self.stop)
    }

    pub(super) fn handle_timeout(&mut self, now: Timestamp, wires: &mut SharedWires) {
        if now < self.start {
            return;
        }
        self.begun = true;
        if now >= self.stop {
            self.stop = Timestamp::MAX;
            self.client.finish(now);
        }
        self.client.handle_timeout(now);
        self.transmit_client(now, wires);
        self.write(now, wires);
        self.server.handle_timeout(now);
        self.transmit_server(now, wires);
    }

    /// A segment comes out at a host. Returns the bytes that the receiving application read.
    pub(super) fn handle_segment(
        &mut self,
        now: Timestamp,
        to: Port,
        segment: &Segment,
        wires: &mut SharedWires,
    ) -> DataSize {
        match to {
            Port::Receiver => {
                self.server.handle_segment(now, segment);
                let readable = self.server.readable();
                let read = if readable > 0 { self.server.read(now, readable) } else { 0 };
                self.transmit_server(now, wires);
                DataSize::from_bytes(read)
            }
            Port::Sender => {
                self.client.handle_segment(now, segment);
                self.transmit_client(now, wires);
                self.write(now, wires);
                DataSize::ZERO
            }
        }
    }

    /// The sender's own device has let go of a segment.
    pub(super) fn handle_released(&mut self, now: Timestamp, payload: u32, wires: &mut SharedWires) {
        self.client.handle_released(now, payload);
        self.transmit_client(now, wires);
        self.write(now, wires);
    }

    pub(super) fn into_outcome(self) -> BulkOutcome {
        BulkOutcome { last: self.client.info() }
    }

    /// The application waits for poll(2), then writes until the socket takes no more.
    fn write(&mut self, now: Timestamp, wires: &mut SharedWires) {
        if !self.client.is_writable() {
            return;
        }
        while self.client.write(now, CHUNK) > 0 {
            self.transmit_client(now, wires);
        }
    }

    fn transmit_client(&mut self, now: Timestamp, wires: &mut SharedWires) {
        while let Some(segment) = self.client.poll_transmit(now) {
            wires.send(now, Port::Sender, 0, segment.packet_size(), Cargo::segment(self.flow, now, segment));
            if !wires.is_local() {
                self.client.handle_released(now, segment.payload);
            }
        }
    }

    fn transmit_server(&mut self, now: Timestamp, wires: &mut SharedWires) {
        while let Some(segment) = self.server.poll_transmit(now) {
            wires.send(now, Port::Receiver, 0, segment.packet_size(), Cargo::segment(self.flow, now, segment));
        }
    }
}
