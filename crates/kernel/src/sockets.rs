//! The sockets of one end of a flow.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use framewire_endpoint::Clock;
use framewire_recording::record::FlowSample;
use framewire_session::half::{Arrival, ChannelId, ChannelSet, Channels};
use framewire_session::lifecycle::{Came, FlowEnd, HostSockets};
use framewire_session::{ChannelSetup, MOVIE_CHANNEL, SendBuffer, SocketsSetup};
use framewire_sockets::{Interest, OpenError, TcpReceiver, TcpSender, Watch, wait};
use framewire_transport::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};
use framewire_units::{DataSize, Duration, Timestamp};

use crate::addresses::FlowAddresses;
use crate::channel::{Channel, Socket, Taken};
use crate::options::sample_connection;

/// Bytes that one read takes: more than any datagram.
const READ_SIZE: usize = 65_536;

/// How often two ports that follow each other are looked for: half of all that are free are odd.
const PAIRS_TRIED: u32 = 64;

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
    /// Opens the channels of a flow at one of its ends, but for the connections that this end opens, which
    /// [`connect`](Self::connect) does; inside the host where they are to be.
    ///
    /// # Errors
    /// When a port is taken, or the kernel does not make a socket as the flow says.
    pub fn open(setups: &[ChannelSetup], addresses: &FlowAddresses, clock: C) -> Result<Self, OpenError> {
        let send_buffer_of = |setup: &ChannelSetup| {
            let SocketsSetup::Datagram([sender, _]) = &setup.sockets else { return None };
            let SendBuffer::Of(other) = sender.send_buffer else { return None };
            let other = setups.iter().find(|setup| setup.id == other)?;
            let SocketsSetup::Datagram([sender, _]) = &other.sockets else { return None };
            if let SendBuffer::Own(size) = sender.send_buffer { size } else { None }
        };
        let channels = setups.iter().map(|setup| Channel::open(setup, addresses, send_buffer_of(setup)));
        Ok(Self::of(channels.collect::<Result<_, _>>()?, vec![0; READ_SIZE], clock))
    }

    /// Those of a connection that was accepted for one of many peers: that is its only channel so far. A peer that takes nothing for as
    /// long as `patience` has broken it. Every read is given its buffer, with [`take_into`](Self::take_into).
    ///
    /// # Errors
    /// When it is gone already.
    pub fn of_connection(
        accepted: TcpReceiver,
        id: ChannelId,
        patience: Duration,
        clock: C,
    ) -> Result<Self, SocketError> {
        let sender = accepted.sender()?;
        sender.set_user_timeout(patience)?;
        Ok(Self::of(vec![Channel::of_connection(id, sender, accepted)], Vec::new(), clock))
    }

    /// Opens two channels of datagrams more, at two free ports of this host that follow each other, of which the first is even (RFC 3550,
    /// section 11), to these ports of the other one; in place of those that there were. Which ports those are.
    ///
    /// # Errors
    /// When there are none, or the kernel does not make a socket as it is to be.
    pub fn open_pair(
        &mut self,
        setups: &[ChannelSetup; 2],
        own: IpAddr,
        peers: [SocketAddr; 2],
    ) -> Result<(u16, u16), OpenError> {
        self.open_even_pair(own, setups, |number, at| Channel::of_datagrams(&setups[number], at, peers[number]))
    }

    /// The same of the packets and the reports of a session: the other host's reports are taken from any of its ports.
    ///
    /// # Errors
    /// As [`open_pair`](Self::open_pair).
    pub fn open_reported(
        &mut self,
        setups: &[ChannelSetup; 2],
        own: IpAddr,
        peers: [SocketAddr; 2],
    ) -> Result<(u16, u16), OpenError> {
        self.open_even_pair(own, setups, |number, at| match number {
            0 => Channel::of_datagrams(&setups[0], at, peers[0]),
            _ => Channel::of_reports(&setups[1], at, peers[1]),
        })
    }

    /// The same to which another host sends, from whatever ports: what is heard first on each is its peer.
    ///
    /// # Errors
    /// As [`open_pair`](Self::open_pair).
    pub fn listen_pair(
        &mut self,
        setups: &[ChannelSetup; 2],
        own: IpAddr,
        from: IpAddr,
    ) -> Result<(u16, u16), OpenError> {
        self.open_even_pair(own, setups, |number, at| Channel::of_host(&setups[number], at, from))
    }

    /// Opens two channels at two free ports that follow each other, the first one at an even one.
    fn open_even_pair(
        &mut self,
        own: IpAddr,
        setups: &[ChannelSetup; 2],
        open: impl Fn(usize, SocketAddr) -> Result<Channel, OpenError>,
    ) -> Result<(u16, u16), OpenError> {
        self.channels.retain(|channel| setups.iter().all(|setup| setup.id != channel.id));
        let mut tries = 0;
        loop {
            tries += 1;
            let one = open(0, SocketAddr::new(own, 0))?;
            let port = one.port();
            let other = match port % 2 {
                0 => open(1, SocketAddr::new(own, port + 1)),
                _ => Err(OpenError::PortInUse(SocketAddr::new(own, port))),
            };
            match other {
                Ok(other) => {
                    self.channels.extend([one, other]);
                    return Ok((port, port + 1));
                }
                Err(OpenError::PortInUse(_)) if tries < PAIRS_TRIED => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What is said on a channel that [listens](Self::listen_pair) goes to this port of the host that it is of.
    pub fn answer_to(&mut self, channel: ChannelId, port: u16) {
        let listening = self.channels.iter_mut().filter(|one| one.id == channel);
        listening.for_each(|one| one.listened.port = Some(port));
    }

    /// Opens one more channel of datagrams, in place of the one of this number if there is one, which is listened to as the first one is.
    ///
    /// # Errors
    /// When its port is taken, or the kernel does not make a socket as it is to be.
    pub fn add(&mut self, setup: &ChannelSetup, addresses: &FlowAddresses) -> Result<(), OpenError> {
        self.channels.retain(|channel| channel.id != setup.id);
        let mut channel = Channel::open(setup, addresses, None)?;
        channel.listened.expected = self.channels.first().and_then(|first| first.listened.expected);
        self.channels.push(channel);
        Ok(())
    }

    fn of(channels: Vec<Channel>, buffer: Vec<u8>, clock: C) -> Self {
        let (stream, asked_for_more) = (Stream::default(), Cell::new(false));
        Self { channels, clock, buffer, stream, counted: 0, has_sent: false, asked_for_more, is_deaf: false }
    }

    /// The same on another clock.
    #[must_use]
    pub fn on(self, clock: C) -> Self {
        Self { clock, ..self }
    }

    /// Begins to open the connections that this end opens; inside its host.
    ///
    /// # Errors
    /// When the kernel does not make a socket, or nothing listens at the other end.
    pub fn connect(&mut self) -> Result<(), OpenError> {
        self.channels.iter_mut().try_for_each(Channel::connect)
    }

    /// Waits for the connections of this end as long as `patience`; from then on a peer that takes nothing for as long has
    /// broken them. False where `is_stopped` ended that, which is asked every `tick`.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn wait_for_peer(
        &self,
        patience: Duration,
        tick: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<bool, OpenError> {
        let system = |error: SocketError| OpenError::System { operation: error.operation, reason: error.reason };
        for channel in &self.channels {
            let Socket::Open(sender, _) = &channel.socket else { continue };
            let mut left = patience;
            while !wait(sender, Interest::Write, left.min(tick)).map_err(system)? {
                left = left.saturating_sub(tick);
                if left.is_zero() {
                    return Err(OpenError::NoAnswer(sender.peer()));
                }
                if is_stopped() {
                    return Ok(false);
                }
            }
            sender.connected()?;
            sender.set_user_timeout(patience).map_err(system)?;
        }
        Ok(true)
    }

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
