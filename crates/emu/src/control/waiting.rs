//! Waiting for a socket, a time or the end of the run, whichever is first.

use std::os::fd::BorrowedFd;

use framewire_emu::Clock;
use framewire_kernel::Wakes;
use framewire_units::Timestamp;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::stop::StopFlag;

/// What a thread waits for on its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Only for the time or the end.
    Nothing,
    /// Something to read.
    Readable,
    /// Room to write.
    Writable,
}

/// Waits until one of the descriptors is as it is to be, or `deadline` has come. It may also return early. How
/// late the deadline woke it goes to `wakes`.
///
/// # Errors
/// When the kernel refuses to poll.
pub fn wait_for_any<'a>(
    descriptors: impl IntoIterator<Item = (BorrowedFd<'a>, Interest)>,
    clock: Clock,
    deadline: Option<Timestamp>,
    wakes: &Wakes,
) -> nix::Result<()> {
    // A socket without interest is left out: its errors alone would wake the thread again and again.
    let watched = descriptors.into_iter().filter_map(|(fd, interest)| Some(PollFd::new(fd, interest.flags()?)));
    let mut watched: Vec<PollFd<'_>> = watched.collect();
    let now = clock.now();
    let timeout = deadline.map(|deadline| TimeSpec::from(deadline.saturating_since(now)));
    let outcome = ppoll(&mut watched, timeout, None);
    wakes.note(now, deadline, clock.now());
    match outcome {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error),
    }
}

impl Interest {
    fn flags(self) -> Option<PollFlags> {
        match self {
            Self::Nothing => None,
            Self::Readable => Some(PollFlags::POLLIN),
            Self::Writable => Some(PollFlags::POLLOUT),
        }
    }
}

/// Sleeps until the clock shows `at`, at least until it counts, or `stop` is raised.
pub fn sleep_until(clock: Clock, at: Timestamp, stop: &StopFlag) {
    while !stop.is_raised() {
        let left = clock.until_origin().unwrap_or_default() + at.saturating_since(clock.now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(std::time::Duration::from_millis(100)));
    }
}

/// Asks the kernel to wake this thread at its time, not up to 50 us later (prctl(2), PR_SET_TIMERSLACK).
pub fn sharpen_timers() {
    // SAFETY: the call takes plain numbers and changes nothing but this thread's timer slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0) };
}
