//! What the kernel says of a host's sockets: /proc/net in the host's namespace (proc(5)).

use std::path::{Path, PathBuf};

/// State of a TCP socket that waits for connections (`TCP_LISTEN`, include/net/tcp_states.h).
const LISTEN: u8 = 0x0a;
/// States in which nothing of ours is left to be sent or acknowledged: FIN_WAIT2, TIME_WAIT, CLOSE, LISTEN.
const NOTHING_UNDER_WAY: [u8; 4] = [0x05, 0x06, 0x07, LISTEN];

/// One line of /proc/net/tcp or udp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    local_port: u16,
    remote_port: u16,
    state: u8,
    /// Bytes that were written and not yet acknowledged, or not yet sent.
    queued: u64,
}

/// The tables of sockets of the host that the calling thread is in.
pub struct HostSockets {
    directory: PathBuf,
}

impl HostSockets {
    /// Of the calling thread's own namespace.
    pub fn here() -> Self {
        Self { directory: Path::new("/proc/thread-self/net").to_owned() }
    }

    /// True when a TCP socket listens on `port`, or a UDP socket is bound to it.
    pub fn listens(&self, port: u16) -> bool {
        let tcp = ["tcp", "tcp6"].iter().flat_map(|table| self.read(table));
        let udp = ["udp", "udp6"].iter().flat_map(|table| self.read(table));
        tcp.filter(|socket| socket.state == LISTEN).chain(udp).any(|socket| socket.local_port == port)
    }

    /// True while a TCP connection from or to `port` has something to send, or waits for an acknowledgement.
    pub fn is_sending(&self, port: u16) -> bool {
        self.connections(port).any(|socket| !NOTHING_UNDER_WAY.contains(&socket.state))
    }

    /// Bytes of sockets from or to `port` that are still in this host, as far as the kernel counts them.
    pub fn queued(&self, port: u16) -> u64 {
        let udp = ["udp", "udp6"].iter().flat_map(|table| self.read(table));
        let udp = udp.filter(move |socket| socket.concerns(port));
        self.connections(port).chain(udp).map(|socket| socket.queued).sum()
    }

    fn connections(&self, port: u16) -> impl Iterator<Item = Socket> {
        ["tcp", "tcp6"].iter().flat_map(|table| self.read(table)).filter(move |socket| socket.concerns(port))
    }

    fn read(&self, table: &str) -> Vec<Socket> {
        // A kernel without IPv6 has no such table.
        let text = std::fs::read_to_string(self.directory.join(table)).unwrap_or_default();
        text.lines().skip(1).filter_map(parse).collect()
    }
}

impl Socket {
    fn concerns(&self, port: u16) -> bool {
        [self.local_port, self.remote_port].contains(&port)
    }
}

/// `sl local_address rem_address st tx_queue:rx_queue ...`, addresses as `hex:port`.
fn parse(line: &str) -> Option<Socket> {
    let mut fields = line.split_whitespace().skip(1);
    let mut port = || u16::from_str_radix(fields.next()?.rsplit_once(':')?.1, 16).ok();
    let (local_port, remote_port) = (port()?, port()?);
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    let queued = u64::from_str_radix(fields.next()?.split_once(':')?.0, 16).ok()?;
    Some(Socket { local_port, remote_port, state, queued })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn a_line_is_read_and_nonsense_is_not() {
        let line = "   0: 0100007F:138C 0200007F:C350 01 0000002A:00000000 00:00000000 00000000     0        0 1 1";
        let socket = Socket { local_port: 5_004, remote_port: 50_000, state: 1, queued: 42 };
        assert_eq!(parse(line), Some(socket));
        assert!(socket.concerns(5_004) && socket.concerns(50_000) && !socket.concerns(42));
        for line in ["", "0: 1 2 3 4", "0: 0100007F:zzzz 0:0 01 0:0"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_kernels_tables_show_who_listens_and_who_sends() {
        let sockets = HostSockets::here();
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
