//! The addresses of the two ends of a flow.

use std::net::{IpAddr, SocketAddr};

use framewire_session::half::End;

/// The addresses of a flow, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowAddresses {
    /// Which end.
    pub end: End,
    /// The address of this host, and the port of the flow here: the first one, or 0 for any that is free.
    pub own: SocketAddr,
    /// The same of the other host; `None`: of the one that is heard first.
    pub peer: Option<SocketAddr>,
}

impl FlowAddresses {
    /// The address here of a channel whose port is by so much higher than that of the flow.
    pub(crate) fn own(&self, port: u16) -> SocketAddr {
        at(self.own, port)
    }

    /// The address of the other end of such a channel.
    pub(crate) fn peer(&self, port: u16) -> Option<SocketAddr> {
        self.peer.map(|peer| at(peer, port))
    }
}

/// Port 0 is any, whatever is above it.
fn at(first: SocketAddr, above: u16) -> SocketAddr {
    match first.port() {
        0 => first,
        port => SocketAddr::new(first.ip(), port.saturating_add(above)),
    }
}

/// Who is listened to: the other end alone, which may be known by its host, or only when it has been heard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Listened {
    /// Who was heard first.
    pub(crate) heard: Option<SocketAddr>,
    /// The host that it is at, where it has announced itself.
    pub(crate) expected: Option<IpAddr>,
    /// The port to which answers go, where that is known before it has been heard.
    pub(crate) port: Option<u16>,
    /// It is one host, from whatever ports it sends.
    pub(crate) is_host: bool,
    /// Datagrams and connections of others.
    pub(crate) of_others: u64,
}

impl Listened {
    /// Where answers go; `None` while that is not known.
    pub(crate) fn answers_to(&self) -> Option<SocketAddr> {
        self.expected.zip(self.port).map(SocketAddr::from).or(self.heard)
    }

    /// Whether what comes from there is of the other end; what is not is counted.
    pub(crate) fn takes(&mut self, from: SocketAddr) -> bool {
        let is_other_port = !self.is_host && self.heard.is_some_and(|heard| heard != from);
        let is_other = is_other_port || self.expected.is_some_and(|host| host != from.ip());
        if is_other {
            self.of_others += 1;
        } else {
            self.heard = Some(from);
        }
        !is_other
    }
}
