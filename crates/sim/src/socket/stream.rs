//! TCP sockets: a pair of endpoints, which count bytes, and the bytes beside them.

use std::collections::VecDeque;

use framewire_link::Port;
use framewire_recording::record::FlowSample;
use framewire_tcp::{Endpoint, Segment, TcpConfig};
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;

use crate::cargo::Cargo;
use crate::record::FlowWires;

/// A connection with both its ends: the client at the sender, the server at the receiver.
pub(crate) struct Connection {
    flow: usize,
    station: usize,
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    bytes: ByteQueue,
    /// What was read last.
    buffer: Vec<u8>,
}

/// What the system says of a connection whose peer does not answer any more.
pub(crate) fn timed_out() -> SocketError {
    // errno(3): the words of ETIMEDOUT.
    SocketError { operation: "write", reason: "Connection timed out".to_owned() }
}

/// What the sender's endpoint of a connection says.
pub(crate) fn endpoint_sample(client: &Endpoint, at: Timestamp) -> FlowSample {
    let info = client.info();
    FlowSample {
        at,
        cwnd_packets: Some(info.cwnd),
        ssthresh_packets: info.ssthresh,
        srtt: Some(info.srtt),
        rttvar: Some(info.rttvar),
        in_flight_packets: Some(info.in_flight),
        unsent_bytes: Some(client.unsent().as_bytes()),
        delivery_rate: info.delivery_rate,
        retransmissions: Some(u32::try_from(info.retransmissions).unwrap_or(u32::MAX)),
        timeouts: Some(u32::try_from(info.timeouts).unwrap_or(u32::MAX)),
        ..FlowSample::default()
    }
}

impl Connection {
    /// A connection of flow number `flow`, whose client is on a wireless station; its SYN is ready to be sent at `now`.
    pub(crate) fn open(flow: usize, station: usize, client: &TcpConfig, server: &TcpConfig, now: Timestamp) -> Self {
        let (client, server) = (Endpoint::client(client, now), Endpoint::server(server));
        Self { flow, station, client, server, bytes: ByteQueue::default(), buffer: Vec::new() }
    }

    /// A segment comes out at a host; what it sets off is sent.
    pub(crate) fn handle_segment(&mut self, now: Timestamp, to: Port, segment: &Segment, wires: &mut FlowWires) {
        match to {
            Port::Receiver => {
                self.server.handle_segment(now, segment);
                self.transmit_server(now, wires);
            }
            Port::Sender => {
                self.client.handle_segment(now, segment);
                self.transmit_client(now, wires);
            }
        }
    }

    /// The sender's own device is done with a segment of `payload` bytes.
    pub(crate) fn handle_released(&mut self, now: Timestamp, payload: u32, wires: &mut FlowWires) {
        self.client.handle_released(now, payload);
        self.transmit_client(now, wires);
    }

    /// When an endpoint has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        let timeouts = [self.client.next_timeout(), self.server.next_timeout()];
        timeouts.into_iter().flatten().map(|timeout| timeout.at).min()
    }

    /// Lets the endpoints do what is due.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if self.client.next_timeout().is_some_and(|timeout| timeout.at <= now) {
            self.client.handle_timeout(now);
            self.transmit_client(now, wires);
        }
        if self.server.next_timeout().is_some_and(|timeout| timeout.at <= now) {
            self.server.handle_timeout(now);
            self.transmit_server(now, wires);
        }
    }

    /// Sends what the client has to send. Where the bottleneck is remote, its device is done with a segment at once.
    pub(crate) fn transmit_client(&mut self, now: Timestamp, wires: &mut FlowWires) {
        while let Some(segment) = self.client.poll_transmit(now) {
            let cargo = Cargo::segment(self.flow, segment);
            wires.send(now, Port::Sender, self.station, segment.packet_size(), cargo);
            if !wires.is_local() {
                self.client.handle_released(now, segment.payload);
            }
        }
    }

    fn transmit_server(&mut self, now: Timestamp, wires: &mut FlowWires) {
        while let Some(segment) = self.server.poll_transmit(now) {
            wires.send(now, Port::Receiver, 0, segment.packet_size(), Cargo::segment(self.flow, segment));
        }
    }

    /// Reads up to `most` bytes at the receiver; nothing read, nothing there.
    pub(crate) fn read(&mut self, now: Timestamp, most: usize, wires: &mut FlowWires) -> &[u8] {
        let count = self.server.read(now, most as u64) as usize;
        self.bytes.read(count, &mut self.buffer);
        if count > 0 {
            self.transmit_server(now, wires);
        }
        &self.buffer
    }

    /// Writes at the sender what fits. What is written is sent from inside the write, as the kernel does.
    pub(crate) fn write(&mut self, now: Timestamp, bytes: &[u8], wires: &mut FlowWires) -> Result<usize, SocketError> {
        if self.client.has_failed() {
            return Err(timed_out());
        }
        let taken = self.client.write(now, bytes.len() as u64) as usize;
        self.bytes.write(&bytes[..taken]);
        // Also where nothing was taken: the first write finds the SYN ready, which would else wait for its timeout.
        self.transmit_client(now, wires);
        Ok(taken)
    }

    /// Ends the sender's stream after what was written, as close(2) does.
    pub(crate) fn close(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.client.finish(now);
        self.transmit_client(now, wires);
    }
}

/// The bytes of a stream that were written and not yet read. A stream is reliable and in order, so the receiver's next
/// bytes are always the first ones here.
#[derive(Debug, Default)]
struct ByteQueue {
    bytes: VecDeque<u8>,
}

impl ByteQueue {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Moves the first `count` bytes to `buffer`, which they replace.
    fn read(&mut self, count: usize, buffer: &mut Vec<u8>) {
        buffer.clear();
        let (front, back) = self.bytes.as_slices();
        let of_front = count.min(front.len());
        buffer.extend_from_slice(&front[..of_front]);
        buffer.extend_from_slice(&back[..count - of_front]);
        self.bytes.drain(..count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in_over_the_wrap() {
        let (mut queue, mut written, mut read, mut buffer) = (ByteQueue::default(), 0usize, Vec::new(), Vec::new());
        for step in 1..200usize {
            let bytes: Vec<u8> = (0..step * 3).map(|offset| (written + offset) as u8).collect();
            written += bytes.len();
            queue.write(&bytes);
            queue.read(step * 2, &mut buffer);
            read.extend_from_slice(&buffer);
        }
        assert!(read.iter().enumerate().all(|(offset, &byte)| byte == offset as u8));
        assert_eq!(queue.bytes.len() + read.len(), written);
    }
}
