//! The sockets of a flow at both of its hosts: what its channels ask for, in virtual time.

use framewire_recording::record::FlowSample;
use framewire_session::half::{Arrival, ChannelId, Channels, End};
use framewire_session::lifecycle::{Came, HostSockets};
use framewire_session::{ChannelSetup, MOVIE_CHANNEL, SendBuffer, SocketsSetup};
use framewire_tcp::{Segment, TcpConfig};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Timestamp};

use super::stream::{Connection, endpoint_sample, timed_out};
use super::udp::{BufferPool, SendMemory};
use crate::error::SimError;
use crate::packet_content::PacketContent;
use crate::record::FlowWires;
use crate::wires::FlowPath;

/// Bytes that one read takes, as in the emulated world.
const READ_SIZE: usize = 65_536;

/// `net.core.wmem_default` of Linux: SO_SNDBUF of a socket where it was not set.
const DEFAULT_SEND_BUFFER: DataSize = DataSize::from_bytes(212_992);

/// The sockets of both ends of a flow.
pub(crate) struct FlowSockets {
    flow: usize,
    path: FlowPath,
    channels: Vec<Channel>,
    pool: BufferPool,
}

/// The sockets of a channel.
struct Channel {
    id: ChannelId,
    is_media: bool,
    sockets: Sockets,
}

enum Sockets {
    /// Of datagrams, with the send buffer of the sender's; `None` where it never fills.
    Datagram(Option<SendMemory>),
    /// Of datagrams that are charged to the buffer of the channel at this place.
    DatagramOf(usize),
    /// A connection.
    Stream(Box<Connection>),
}

impl FlowSockets {
    /// Those of flow number `flow`, whose packets travel on `path`; its connections are opened at `now`, and have the
    /// endpoints that `configs` makes for the sender and the receiver.
    ///
    /// # Errors
    /// When there are no such endpoints.
    pub(crate) fn open(
        (flow, path): (usize, FlowPath),
        setups: &[ChannelSetup],
        configs: impl Fn(&framewire_session::ConnectionSettings) -> Result<(TcpConfig, TcpConfig), SimError>,
        now: Timestamp,
    ) -> Result<Self, SimError> {
        let place = |id| setups.iter().position(|setup| setup.id == id);
        let open = |setup: &ChannelSetup| {
            let id = setup.id;
            let sockets = match &setup.sockets {
                SocketsSetup::Stream(opened_by, settings) => {
                    let (sender, receiver) = configs(settings)?;
                    let place = (flow, path, id);
                    Sockets::Stream(Box::new(Connection::open(place, &sender, &receiver, *opened_by, now)))
                }
                SocketsSetup::Datagram([sender, _]) => match sender.send_buffer {
                    SendBuffer::Own(size) => {
                        Sockets::Datagram(Some(SendMemory::new(size.unwrap_or(DEFAULT_SEND_BUFFER))))
                    }
                    SendBuffer::Of(other) => {
                        Sockets::DatagramOf(place(other).expect("invariant: it is a channel of the flow"))
                    }
                    SendBuffer::Ample => Sockets::Datagram(None),
                },
            };
            Ok(Channel { id, is_media: setup.is_media(), sockets })
        };
        let channels = setups.iter().map(open).collect::<Result<_, SimError>>()?;
        Ok(Self { flow, path, channels, pool: BufferPool::default() })
    }

    /// Those of one host at a moment, with the network that they send to.
    pub(crate) fn at<'a>(&'a mut self, now: Timestamp, host: End, wires: &'a mut FlowWires) -> SocketsAt<'a> {
        SocketsAt { sockets: self, now, host, wires }
    }

    /// A segment comes out at a host; what it sets off is sent.
    pub(crate) fn handle_segment(
        &mut self,
        now: Timestamp,
        (to, id): (End, ChannelId),
        segment: &Segment,
        wires: &mut FlowWires,
    ) {
        if let Some(Channel { sockets: Sockets::Stream(connection), .. }) = self.find(id) {
            connection.handle_segment(now, to, segment, wires);
        }
    }

    /// The sender's own device has let go of a packet. False where that was charged to no socket.
    pub(crate) fn handle_released(
        &mut self,
        now: Timestamp,
        id: ChannelId,
        payload: u32,
        wires: &mut FlowWires,
    ) -> bool {
        match self.find(id) {
            Some(Channel { sockets: Sockets::Stream(connection), .. }) => {
                connection.handle_released(now, payload, wires);
                true
            }
            _ => match self.memory(id) {
                Some(memory) => {
                    memory.release(DataSize::from_bytes(payload.into()));
                    true
                }
                None => false,
            },
        }
    }

    /// When an endpoint has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        self.connections().filter_map(Connection::next_timeout).min()
    }

    /// Lets the endpoints do what is due.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.connections_mut().for_each(|connection| connection.handle_timeout(now, wires));
    }

    /// Ends the sender's streams.
    pub(crate) fn close(&mut self, now: Timestamp, wires: &mut FlowWires) {
        self.connections_mut().for_each(|connection| connection.close(now, wires));
    }

    /// True where there is a connection.
    pub(crate) fn have_stream(&self) -> bool {
        self.connections().next().is_some()
    }

    /// True where what goes on a channel is a part of the stream, and not said about it.
    pub(crate) fn is_media(&self, id: ChannelId) -> bool {
        self.channels.iter().any(|channel| channel.id == id && channel.is_media)
    }

    /// Whether poll(2) says `POLLOUT` of the sender's socket.
    pub(crate) fn is_writable(&self, id: ChannelId) -> bool {
        match self.channels.iter().find(|channel| channel.id == id).map(|channel| &channel.sockets) {
            Some(Sockets::Datagram(Some(memory))) => memory.is_writable(),
            Some(Sockets::Stream(connection)) => connection.sender.is_writable(),
            Some(Sockets::DatagramOf(place)) => self.is_writable(self.channels[*place].id),
            Some(Sockets::Datagram(None)) | None => true,
        }
    }

    /// What of the stream has not left the sender's host, or is not acknowledged (SIOCOUTQ).
    pub(crate) fn queued(&self) -> DataSize {
        let queued = |channel: &Channel| match &channel.sockets {
            Sockets::Datagram(Some(memory)) => memory.used(),
            Sockets::Stream(connection) if channel.is_media => connection.sender.queued(),
            Sockets::Datagram(None) | Sockets::DatagramOf(_) | Sockets::Stream(_) => DataSize::ZERO,
        };
        self.channels.iter().map(queued).fold(DataSize::ZERO, |sum, queued| sum + queued)
    }

    /// Takes back the buffer of a datagram that has come out.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        self.pool.give(buffer);
    }

    fn find(&mut self, id: ChannelId) -> Option<&mut Channel> {
        self.channels.iter_mut().find(|channel| channel.id == id)
    }

    fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.channels.iter().filter_map(|channel| match &channel.sockets {
            Sockets::Stream(connection) => Some(&**connection),
            Sockets::Datagram(_) | Sockets::DatagramOf(_) => None,
        })
    }

    fn connections_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.channels.iter_mut().filter_map(|channel| match &mut channel.sockets {
            Sockets::Stream(connection) => Some(&mut **connection),
            Sockets::Datagram(_) | Sockets::DatagramOf(_) => None,
        })
    }

    /// The send buffer that a channel's datagrams are charged to.
    fn memory(&mut self, id: ChannelId) -> Option<&mut SendMemory> {
        let place = self.channels.iter().position(|channel| channel.id == id)?;
        let place = if let Sockets::DatagramOf(other) = self.channels[place].sockets { other } else { place };
        if let Sockets::Datagram(memory) = &mut self.channels[place].sockets { memory.as_mut() } else { None }
    }
}

/// What a socket of another kind says of an operation: errno(3) has the words of EOPNOTSUPP.
fn wrong_kind(operation: &'static str) -> SocketError {
    SocketError { operation, reason: "Operation not supported".to_owned() }
}

/// The sockets of one host at a moment.
pub(crate) struct SocketsAt<'a> {
    sockets: &'a mut FlowSockets,
    now: Timestamp,
    host: End,
    wires: &'a mut FlowWires,
}

impl SocketsAt<'_> {
    /// The connection of a channel, and the network.
    fn connection(
        &mut self,
        id: ChannelId,
        operation: &'static str,
    ) -> Result<(&mut Connection, &mut FlowWires), SocketError> {
        match self.sockets.find(id) {
            Some(Channel { sockets: Sockets::Stream(connection), .. }) => Ok((connection, self.wires)),
            _ => Err(wrong_kind(operation)),
        }
    }
}

impl Channels for SocketsAt<'_> {
    /// What is made without room waits for it.
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    /// The receiver's sockets have room for what little they say.
    fn send(&mut self, id: ChannelId, datagram: &[u8], sequence: Option<u32>) -> Result<DatagramSend, SocketError> {
        let bytes = DataSize::from_bytes(datagram.len() as u64);
        let is_charged = self.host == End::Sender && self.sockets.path.is_local;
        if is_charged && self.sockets.memory(id).is_some_and(|memory| !memory.admit(bytes)) {
            return Ok(DatagramSend::WouldBlock);
        }
        let content = PacketContent::datagram(self.sockets.flow, id, sequence, self.sockets.pool.filled(datagram));
        self.wires.send(self.now, self.host, self.sockets.path, content.packet_size(), content);
        Ok(DatagramSend::Sent)
    }

    fn free_room(&mut self, id: ChannelId) -> Result<DataSize, SocketError> {
        Ok(self.sockets.memory(id).ok_or_else(|| wrong_kind("free_room"))?.free())
    }

    fn write(&mut self, id: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        let (now, host) = (self.now, self.host);
        let (connection, wires) = self.connection(id, "write")?;
        connection.write(now, host, bytes, wires)
    }

    fn unsent(&mut self, id: ChannelId) -> Result<DataSize, SocketError> {
        Ok(self.connection(id, "unsent")?.0.sender.unsent())
    }

    fn finish(&mut self, id: ChannelId) -> Result<(), SocketError> {
        let (now, host) = (self.now, self.host);
        let (connection, wires) = self.connection(id, "finish")?;
        connection.finish(now, host, wires);
        Ok(())
    }
}

impl HostSockets for SocketsAt<'_> {
    /// Datagrams are handed over as they come out.
    fn take(&mut self, now: Timestamp, wanted: &dyn Fn(ChannelId) -> bool) -> Result<Option<Came<'_>>, SocketError> {
        let host = self.host;
        for Channel { id, sockets, .. } in &mut self.sockets.channels {
            let (channel, at) = (*id, now);
            let Sockets::Stream(connection) = sockets else { continue };
            if !wanted(channel) {
                continue;
            }
            let endpoint = connection.endpoint(host);
            if endpoint.readable() > 0 {
                let arrival = Arrival::Bytes(connection.read(now, host, READ_SIZE, self.wires));
                return Ok(Some(Came { channel, at, arrival }));
            }
            if endpoint.has_ended() {
                return Ok(Some(Came { channel, at, arrival: Arrival::Ended }));
            }
        }
        Ok(None)
    }

    fn queued(&mut self) -> Result<DataSize, SocketError> {
        match self.sockets.connections().any(|connection| connection.sender.has_failed()) {
            true => Err(timed_out()),
            false => Ok(self.sockets.queued()),
        }
    }

    fn sample(&mut self, at: Timestamp) -> Option<FlowSample> {
        let queued_bytes = Some(self.sockets.queued().as_bytes());
        let movie = self.sockets.find(MOVIE_CHANNEL).map(|channel| &channel.sockets);
        let sample = match movie {
            Some(Sockets::Stream(connection)) => endpoint_sample(&connection.sender, at),
            _ => FlowSample { at, ..FlowSample::default() },
        };
        Some(FlowSample { queued_bytes, ..sample })
    }
}
