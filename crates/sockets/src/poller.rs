//! Waiting for any number of sockets.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use framewire_transport::socket::SocketError;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::error::broken;
use crate::readiness::wait_watching;
use crate::waker::{Ready, Watch};

/// Sockets that are told of at a time; the others the next time.
const AT_A_TIME: usize = 256;

/// Sockets that are waited for together (epoll(7)): what a wait costs does not grow with how many there are.
///
/// A socket is told of as long as it is ready for what it is watched for. It leaves when it is closed.
#[derive(Debug)]
pub struct Poller {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

/// A socket that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polled {
    /// The number with which it was added.
    pub token: u64,
    /// For what.
    pub ready: Ready,
}

impl Poller {
    /// One without sockets.
    ///
    /// # Errors
    /// When the process may not open another file.
    pub fn new() -> Result<Self, SocketError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(broken("epoll_create"))?;
        Ok(Self { epoll, events: vec![EpollEvent::empty(); AT_A_TIME] })
    }

    /// Watches one socket more, which is told of by this number.
    ///
    /// # Errors
    /// When the kernel has no room, or it is watched already.
    pub fn add(&self, socket: BorrowedFd<'_>, token: u64, watch: Watch) -> Result<(), SocketError> {
        self.epoll.add(socket, EpollEvent::new(flags(watch), token)).map_err(broken("epoll_ctl(ADD)"))
    }

    /// Watches it for something else.
    ///
    /// # Errors
    /// When it is not watched.
    pub fn change(&self, socket: BorrowedFd<'_>, token: u64, watch: Watch) -> Result<(), SocketError> {
        let mut event = EpollEvent::new(flags(watch), token);
        self.epoll.modify(socket, &mut event).map_err(broken("epoll_ctl(MOD)"))
    }

    /// Waits until one of them is ready, or the time is over, exact to nanoseconds; what is ready then, which may be nothing.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn wait(&mut self, timeout: Duration) -> Result<impl Iterator<Item = Polled>, SocketError> {
        // epoll_wait counts milliseconds.
        if !timeout.is_zero() {
            wait_watching(&[(self.epoll.0.as_fd(), Watch { read: true, write: false })], timeout)?;
        }
        let count = match self.epoll.wait(&mut self.events, EpollTimeout::ZERO) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(errno) => return Err(broken("epoll_wait")(errno)),
        };
        Ok(self.events[..count].iter().map(|event| Polled { token: event.data(), ready: ready(event.events()) }))
    }
}

fn flags(watch: Watch) -> EpollFlags {
    let mut flags = EpollFlags::empty();
    flags.set(EpollFlags::EPOLLOUT, watch.write);
    flags.set(EpollFlags::EPOLLIN, watch.read);
    flags
}

fn ready(flags: EpollFlags) -> Ready {
    Ready {
        woken: false,
        write: flags.contains(EpollFlags::EPOLLOUT),
        read: flags.contains(EpollFlags::EPOLLIN),
        broken: flags.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP),
    }
}
