//! The kernel's interfaces that a world is built of, one per file, and nothing that knows what a lane is.

pub(crate) mod counters;
pub(crate) mod ethtool;
pub(crate) mod gate;
pub(crate) mod link;
pub(crate) mod namespace;
pub(crate) mod netlink;
pub(crate) mod nfqueue;
pub(crate) mod nftables;
pub(crate) mod packet_ring;
pub(crate) mod schedule;
pub(crate) mod sysctl;
pub(crate) mod timer;

use std::io;

/// The result of a system call as Rust has it.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
