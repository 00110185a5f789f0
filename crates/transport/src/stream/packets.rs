//! The receiving half of RTP packets over a byte stream.

use std::collections::VecDeque;

use framewire_units::Timestamp;
use framewire_wire::rfc4571::PacketReader;
use framewire_wire::rtp_payload::Depacketizer;

use crate::datagram::DatagramReceiver;
use crate::event::ReceiverEvent;

/// Receives RTP packets that each stand behind their length (RFC 4571), and puts frames together.
///
/// Contract: give it what the socket has with [`handle_bytes`](Self::handle_bytes), at the end
/// [`handle_end`](Self::handle_end); drain [`poll_event`](Self::poll_event) after each. It has no timeouts. A `Read` event
/// says how many bytes were read so far, length fields included.
#[derive(Debug)]
pub struct PacketStreamReceiver {
    reader: PacketReader,
    packets: DatagramReceiver,
    total: u64,
    events: VecDeque<ReceiverEvent>,
}

impl PacketStreamReceiver {
    /// A receiving half at the start of a stream.
    pub fn new(depacketizer: Depacketizer) -> Self {
        let packets = DatagramReceiver::new(depacketizer);
        Self { reader: PacketReader::default(), packets, total: 0, events: VecDeque::new() }
    }

    /// Takes the next bytes of the stream.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.events.push_back(ReceiverEvent::Read { total: self.total, at: now });
        self.reader.feed(bytes);
        while let Some(packet) = self.reader.poll_packet() {
            self.packets.handle_datagram(now, &packet);
        }
        self.report();
    }

    /// The stream has ended: what is still missing is given up.
    pub fn handle_end(&mut self, now: Timestamp) {
        self.packets.handle_end(now);
        self.report();
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    /// Frames, and packets that were refused. That a packet of the stream came says nothing beside the bytes read.
    fn report(&mut self) {
        let happened = std::iter::from_fn(|| self.packets.poll_event());
        self.events.extend(happened.filter(|event| !matches!(event, ReceiverEvent::Datagram { .. })));
    }
}
