//! The kernel's sockets of a flow of the movie, as both of its ends see them.

use std::os::fd::{AsFd, BorrowedFd};

use framewire_emu::Clock;
use framewire_recording::record::FlowSample;
use framewire_session::half::{ChannelId, Channels};
use framewire_session::lifecycle::{ReceivingSocket, SendingSocket, Taken};
use framewire_session::{DatagramSetup, MOVIE_CHANNEL, RTCP_CHANNEL, SOUND_CHANNEL, SOUND_RTCP_CHANNEL, StreamSetup};
use framewire_sockets::{
    OpenError, TcpListener, TcpOptions, TcpRead, TcpReceiver, TcpSender, UdpOptions, UdpRead, UdpReceiver, UdpSender,
};
use framewire_transport::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};
use framewire_units::{DataSize, Timestamp};
use framewire_world::{UDP_RECEIVE_BUFFER, sound_port};

use super::asked::AskedSocket;
use super::reports::ReportSocket;
use crate::run::sockets::{
    READ_SIZE, receiver_address, sample_connection, sender_address, stamp, tcp_options, wrong_kind,
};

/// The socket of a sender.
pub enum SenderSocket {
    /// Of a datagram flow.
    Udp(Box<UdpSockets>),
    /// Of a stream flow.
    Tcp(TcpSender),
    /// Of one whose receiver opens the connection.
    Asked(AskedSocket),
}

/// The sockets of a sender over UDP.
pub struct UdpSockets {
    movie: UdpSender,
    /// Of sound that has packets for itself.
    sound: Option<UdpSender>,
    /// Of reports, with their channels.
    reports: Vec<(ChannelId, ReportSocket)>,
}

impl UdpSockets {
    fn of(&mut self, channel: ChannelId) -> Option<&mut UdpSender> {
        match channel {
            MOVIE_CHANNEL => Some(&mut self.movie),
            SOUND_CHANNEL => self.sound.as_mut(),
            _ => None,
        }
    }

    fn queued(&mut self) -> Result<DataSize, SocketError> {
        let sound = self.sound.as_ref().map_or(Ok(DataSize::ZERO), |sound| sound.queued())?;
        Ok(self.movie.queued()? + sound)
    }
}

impl SenderSocket {
    /// That of a datagram flow, in the sender's host.
    ///
    /// # Errors
    /// When the kernel does not make it as the flow says.
    pub fn of_datagrams(setup: &DatagramSetup, port: u16) -> Result<Self, OpenError> {
        let options = UdpOptions {
            send_buffer: setup.common.send_buffer(),
            report_errors: setup.wants_error_reports(),
            ..UdpOptions::default()
        };
        let open = |port| {
            let socket = UdpSender::open(sender_address(port), receiver_address(port), &options)?;
            let reports = setup.has_rtcp().then(|| ReportSocket::of_sender(port)).transpose()?;
            Ok::<_, OpenError>((socket, reports))
        };
        let (movie, of_movie) = open(port)?;
        let (sound, of_sound) = match setup.has_sound_apart() {
            true => open(sound_port(port)).map(|(sound, reports)| (Some(sound), reports))?,
            false => (None, None),
        };
        let reports = [(RTCP_CHANNEL, of_movie), (SOUND_RTCP_CHANNEL, of_sound)];
        let reports = reports.into_iter().filter_map(|(channel, reports)| Some((channel, reports?))).collect();
        Ok(Self::Udp(Box::new(UdpSockets { movie, sound, reports })))
    }

    /// That of a stream flow, in the sender's host.
    ///
    /// # Errors
    /// As [`of_datagrams`](Self::of_datagrams), and when the port has no listener.
    pub fn of_stream(setup: &StreamSetup, port: u16) -> Result<Self, OpenError> {
        let options = tcp_options(setup.connection.clone());
        TcpSender::start(Some(sender_address(port)), receiver_address(port), &options).map(Self::Tcp)
    }

    /// That of a stream flow whose receiver opens the connection, in the sender's host: it listens.
    ///
    /// # Errors
    /// As [`of_datagrams`](Self::of_datagrams), and when the port is taken.
    pub fn listening(setup: &StreamSetup, port: u16) -> Result<Self, OpenError> {
        AskedSocket::listen(sender_address(port), &tcp_options(setup.connection.clone())).map(Self::Asked)
    }

    /// What poll(2) waits for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Udp(sockets) => sockets.movie.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
            Self::Asked(socket) => socket.descriptor(),
        }
    }

    /// What poll(2) waits for on the sockets of reports, where the flow has them.
    pub fn report_descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let reports = if let Self::Udp(sockets) = self { &sockets.reports[..] } else { &[] };
        reports.iter().map(|(_, reports)| reports.descriptor())
    }

    /// The sockets of reports, where the flow has them, each with the channel of its reports.
    pub fn reports(&mut self) -> &mut [(ChannelId, ReportSocket)] {
        if let Self::Udp(sockets) = self { &mut sockets.reports } else { &mut [] }
    }
}

impl SenderSocket {
    fn datagrams(&mut self, channel: ChannelId, operation: &'static str) -> Result<&mut UdpSender, SocketError> {
        match self {
            Self::Udp(sockets) => sockets.of(channel).ok_or_else(|| wrong_kind(operation)),
            Self::Tcp(_) | Self::Asked(_) => Err(wrong_kind(operation)),
        }
    }

    /// The connection; `None` before it was opened.
    fn stream(&mut self, operation: &'static str) -> Result<Option<&mut TcpSender>, SocketError> {
        match self {
            Self::Tcp(socket) => Ok(Some(socket)),
            Self::Asked(socket) => Ok(socket.sender()),
            Self::Udp(_) => Err(wrong_kind(operation)),
        }
    }
}

/// There is one channel, and over UDP those of sound and of reports.
impl Channels for SenderSocket {
    /// The socket itself says so when it has none.
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, channel: ChannelId, datagram: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        match self.reports().iter_mut().find(|(reported, _)| *reported == channel) {
            Some((_, reports)) => reports.send(datagram),
            None => self.datagrams(channel, "send")?.send(datagram),
        }
    }

    fn free_room(&mut self, channel: ChannelId) -> Result<DataSize, SocketError> {
        self.datagrams(channel, "free_room")?.free_room()
    }

    fn write(&mut self, _: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        self.stream("write")?.map_or(Ok(0), |socket| socket.write(bytes))
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        self.stream("unsent")?.map_or(Ok(DataSize::ZERO), |socket| socket.unsent())
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.stream("finish")?.map_or(Ok(()), |socket| socket.finish())
    }
}

impl SendingSocket for SenderSocket {
    fn queued(&mut self) -> Result<DataSize, SocketError> {
        match self {
            Self::Udp(sockets) => sockets.queued(),
            Self::Tcp(socket) => socket.queued(),
            Self::Asked(socket) => socket.sender().map_or(Ok(DataSize::ZERO), |socket| socket.queued()),
        }
    }

    fn sample(&mut self, at: Timestamp) -> Option<FlowSample> {
        match self {
            Self::Udp(sockets) => {
                let queued_bytes = Some(sockets.queued().ok()?.as_bytes());
                Some(FlowSample { at, queued_bytes, ..FlowSample::default() })
            }
            Self::Tcp(socket) => sample_connection(socket, at),
            Self::Asked(socket) => sample_connection(socket.sender()?, at),
        }
    }

    fn take_request(&mut self, now: Timestamp) -> Result<Taken<'_>, SocketError> {
        let Self::Asked(socket) = self else { return Ok(Taken::Nothing) };
        socket.take(now)
    }
}

/// The socket of a receiver.
pub struct ReceiverSocket {
    kind: Kind,
    /// Of sound that has packets for itself.
    sound: Option<UdpReceiver>,
    /// Of reports, with their channels.
    reports: Vec<(ChannelId, ReportSocket)>,
    buffer: Vec<u8>,
    /// Bytes that came and were not counted yet.
    came: u64,
}

enum Kind {
    Udp(UdpReceiver),
    Listening(TcpListener),
    /// A connection that the receiver is to open.
    Asking(TcpOptions, u16),
    Tcp(TcpReceiver),
    /// One that it has opened, with the direction in which it says something.
    Asked(TcpReceiver, TcpSender),
}

impl ReceiverSocket {
    /// That of a datagram flow, in the receiver's host.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn of_datagrams(setup: &DatagramSetup, port: u16) -> Result<Self, OpenError> {
        let options = UdpOptions { receive_buffer: Some(UDP_RECEIVE_BUFFER), ..UdpOptions::default() };
        let bind = |port| UdpReceiver::bind(receiver_address(port), &options);
        let sound = setup.has_sound_apart().then(|| bind(sound_port(port))).transpose()?;
        let mut reports = Vec::new();
        if setup.has_rtcp() {
            reports.push((RTCP_CHANNEL, ReportSocket::of_receiver(port)?));
            if sound.is_some() {
                reports.push((SOUND_RTCP_CHANNEL, ReportSocket::of_receiver(sound_port(port))?));
            }
        }
        Ok(Self { reports, sound, ..Self::new(Kind::Udp(bind(port)?)) })
    }

    /// That of a stream flow, in the receiver's host.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn of_stream(port: u16) -> Result<Self, OpenError> {
        let listener = TcpListener::bind(receiver_address(port), &TcpOptions::default());
        listener.map(|listener| Self::new(Kind::Listening(listener)))
    }

    /// The same of a stream flow whose connection the receiver opens, when it is told to [`connect`](Self::connect).
    pub fn asking(port: u16) -> Self {
        Self::new(Kind::Asking(TcpOptions { no_delay: true, ..TcpOptions::default() }, port))
    }

    /// Opens the connection, where the receiver does so; in the receiver's host.
    ///
    /// # Errors
    /// When the kernel does not make the socket, or nothing listens at the sender's port.
    pub fn connect(&mut self) -> Result<(), OpenError> {
        let Kind::Asking(options, port) = &self.kind else { return Ok(()) };
        let socket = TcpSender::start(Some(receiver_address(*port)), sender_address(*port), options)?;
        let system = |error: SocketError| OpenError::System { operation: error.operation, reason: error.reason };
        self.kind = Kind::Asked(socket.receiver().map_err(system)?, socket);
        Ok(())
    }

    /// True for one that opens its connection.
    pub fn asks(&self) -> bool {
        matches!(self.kind, Kind::Asking(..) | Kind::Asked(..))
    }

    fn new(kind: Kind) -> Self {
        Self { kind, sound: None, reports: Vec::new(), buffer: vec![0; READ_SIZE], came: 0 }
    }

    /// The same on the run's clock.
    pub fn at(&mut self, clock: Clock) -> ReceiverSocketAt<'_> {
        ReceiverSocketAt { socket: self, clock }
    }

    /// Bytes that came since this was last asked.
    pub fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.came)
    }

    /// What poll(2) waits for.
    ///
    /// # Panics
    /// Of one that is to open its connection and has not.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Udp(socket) => socket.as_fd(),
            Kind::Listening(socket) => socket.as_fd(),
            Kind::Tcp(socket) | Kind::Asked(socket, _) => socket.as_fd(),
            Kind::Asking(..) => panic!("invariant: a receiver connects before it waits"),
        }
    }

    /// The same of the sockets beside that of the movie.
    pub fn beside(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let reports = self.reports.iter().map(|(_, reports)| reports.descriptor());
        self.sound.iter().map(AsFd::as_fd).chain(reports)
    }
}

/// What came beside the movie: sound, or else a report.
fn take_beside<'a>(
    sound: Option<&mut UdpReceiver>,
    reports: &'a mut [(ChannelId, ReportSocket)],
    (buffer, came): (&'a mut [u8], &mut u64),
    clock: Clock,
) -> Result<Taken<'a>, SocketError> {
    if let Some(sound) = sound
        && let UdpRead::Datagram { length, realtime_nanos, .. } = sound.receive(buffer)?
    {
        *came += length as u64;
        return Ok(Taken::Datagram(SOUND_CHANNEL, stamp(clock, realtime_nanos), &buffer[..length]));
    }
    for (channel, reports) in reports {
        if let Some((at, report)) = reports.receive(clock)? {
            return Ok(Taken::Datagram(*channel, at, report));
        }
    }
    Ok(Taken::Nothing)
}

/// A [`ReceiverSocket`] whose kernel's time stamps are converted to the run's clock.
pub struct ReceiverSocketAt<'a> {
    socket: &'a mut ReceiverSocket,
    clock: Clock,
}

impl ReceivingSocket for ReceiverSocketAt<'_> {
    fn take(&mut self, _now: Timestamp) -> Result<Taken<'_>, SocketError> {
        let ReceiverSocket { kind, sound, reports, buffer, came } = self.socket;
        let (length, stamped) = match kind {
            Kind::Listening(listener) => {
                let Some(connection) = listener.accept()? else { return Ok(Taken::Nothing) };
                *kind = Kind::Tcp(connection);
                return Ok(Taken::Opened);
            }
            Kind::Udp(socket) => match socket.receive(buffer)? {
                UdpRead::Nothing => return take_beside(sound.as_mut(), reports, (buffer, came), self.clock),
                UdpRead::Datagram { length, realtime_nanos, .. } => (length, realtime_nanos),
            },
            Kind::Asking(..) => return Ok(Taken::Nothing),
            Kind::Tcp(socket) | Kind::Asked(socket, _) => match socket.read(buffer)? {
                TcpRead::Nothing => return Ok(Taken::Nothing),
                TcpRead::End => return Ok(Taken::End),
                TcpRead::Bytes { length, realtime_nanos } => (length, realtime_nanos),
            },
        };
        *came += length as u64;
        Ok(Taken::Bytes(stamp(self.clock, stamped), &buffer[..length]))
    }

    fn report(&mut self, _now: Timestamp, channel: ChannelId, datagram: &[u8]) -> Result<bool, SocketError> {
        let reports = self.socket.reports.iter_mut().find(|(reported, _)| *reported == channel);
        let (_, reports) = reports.ok_or_else(|| wrong_kind("report"))?;
        Ok(reports.send(datagram)? == DatagramSend::Sent)
    }

    fn write_request(&mut self, _now: Timestamp, bytes: &[u8]) -> Result<usize, SocketError> {
        match &mut self.socket.kind {
            Kind::Asked(_, socket) => socket.write(bytes),
            _ => Err(wrong_kind("write")),
        }
    }
}
