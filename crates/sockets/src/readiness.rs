//! Waiting for one socket.

use std::os::fd::AsFd;
use std::time::Duration;

use framewire_transport::socket::SocketError;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::broken;

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
