//! Names that are made of parts, down the stack and then the queue: `tcp+dependency`, `udp+leaky`.

use std::str::FromStr;

use framewire_units::Keyword;

use super::format::Format;
use super::parts::{Parts, Queue, Session, Socket, SocketKind};
use super::{TransportKind, table};
use crate::datagram::Overflow;

/// A name that is not one of a transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownTransport {
    /// Nothing of it is known.
    #[error("\"{name}\" is not a transport; {} are, and other combinations of their parts", names())]
    Unknown {
        /// The name.
        name: String,
    },
    /// It names parts that do not go together.
    #[error("\"{name}\" makes no sense: {reason}")]
    Senseless {
        /// The name.
        name: String,
        /// Why they do not.
        reason: &'static str,
    },
}

fn names() -> String {
    let called = |kind: TransportKind| [kind.name()].into_iter().chain(kind.also_called());
    TransportKind::ALL.into_iter().flat_map(called).collect::<Vec<_>>().join(", ")
}

impl TransportKind {
    /// The other name that the word of its format alone is: `rtp` is `udp-blocking`.
    pub fn also_called(self) -> Option<&'static str> {
        let is_other = |word: &&str| *word != self.name() && word.parse() == Ok(self);
        Format::ALL.iter().map(|format| format.as_str()).find(is_other)
    }
}

impl FromStr for TransportKind {
    type Err = UnknownTransport;

    fn from_str(name: &str) -> Result<Self, UnknownTransport> {
        if let Some(kind) = Self::ALL.into_iter().find(|kind| kind.name() == name) {
            return Ok(kind);
        }
        let senseless = |reason| UnknownTransport::Senseless { name: name.to_owned(), reason };
        let parts = parts(name).ok_or_else(|| UnknownTransport::Unknown { name: name.to_owned() })?;
        Self::of(parts.map_err(senseless)?).map_err(senseless)
    }
}

/// What sockets are called in names; formats and queues have their own words.
const SOCKETS: [(&str, SocketKind); 4] = [
    ("udp", SocketKind::Datagram(Overflow::Drop)),
    ("udp-blocking", SocketKind::Datagram(Overflow::Wait)),
    ("udp-whole", SocketKind::Datagram(Overflow::DropRestOfFrame)),
    ("tcp", SocketKind::Stream),
];

/// The name of parts.
pub(super) fn name(parts: Parts) -> String {
    match (table::entry_of(parts), parts.queue) {
        (Some(entry), _) => entry.name.to_owned(),
        (None, Queue::Direct) => carrier(parts),
        (None, queue) => format!("{}+{queue}", carrier(parts)),
    }
}

/// What carries the frames, whatever the queue is.
pub(super) fn carrier(parts: Parts) -> String {
    if parts.session == Session::Http {
        let file = parts.format == Format::Mp4;
        return if file { "http".to_owned() } else { format!("http+{}", parts.format) };
    }
    let socket = match parts.socket {
        SocketKind::Datagram(Overflow::DropRestOfFrame) if parts.format.innermost() == Format::Ts => "udp-whole",
        SocketKind::Datagram(_) => "udp",
        SocketKind::Stream => "tcp",
    };
    if parts.session == Session::Rtsp {
        let socket = SOCKETS.iter().find(|(_, socket)| *socket == parts.socket);
        return match (parts.socket, parts.queue, socket) {
            (SocketKind::Stream, ..) => "rtsp".to_owned(),
            (_, Queue::Direct, Some((word, _))) => format!("rtsp+{word}"),
            _ => "rtsp+udp".to_owned(),
        };
    }
    if parts.format.innermost() == Format::Ts {
        // A socket that waits for room needs no word.
        let waits = parts.socket == SocketKind::Datagram(Overflow::Wait);
        return if waits { parts.format.to_string() } else { format!("{}+{socket}", parts.format) };
    }
    match parts.format == Format::default_over(parts.socket.socket()) {
        true => socket.to_owned(),
        false => format!("{}+{socket}", parts.format),
    }
}

/// The parts that a name is made of, or why they cannot be; `None` where a word of it is unknown or out of order.
fn parts(name: &str) -> Option<Result<Parts, &'static str>> {
    let mut words = name.split('+').peekable();
    if words.next_if_eq(&"rtsp").is_some() {
        // In its own connection, unless a socket of datagrams is named.
        let of_datagrams = SOCKETS.into_iter().filter(|(_, socket)| *socket != SocketKind::Stream);
        let named = words.peek().and_then(|word| of_datagrams.into_iter().find(|(known, _)| known == word));
        words.next_if(|_| named.is_some());
        let queue = words.next().map_or(Ok(Queue::Direct), str::parse).ok()?;
        let socket = match named {
            Some(("udp", _)) if queue != Queue::Direct => SocketKind::Datagram(Overflow::Wait),
            Some((_, socket)) => socket,
            None => SocketKind::Stream,
        };
        return words.next().is_none().then_some(Ok(Parts { queue, socket, ..table::RTSP.parts }));
    }
    let over_http = words.next_if_eq(&"http").is_some();
    let mut format = None;
    // One inside the other, down the stack.
    while let Some(outer) = words.peek().and_then(|word| word.parse::<Format>().ok()) {
        words.next();
        format = Some(match format.map_or(Ok(outer), |inner: Format| inner.within(outer)) {
            Ok(format) => format,
            Err(reason) => return Some(Err(reason)),
        });
    }
    if over_http {
        let queue = words.next().map_or(Ok(Queue::Direct), str::parse).ok()?;
        let (format, session) = (format.unwrap_or(Format::Mp4), Session::Http);
        return words.next().is_none().then_some(Ok(Parts { queue, format, session, socket: SocketKind::Stream }));
    }
    let is_in_packets = format.is_some_and(|format| format.is_rtp() || format == Format::Ts);
    let named = words.peek().and_then(|word| SOCKETS.into_iter().find(|(known, _)| known == word));
    words.next_if(|_| named.is_some());
    // Packets are sent over UDP by a socket that waits for room, unless another one is named: `rtp` is `udp-blocking`.
    let (word, socket) = named.or_else(|| is_in_packets.then_some(("udp", SocketKind::Datagram(Overflow::Wait))))?;
    let queue = words.next().map_or(Ok(Queue::Direct), str::parse).ok()?;
    // Before a queue, `udp` is the one that leaves frames in it.
    let socket = if queue != Queue::Direct && word == "udp" { SocketKind::Datagram(Overflow::Wait) } else { socket };
    let kind: Socket = socket.socket();
    let format = format.unwrap_or(Format::default_over(kind));
    let session = Session::default_of(format, kind);
    words.next().is_none().then_some(Ok(Parts { queue, format, session, socket }))
}
