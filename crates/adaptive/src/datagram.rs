//! What server and client share: the two channels of a session, what leaves on them, and what arrives in vain.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use framewire_units::Timestamp;
use framewire_wire::vtp::{PacketError, VideoHeader};

/// The two sockets of section 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// Video, from server to client; and the set-up that proves the client's address.
    Data,
    /// Everything else.
    Control,
}

impl Channel {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Data, Self::Control];

    /// Its place among both.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A datagram to be sent by the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The socket.
    pub channel: Channel,
    /// The client's address there.
    pub to: SocketAddr,
    /// The datagram.
    pub bytes: Vec<u8>,
    /// When the pace of the stream wanted it to leave; `None` for what answers, which is due at once.
    pub due: Option<Timestamp>,
    /// What it carries of the video or the audio; `None` for what answers.
    pub carries: Option<VideoHeader>,
}

impl Transmit {
    /// A datagram that answers, and is due at once.
    pub fn answer(channel: Channel, to: SocketAddr, bytes: Vec<u8>) -> Self {
        Self { channel, to, bytes, due: None, carries: None }
    }
}

/// Why an arriving datagram was thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// It is no packet of the protocol.
    Malformed,
    /// It does not carry the tag of the shared key.
    NotAuthentic,
    /// It belongs to another session, or comes from an address that is not the session's.
    Foreign,
    /// Its cookie was not made for that address, session and title, or is too old.
    BadCookie,
    /// It is well formed, and has no place here and now.
    Unexpected,
    /// It repeats a packet that was seen, or is older than one that was.
    Stale,
    /// Its fields contradict the description of the movie, or each other.
    Inconsistent,
    /// There is no room for what it carries, or for the answer to it.
    NoRoom,
    /// It is one of more than a peer has to send in so short a time.
    TooMany,
}

impl From<PacketError> for DropReason {
    fn from(error: PacketError) -> Self {
        match error {
            PacketError::Authentication => Self::NotAuthentic,
            _ => Self::Malformed,
        }
    }
}

/// Datagrams thrown away, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops(BTreeMap<DropReason, u64>);

impl Drops {
    pub(crate) fn count(&mut self, reason: DropReason) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// Those of another count, too.
    pub(crate) fn add(&mut self, other: &Self) {
        for (reason, count) in other.iter() {
            *self.0.entry(reason).or_default() += count;
        }
    }

    /// How many for this reason.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.0.get(&reason).copied().unwrap_or(0)
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Every reason that occurred, with its count.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        self.0.iter().map(|(&reason, &count)| (reason, count))
    }
}
