//! TCP congestion controls by name.

use std::os::fd::AsFd;

use nix::errno::Errno;

use crate::error::OpenError;
use crate::option::set_bytes;

/// What this user can choose: every control of the kernel for a privileged one, the allowed ones for others.
const ALL: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Names of the congestion controls that this kernel has loaded or built in, in its own order.
pub fn available_congestion_controls() -> Vec<String> {
    names(ALL)
}

fn names(file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Selects the congestion control of a TCP socket.
pub(crate) fn select(fd: &impl AsFd, name: &str) -> Result<(), OpenError> {
    // TCP_CA_NAME_MAX is 16 (include/net/tcp.h); the kernel would cut longer names.
    let result = match name.len() {
        1..16 => set_bytes(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes()),
        _ => Err(Errno::ENOENT),
    };
    result.map_err(|errno| match errno {
        Errno::ENOENT => OpenError::Congestion { name: name.to_owned(), available: listed(names(ALL)) },
        Errno::EPERM => OpenError::Congestion { name: name.to_owned(), available: listed(names(ALLOWED)) },
        errno => OpenError::system("setsockopt(TCP_CONGESTION)")(errno),
    })
}

fn listed(names: Vec<String>) -> String {
    if names.is_empty() { "none that /proc tells".to_owned() } else { names.join(", ") }
}
