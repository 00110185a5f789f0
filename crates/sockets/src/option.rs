//! Socket options as numbers and texts, and the send buffer with its doubling.

use std::os::fd::{AsFd, AsRawFd};

use framewire_units::DataSize;
use nix::errno::Errno;

use crate::error::OpenError;

/// `SIOCOUTQNSD` (include/uapi/linux/sockios.h): bytes of a stream not yet sent.
const SIOCOUTQNSD: libc::Ioctl = 0x894B;

/// Sets an option that is a number.
pub(crate) fn set_int(fd: &impl AsFd, level: i32, option: i32, value: i32) -> Result<(), Errno> {
    set_bytes(fd, level, option, &value.to_ne_bytes())
}

/// Reads an option that is a number.
pub(crate) fn get_int(fd: &impl AsFd, level: i32, option: i32) -> Result<i32, Errno> {
    let mut value = [0; 4];
    get_bytes(fd, level, option, &mut value)?;
    Ok(i32::from_ne_bytes(value))
}

/// Sets an option that is bytes.
pub(crate) fn set_bytes(fd: &impl AsFd, level: i32, option: i32, value: &[u8]) -> Result<(), Errno> {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open for the length of the borrow, and the kernel reads only `value.len()` bytes.
    let result = unsafe { libc::setsockopt(fd, level, option, value.as_ptr().cast(), value.len() as libc::socklen_t) };
    Errno::result(result).map(drop)
}

/// Reads an option into `value` and returns how many bytes the kernel wrote.
pub(crate) fn get_bytes(fd: &impl AsFd, level: i32, option: i32, value: &mut [u8]) -> Result<usize, Errno> {
    let fd = fd.as_fd().as_raw_fd();
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the descriptor is open for the length of the borrow, and the kernel writes at most `length` bytes.
    let result = unsafe { libc::getsockopt(fd, level, option, value.as_mut_ptr().cast(), &mut length) };
    Errno::result(result).map(|_| length as usize)
}

/// Bytes in the send queue: of a stream not yet acknowledged, of a datagram socket kernel memory (SIOCOUTQ).
pub(crate) fn queued(fd: &impl AsFd) -> Result<DataSize, Errno> {
    get_ioctl(fd, libc::TIOCOUTQ)
}

/// Bytes of a stream not yet sent (SIOCOUTQNSD).
pub(crate) fn unsent(fd: &impl AsFd) -> Result<DataSize, Errno> {
    get_ioctl(fd, SIOCOUTQNSD)
}

fn get_ioctl(fd: &impl AsFd, request: libc::Ioctl) -> Result<DataSize, Errno> {
    let mut value: libc::c_int = 0;
    // SAFETY: the descriptor is open for the length of the borrow, and both requests write one int.
    let result = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), request, &raw mut value) };
    Errno::result(result)?;
    Ok(DataSize::from_bytes(u64::try_from(value).unwrap_or(0)))
}

/// Which of a socket's two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffer {
    Send,
    Receive,
}

impl Buffer {
    fn options(self) -> (i32, i32) {
        match self {
            Self::Send => (libc::SO_SNDBUF, libc::SO_SNDBUFFORCE),
            Self::Receive => (libc::SO_RCVBUF, libc::SO_RCVBUFFORCE),
        }
    }

    /// The buffer's size as getsockopt reports it.
    pub(crate) fn size(self, fd: &impl AsFd) -> Result<DataSize, Errno> {
        let size = get_int(fd, libc::SOL_SOCKET, self.options().0)?;
        Ok(DataSize::from_bytes(u64::try_from(size).unwrap_or(0)))
    }

    /// Makes getsockopt report `asked`: the kernel doubles what setsockopt is given (socket(7)), and clamps it to a
    /// limit without a word, unless the process may force it.
    pub(crate) fn set(self, fd: &impl AsFd, asked: DataSize) -> Result<(), OpenError> {
        let half = i32::try_from(asked.as_bytes() / 2).unwrap_or(i32::MAX / 2);
        let (gently, by_force) = self.options();
        let error = OpenError::system("setsockopt");
        set_int(fd, libc::SOL_SOCKET, gently, half).map_err(&error)?;
        if !self.is(fd, asked)? {
            // Refused without CAP_NET_ADMIN; the size is then judged below.
            let _ = set_int(fd, libc::SOL_SOCKET, by_force, half);
        }
        let (which, limit) = match self {
            Self::Send => ("send", "wmem_max"),
            Self::Receive => ("receive", "rmem_max"),
        };
        let got = self.size(fd).map_err(&error)?;
        if self.is(fd, asked)? { Ok(()) } else { Err(OpenError::Buffer { which, asked, got, limit }) }
    }

    /// An odd size cannot be halved: one byte less will do.
    fn is(self, fd: &impl AsFd, asked: DataSize) -> Result<bool, OpenError> {
        let size = self.size(fd).map_err(OpenError::system("getsockopt"))?;
        Ok(size.as_bytes() == asked.as_bytes() & !1)
    }
}
