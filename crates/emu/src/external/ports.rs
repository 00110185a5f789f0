//! What the kernel reports of a host's sockets.
//!
//! TCP sockets are asked for by sock_diag(7): of a state alone that is wanted, because to list all connections the kernel
//! walks through a table of a size that goes with the memory (/proc/net/tcp takes 5 ms of CPU on a machine with 23 GB).

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// State of a TCP socket that waits for connections (`TCP_LISTEN`, include/net/tcp_states.h).
const LISTEN: u32 = 10;
/// States in which something may be left to be sent or acknowledged: all but FIN_WAIT2 (5), TIME_WAIT (6), CLOSE (7)
/// and LISTEN.
const SENDING: u32 = !(1 << 5 | 1 << 6 | 1 << 7 | 1 << LISTEN) & 0xffe;

/// Length of a netlink header (`struct nlmsghdr`).
const NETLINK_HEADER: usize = 16;
/// Length of a request (`struct inet_diag_req_v2`) with its header.
const REQUEST: usize = NETLINK_HEADER + 56;
/// `SOCK_DIAG_BY_FAMILY` (include/uapi/linux/sock_diag.h).
const SOCK_DIAG_BY_FAMILY: u16 = 20;

/// The tables of sockets of the host that the calling thread is in.
pub struct HostSockets {
    /// `None` where the kernel has no sock_diag.
    diag: Option<OwnedFd>,
}

impl HostSockets {
    /// Of the calling thread's own namespace.
    pub fn here() -> Self {
        Self { diag: open().ok() }
    }

    /// True when a TCP socket listens on `port`, or a UDP socket is bound to it.
    pub fn listens(&self, port: u16) -> bool {
        let udp = ["udp", "udp6"].iter().flat_map(|table| local_ports(table)).any(|local| local == port);
        udp || self.tcp(1 << LISTEN).iter().any(|&(local, _)| local == port)
    }

    /// True while a TCP connection from or to `port` may have something to send, or waits for an acknowledgement.
    pub fn is_sending(&self, port: u16) -> bool {
        self.tcp(SENDING).iter().any(|&(local, remote)| local == port || remote == port)
    }

    /// Local and remote ports of the TCP sockets in one of the `states`, a bit for each.
    fn tcp(&self, states: u32) -> Vec<(u16, u16)> {
        let families = [libc::AF_INET, libc::AF_INET6];
        let asked = self.diag.as_ref().and_then(|diag| {
            families.into_iter().map(|family| dump(diag, family as u8, states).ok()).collect::<Option<Vec<_>>>()
        });
        asked.map_or_else(|| tcp_of_proc(states), |answers| answers.concat())
    }
}

fn open() -> io::Result<OwnedFd> {
    // SAFETY: plain numbers.
    let socket =
        unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is fresh and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Asks for the ports of the TCP sockets of a family.
fn dump(diag: &OwnedFd, family: u8, states: u32) -> io::Result<Vec<(u16, u16)>> {
    let mut request = [0u8; REQUEST];
    request[..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request[NETLINK_HEADER] = family;
    request[NETLINK_HEADER + 1] = libc::IPPROTO_TCP as u8;
    request[NETLINK_HEADER + 4..][..4].copy_from_slice(&states.to_ne_bytes());
    // SAFETY: the buffer is valid for its length.
    let sent = unsafe { libc::send(diag.as_raw_fd(), request.as_ptr().cast(), REQUEST, 0) };
    if sent != REQUEST as isize {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut buffer = vec![0u8; 32 * 1024];
    loop {
        // SAFETY: as above; the kernel answers a request before it returns from it, so that this does not wait.
        let length =
            unsafe { libc::recv(diag.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        if read_messages(&buffer[..length], &mut found)? {
            return Ok(found);
        }
    }
}

/// Reads the messages of one datagram (netlink(7)); true when the last one was among them.
fn read_messages(mut datagram: &[u8], found: &mut Vec<(u16, u16)>) -> io::Result<bool> {
    while let Some((header, _)) = datagram.split_at_checked(NETLINK_HEADER) {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let message = datagram.get(NETLINK_HEADER..length).ok_or(ErrorKind::InvalidData)?;
        match i32::from(u16::from_ne_bytes([header[4], header[5]])) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => return Err(ErrorKind::Unsupported.into()),
            // struct inet_diag_msg: four bytes, then the ports in network order.
            _ => found.extend(
                message
                    .get(4..8)
                    .map(|ports| (u16::from_be_bytes([ports[0], ports[1]]), u16::from_be_bytes([ports[2], ports[3]]))),
            ),
        }
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// The same from /proc/net (proc(5)).
fn tcp_of_proc(states: u32) -> Vec<(u16, u16)> {
    let lines = ["tcp", "tcp6"].iter().flat_map(|table| lines(table));
    lines.filter(|&(_, _, state)| states & (1 << state) != 0).map(|(local, remote, _)| (local, remote)).collect()
}

fn local_ports(table: &str) -> Vec<u16> {
    lines(table).into_iter().map(|(local, ..)| local).collect()
}

/// Local and remote port and state of every socket of a table.
fn lines(table: &str) -> Vec<(u16, u16, u32)> {
    // A kernel without IPv6 has no such table.
    let text = std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
    text.lines().skip(1).filter_map(parse).collect()
}

/// `sl local_address rem_address st ...`, addresses as `hex:port`.
fn parse(line: &str) -> Option<(u16, u16, u32)> {
    let mut fields = line.split_whitespace().skip(1);
    let mut port = || u16::from_str_radix(fields.next()?.rsplit_once(':')?.1, 16).ok();
    let (local, remote) = (port()?, port()?);
    let state = u32::from_str_radix(fields.next()?, 16).ok()?;
    (state < 32).then_some((local, remote, state))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn a_line_is_read_and_nonsense_is_not() {
        let line = "   0: 0100007F:138C 0200007F:C350 01 0000002A:00000000 00:00000000 00000000     0        0 1 1";
        assert_eq!(parse(line), Some((5_004, 50_000, 1)));
        for line in ["", "0: 1 2 3 4", "0: 0100007F:zzzz 0:0 01 0:0", "0: 0:0 0:0 ff 0:0"] {
            assert_eq!(parse(line), None, "{line}");
        }
        let nonsense: &[u8] = &[255; 40];
        assert!(read_messages(nonsense, &mut vec![]).is_err());
    }

    #[test]
    fn the_kernel_shows_who_listens_and_who_sends() {
        for sockets in [HostSockets::here(), HostSockets { diag: None }] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            assert!(sockets.listens(port) && !sockets.is_sending(port));
            let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            assert!(sockets.is_sending(port), "a connection that stands may send");
            drop((listener, stream));
            assert!(!sockets.listens(port));
            let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
            let port = datagrams.local_addr().unwrap().port();
            assert!(sockets.listens(port));
            drop(datagrams);
            assert!(!sockets.listens(port));
        }
    }
}
