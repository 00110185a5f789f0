//! One socket as the only channel of a half.

use framewire_session::half::{ChannelId, Channels};
use framewire_transport::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};
use framewire_units::DataSize;

/// A socket of datagrams, or of a stream.
pub enum OneChannel<'a> {
    Datagram(&'a mut dyn DatagramSocket),
    Stream(&'a mut dyn StreamSocket),
}

impl OneChannel<'_> {
    fn datagram(&mut self) -> &mut dyn DatagramSocket {
        if let Self::Datagram(socket) = self { *socket } else { panic!("it is a stream") }
    }

    fn stream(&mut self) -> &mut dyn StreamSocket {
        if let Self::Stream(socket) = self { *socket } else { panic!("it is of datagrams") }
    }
}

impl Channels for OneChannel<'_> {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, _: ChannelId, datagram: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        self.datagram().send(datagram)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        self.datagram().free_room()
    }

    fn write(&mut self, _: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        self.stream().write(bytes)
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        self.stream().unsent()
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.stream().finish()
    }
}
