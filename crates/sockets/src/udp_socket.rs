//! UDP with many peers.

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::DataSize;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockaddrLike, SockaddrStorage, sendto};

use crate::error::{OpenError, broken, broken_by};
use crate::option::queued;
use crate::udp::{UdpOptions, UdpRead, UdpReceiver};

/// The most datagrams that one call of the kernel sends.
pub const SEND_MOST: usize = 32;

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

    /// Sends several datagrams without waiting, in their order, by one call of the kernel (sendmmsg(2)): at most
    /// [`SEND_MOST`] of those given. Returns with how many the kernel is done with; none are when there is no room.
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to), of the first one; the others were not tried.
    pub fn send_many<'a>(
        &mut self,
        datagrams: impl Iterator<Item = (&'a [u8], SocketAddr)>,
    ) -> Result<usize, SocketError> {
        let (parts, peers): (Vec<&[u8]>, Vec<SocketAddr>) = datagrams.take(SEND_MOST).unzip();
        let Some(&first) = peers.first() else { return Ok(0) };
        let names: Vec<SockaddrStorage> = peers.into_iter().map(SockaddrStorage::from).collect();
        loop {
            match send_all(self.0.as_fd(), &parts, &names) {
                Ok(sent) => return Ok(sent),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Ok(0),
                Err(Errno::ENOBUFS) => return Ok(1), // the first one was dropped
                Err(errno) => return Err(broken_by("sendmmsg", first)(errno)),
            }
        }
    }

    /// Kernel memory of the datagrams that have not left this host (SIOCOUTQ).
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn queued(&self) -> Result<DataSize, SocketError> {
        queued(&self.0).map_err(broken("ioctl(SIOCOUTQ)"))
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

/// sendmmsg(2): how many of the datagrams were sent, of which the first one's error is returned. Each part goes to the
/// peer at the same place.
fn send_all(socket: BorrowedFd<'_>, parts: &[&[u8]], names: &[SockaddrStorage]) -> Result<usize, Errno> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    let vector = |part: &&[u8]| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() };
    let mut vectors: Vec<libc::iovec> = parts.iter().map(vector).collect();
    let header = |(vector, name): (&mut libc::iovec, &SockaddrStorage)| {
        // SAFETY: mmsghdr is plain data, for which zeros are valid: no control data, no flags.
        let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        header.msg_hdr.msg_name = name.as_ptr().cast_mut().cast();
        header.msg_hdr.msg_namelen = name.len();
        header.msg_hdr.msg_iov = vector;
        header.msg_hdr.msg_iovlen = 1;
        header
    };
    let mut headers: Vec<libc::mmsghdr> = vectors.iter_mut().zip(names).map(header).collect();
    let count = headers.len() as libc::c_uint;
    // SAFETY: there are `count` headers; what they point to, `parts`, `names` and `vectors`, outlives the call, and of
    // all that the kernel writes only the headers' lengths.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, flags) };
    Errno::result(sent).map(|sent| usize::try_from(sent).unwrap_or(0))
}
