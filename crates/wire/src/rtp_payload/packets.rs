//! The packets of one access unit while they are written.

use bytes::BytesMut;

use crate::rtp;

/// Payloads one behind the other, each behind room for its RTP header, in one allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    memory: BytesMut,
    packets: Vec<Written>,
}

/// One packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Its length.
    pub(super) length: usize,
    /// Of this, headers: what is not of the access unit.
    pub(super) headers: usize,
    /// By how much its time stamp is behind that of the first packet.
    pub(super) ticks: u32,
    /// Whether the format itself marks it.
    pub(super) marker: bool,
}

impl Packets {
    /// Begins the packets of another access unit.
    pub(super) fn clear(&mut self) {
        self.memory.clear();
        self.packets.clear();
    }

    /// Room for so many packets with so much media and format headers in all, so that it need not be moved.
    pub(super) fn reserve(&mut self, packets: usize, payload: usize) {
        self.memory.reserve(packets * rtp::HEADER_LENGTH + payload);
        self.packets.reserve(packets);
    }

    /// Begins the next packet.
    pub(super) fn begin(&mut self) {
        self.begin_at(0, false);
    }

    /// The same of sound: with a time stamp so many ticks behind that of the first packet, and a marker of the format's own.
    pub(super) fn begin_at(&mut self, ticks: u32, marker: bool) {
        self.memory.extend_from_slice(&[0; rtp::HEADER_LENGTH]);
        let (length, headers) = (rtp::HEADER_LENGTH, rtp::HEADER_LENGTH);
        self.packets.push(Written { length, headers, ticks, marker });
    }

    /// Adds a header of the payload format to the packet.
    pub(super) fn put_header(&mut self, bytes: &[u8]) {
        self.put(bytes).headers += bytes.len();
    }

    /// Adds a piece of the access unit to it.
    pub(super) fn put_media(&mut self, bytes: &[u8]) {
        self.put(bytes);
    }

    fn put(&mut self, bytes: &[u8]) -> &mut Written {
        self.memory.extend_from_slice(bytes);
        let packet = self.packets.last_mut().expect("invariant: a packet was begun");
        packet.length += bytes.len();
        packet
    }

    /// Every packet, in order, with the room for its header.
    pub(super) fn drain(&mut self) -> (usize, impl Iterator<Item = (BytesMut, Written)> + '_) {
        let Self { memory, packets } = self;
        (packets.len(), packets.drain(..).map(|packet| (memory.split_to(packet.length), packet)))
    }
}
