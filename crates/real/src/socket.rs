//! The kernel's sockets of a stream, as its two ends see them.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use framewire_endpoint::{Clock, RunClock};
use framewire_recording::record::FlowSample;
use framewire_session::half::{ChannelId, Channels};
use framewire_session::lifecycle::{ReceivingSocket, SendingSocket, Taken};
use framewire_session::{ConnectionSettings, FlowSetup};
use framewire_sockets::{
    Interest, OpenError, TcpListener, TcpOptions, TcpRead, TcpReceiver, TcpSender, UdpOptions, UdpRead, UdpReceiver,
    UdpSender, wait,
};
use framewire_transport::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};
use framewire_units::{DataSize, Duration, Timestamp};
use framewire_world::UDP_RECEIVE_BUFFER;

use crate::TICK;
use crate::error::RealError;

/// Bytes of the headers of IPv4 (RFC 791, 3.1) and TCP (RFC 9293, 3.1) without options.
const IP_AND_TCP_HEADERS: u16 = 40;

/// Bytes that one read takes: more than any datagram.
const READ_SIZE: usize = 65_536;

/// The socket of a sender.
pub(crate) enum SenderSocket {
    Udp(UdpSender),
    Tcp(TcpSender),
}

impl SenderSocket {
    /// Opens that of a flow to `peer`.
    ///
    /// # Errors
    /// When the kernel does not make it as the flow says.
    pub(crate) fn open(setup: &FlowSetup, peer: SocketAddr) -> Result<Self, RealError> {
        match setup {
            FlowSetup::Datagram(setup) => {
                let options = UdpOptions {
                    send_buffer: setup.common.send_buffer(),
                    report_errors: setup.wants_error_reports(),
                    ..UdpOptions::default()
                };
                let mut socket = UdpSender::open(any_like(peer), peer, &options)?;
                socket.ignore_refusal();
                Ok(Self::Udp(socket))
            }
            FlowSetup::Stream(setup) => {
                Ok(Self::Tcp(TcpSender::start(None, peer, &tcp_options(setup.connection.clone()))?))
            }
            FlowSetup::Adaptive(_) | FlowSetup::Bulk(_) | FlowSetup::External(_) => {
                Err(RealError::Input(format!("{} sends no movie by itself", setup.transport())))
            }
        }
    }

    /// Over TCP, waits for the connection as long as `patience`; from then on a peer that takes nothing for as long has broken
    /// it.
    ///
    /// # Errors
    /// When nobody listens there, or answers; and when it is stopped before.
    pub(crate) fn wait_for_peer(
        &self,
        peer: SocketAddr,
        patience: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), RealError> {
        let Self::Tcp(socket) = self else { return Ok(()) };
        let mut left = patience;
        while !wait(socket, Interest::Write, left.min(TICK))? {
            left = left.saturating_sub(TICK);
            if left.is_zero() {
                return Err(OpenError::NoAnswer(peer).into());
            }
            if is_stopped() {
                return Err(RealError::Stopped);
            }
        }
        socket.connected()?;
        Ok(socket.set_user_timeout(patience)?)
    }

    /// What poll(2) waits for.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Udp(socket) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }

    fn datagrams(&mut self, operation: &'static str) -> Result<&mut UdpSender, SocketError> {
        match self {
            Self::Udp(socket) => Ok(socket),
            Self::Tcp(_) => Err(wrong_kind(operation)),
        }
    }

    fn stream(&mut self, operation: &'static str) -> Result<&mut TcpSender, SocketError> {
        match self {
            Self::Tcp(socket) => Ok(socket),
            Self::Udp(_) => Err(wrong_kind(operation)),
        }
    }
}

impl Channels for SenderSocket {
    /// The socket itself says so when it has none.
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, _: ChannelId, datagram: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        self.datagrams("send")?.send(datagram)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        self.datagrams("free_room")?.free_room()
    }

    fn write(&mut self, _: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        self.stream("write")?.write(bytes)
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        self.stream("unsent")?.unsent()
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.stream("finish")?.finish()
    }
}

impl SendingSocket for SenderSocket {
    fn queued(&mut self) -> Result<DataSize, SocketError> {
        match self {
            Self::Udp(socket) => socket.queued(),
            Self::Tcp(socket) => socket.queued(),
        }
    }

    fn sample(&mut self, at: Timestamp) -> Option<FlowSample> {
        match self {
            Self::Udp(socket) => {
                let queued_bytes = Some(socket.queued().ok()?.as_bytes());
                Some(FlowSample { at, queued_bytes, ..FlowSample::default() })
            }
            Self::Tcp(socket) => sample_connection(socket, at),
        }
    }
}

fn sample_connection(socket: &TcpSender, at: Timestamp) -> Option<FlowSample> {
    let info = socket.info().ok()?;
    Some(FlowSample {
        at,
        cwnd_packets: Some(info.cwnd_packets),
        ssthresh_packets: info.ssthresh_packets,
        srtt: Some(info.srtt),
        rttvar: Some(info.rttvar),
        in_flight_packets: Some(info.unacked_packets),
        unsent_bytes: info.unsent.map(DataSize::as_bytes),
        queued_bytes: Some(socket.queued().ok()?.as_bytes()),
        delivery_rate: info.delivery_rate,
        retransmissions: Some(info.total_retransmissions),
        timeouts: info.total_timeouts,
        ..FlowSample::default()
    })
}

pub(crate) fn tcp_options(settings: ConnectionSettings) -> TcpOptions {
    TcpOptions {
        send_buffer: settings.send_buffer,
        unsent_limit: settings.unsent_limit,
        congestion: settings.congestion,
        maximum_segment: Some(settings.mtu - IP_AND_TCP_HEADERS),
        // A frame's tail must not wait for an acknowledgement (RFC 9293, 3.7.4).
        no_delay: true,
        ..TcpOptions::default()
    }
}

/// Any address and port of this host, of the same family.
fn any_like(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0; 8], 0)),
    }
}

/// The error of an operation on a socket of another kind: errno(3) has the words of EOPNOTSUPP.
fn wrong_kind(operation: &'static str) -> SocketError {
    SocketError { operation, reason: "Operation not supported".to_owned() }
}

/// The socket of a receiver: of one sender, the first that is heard.
pub(crate) struct ReceiverSocket {
    kind: Kind,
    clock: RunClock,
    buffer: Vec<u8>,
    sender: Option<SocketAddr>,
    /// The host that the sender is at, where it has announced itself.
    expected: Option<IpAddr>,
    /// Bytes of the sender that came.
    pub(crate) came: u64,
    /// Datagrams of others that came.
    pub(crate) of_others: u64,
    /// When the last bytes came.
    pub(crate) last: Option<Timestamp>,
}

enum Kind {
    Udp(UdpReceiver),
    Listening(TcpListener),
    Tcp(TcpReceiver),
}

impl ReceiverSocket {
    /// Listens at `address`; times are those of `clock`.
    ///
    /// # Errors
    /// When the port is taken, or the address is none of this host.
    pub(crate) fn listen(address: SocketAddr, is_stream: bool, clock: RunClock) -> Result<Self, OpenError> {
        let kind = match is_stream {
            true => Kind::Listening(TcpListener::bind(address, &TcpOptions::default())?),
            false => {
                let options = UdpOptions { receive_buffer: Some(UDP_RECEIVE_BUFFER), ..UdpOptions::default() };
                Kind::Udp(UdpReceiver::bind(address, &options)?)
            }
        };
        Ok(Self {
            kind,
            clock,
            buffer: vec![0; READ_SIZE],
            sender: None,
            expected: None,
            came: 0,
            of_others: 0,
            last: None,
        })
    }

    /// Where it listens; `None` once it is connected.
    ///
    /// # Errors
    /// When the socket is broken.
    pub(crate) fn local_address(&self) -> Result<Option<SocketAddr>, SocketError> {
        match &self.kind {
            Kind::Udp(socket) => socket.local_address().map(Some),
            Kind::Listening(socket) => socket.local_address().map(Some),
            Kind::Tcp(_) => Ok(None),
        }
    }

    /// From now on only what comes from this host is taken.
    pub(crate) fn expect(&mut self, host: IpAddr) {
        self.expected = Some(host);
    }

    fn is_other(&self, from: SocketAddr) -> bool {
        self.sender.is_some_and(|sender| sender != from) || self.expected.is_some_and(|host| host != from.ip())
    }

    /// Throws away the next that came, a datagram or a connection, and counts it as of others; how many there were before.
    ///
    /// # Errors
    /// When the socket is broken.
    pub(crate) fn discard(&mut self) -> Result<u64, SocketError> {
        match &mut self.kind {
            Kind::Udp(socket) => drop(socket.receive(&mut self.buffer)?),
            Kind::Listening(listener) => drop(listener.accept()?),
            Kind::Tcp(_) => {}
        }
        self.of_others += 1;
        Ok(self.of_others - 1)
    }

    /// Who sends; `None` before anything came.
    pub(crate) fn sender(&self) -> Option<SocketAddr> {
        self.sender
    }

    /// What poll(2) waits for.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Udp(socket) => socket.as_fd(),
            Kind::Listening(socket) => socket.as_fd(),
            Kind::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl ReceivingSocket for ReceiverSocket {
    fn take(&mut self, _now: Timestamp) -> Result<Taken<'_>, SocketError> {
        let (length, stamped) = match &mut self.kind {
            Kind::Listening(listener) => {
                let Some(connection) = listener.accept()? else { return Ok(Taken::Nothing) };
                // One that is gone already has no address.
                let Ok(from) = connection.peer_address() else { return Ok(Taken::Opened) };
                if self.is_other(from) {
                    self.of_others += 1;
                    return Ok(Taken::Opened);
                }
                self.sender = Some(from);
                self.kind = Kind::Tcp(connection);
                return Ok(Taken::Opened);
            }
            Kind::Udp(socket) => match socket.receive(&mut self.buffer)? {
                UdpRead::Nothing => return Ok(Taken::Nothing),
                UdpRead::Datagram { from, .. } if self.is_other(from) => {
                    self.of_others += 1;
                    return Ok(Taken::Opened);
                }
                UdpRead::Datagram { length, realtime_nanos, from, .. } => {
                    self.sender = Some(from);
                    (length, realtime_nanos)
                }
            },
            Kind::Tcp(socket) => match socket.read(&mut self.buffer)? {
                TcpRead::Nothing => return Ok(Taken::Nothing),
                TcpRead::End => return Ok(Taken::End),
                TcpRead::Bytes { length, realtime_nanos } => (length, realtime_nanos),
            },
        };
        let at = self.clock.arrival(stamped);
        self.came += length as u64;
        self.last = Some(at);
        Ok(Taken::Bytes(at, &self.buffer[..length]))
    }

    /// A receiver here has no RTCP.
    fn report(&mut self, _now: Timestamp, _channel: ChannelId, _datagram: &[u8]) -> Result<bool, SocketError> {
        Ok(false)
    }
}
