//! TCP.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use framewire_transport::socket::{SocketError, StreamSocket};
use framewire_units::DataSize;
use nix::errno::Errno;
use nix::sys::socket::{
    Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrStorage, accept4, bind, connect, listen, recv, send,
    shutdown, socket,
};

use crate::congestion;
use crate::error::{OpenError, broken, broken_by};
use crate::option::{Buffer, get_bytes, get_int, queued, set_int, unsent};
use crate::readiness::{Interest, wait};
use crate::receive::{Ancillary, receive};
use crate::tcp_info::{self, TcpInfo};
use crate::udp::{family, local_address, peer_address};

/// Settings of a TCP socket; `None`: the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// `SO_SNDBUF` as getsockopt reports it. Setting it ends autotuning and bounds the congestion window.
    pub send_buffer: Option<DataSize>,
    /// `SO_RCVBUF` as getsockopt reports it. Setting it ends autotuning and bounds the receive window.
    pub receive_buffer: Option<DataSize>,
    /// `TCP_NOTSENT_LOWAT` (tcp(7)): the socket is writable only while fewer bytes are unsent (to poll: while fewer
    /// than half as many are).
    pub unsent_limit: Option<DataSize>,
    /// `TCP_CONGESTION`, for instance `"cubic"`.
    pub congestion: Option<String>,
    /// `TCP_MAXSEG`: the largest segment in either direction, as the MSS option states it (RFC 9293, 3.7.1: the MTU less
    /// the headers of IP and TCP without options).
    pub maximum_segment: Option<u16>,
    /// `TCP_NODELAY`: small writes are sent at once.
    pub no_delay: bool,
}

/// A TCP connection that sends.
#[derive(Debug)]
pub struct TcpSender {
    /// Shared with the other direction.
    fd: Arc<OwnedFd>,
    peer: SocketAddr,
}

impl TcpSender {
    /// Begins to connect to `peer`, from `local` where one is given. Until the connection stands, writes take
    /// nothing; it stands when the socket is writable, and [`connected`](Self::connected) says whether it failed.
    ///
    /// # Errors
    /// [`OpenError::PortInUse`], [`OpenError::NotLocal`], [`OpenError::Buffer`], [`OpenError::Congestion`], or the
    /// system's own.
    pub fn start(local: Option<SocketAddr>, peer: SocketAddr, options: &TcpOptions) -> Result<Self, OpenError> {
        let fd = open(peer, options)?;
        if let Some(local) = local {
            bind_reusing(&fd, local)?;
        }
        match connect(fd.as_raw_fd(), &SockaddrStorage::from(peer)) {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(Self { fd: fd.into(), peer }),
            Err(errno) => Err(OpenError::connect(peer)(errno)),
        }
    }

    /// Connects to `peer` and waits for the connection up to `timeout`.
    ///
    /// # Errors
    /// As [`start`](Self::start); [`OpenError::Refused`], [`OpenError::NoAnswer`].
    pub fn connect(
        local: Option<SocketAddr>,
        peer: SocketAddr,
        options: &TcpOptions,
        timeout: Duration,
    ) -> Result<Self, OpenError> {
        let sender = Self::start(local, peer, options)?;
        let error = |error: SocketError| OpenError::System { operation: error.operation, reason: error.reason };
        if !wait(&sender, Interest::Write, timeout).map_err(error)? {
            return Err(OpenError::NoAnswer(peer));
        }
        sender.connected()?;
        Ok(sender)
    }

    /// Whether the attempt to connect has failed; to be asked once, when the socket has become writable.
    ///
    /// # Errors
    /// [`OpenError::Refused`], [`OpenError::NoAnswer`], or the system's own.
    pub fn connected(&self) -> Result<(), OpenError> {
        let error = get_int(&self.fd, libc::SOL_SOCKET, libc::SO_ERROR).map_err(OpenError::system("getsockopt"))?;
        if error == 0 { Ok(()) } else { Err(OpenError::connect(self.peer)(Errno::from_raw(error))) }
    }

    /// Where it connects to.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Bytes written and not yet acknowledged (SIOCOUTQ).
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn queued(&self) -> Result<DataSize, SocketError> {
        queued(&self.fd).map_err(broken("ioctl(SIOCOUTQ)"))
    }

    /// What the kernel knows of the connection.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn info(&self) -> Result<TcpInfo, SocketError> {
        let mut bytes = [0; tcp_info::LENGTH];
        let length = get_bytes(&self.fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes);
        let length = length.map_err(broken("getsockopt(TCP_INFO)"))?;
        TcpInfo::parse(&bytes[..length]).ok_or_else(|| SocketError {
            operation: "getsockopt(TCP_INFO)",
            reason: format!("the kernel told only {length} bytes"),
        })
    }

    /// Name of the congestion control in use.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn congestion(&self) -> Result<String, SocketError> {
        let mut bytes = [0; 16];
        let length = get_bytes(&self.fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut bytes);
        let name = &bytes[..length.map_err(broken("getsockopt(TCP_CONGESTION)"))?];
        Ok(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned())
    }

    /// `SO_SNDBUF` as getsockopt reports it; it grows where it was not set.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn send_buffer(&self) -> Result<DataSize, SocketError> {
        Buffer::Send.size(&self.fd).map_err(broken("getsockopt(SO_SNDBUF)"))
    }

    /// Whether the kernel has found out meanwhile that the connection is broken (SO_ERROR, socket(7)). It says so once.
    ///
    /// # Errors
    /// When it is broken.
    pub fn check(&self) -> Result<(), SocketError> {
        match get_int(&self.fd, libc::SOL_SOCKET, libc::SO_ERROR).map_err(broken("getsockopt(SO_ERROR)"))? {
            0 => Ok(()),
            error => Err(broken_by("connection", self.peer)(Errno::from_raw(error))),
        }
    }

    /// Reads what the peer has sent and throws it away; true when the peer has ended its side. A socket that is closed
    /// with something unread resets the connection, and what it has not yet sent is lost (RFC 2525, 2.17).
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn discard_input(&mut self) -> Result<bool, SocketError> {
        let mut unread = [0; 4_096];
        loop {
            match recv(self.fd.as_raw_fd(), &mut unread, MsgFlags::MSG_DONTWAIT) {
                Ok(0) => return Ok(true),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(false),
                Err(errno) => return Err(broken_by("read", self.peer)(errno)),
            }
        }
    }

    /// How long what was written may stay unacknowledged, or the receiver's window closed, before the connection counts
    /// as broken (`TCP_USER_TIMEOUT`, tcp(7)). Without it the kernel tries for a quarter of an hour to reach a receiver
    /// that is gone (`tcp_retries2`), and for ever to fill one that reads no more.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn set_user_timeout(&self, timeout: Duration) -> Result<(), SocketError> {
        // 0 is no limit.
        let millis = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX).max(1);
        set_int(&self.fd, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, millis)
            .map_err(broken("setsockopt(TCP_USER_TIMEOUT)"))
    }

    /// The address that it sends from.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn local_address(&self) -> Result<SocketAddr, SocketError> {
        local_address(&self.fd)
    }

    /// The other direction of the same connection, in which the peer sends. It is closed when both are dropped.
    ///
    /// # Errors
    /// When the system gives no time stamps.
    pub fn receiver(&self) -> Result<TcpReceiver, SocketError> {
        let fd = Arc::clone(&self.fd);
        let ancillary = Ancillary::with_timestamps(&fd).map_err(broken("setsockopt(SO_TIMESTAMPNS)"))?;
        Ok(TcpReceiver { fd, ancillary })
    }
}

impl StreamSocket for TcpSender {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SocketError> {
        loop {
            match send(self.fd.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
                Ok(taken) => return Ok(taken),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(0),
                Err(errno) => return Err(broken_by("write", self.peer)(errno)),
            }
        }
    }

    fn unsent(&mut self) -> Result<DataSize, SocketError> {
        unsent(&self.fd).map_err(broken("ioctl(SIOCOUTQNSD)"))
    }

    fn finish(&mut self) -> Result<(), SocketError> {
        shutdown(self.fd.as_raw_fd(), Shutdown::Write).map_err(broken_by("shutdown", self.peer))
    }
}

impl AsFd for TcpSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A TCP socket that waits for a sender.
#[derive(Debug)]
pub struct TcpListener {
    fd: OwnedFd,
}

impl TcpListener {
    /// Listens at `local` (port 0: any free one). Connections inherit the options.
    ///
    /// # Errors
    /// [`OpenError::PortInUse`], [`OpenError::NotLocal`], [`OpenError::Buffer`], [`OpenError::Congestion`], or the
    /// system's own.
    pub fn bind(local: SocketAddr, options: &TcpOptions) -> Result<Self, OpenError> {
        Self::bind_for(local, options, 1)
    }

    /// Listens at `local` for so many connections that may come at once. Of more, the kernel answers some only when they
    /// ask again, a second later (`tcp_max_syn_backlog`, listen(2)).
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_for(local: SocketAddr, options: &TcpOptions, connections: u16) -> Result<Self, OpenError> {
        let fd = open(local, options)?;
        bind_reusing(&fd, local)?;
        // Beyond what nix passes on (SOMAXCONN), the kernel takes as many as `net.core.somaxconn` says.
        let backlog = Backlog::new(connections).unwrap_or(Backlog::MAXALLOWABLE);
        listen(&fd, backlog).map_err(OpenError::bind(local))?;
        Ok(Self { fd })
    }

    /// Accepts a connection if there is one.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn accept(&mut self) -> Result<Option<TcpReceiver>, SocketError> {
        match accept4(self.fd.as_raw_fd(), SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC) {
            Ok(raw) => {
                // SAFETY: accept4 has just made the descriptor, and it has no other owner.
                let fd = unsafe { OwnedFd::from_raw_fd(raw) };
                let stamps = Ancillary::with_timestamps(&fd);
                let ancillary = stamps.map_err(broken("setsockopt(SO_TIMESTAMPNS)"))?;
                Ok(Some(TcpReceiver { fd: fd.into(), ancillary }))
            }
            // A connection that was gone before it was accepted is as none (accept(2)).
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNABORTED) => Ok(None),
            Err(errno) => Err(broken("accept")(errno)),
        }
    }

    /// The address that it listens at.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn local_address(&self) -> Result<SocketAddr, SocketError> {
        local_address(&self.fd)
    }
}

impl AsFd for TcpListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// What a TCP connection had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpRead {
    /// The next bytes of the stream.
    Bytes {
        /// How many are in the buffer, at least 1.
        length: usize,
        /// `CLOCK_REALTIME` when the last packet among them arrived in the kernel, in nanoseconds since 1970; `None`
        /// when it was not stamped.
        realtime_nanos: Option<u64>,
    },
    /// Nothing now.
    Nothing,
    /// The sender has ended the stream.
    End,
}

/// A TCP connection that receives.
#[derive(Debug)]
pub struct TcpReceiver {
    /// Shared with the other direction.
    fd: Arc<OwnedFd>,
    ancillary: Ancillary,
}

impl TcpReceiver {
    /// Reads what is there. An empty buffer reads nothing.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<TcpRead, SocketError> {
        if buffer.is_empty() {
            return Ok(TcpRead::Nothing);
        }
        let received = receive(&self.fd, buffer, &mut self.ancillary).map_err(broken("recvmsg"))?;
        Ok(match received {
            None => TcpRead::Nothing,
            Some(received) if received.length == 0 => TcpRead::End,
            Some(received) => TcpRead::Bytes { length: received.length, realtime_nanos: received.realtime_nanos },
        })
    }

    /// The address that the sender sends from.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn peer_address(&self) -> Result<SocketAddr, SocketError> {
        peer_address(&self.fd)
    }

    /// The other direction of the same connection, in which this end sends. It is closed when both are dropped.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn sender(&self) -> Result<TcpSender, SocketError> {
        Ok(TcpSender { fd: Arc::clone(&self.fd), peer: self.peer_address()? })
    }
}

impl AsFd for TcpReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn open(address: SocketAddr, options: &TcpOptions) -> Result<OwnedFd, OpenError> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let fd = socket(family(address), SockType::Stream, flags, None).map_err(OpenError::system("socket"))?;
    if let Some(size) = options.send_buffer {
        Buffer::Send.set(&fd, size)?;
    }
    if let Some(size) = options.receive_buffer {
        Buffer::Receive.set(&fd, size)?;
    }
    if let Some(limit) = options.unsent_limit {
        let limit = i32::try_from(limit.as_bytes()).unwrap_or(i32::MAX);
        set_int(&fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, limit)
            .map_err(OpenError::system("setsockopt(TCP_NOTSENT_LOWAT)"))?;
    }
    if let Some(name) = &options.congestion {
        congestion::select(&fd, name)?;
    }
    if let Some(bytes) = options.maximum_segment {
        set_int(&fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, i32::from(bytes))
            .map_err(OpenError::system("setsockopt(TCP_MAXSEG)"))?;
    }
    set_int(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, i32::from(options.no_delay))
        .map_err(OpenError::system("setsockopt(TCP_NODELAY)"))?;
    Ok(fd)
}

/// Binds, also where connections of an earlier run are still in TIME_WAIT (SO_REUSEADDR, socket(7)); a port on which
/// another socket listens is still refused.
fn bind_reusing(fd: &OwnedFd, local: SocketAddr) -> Result<(), OpenError> {
    set_int(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1).map_err(OpenError::system("setsockopt(SO_REUSEADDR)"))?;
    bind(fd.as_raw_fd(), &SockaddrStorage::from(local)).map_err(OpenError::bind(local))
}
