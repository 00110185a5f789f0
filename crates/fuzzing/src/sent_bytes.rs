//! What an end of a session says, and the movie that it has.

use framewire_media::Movie;
use framewire_session::half::{ChannelId, Channels};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::DataSize;

/// The connection, which takes so much at a time, and datagrams beside it.
pub(crate) struct SentBytes {
    connection: ChannelId,
    /// More is not said to any input.
    most: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) room: usize,
    /// Bytes in datagrams.
    pub(crate) beside: usize,
    finished: bool,
}

impl SentBytes {
    /// One on which nothing was said yet, with room for all.
    pub(crate) fn on(connection: ChannelId, most: usize) -> Self {
        Self { connection, most, bytes: Vec::new(), room: usize::MAX, beside: 0, finished: false }
    }
}

impl Channels for SentBytes {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, channel: ChannelId, bytes: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        assert!(channel != self.connection);
        self.beside += bytes.len();
        assert!(self.beside <= self.most);
        Ok(DatagramSend::Sent)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::from_bytes(1 << 20))
    }

    fn write(&mut self, channel: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        assert!(channel == self.connection && !self.finished);
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        self.bytes.extend_from_slice(&bytes[..taken]);
        assert!(self.bytes.len() <= self.most);
        Ok(taken)
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.finished = true;
        Ok(())
    }
}

/// Three I pictures of MPEG-2 of one slice (ISO/IEC 13818-2, 6.2), at 25 Hz.
pub(crate) fn movie() -> Movie {
    let mut bytes = vec![0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18, 0, 0, 1, 0xb8, 0, 8, 0, 0x40];
    for reference in 0..3 {
        bytes.extend([0, 0, 1, 0, 0, reference << 6 | 0x0f, 0xff, 0xf8, 0, 0, 1, 1, 0x13, 0x80, 0x81]);
    }
    Movie::parse(bytes.into()).expect("invariant: it is a movie")
}
