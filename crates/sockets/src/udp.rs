//! UDP.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use framewire_transport::socket::{DatagramSend, DatagramSocket, SocketError};
use framewire_units::DataSize;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, bind, connect, getpeername, getsockname, send, socket,
};

use crate::error::{OpenError, broken, broken_by};
use crate::error_queue;
use crate::option::{Buffer, get_int, queued, set_int};
use crate::receive::{Ancillary, receive, socket_address};

/// Settings of a UDP socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UdpOptions {
    /// `SO_SNDBUF` as getsockopt reports it; `None`: the kernel's default.
    pub send_buffer: Option<DataSize>,
    /// `SO_RCVBUF` as getsockopt reports it; `None`: the kernel's default.
    pub receive_buffer: Option<DataSize>,
    /// `IP_RECVERR` (ip(7)): a full queueing discipline is then an error (ENOBUFS) instead of silence, and ICMP
    /// errors are reported.
    pub report_errors: bool,
}

/// A UDP socket that sends to one peer.
#[derive(Debug)]
pub struct UdpSender {
    /// Shared with the other direction.
    fd: Arc<OwnedFd>,
    peer: SocketAddr,
    send_buffer: DataSize,
    ignores_refusal: bool,
    refusals: Refusals,
}

/// How often the kernel has said that a peer's port has no listener (ICMP port unreachable): it says so once of a datagram, to
/// whichever direction of the socket is used next.
type Refusals = Arc<AtomicU64>;

impl UdpSender {
    /// Opens a socket bound to `local` (port 0: any free one) that sends to `peer`.
    ///
    /// # Errors
    /// [`OpenError::PortInUse`], [`OpenError::NotLocal`], [`OpenError::Buffer`], or the system's own.
    pub fn open(local: SocketAddr, peer: SocketAddr, options: &UdpOptions) -> Result<Self, OpenError> {
        let fd = open_bound(local, options)?;
        connect(fd.as_raw_fd(), &SockaddrStorage::from(peer)).map_err(OpenError::connect(peer))?;
        let send_buffer = Buffer::Send.size(&fd).map_err(OpenError::system("getsockopt"))?;
        Ok(Self { fd: fd.into(), peer, send_buffer, ignores_refusal: false, refusals: Refusals::default() })
    }

    /// From now on a peer whose port has no listener (ICMP port unreachable) is no error: as with a
    /// socket that is not connected, what is sent to it is lost, and it may begin to listen at any time.
    pub fn ignore_refusal(&mut self) {
        self.ignores_refusal = true;
    }

    /// How often the peer's host has said that nothing listens at its port, as far as it says so at all (ICMP port unreachable).
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Whether the kernel has learnt meanwhile that datagrams did not arrive (SO_ERROR, socket(7)). It says so once.
    ///
    /// # Errors
    /// When the peer refuses, unless that is ignored, or the network does.
    pub fn check(&self) -> Result<(), SocketError> {
        let error = get_int(&self.fd, libc::SOL_SOCKET, libc::SO_ERROR).map_err(broken("getsockopt(SO_ERROR)"))?;
        error_queue::drain(&self.fd);
        match Errno::from_raw(error) {
            _ if error == 0 => Ok(()),
            Errno::ECONNREFUSED if self.ignores_refusal => {
                self.refusals.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            errno => Err(broken_by("send", self.peer)(errno)),
        }
    }

    /// `SO_SNDBUF` as getsockopt reports it.
    pub fn send_buffer(&self) -> DataSize {
        self.send_buffer
    }

    /// Kernel memory of the datagrams that have not left this host (SIOCOUTQ).
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn queued(&self) -> Result<DataSize, SocketError> {
        queued(&self.fd).map_err(broken("ioctl(SIOCOUTQ)"))
    }

    /// The address that it sends from.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn local_address(&self) -> Result<SocketAddr, SocketError> {
        local_address(&self.fd)
    }

    /// The other direction of the same socket: datagrams of the peer. It is closed when both are dropped.
    ///
    /// # Errors
    /// When the system gives no time stamps.
    pub fn receiver(&self) -> Result<UdpReceiver, SocketError> {
        let fd = Arc::clone(&self.fd);
        let ancillary = Ancillary::with_timestamps(&fd).map_err(broken("setsockopt(SO_TIMESTAMPNS)"))?;
        Ok(UdpReceiver { fd, ancillary, refusals: Arc::clone(&self.refusals) })
    }
}

impl DatagramSocket for UdpSender {
    fn send(&mut self, datagram: &[u8]) -> Result<DatagramSend, SocketError> {
        loop {
            match send(self.fd.as_raw_fd(), datagram, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
                Ok(_) => return Ok(DatagramSend::Sent),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(DatagramSend::WouldBlock),
                Err(Errno::ENOBUFS) => return Ok(DatagramSend::Dropped),
                // Reported once, of an earlier datagram; this one was not sent (udp(7)).
                Err(Errno::ECONNREFUSED) if self.ignores_refusal => {
                    self.refusals.fetch_add(1, Ordering::Relaxed);
                    error_queue::drain(&self.fd);
                }
                Err(errno) => {
                    error_queue::drain(&self.fd);
                    return Err(broken_by("send", self.peer)(errno));
                }
            }
        }
    }

    fn free_room(&mut self) -> Result<DataSize, SocketError> {
        Ok(self.send_buffer - self.queued()?)
    }
}

impl AsFd for UdpSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What a UDP socket had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpRead {
    /// A datagram.
    Datagram {
        /// Bytes of it in the buffer.
        length: usize,
        /// True when the buffer was too small for it; the rest is lost.
        truncated: bool,
        /// Who sent it.
        from: SocketAddr,
        /// `CLOCK_REALTIME` when it arrived in the kernel, in nanoseconds since 1970; `None` when it was not stamped.
        realtime_nanos: Option<u64>,
    },
    /// Nothing now.
    Nothing,
}

/// A UDP socket that receives from anyone.
#[derive(Debug)]
pub struct UdpReceiver {
    fd: Arc<OwnedFd>,
    ancillary: Ancillary,
    refusals: Refusals,
}

impl UdpReceiver {
    /// Opens a socket that receives at `local`.
    ///
    /// # Errors
    /// As [`UdpSender::open`].
    pub fn bind(local: SocketAddr, options: &UdpOptions) -> Result<Self, OpenError> {
        let fd = open_bound(local, options)?;
        let ancillary = Ancillary::with_timestamps(&fd).map_err(OpenError::system("setsockopt(SO_TIMESTAMPNS)"))?;
        Ok(Self { fd: fd.into(), ancillary, refusals: Refusals::default() })
    }

    /// Receives one datagram if there is one. That a peer to which something was sent had no listener is of no concern here.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<UdpRead, SocketError> {
        let received = loop {
            match receive(&self.fd, buffer, &mut self.ancillary) {
                // Reported once, of a datagram that was sent (udp(7)).
                Err(Errno::ECONNREFUSED) => {
                    self.refusals.fetch_add(1, Ordering::Relaxed);
                    error_queue::drain(&self.fd);
                }
                received => break received.map_err(broken("recvmsg"))?,
            }
        };
        let Some(received) = received else { return Ok(UdpRead::Nothing) };
        let Some(from) = received.from else {
            return Err(SocketError { operation: "recvmsg", reason: "a datagram without a sender".to_owned() });
        };
        let (length, truncated, realtime_nanos) = (received.length, received.truncated, received.realtime_nanos);
        Ok(UdpRead::Datagram { length, truncated, from, realtime_nanos })
    }

    /// The address that it receives at.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn local_address(&self) -> Result<SocketAddr, SocketError> {
        local_address(&self.fd)
    }
}

impl AsFd for UdpReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn open_bound(local: SocketAddr, options: &UdpOptions) -> Result<OwnedFd, OpenError> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd = socket(family(local), SockType::Datagram, flags, None).map_err(OpenError::system("socket"))?;
    if let Some(size) = options.send_buffer {
        Buffer::Send.set(&fd, size)?;
    }
    if let Some(size) = options.receive_buffer {
        Buffer::Receive.set(&fd, size)?;
    }
    if options.report_errors {
        let (level, option) = match local {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVERR),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
        };
        set_int(&fd, level, option, 1).map_err(OpenError::system("setsockopt(IP_RECVERR)"))?;
    }
    bind(fd.as_raw_fd(), &SockaddrStorage::from(local)).map_err(OpenError::bind(local))?;
    Ok(fd)
}

/// The address family of an address.
pub(crate) fn family(address: SocketAddr) -> AddressFamily {
    match address {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    }
}

/// The address that a socket is bound to.
pub(crate) fn local_address(fd: &impl AsFd) -> Result<SocketAddr, SocketError> {
    let address = getsockname::<SockaddrStorage>(fd.as_fd().as_raw_fd()).map_err(broken("getsockname"))?;
    socket_address(address).ok_or_else(|| not_an_address("getsockname"))
}

/// The address that a socket is connected to.
pub(crate) fn peer_address(fd: &impl AsFd) -> Result<SocketAddr, SocketError> {
    let address = getpeername::<SockaddrStorage>(fd.as_fd().as_raw_fd()).map_err(broken("getpeername"))?;
    socket_address(address).ok_or_else(|| not_an_address("getpeername"))
}

fn not_an_address(operation: &'static str) -> SocketError {
    SocketError { operation, reason: "not an IP address".to_owned() }
}
