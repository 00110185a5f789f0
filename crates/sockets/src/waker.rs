//! Waiting for a socket and for other threads at once.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use framewire_transport::socket::SocketError;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;

use crate::error::broken;

/// Wakes a thread out of [`wait`](Self::wait), from any other thread (eventfd(2)). A wake-up that comes while no thread
/// waits is kept for the next wait; several are as one.
#[derive(Debug)]
pub struct Waker {
    counter: EventFd,
}

/// What to wait for on a socket. That it breaks is always waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Room to write; of a socket that connects: that the attempt has ended.
    pub write: bool,
    /// Something to read, or the end.
    pub read: bool,
}

/// Why a wait ended; all false when the time was over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Another thread has woken this one.
    pub woken: bool,
    /// There is room to write.
    pub write: bool,
    /// There is something to read, or the end has come.
    pub read: bool,
    /// The connection is broken: the next call on the socket says why.
    pub broken: bool,
}

impl Waker {
    /// A waker that has not been used yet.
    ///
    /// # Errors
    /// When the process may not open another file.
    pub fn new() -> Result<Self, SocketError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self { counter: EventFd::from_flags(flags).map_err(broken("eventfd"))? })
    }

    /// Wakes the thread that waits, or the next one that will.
    pub fn wake(&self) {
        // The counter is full (EAGAIN) only when 2^64 - 2 wake-ups were not waited for: the thread wakes anyway.
        let _ = self.counter.write(1);
    }

    /// Waits for a wake-up, for `socket` where one is given, and for `timeout` (rounded up to nanoseconds; `None`: as
    /// long as it takes). May return early for no reason.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn wait(
        &self,
        socket: Option<(BorrowedFd<'_>, Watch)>,
        timeout: Option<Duration>,
    ) -> Result<Ready, SocketError> {
        let of_counter = (self.counter.as_fd(), PollFlags::POLLIN);
        let (fd, flags) = socket.map_or(of_counter, |(fd, watch)| (fd, watch.flags()));
        let mut both = [PollFd::new(of_counter.0, of_counter.1), PollFd::new(fd, flags)];
        let watched = if socket.is_some() { &mut both[..] } else { &mut both[..1] };
        match ppoll(watched, timeout.map(TimeSpec::from), None) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Ready::default()),
            Err(errno) => return Err(broken("ppoll")(errno)),
        }
        let woken = seen(&both[0]).contains(PollFlags::POLLIN);
        if woken {
            // Non-blocking; what it counted does not matter.
            let _ = self.counter.read();
        }
        let of_socket = if socket.is_some() { seen(&both[1]) } else { PollFlags::empty() };
        Ok(Ready {
            woken,
            write: of_socket.contains(PollFlags::POLLOUT),
            read: of_socket.contains(PollFlags::POLLIN),
            broken: of_socket.intersects(PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL),
        })
    }
}

impl Watch {
    pub(crate) fn flags(self) -> PollFlags {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::POLLOUT, self.write);
        flags.set(PollFlags::POLLIN, self.read);
        flags
    }
}

fn seen(fd: &PollFd<'_>) -> PollFlags {
    fd.revents().unwrap_or(PollFlags::empty())
}
