//! Waiting for any of several descriptors or a time.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

/// Waits until one of `readable` can be read, `writable` be written, or `timeout` has passed; maybe less.
///
/// # Errors
/// When the kernel refuses to poll.
pub fn wait_for_any<'a>(
    readable: impl IntoIterator<Item = BorrowedFd<'a>>,
    writable: Option<BorrowedFd<'_>>,
    timeout: Duration,
) -> nix::Result<()> {
    let mut descriptors: Vec<PollFd> =
        readable.into_iter().map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN)).collect();
    descriptors.extend(writable.map(|descriptor| PollFd::new(descriptor, PollFlags::POLLOUT)));
    match ppoll(&mut descriptors, Some(TimeSpec::from(timeout)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error),
    }
}
