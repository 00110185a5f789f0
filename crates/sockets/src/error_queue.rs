//! The error queue that IP_RECVERR fills (ip(7)).

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd};

use nix::sys::socket::{MsgFlags, SockaddrStorage, recvmsg};

/// More errors than this are not looked at in one go; the rest waits for the next.
const AT_ONCE: usize = 64;

/// Empties the error queue, so that it does not take the memory of the receive buffer or keep the socket readable
/// with POLLERR. Returns how many errors there were.
pub(crate) fn drain(fd: &impl AsFd) -> usize {
    (0..AT_ONCE).take_while(|_| take_one(fd)).count()
}

fn take_one(fd: &impl AsFd) -> bool {
    let mut payload = [0; 1];
    let mut parts = [IoSliceMut::new(&mut payload)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    recvmsg::<SockaddrStorage>(fd.as_fd().as_raw_fd(), &mut parts, None, flags).is_ok()
}
