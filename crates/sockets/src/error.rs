//! Why a socket could not be opened.

use std::net::SocketAddr;

use framewire_transport::socket::SocketError;
use framewire_units::DataSize;
use nix::errno::Errno;

/// A socket that could not be opened as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Another socket has the port.
    #[error("port {} at {} is in use: choose another port, or stop the program that holds it", .0.port(), .0.ip())]
    PortInUse(SocketAddr),
    /// The address is not one of this host (or of the network namespace).
    #[error("{} is not an address of this host: an address of one of its interfaces is allowed", .0.ip())]
    NotLocal(SocketAddr),
    /// The kernel does not have the congestion control, or does not let this user choose it.
    #[error("congestion control \"{name}\" is not available: {available} can be chosen here")]
    Congestion {
        /// What was asked for.
        name: String,
        /// What the kernel offers, separated by commas.
        available: String,
    },
    /// The kernel does not allow a buffer of that size.
    #[error("a {which} buffer of {asked} is not possible: the kernel makes it {got} (net.core.{limit} sets the limit)")]
    Buffer {
        /// `"send"` or `"receive"`.
        which: &'static str,
        /// What was asked for, as getsockopt would report it.
        asked: DataSize,
        /// What getsockopt reports.
        got: DataSize,
        /// Name of the kernel's limit.
        limit: &'static str,
    },
    /// Nothing listens at the address.
    #[error("{0} refuses the connection: nothing listens on port {port}", port = .0.port())]
    Refused(SocketAddr),
    /// The peer did not answer in time.
    #[error("{0} does not answer")]
    NoAnswer(SocketAddr),
    /// Something else, in the system's own words.
    #[error("{operation}: {reason}")]
    System {
        /// The call that failed.
        operation: &'static str,
        /// The system's own words.
        reason: String,
    },
}

impl OpenError {
    pub(crate) fn system(operation: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::System { operation, reason: errno.desc().to_owned() }
    }

    pub(crate) fn bind(address: SocketAddr) -> impl Fn(Errno) -> Self {
        move |errno| match errno {
            Errno::EADDRINUSE => Self::PortInUse(address),
            Errno::EADDRNOTAVAIL => Self::NotLocal(address),
            Errno::EACCES => Self::System {
                operation: "bind",
                reason: format!("port {} is reserved: 1024 to 65535 is allowed without privileges", address.port()),
            },
            errno => Self::system("bind")(errno),
        }
    }

    pub(crate) fn connect(peer: SocketAddr) -> impl Fn(Errno) -> Self {
        move |errno| match errno {
            Errno::ECONNREFUSED => Self::Refused(peer),
            Errno::ETIMEDOUT => Self::NoAnswer(peer),
            errno => Self::System { operation: "connect", reason: format!("{peer}: {}", errno.desc()) },
        }
    }
}

/// A failed call on an open socket, in the system's own words.
pub(crate) fn broken(operation: &'static str) -> impl Fn(Errno) -> SocketError {
    move |errno| SocketError { operation, reason: errno.desc().to_owned() }
}

/// A failed call that concerns the peer, whose address helps.
pub(crate) fn broken_by(operation: &'static str, peer: SocketAddr) -> impl Fn(Errno) -> SocketError {
    move |errno| {
        let reason = match errno {
            Errno::ECONNREFUSED => format!("{peer} refused: nothing listens on port {}", peer.port()),
            Errno::ECONNRESET | Errno::EPIPE => format!("{peer} closed the connection"),
            Errno::ETIMEDOUT => format!("{peer} has taken nothing for too long, or answers no more"),
            Errno::EMSGSIZE => format!("the message is larger than a datagram to {peer} can be"),
            errno => format!("{peer}: {}", errno.desc()),
        };
        SocketError { operation, reason }
    }
}
