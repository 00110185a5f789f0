//! Packets in datagrams.

use bytes::{Bytes, BytesMut};

use super::packet::PACKET_LENGTH;

/// Divides a continuous stream into datagrams of so many packets, whatever they carry.
///
/// Hand in packets with [`push`](Self::push) and drain [`poll_datagram`](Self::poll_datagram). What does not fill a
/// datagram waits for more; [`end`](Self::end) gives it out, as at the end of a frame that is to have datagrams of its own.
#[derive(Debug)]
pub struct Grouping {
    length: usize,
    waiting: BytesMut,
}

impl Grouping {
    /// Datagrams of so many packets.
    pub fn new(packets: u8) -> Self {
        Self { length: usize::from(packets.max(1)) * PACKET_LENGTH, waiting: BytesMut::new() }
    }

    /// Takes packets, whole ones.
    pub fn push(&mut self, packets: &[u8]) {
        self.waiting.extend_from_slice(packets);
    }

    /// The next datagram that is full.
    pub fn poll_datagram(&mut self) -> Option<Bytes> {
        (self.waiting.len() >= self.length).then(|| self.waiting.split_to(self.length).freeze())
    }

    /// What waits, as a datagram that is not full; call it when no full one is left.
    pub fn end(&mut self) -> Option<Bytes> {
        (!self.waiting.is_empty()).then(|| self.waiting.split().freeze())
    }
}
