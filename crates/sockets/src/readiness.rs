//! Waiting for sockets.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use framewire_transport::socket::SocketError;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::time::TimeSpec;

use crate::error::broken;
use crate::waker::Watch;

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read, a connection to accept, or the end.
    Read,
    /// Room to write.
    Write,
}

/// Waits until the socket is ready, broken, or the time is over; false when it is over. The timeout is rounded up to
/// milliseconds.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn wait(socket: &impl AsFd, interest: Interest, timeout: Duration) -> Result<bool, SocketError> {
    let flags = match interest {
        Interest::Read => PollFlags::POLLIN,
        Interest::Write => PollFlags::POLLOUT,
    };
    let millis = timeout.as_nanos().div_ceil(1_000_000);
    let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX);
    let mut fds = [PollFd::new(socket.as_fd(), flags)];
    match poll(&mut fds, timeout) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(errno) => Err(broken("poll")(errno)),
    }
}

/// Waits until one of several sockets has something to read, or, where its flag is set, room to write, or the time is
/// over. The timeout is exact to nanoseconds; may return early for no reason.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn wait_any(sockets: &[(BorrowedFd<'_>, bool)], timeout: Duration) -> Result<(), SocketError> {
    let watched = sockets.iter().map(|&(fd, room)| {
        PollFd::new(fd, if room { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN })
    });
    match ppoll(&mut watched.collect::<Vec<_>>(), Some(TimeSpec::from(timeout)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(broken("ppoll")(errno)),
    }
}

/// Waits until one of several sockets is as it is watched for, or broken, or the time is over: exact to nanoseconds; may
/// return early for no reason.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn wait_watching(sockets: &[(BorrowedFd<'_>, Watch)], timeout: Duration) -> Result<(), SocketError> {
    let mut watched: Vec<PollFd<'_>> = sockets.iter().map(|(fd, watch)| PollFd::new(*fd, watch.flags())).collect();
    match ppoll(&mut watched, Some(TimeSpec::from(timeout)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(broken("ppoll")(errno)),
    }
}
