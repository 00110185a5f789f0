//! The sockets of one end of a flow.

mod opening;

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use framewire_endpoint::Clock;
use framewire_recording::record::FlowSample;
use framewire_session::MOVIE_CHANNEL;
use framewire_session::half::{Arrival, ChannelId, ChannelSet, Channels};
use framewire_session::lifecycle::{Came, FlowEnd, HostSockets};
use framewire_sockets::{TcpSender, Watch};
use framewire_transport::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};
use framewire_units::{DataSize, Timestamp};

use crate::channel::{Channel, Socket, Taken};
use crate::options::sample_connection;

/// Bytes that one read takes: more than any datagram.
const READ_SIZE: usize = 65_536;

/// The sockets of one end of a flow, and the clock that their times are put on.
///
/// A datagram that says when it left is made when it can leave: of such, one is sent at a moment, which lasts until what came
/// is asked for again.
pub struct FlowSockets<C> {
    channels: Vec<Channel>,
    clock: C,
    /// What reads take; nothing where every read is given its own.
    buffer: Vec<u8>,
    stream: Stream,
    /// Bytes of the stream that were counted.
    counted: u64,
    /// One was sent at this moment, and whether another one was asked for.
    has_sent: bool,
    asked_for_more: Cell<bool>,
    is_deaf: bool,
}

/// What of the stream itself came.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Bytes.
    came: u64,
    /// When the last of them did.
    last: Option<Timestamp>,
}

impl<C: Clock> FlowSockets<C> {
    /// What poll(2) is to wait for, for this end, and no longer than until when; at once, where it can go on.
    pub fn watched(&self, end: &(impl FlowEnd + ?Sized)) -> (Vec<(BorrowedFd<'_>, Watch)>, Option<Timestamp>) {
        let (now, awaited) = (self.clock.now(), end.wait());
        let watched = self.watches(awaited.room, |channel| end.wants(now, channel));
        // A socket without interest is left out: its errors alone would wake the thread again and again.
        let watched = watched.filter(|(.., watch)| watch.read || watch.write);
        let until = if self.asked_for_more.get() { Some(now) } else { awaited.timeout };
        (watched.map(|(_, descriptor, watch)| (descriptor, watch)).collect(), until)
    }

    /// What is to be waited for on every channel that is open: room on some, and what comes on those that are wanted.
    pub fn watches(
        &self,
        room: ChannelSet,
        wants: impl Fn(ChannelId) -> bool,
    ) -> impl Iterator<Item = (ChannelId, BorrowedFd<'_>, Watch)> {
        self.channels.iter().filter_map(move |channel| {
            let read = !channel.has_ended && !self.is_deaf && wants(channel.id);
            Some((channel.id, channel.descriptor()?, Watch { read, write: room.contains(channel.id) }))
        })
    }

    /// The same as [`take`](HostSockets::take), into a buffer.
    ///
    /// # Errors
    /// When a socket is broken.
    pub fn take_into<'a>(
        &mut self,
        buffer: &'a mut [u8],
        wanted: &dyn Fn(ChannelId) -> bool,
    ) -> Result<Option<Came<'a>>, SocketError> {
        self.has_sent = false;
        self.asked_for_more.set(false);
        let Self { channels, clock, stream, .. } = self;
        let channels = channels.iter_mut().filter(|channel| !self.is_deaf && !channel.has_ended && wanted(channel.id));
        take(channels, buffer, *clock, stream)
    }

    /// Nothing more is taken of what comes.
    pub fn stop_reading(&mut self) {
        self.is_deaf = true;
    }

    /// From now on only what comes from this host is taken.
    pub fn expect(&mut self, host: IpAddr) {
        self.channels.iter_mut().for_each(|channel| channel.listened.expected = Some(host));
    }

    /// Throws away the next that came on the first channel, a datagram or a connection; how many of others there were before.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn discard(&mut self) -> Result<u64, SocketError> {
        let before = self.of_others();
        let Self { channels, buffer, .. } = self;
        channels.first_mut().map_or(Ok(()), |first| first.discard(buffer))?;
        Ok(before)
    }

    /// Datagrams and connections of others that came.
    pub fn of_others(&self) -> u64 {
        self.channels.iter().map(|channel| channel.listened.of_others).sum()
    }

    /// How often the other host has said of datagrams of the stream that nothing listens at their port (ICMP port unreachable).
    pub fn refusals(&self) -> u64 {
        self.channels.iter().filter(|channel| channel.is_media).map(Channel::refusals).sum()
    }

    /// Who was heard first on the first channel, where that was not known; `None` before anything came.
    pub fn heard(&self) -> Option<SocketAddr> {
        self.channels.first()?.listened.heard
    }

    /// The same of any channel.
    pub fn heard_on(&self, id: ChannelId) -> Option<SocketAddr> {
        self.channels.iter().find(|channel| channel.id == id)?.listened.heard
    }

    /// Where the first channel listens, or is bound; `None` of a connection.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn local_address(&self) -> Result<Option<SocketAddr>, SocketError> {
        self.channels.first().map_or(Ok(None), Channel::local_address)
    }

    /// From where the first channel, a connection, was opened.
    ///
    /// # Errors
    /// When it is broken, or no connection.
    pub fn connected_from(&self) -> Result<SocketAddr, SocketError> {
        match self.channels.first().map(|channel| &channel.socket) {
            Some(Socket::Open(sender, _)) => sender.local_address(),
            _ => Err(wrong_kind("getsockname")),
        }
    }

    /// The descriptor of the first channel, for poll(2).
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.channels.first()?.descriptor()
    }

    /// Bytes of the stream that came.
    pub fn came(&self) -> u64 {
        self.stream.came
    }

    /// Those since this was last asked.
    pub fn take_count(&mut self) -> u64 {
        let before = std::mem::replace(&mut self.counted, self.stream.came);
        self.stream.came - before
    }

    /// When the last of them came.
    pub fn last(&self) -> Option<Timestamp> {
        self.stream.last
    }

    fn find(&mut self, id: ChannelId) -> Option<&mut Socket> {
        self.channels.iter_mut().find(|channel| channel.id == id).map(|channel| &mut channel.socket)
    }

    /// The connection; `None` before it was opened.
    fn stream(&mut self, id: ChannelId, operation: &'static str) -> Result<Option<&mut TcpSender>, SocketError> {
        match self.find(id) {
            Some(Socket::Open(sender, _)) => Ok(Some(sender)),
            Some(Socket::Listening(_) | Socket::Closed(..)) => Ok(None),
            _ => Err(wrong_kind(operation)),
        }
    }
}

/// Takes the next of what came on these channels.
fn take<'a, 'b>(
    channels: impl Iterator<Item = &'b mut Channel>,
    buffer: &'a mut [u8],
    clock: impl Clock,
    stream: &mut Stream,
) -> Result<Option<Came<'a>>, SocketError> {
    for channel in channels {
        let taken = channel.take(buffer)?;
        let (arrival, stamped) = match taken {
            Taken::Nothing => continue,
            Taken::Opened => (Arrival::Opened, None),
            Taken::Ended => (Arrival::Ended, None),
            Taken::Datagram(length, stamped) => (Arrival::Datagram(&buffer[..length]), stamped),
            Taken::Bytes(length, stamped) => (Arrival::Bytes(&buffer[..length]), stamped),
        };
        let at = clock.arrival(stamped);
        if let Arrival::Datagram(bytes) | Arrival::Bytes(bytes) = arrival
            && channel.is_media
        {
            stream.came += bytes.len() as u64;
            stream.last = Some(at);
        }
        return Ok(Some(Came { channel: channel.id, at, arrival }));
    }
    Ok(None)
}

/// The error of an operation on a socket of another kind: errno(3) has the words of EOPNOTSUPP.
fn wrong_kind(operation: &'static str) -> SocketError {
    SocketError { operation, reason: "Operation not supported".to_owned() }
}

impl<C: Clock> Channels for FlowSockets<C> {
    /// A socket itself says so when it has none; what is asked for beside that is another moment.
    fn has_room(&self, _: ChannelId) -> bool {
        self.asked_for_more.set(self.has_sent);
        !self.has_sent
    }

    fn send(&mut self, id: ChannelId, datagram: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        let sent = match self.channels.iter_mut().find(|channel| channel.id == id) {
            Some(Channel { socket: Socket::Datagram(sender, _), .. }) => sender.send(datagram)?,
            Some(Channel { socket: Socket::Bound(socket), listened, .. }) => match listened.answers_to() {
                Some(peer) => socket.send_to(datagram, peer)?,
                None => DatagramSend::Dropped,
            },
            _ => return Err(wrong_kind("send")),
        };
        self.has_sent = true;
        Ok(sent)
    }

    fn free_room(&mut self, id: ChannelId) -> Result<DataSize, SocketError> {
        match self.find(id) {
            Some(Socket::Datagram(sender, _)) => sender.free_room(),
            _ => Err(wrong_kind("free_room")),
        }
    }

    fn write(&mut self, id: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        self.stream(id, "write")?.map_or(Ok(0), |socket| socket.write(bytes))
    }

    fn unsent(&mut self, id: ChannelId) -> Result<DataSize, SocketError> {
        self.stream(id, "unsent")?.map_or(Ok(DataSize::ZERO), |socket| socket.unsent())
    }

    fn finish(&mut self, id: ChannelId) -> Result<(), SocketError> {
        self.stream(id, "finish")?.map_or(Ok(()), |socket| socket.finish())
    }
}

impl<C: Clock> HostSockets for FlowSockets<C> {
    fn take(&mut self, _: Timestamp, wanted: &dyn Fn(ChannelId) -> bool) -> Result<Option<Came<'_>>, SocketError> {
        self.has_sent = false;
        self.asked_for_more.set(false);
        let Self { channels, buffer, clock, stream, .. } = self;
        let channels = channels.iter_mut().filter(|channel| !self.is_deaf && !channel.has_ended && wanted(channel.id));
        take(channels, buffer, *clock, stream)
    }

    fn queued(&mut self) -> Result<DataSize, SocketError> {
        let media = self.channels.iter().filter(|channel| channel.is_media);
        media.map(Channel::queued).try_fold(DataSize::ZERO, |sum, queued| Ok(sum + queued?))
    }

    fn sample(&mut self, at: Timestamp) -> Option<FlowSample> {
        match self.find(MOVIE_CHANNEL) {
            Some(Socket::Open(sender, _)) => sample_connection(sender, at),
            Some(Socket::Datagram(..)) => {
                let queued_bytes = Some(self.queued().ok()?.as_bytes());
                Some(FlowSample { at, queued_bytes, ..FlowSample::default() })
            }
            _ => None,
        }
    }
}
