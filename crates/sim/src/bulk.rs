//! A TCP connection whose application always has data.

use framewire_session::half::End;
use framewire_tcp::{Endpoint, Segment, TcpConfig};
use framewire_units::{DataSize, Timestamp};

/// What the application writes at once, as iperf3 does by default.
const CHUNK: u64 = 131_072;

/// Where the segments of a connection go.
pub(crate) trait SegmentSink {
    /// Puts a segment into the network at a host.
    fn send(&mut self, now: Timestamp, from: End, segment: Segment);

    /// True when the sender's own device holds segments until they are released.
    fn is_local(&self) -> bool;
}

/// The two endpoints and the application between them.
#[derive(Debug)]
pub(crate) struct BulkConnection {
    pub(crate) client: Endpoint,
    server: Endpoint,
    start: Timestamp,
    begun: bool,
    /// When the application ends its stream; never again once it did.
    stop: Timestamp,
}

impl BulkConnection {
    /// A connection that begins at `start`, and that the sender's application ends at `stop`, if ever.
    pub(crate) fn new(client: &TcpConfig, server: &TcpConfig, start: Timestamp, stop: Option<Timestamp>) -> Self {
        let (client, server) = (Endpoint::client(client, start), Endpoint::server(server));
        Self { client, server, start, begun: false, stop: stop.unwrap_or(Timestamp::MAX) }
    }

    /// When it has something to do by itself.
    pub(crate) fn next_timeout(&self) -> Timestamp {
        if !self.begun {
            return self.start;
        }
        let at = |endpoint: &Endpoint| endpoint.next_timeout().map_or(Timestamp::MAX, |timeout| timeout.at);
        at(&self.client).min(at(&self.server)).min(self.stop)
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, outlet: &mut impl SegmentSink) {
        if now < self.start {
            return;
        }
        self.begun = true;
        if now >= self.stop {
            self.stop = Timestamp::MAX;
            self.client.finish(now);
        }
        self.client.handle_timeout(now);
        self.transmit_client(now, outlet);
        self.write(now, outlet);
        self.server.handle_timeout(now);
        self.transmit_server(now, outlet);
    }

    /// A segment comes out at a host. Returns the bytes that the receiving application read.
    pub(crate) fn handle_segment(
        &mut self,
        now: Timestamp,
        to: End,
        segment: &Segment,
        outlet: &mut impl SegmentSink,
    ) -> DataSize {
        match to {
            End::Receiver => {
                self.server.handle_segment(now, segment);
                let readable = self.server.readable();
                let read = if readable > 0 { self.server.read(now, readable) } else { 0 };
                self.transmit_server(now, outlet);
                DataSize::from_bytes(read)
            }
            End::Sender => {
                self.client.handle_segment(now, segment);
                self.transmit_client(now, outlet);
                self.write(now, outlet);
                DataSize::ZERO
            }
        }
    }

    /// The sender's own device has let go of a segment.
    pub(crate) fn handle_released(&mut self, now: Timestamp, payload: u32, outlet: &mut impl SegmentSink) {
        self.client.handle_released(now, payload);
        self.transmit_client(now, outlet);
        self.write(now, outlet);
    }

    /// The application waits for poll(2), then writes until the socket takes no more.
    fn write(&mut self, now: Timestamp, outlet: &mut impl SegmentSink) {
        if !self.client.is_writable() {
            return;
        }
        while self.client.write(now, CHUNK) > 0 {
            self.transmit_client(now, outlet);
        }
    }

    fn transmit_client(&mut self, now: Timestamp, outlet: &mut impl SegmentSink) {
        while let Some(segment) = self.client.poll_transmit(now) {
            outlet.send(now, End::Sender, segment);
            if !outlet.is_local() {
                self.client.handle_released(now, segment.payload);
            }
        }
    }

    fn transmit_server(&mut self, now: Timestamp, outlet: &mut impl SegmentSink) {
        while let Some(segment) = self.server.poll_transmit(now) {
            outlet.send(now, End::Receiver, segment);
        }
    }
}
