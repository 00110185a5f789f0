//! The socket of a flow of the movie, of either kind, as both ends of the flow see it.

use framewire_link::Port;
use framewire_recording::record::FlowSample;
use framewire_session::half::{ChannelId, Channels};
use framewire_session::lifecycle::{ReceivingSocket, SendingSocket, Taken};
use framewire_session::{MOVIE_CHANNEL, SOUND_CHANNEL};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Timestamp};

use super::stream::{Connection, endpoint_sample, timed_out};
use super::udp::UdpSender;
use crate::record::FlowWires;

/// Bytes that one read takes, as in the emulated world.
const READ_SIZE: usize = 65_536;

/// The sockets of a flow.
pub(crate) enum MovieSocket {
    Udp(UdpSockets),
    Tcp(Box<Connection>),
}

impl MovieSocket {
    /// The same at a moment, with the network that it sends to.
    pub(crate) fn at<'a>(&'a mut self, now: Timestamp, wires: &'a mut FlowWires) -> MovieSocketAt<'a> {
        MovieSocketAt { socket: self, now, wires }
    }

    /// The sender's own device has let go of a packet.
    pub(crate) fn handle_released(&mut self, now: Timestamp, channel: ChannelId, payload: u32, wires: &mut FlowWires) {
        match self {
            Self::Udp(sockets) => {
                // A report is of a socket of its own, whose buffer holds far more than what is sent in five seconds.
                if let Some(socket) = sockets.of(channel) {
                    socket.handle_released(DataSize::from_bytes(u64::from(payload)));
                }
            }
            Self::Tcp(connection) => connection.handle_released(now, payload, wires),
        }
    }

    /// When an endpoint has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        match self {
            Self::Udp(_) => None,
            Self::Tcp(connection) => connection.next_timeout(),
        }
    }

    /// Lets the endpoints do what is due.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if let Self::Tcp(connection) = self {
            connection.handle_timeout(now, wires);
        }
    }

    /// Ends the sender's stream, where there is one.
    pub(crate) fn close(&mut self, now: Timestamp, wires: &mut FlowWires) {
        if let Self::Tcp(connection) = self {
            connection.close(now, wires);
        }
    }

    /// True for a connection.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    /// Whether poll(2) says `POLLOUT`.
    pub(crate) fn is_writable(&self) -> bool {
        match self {
            Self::Udp(sockets) => sockets.movie.is_writable(),
            Self::Tcp(connection) => connection.sender.is_writable(),
        }
    }

    /// What has not left this host, or is not acknowledged (SIOCOUTQ).
    pub(crate) fn queued(&self) -> DataSize {
        match self {
            Self::Udp(sockets) => sockets.queued(),
            Self::Tcp(connection) => connection.sender.queued(),
        }
    }
}

/// Those over UDP.
pub(crate) struct UdpSockets {
    movie: UdpSender,
    /// Of sound that has packets for itself.
    sound: Option<UdpSender>,
}

impl UdpSockets {
    /// With that of the movie, and that of its sound where it has one.
    pub(crate) fn new(movie: UdpSender, sound: Option<UdpSender>) -> Self {
        Self { movie, sound: sound.map(|sound| sound.of_channel(SOUND_CHANNEL)) }
    }

    /// The one that sends media on this channel.
    pub(crate) fn of(&mut self, channel: ChannelId) -> Option<&mut UdpSender> {
        match channel {
            MOVIE_CHANNEL => Some(&mut self.movie),
            SOUND_CHANNEL => self.sound.as_mut(),
            _ => None,
        }
    }

    /// Takes back the buffer of a datagram that has come out.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        self.movie.recycle(buffer);
    }

    fn queued(&self) -> DataSize {
        self.movie.queued() + self.sound.as_ref().map_or(DataSize::ZERO, UdpSender::queued)
    }
}

/// A [`MovieSocket`] at a moment.
pub(crate) struct MovieSocketAt<'a> {
    socket: &'a mut MovieSocket,
    now: Timestamp,
    wires: &'a mut FlowWires,
}

impl MovieSocketAt<'_> {
    fn connection(&mut self, operation: &'static str) -> Result<&mut Connection, SocketError> {
        match self.socket {
            MovieSocket::Tcp(connection) => Ok(connection),
            MovieSocket::Udp(_) => Err(wrong_kind(operation)),
        }
    }
}

/// What a socket of another kind says of an operation: errno(3) has the words of EOPNOTSUPP.
pub(crate) fn wrong_kind(operation: &'static str) -> SocketError {
    SocketError { operation, reason: "Operation not supported".to_owned() }
}

/// There is one channel, and over UDP those of sound and of reports.
impl Channels for MovieSocketAt<'_> {
    fn has_room(&self, _: ChannelId) -> bool {
        self.socket.is_writable()
    }

    fn send(&mut self, channel: ChannelId, datagram: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        match self.socket {
            MovieSocket::Udp(sockets) => match sockets.of(channel) {
                Some(socket) => Ok(socket.send(self.now, datagram, self.wires)),
                None => {
                    sockets.movie.report(self.now, (Port::Sender, channel), datagram, self.wires);
                    Ok(DatagramSend::Sent)
                }
            },
            MovieSocket::Tcp(_) => Err(wrong_kind("send")),
        }
    }

    fn free_room(&mut self, channel: ChannelId) -> Result<DataSize, SocketError> {
        let MovieSocket::Udp(sockets) = &mut *self.socket else { return Err(wrong_kind("free_room")) };
        Ok(sockets.of(channel).ok_or_else(|| wrong_kind("free_room"))?.free_room())
    }

    fn write(&mut self, _: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        match self.socket {
            MovieSocket::Tcp(connection) => connection.write(self.now, bytes, self.wires),
            MovieSocket::Udp(_) => Err(wrong_kind("write")),
        }
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(self.connection("unsent")?.sender.unsent())
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.socket.close(self.now, self.wires);
        Ok(())
    }
}

impl SendingSocket for MovieSocketAt<'_> {
    fn queued(&mut self) -> Result<DataSize, SocketError> {
        match &*self.socket {
            MovieSocket::Tcp(connection) if connection.sender.has_failed() => Err(timed_out()),
            socket => Ok(socket.queued()),
        }
    }

    fn take_request(&mut self, now: Timestamp) -> Result<Taken<'_>, SocketError> {
        let MovieSocket::Tcp(connection) = self.socket else { return Ok(Taken::Nothing) };
        if connection.sender.readable() == 0 {
            return Ok(if connection.sender.has_ended() { Taken::End } else { Taken::Nothing });
        }
        Ok(Taken::Bytes(now, connection.read_request(now, READ_SIZE, self.wires)))
    }

    fn sample(&mut self, at: Timestamp) -> Option<FlowSample> {
        let queued_bytes = Some(self.socket.queued().as_bytes());
        Some(match self.socket {
            MovieSocket::Udp(_) => FlowSample { at, queued_bytes, ..FlowSample::default() },
            MovieSocket::Tcp(connection) => FlowSample { queued_bytes, ..endpoint_sample(&connection.sender, at) },
        })
    }
}

impl ReceivingSocket for MovieSocketAt<'_> {
    /// Datagrams are handed over as they come out.
    fn take(&mut self, now: Timestamp) -> Result<Taken<'_>, SocketError> {
        let MovieSocket::Tcp(connection) = self.socket else { return Ok(Taken::Nothing) };
        if connection.receiver.readable() == 0 {
            return Ok(if connection.receiver.has_ended() { Taken::End } else { Taken::Nothing });
        }
        Ok(Taken::Bytes(now, connection.read(now, READ_SIZE, self.wires)))
    }

    fn report(&mut self, now: Timestamp, channel: ChannelId, datagram: &[u8]) -> Result<bool, SocketError> {
        match self.socket {
            MovieSocket::Udp(sockets) => {
                sockets.movie.report(now, (Port::Receiver, channel), datagram, self.wires);
            }
            MovieSocket::Tcp(_) => return Err(wrong_kind("report")),
        }
        Ok(true)
    }

    fn write_request(&mut self, now: Timestamp, bytes: &[u8]) -> Result<usize, SocketError> {
        let wires = &mut *self.wires;
        match self.socket {
            MovieSocket::Tcp(connection) => connection.write_request(now, bytes, wires),
            MovieSocket::Udp(_) => Err(wrong_kind("write")),
        }
    }
}
