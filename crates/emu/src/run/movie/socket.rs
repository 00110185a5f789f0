//! The kernel's sockets of a flow of the movie, as both of its ends see them.

use std::os::fd::{AsFd, BorrowedFd};

use framewire_emu::Clock;
use framewire_recording::record::FlowSample;
use framewire_session::half::{ChannelId, Channels};
use framewire_session::lifecycle::{ReceivingSocket, SendingSocket, Taken};
use framewire_session::{DatagramSetup, RTCP_CHANNEL, StreamSetup};
use framewire_sockets::{
    OpenError, TcpListener, TcpOptions, TcpRead, TcpReceiver, TcpSender, UdpOptions, UdpRead, UdpReceiver, UdpSender,
};
use framewire_transport::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};
use framewire_units::{DataSize, Timestamp};
use framewire_world::UDP_RECEIVE_BUFFER;

use super::asked::AskedSocket;
use super::reports::ReportSocket;
use crate::run::sockets::{
    READ_SIZE, receiver_address, sample_connection, sender_address, stamp, tcp_options, wrong_kind,
};

/// The socket of a sender.
pub enum SenderSocket {
    /// Of a datagram flow; with one for reports where it has them.
    Udp(UdpSender, Option<ReportSocket>),
    /// Of a stream flow.
    Tcp(TcpSender),
    /// Of one whose receiver opens the connection.
    Asked(AskedSocket),
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
        let reports = setup.has_rtcp().then(|| ReportSocket::of_sender(port)).transpose()?;
        Ok(Self::Udp(UdpSender::open(sender_address(port), receiver_address(port), &options)?, reports))
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
            Self::Udp(socket, _) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
            Self::Asked(socket) => socket.descriptor(),
        }
    }

    /// What poll(2) waits for on the socket of reports, where the flow has them.
    pub fn report_descriptor(&self) -> Option<BorrowedFd<'_>> {
        if let Self::Udp(_, Some(reports)) = self { Some(reports.descriptor()) } else { None }
    }

    /// The socket of reports, where the flow has them.
    pub fn reports(&mut self) -> Option<&mut ReportSocket> {
        if let Self::Udp(_, reports) = self { reports.as_mut() } else { None }
    }
}

impl SenderSocket {
    fn datagrams(&mut self, operation: &'static str) -> Result<&mut UdpSender, SocketError> {
        match self {
            Self::Udp(socket, _) => Ok(socket),
            Self::Tcp(_) | Self::Asked(_) => Err(wrong_kind(operation)),
        }
    }

    /// The connection; `None` before it was opened.
    fn stream(&mut self, operation: &'static str) -> Result<Option<&mut TcpSender>, SocketError> {
        match self {
            Self::Tcp(socket) => Ok(Some(socket)),
            Self::Asked(socket) => Ok(socket.sender()),
            Self::Udp(..) => Err(wrong_kind(operation)),
        }
    }
}

/// There is one channel, and over UDP that of reports.
impl Channels for SenderSocket {
    /// The socket itself says so when it has none.
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, channel: ChannelId, datagram: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        match self.reports() {
            Some(reports) if channel == RTCP_CHANNEL => reports.send(datagram),
            _ => self.datagrams("send")?.send(datagram),
        }
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        self.datagrams("free_room")?.free_room()
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
            Self::Udp(socket, _) => socket.queued(),
            Self::Tcp(socket) => socket.queued(),
            Self::Asked(socket) => socket.sender().map_or(Ok(DataSize::ZERO), |socket| socket.queued()),
        }
    }

    fn sample(&mut self, at: Timestamp) -> Option<FlowSample> {
        match self {
            Self::Udp(socket, _) => {
                let queued_bytes = Some(socket.queued().ok()?.as_bytes());
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
    reports: Option<ReportSocket>,
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
        let reports = setup.has_rtcp().then(|| ReportSocket::of_receiver(port)).transpose()?;
        let socket = UdpReceiver::bind(receiver_address(port), &options)?;
        Ok(Self { reports, ..Self::new(Kind::Udp(socket)) })
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
        Self { kind, reports: None, buffer: vec![0; READ_SIZE], came: 0 }
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

    /// The same of the socket of reports, where the flow has them.
    pub fn reports(&self) -> Option<BorrowedFd<'_>> {
        self.reports.as_ref().map(ReportSocket::descriptor)
    }
}

/// A [`ReceiverSocket`] whose kernel's time stamps are converted to the run's clock.
pub struct ReceiverSocketAt<'a> {
    socket: &'a mut ReceiverSocket,
    clock: Clock,
}

impl ReceivingSocket for ReceiverSocketAt<'_> {
    fn take(&mut self, _now: Timestamp) -> Result<Taken<'_>, SocketError> {
        let ReceiverSocket { kind, reports, buffer, came } = self.socket;
        let (length, stamped) = match kind {
            Kind::Listening(listener) => {
                let Some(connection) = listener.accept()? else { return Ok(Taken::Nothing) };
                *kind = Kind::Tcp(connection);
                return Ok(Taken::Opened);
            }
            Kind::Udp(socket) => match socket.receive(buffer)? {
                UdpRead::Nothing => {
                    let report = reports.as_mut().map(|reports| reports.receive(self.clock)).transpose()?.flatten();
                    return Ok(report.map_or(Taken::Nothing, |(at, report)| Taken::Report(at, report)));
                }
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

    fn report(&mut self, _now: Timestamp, datagram: &[u8]) -> Result<bool, SocketError> {
        let reports = self.socket.reports.as_mut().ok_or_else(|| wrong_kind("report"))?;
        Ok(reports.send(datagram)? == DatagramSend::Sent)
    }

    fn write_request(&mut self, _now: Timestamp, bytes: &[u8]) -> Result<usize, SocketError> {
        match &mut self.socket.kind {
            Kind::Asked(_, socket) => socket.write(bytes),
            _ => Err(wrong_kind("write")),
        }
    }
}
