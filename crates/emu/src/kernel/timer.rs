//! Waiting: timers at absolute times, an event that wakes, and the descriptors a thread waits on.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

/// A timer on CLOCK_MONOTONIC. Any thread may set it, also while another waits for it.
#[derive(Debug)]
pub(crate) struct Timer {
    fd: OwnedFd,
}

impl Timer {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: no pointers are passed.
        let raw = check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
        // SAFETY: `raw` was just opened and has no other owner.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Sets the timer to ring at a reading of CLOCK_MONOTONIC in nanoseconds, at once when that has passed.
    pub(crate) fn set(&self, nanos: i64) {
        let nanos = nanos.max(1); // zero would switch it off
        let timespec = |nanos: i64| libc::timespec { tv_sec: nanos / 1_000_000_000, tv_nsec: nanos % 1_000_000_000 };
        let setting = libc::itimerspec { it_interval: timespec(0), it_value: timespec(nanos) };
        // SAFETY: `setting` lives until the call returns. It cannot fail: the descriptor is a timer, the time valid.
        unsafe {
            libc::timerfd_settime(self.fd.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &setting, std::ptr::null_mut());
        }
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Something that happens once and wakes everyone who waits for it, for good.
#[derive(Debug)]
pub(crate) struct Event {
    fd: OwnedFd,
}

impl Event {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let raw = check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
        // SAFETY: `raw` was just opened and has no other owner.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Lets it happen.
    pub(crate) fn raise(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight valid bytes. It cannot fail: the counter is far from its end.
        unsafe { libc::write(self.fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A set of descriptors to wait on, each under a number.
#[derive(Debug)]
pub(crate) struct WaitSet {
    fd: OwnedFd,
}

/// Descriptors reported by one wait.
pub(crate) const WAIT_BATCH: usize = 32;

impl WaitSet {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let raw = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: `raw` was just opened and has no other owner.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Waits for readability of `fd`: while it lasts, or with `edge` once each time that it begins anew.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, number: u64, edge: bool) -> io::Result<()> {
        let edge = if edge { libc::EPOLLET } else { 0 };
        let mut event = libc::epoll_event { events: (libc::EPOLLIN | edge).cast_unsigned(), u64: number };
        // SAFETY: `event` lives until the call returns.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &mut event) })
            .map(drop)
    }

    /// Waits until something is readable and gives each number to `take`.
    pub(crate) fn wait(&self, mut take: impl FnMut(u64)) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; WAIT_BATCH];
        // SAFETY: `events` has room for the number of entries that is named. An error can only be EINTR.
        let count =
            unsafe { libc::epoll_wait(self.fd.as_raw_fd(), events.as_mut_ptr(), WAIT_BATCH as libc::c_int, -1) };
        for event in &events[..usize::try_from(count).unwrap_or(0)] {
            take(event.u64);
        }
    }
}
