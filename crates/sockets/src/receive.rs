//! Receiving with the kernel's own time stamp.

use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrLike, SockaddrStorage, recvmsg};
use nix::sys::time::TimeSpec;

use crate::option::set_int;

/// One message, or a part of a stream.
pub(crate) struct Received {
    pub length: usize,
    pub from: Option<SocketAddr>,
    pub truncated: bool,
    /// `CLOCK_REALTIME` when it arrived in the kernel, in nanoseconds since 1970.
    pub realtime_nanos: Option<u64>,
}

/// Room for the ancillary data of one message.
#[derive(Debug)]
pub(crate) struct Ancillary(Vec<u8>);

impl Ancillary {
    /// Asks the kernel to stamp what arrives (SO_TIMESTAMPNS, socket(7)).
    pub(crate) fn with_timestamps(fd: &impl AsFd) -> Result<Self, Errno> {
        set_int(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        Ok(Self(cmsg_space!(TimeSpec)))
    }
}

/// Receives what is there; `None` when nothing is.
pub(crate) fn receive(fd: &impl AsFd, buffer: &mut [u8], ancillary: &mut Ancillary) -> Result<Option<Received>, Errno> {
    let mut parts = [IoSliceMut::new(buffer)];
    let fd = fd.as_fd().as_raw_fd();
    let message = loop {
        match recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut ancillary.0), MsgFlags::MSG_DONTWAIT) {
            Ok(message) => break message,
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return Ok(None),
            Err(errno) => return Err(errno),
        }
    };
    let stamp = message.cmsgs().ok().and_then(|mut messages| {
        messages.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(time) => Some(time),
            _ => None,
        })
    });
    Ok(Some(Received {
        length: message.bytes,
        from: message.address.and_then(socket_address),
        truncated: message.flags.contains(MsgFlags::MSG_TRUNC),
        realtime_nanos: stamp.and_then(nanos),
    }))
}

fn nanos(time: TimeSpec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec()).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(time.tv_nsec()).ok()?)
}

/// The address as the standard library has it; `None` for a family other than IP.
pub(crate) fn socket_address(storage: SockaddrStorage) -> Option<SocketAddr> {
    match storage.family()? {
        nix::sys::socket::AddressFamily::Inet => {
            storage.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()))
        }
        nix::sys::socket::AddressFamily::Inet6 => {
            storage.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into()))
        }
        _ => None,
    }
}
