//! Turning device offloads off, so that what crosses the wire is what a wire would carry (linux/ethtool.h).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::check;

const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Each switches one offload; the kernel's own numbers and names.
const OFFLOADS: [(&str, u32); 6] = [
    ("ETHTOOL_SRXCSUM", 0x15),
    ("ETHTOOL_STXCSUM", 0x17),
    ("ETHTOOL_SSG", 0x19),
    ("ETHTOOL_STSO", 0x1f),
    ("ETHTOOL_SGSO", 0x24),
    ("ETHTOOL_SGRO", 0x2c),
];

/// Turns off checksum, scatter-gather, segmentation and merging offloads of a device in the thread's namespace.
///
/// # Errors
/// When the kernel refuses, with the offload's name.
pub(crate) fn disable_offloads(device: &str) -> io::Result<()> {
    // SAFETY: no pointers are passed.
    let raw = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: `raw` was just opened and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    for (name, command) in OFFLOADS {
        switch_off(&socket, device, command)
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
    }
    Ok(())
}

fn switch_off(socket: &OwnedFd, device: &str, command: u32) -> io::Result<()> {
    // struct ethtool_value { cmd, data }
    let mut value = [command, 0u32];
    // SAFETY: ifreq is plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: `request` and the value it points to live until the call returns.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &mut request) }).map(drop)
}
