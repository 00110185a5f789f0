//! The receiving half of packets over a byte stream: of RTP, of a transport stream, or the samples of a file.

use std::collections::VecDeque;

use framewire_units::Timestamp;

use super::format::StreamReader;
use crate::event::ReceiverEvent;

/// Receives [packets of RTP](super::RtpReader), a [transport stream](framewire_wire::mpeg_ts::Demultiplexer) or an
/// [MP4 file](framewire_wire::mp4::Demultiplexer), and puts frames together.
///
/// Contract: give it what the socket has with [`handle_bytes`](Self::handle_bytes), or where a session has taken the packets
/// [apart](super::RtpReader::of_packets), one packet at a time; at the end
/// [`handle_end`](Self::handle_end); drain [`poll_event`](Self::poll_event) after each. It has no timeouts. A `Read` event
/// says how many bytes were read so far, length fields included.
#[derive(Debug)]
pub struct PacketStreamReceiver {
    reader: Box<dyn StreamReader>,
    total: u64,
    events: VecDeque<ReceiverEvent>,
}

impl PacketStreamReceiver {
    /// A receiving half at the start of a stream in this format.
    pub fn new(reader: impl StreamReader + 'static) -> Self {
        Self { reader: Box::new(reader), total: 0, events: VecDeque::new() }
    }

    /// Takes the next bytes of the stream.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.events.push_back(ReceiverEvent::Read { total: self.total, at: now });
        self.reader.handle_bytes(now, bytes);
        self.report(now);
    }

    /// The stream has ended: what is still missing is given up.
    pub fn handle_end(&mut self, now: Timestamp) {
        self.reader.handle_end(now);
        self.report(now);
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    fn report(&mut self, now: Timestamp) {
        self.events.extend(std::iter::from_fn(|| self.reader.poll_event(now)));
    }
}
