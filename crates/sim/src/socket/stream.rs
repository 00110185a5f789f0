//! TCP sockets: a pair of endpoints, which count bytes, and the bytes beside them.

use std::collections::VecDeque;

use framewire_recording::record::FlowSample;
use framewire_session::half::{ChannelId, End};
use framewire_tcp::{Endpoint, Segment, TcpConfig};
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;

use crate::packet_content::PacketContent;
use crate::record::FlowWires;
use crate::wires::FlowPath;

/// A connection with both its ends, either of which may have opened it.
pub(crate) struct Connection {
    flow: usize,
    path: FlowPath,
    channel: ChannelId,
    pub(crate) sender: Endpoint,
    receiver: Endpoint,
    /// Under way to the receiver, and to the sender.
    bytes: ByteQueue,
    requests: ByteQueue,
    /// What was read last.
    buffer: Vec<u8>,
}

/// What the system says of a connection whose peer does not answer any more.
pub(crate) fn timed_out() -> SocketError {
    // errno(3): the words of ETIMEDOUT.
    SocketError { operation: "write", reason: "Connection timed out".to_owned() }
}

/// What the sender's endpoint of a connection says.
pub(crate) fn endpoint_sample(sender: &Endpoint, at: Timestamp) -> FlowSample {
    let info = sender.info();
    FlowSample {
        at,
        cwnd_packets: Some(info.cwnd),
        ssthresh_packets: info.ssthresh,
        srtt: Some(info.srtt),
        rttvar: Some(info.rttvar),
        in_flight_packets: Some(info.in_flight),
        unsent_bytes: Some(sender.unsent().as_bytes()),
        delivery_rate: info.delivery_rate,
        retransmissions: Some(u32::try_from(info.retransmissions).unwrap_or(u32::MAX)),
        timeouts: Some(u32::try_from(info.timeouts).unwrap_or(u32::MAX)),
        ..FlowSample::default()
    }
}

impl Connection {
    /// A connection of a channel of flow number `flow`, whose packets travel on `path`; the SYN of the end that opens it is ready
    /// to be sent at `now`.
    pub(crate) fn open(
        (flow, path, channel): (usize, FlowPath, ChannelId),
        sender: &TcpConfig,
        receiver: &TcpConfig,
        opened_by: End,
        now: Timestamp,
    ) -> Self {
        let (sender, receiver) = match opened_by {
            End::Sender => (Endpoint::client(sender, now), Endpoint::server(receiver)),
            End::Receiver => (Endpoint::server(sender), Endpoint::client(receiver, now)),
        };
        let (bytes, requests) = (ByteQueue::default(), ByteQueue::default());
        Self { flow, path, channel, sender, receiver, bytes, requests, buffer: Vec::new() }
    }

    /// A segment comes out at a host; what it sets off is sent.
    pub(crate) fn handle_segment(&mut self, now: Timestamp, to: End, segment: &Segment, wires: &mut FlowWires) {
        match to {
            End::Receiver => {
                self.receiver.handle_segment(now, segment);
                self.transmit_receiver(now, wires);
            }
            End::Sender => {
                self.sender.handle_segment(now, segment);
                self.transmit_sender(now, wires);
            }
        }
    }

    /// The sender's own device is done with a segment of `payload` bytes.
    pub(crate) fn handle_released(&mut self, now: Timestamp, payload: u32, wires: &mut FlowWires) {
        self.sender.handle_released(now, payload);
        self.transmit_sender(now, wires);
    }

    /// When an endpoint has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        let timeouts = [self.sender.next_timeout(), self.receiver.next_timeout()];
        timeouts.into_iter().flatten().map(|timeout| timeout.at).min()
    }

    /// Lets the endpoints do what is due.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if self.sender.next_timeout().is_some_and(|timeout| timeout.at <= now) {
            self.sender.handle_timeout(now);
            self.transmit_sender(now, wires);
        }
        if self.receiver.next_timeout().is_some_and(|timeout| timeout.at <= now) {
            self.receiver.handle_timeout(now);
            self.transmit_receiver(now, wires);
        }
    }

    /// Sends what the sender has to send. Where the bottleneck is remote, its device is done with a segment at once.
    fn transmit_sender(&mut self, now: Timestamp, wires: &mut FlowWires) {
        while let Some(segment) = self.sender.poll_transmit(now) {
            let content = PacketContent::segment(self.flow, self.channel.0, segment);
            wires.send(now, End::Sender, self.path, segment.packet_size(), content);
            if !self.path.is_local {
                self.sender.handle_released(now, segment.payload);
            }
        }
    }

    /// The receiver's device holds nothing back.
    fn transmit_receiver(&mut self, now: Timestamp, wires: &mut FlowWires) {
        while let Some(segment) = self.receiver.poll_transmit(now) {
            wires.send(
                now,
                End::Receiver,
                self.path,
                segment.packet_size(),
                PacketContent::segment(self.flow, self.channel.0, segment),
            );
            self.receiver.handle_released(now, segment.payload);
        }
    }

    /// The endpoint at a host.
    pub(crate) fn endpoint(&self, at: End) -> &Endpoint {
        match at {
            End::Sender => &self.sender,
            End::Receiver => &self.receiver,
        }
    }

    fn transmit(&mut self, now: Timestamp, from: End, wires: &mut FlowWires) {
        match from {
            End::Sender => self.transmit_sender(now, wires),
            End::Receiver => self.transmit_receiver(now, wires),
        }
    }

    /// Reads up to `most` bytes at a host; nothing read, nothing there.
    pub(crate) fn read(&mut self, now: Timestamp, at: End, most: usize, wires: &mut FlowWires) -> &[u8] {
        let (endpoint, bytes) = match at {
            End::Sender => (&mut self.sender, &mut self.requests),
            End::Receiver => (&mut self.receiver, &mut self.bytes),
        };
        let count = endpoint.read(now, most as u64) as usize;
        bytes.read(count, &mut self.buffer);
        if count > 0 {
            self.transmit(now, at, wires);
        }
        &self.buffer
    }

    /// Writes at a host what fits. What is written is sent from inside the write, as the kernel does.
    pub(crate) fn write(
        &mut self,
        now: Timestamp,
        at: End,
        bytes: &[u8],
        wires: &mut FlowWires,
    ) -> Result<usize, SocketError> {
        let (endpoint, queue) = match at {
            End::Sender => (&mut self.sender, &mut self.bytes),
            End::Receiver => (&mut self.receiver, &mut self.requests),
        };
        if endpoint.has_failed() {
            return Err(timed_out());
        }
        let taken = endpoint.write(now, bytes.len() as u64) as usize;
        queue.write(&bytes[..taken]);
        // Also where nothing was taken: the first write finds the SYN ready, which would else wait for its timeout.
        self.transmit(now, at, wires);
        Ok(taken)
    }

    /// Ends the stream of a host after what was written, as shutdown(2) and close(2) do.
    pub(crate) fn finish(&mut self, now: Timestamp, at: End, wires: &mut FlowWires) {
        match at {
            End::Sender => self.sender.finish(now),
            End::Receiver => self.receiver.finish(now),
        }
        self.transmit(now, at, wires);
    }

    /// Ends the sender's stream.
    pub(crate) fn close(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.finish(now, End::Sender, wires);
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
    use framewire_link::{LossConfig, Network, QueueLimit};
    use framewire_units::{Bitrate, DataSize, Duration, Seed};

    use super::*;
    use crate::lone_connection::bottleneck;
    use crate::packet_content::Body;
    use crate::record::{PacketRecorder, Recording};
    use crate::wires::WireEvent;

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

    /// Lets both ends talk over a network of 10 ms each way until `now`, which is past all that is under way.
    fn settle(connection: &mut Connection, wires: &mut FlowWires, from: Timestamp, until: Timestamp) {
        let mut now = from;
        while now < until {
            wires.settle(now);
            while let Some(event) = wires.poll(now) {
                let WireEvent::Delivered(id, to) = event else { panic!("nothing is held") };
                let Body::Segment(segment) = wires.content(id).take_body() else { panic!("a segment") };
                wires.finish(id);
                connection.handle_segment(now, to, &segment, wires);
            }
            connection.handle_timeout(now, wires);
            let next = connection.next_timeout().into_iter().chain(wires.next()).min().unwrap_or(until);
            now = next.max(now).min(until);
        }
    }

    #[test]
    fn a_receiver_opens_a_connection_and_bytes_go_in_both_directions() {
        let network = bottleneck(
            Bitrate::from_mbps(10),
            Duration::from_millis(20),
            LossConfig::None,
            QueueLimit::Bytes(DataSize::from_bytes(100_000)),
        );
        let network = Network::new(&network, Seed(1)).expect("it can be");
        let recording = Recording { deliveries: true, ..Recording::default() };
        let mut wires = FlowWires::new(network, PacketRecorder::new(recording, vec![(vec![], [0; 2])]));
        let config = TcpConfig { no_delay: true, ..TcpConfig::default() };
        let at = Timestamp::from_millis;
        let path = FlowPath::between_two_hosts(false);
        let mut connection = Connection::open((0, path, ChannelId(0)), &config, &config, End::Receiver, at(0));
        // The sender waits: nothing goes before the receiver's first write, which finds no connection yet.
        assert_eq!(connection.write(at(0), End::Sender, b"unasked", &mut wires), Ok(0));
        assert_eq!((wires.entered(), connection.write(at(0), End::Receiver, b"please", &mut wires)), (0, Ok(0)));
        assert_eq!(wires.entered(), 1, "its SYN");
        settle(&mut connection, &mut wires, at(0), at(25));
        assert!(connection.receiver.is_established());
        assert_eq!(connection.write(at(25), End::Receiver, b"please", &mut wires), Ok(6));
        settle(&mut connection, &mut wires, at(25), at(40));
        assert_eq!(connection.read(at(40), End::Sender, 100, &mut wires), b"please");
        assert_eq!(connection.write(at(40), End::Sender, &[7; 30_000], &mut wires), Ok(30_000));
        settle(&mut connection, &mut wires, at(40), at(400));
        assert_eq!(connection.read(at(400), End::Receiver, 1 << 20, &mut wires), [7; 30_000]);
        assert!(connection.read(at(400), End::Sender, 100, &mut wires).is_empty());
        connection.close(at(400), &mut wires);
        settle(&mut connection, &mut wires, at(400), at(500));
        assert!(connection.receiver.has_ended() && !connection.sender.has_ended());
    }
}
