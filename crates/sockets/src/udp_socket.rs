//! UDP with many peers.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use framewire_transport::socket::{DatagramSend, SocketError};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockaddrStorage, sendto};

use crate::error::{OpenError, broken_by};
use crate::udp::{UdpOptions, UdpRead, UdpReceiver};

/// A UDP socket that receives from anyone, and sends to anyone.
#[derive(Debug)]
pub struct UdpSocket(UdpReceiver);

impl UdpSocket {
    /// Opens a socket at `local` (port 0: any free one).
    ///
    /// # Errors
    /// As [`UdpReceiver::bind`].
    pub fn bind(local: SocketAddr, options: &UdpOptions) -> Result<Self, OpenError> {
        UdpReceiver::bind(local, options).map(Self)
    }

    /// Sends one datagram without waiting.
    ///
    /// # Errors
    /// When it cannot be sent there: the peer has no route, or the datagram is too large.
    pub fn send_to(&mut self, datagram: &[u8], peer: SocketAddr) -> Result<DatagramSend, SocketError> {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        loop {
            match sendto(self.0.as_fd().as_raw_fd(), datagram, &SockaddrStorage::from(peer), flags) {
                Ok(_) => return Ok(DatagramSend::Sent),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(DatagramSend::WouldBlock),
                Err(Errno::ENOBUFS) => return Ok(DatagramSend::Dropped),
                Err(errno) => return Err(broken_by("sendto", peer)(errno)),
            }
        }
    }

    /// Receives one datagram if there is one.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<UdpRead, SocketError> {
        self.0.receive(buffer)
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn local_address(&self) -> Result<SocketAddr, SocketError> {
        self.0.local_address()
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
