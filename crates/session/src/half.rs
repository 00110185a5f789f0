//! The shape of a session: two halves, the channels between them, and the tracks that they carry.
//!
//! A half is sans-IO. It states which [channels](Channel) it wants, is given what [arrives](Arrival) on them, sends on
//! them what they take, and says [what it waits for](Wait). Either half may send on any channel: what a receiver says
//! to its sender is a channel like any other. The transports of a movie and the adaptive streams are such halves; a
//! session with receiver reports, SRT or QUIC is two more.

use std::fmt;

use framewire_transport::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};
use framewire_units::{DataSize, Timestamp};

/// Which of the two halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// That has the movie.
    Sender,
    /// That wants it.
    Receiver,
}

/// Which channel of a session: its number, the same for both halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(pub u8);

/// Some of a session's channels.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelSet(u64);

impl ChannelSet {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// This one.
    ///
    /// # Panics
    /// Where its number is 64 or more, which no session has.
    pub const fn of(channel: ChannelId) -> Self {
        assert!(channel.0 < 64);
        Self(1 << channel.0)
    }

    /// True where there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it is one of them.
    pub const fn contains(self, channel: ChannelId) -> bool {
        self.0 & Self::of(channel).0 != 0
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// All of them, in order.
    pub fn iter(self) -> impl Iterator<Item = ChannelId> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            // Of 64 numbers a flow has three or four, and they are asked for with every packet.
            let lowest = u8::try_from(left.trailing_zeros()).ok().filter(|&number| number < 64)?;
            left &= left - 1;
            Some(ChannelId(lowest))
        })
    }
}

impl From<Option<ChannelId>> for ChannelSet {
    fn from(channel: Option<ChannelId>) -> Self {
        channel.map_or(Self::NONE, Self::of)
    }
}

impl fmt::Debug for ChannelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// Datagrams in both directions, between two sockets that are there from the beginning.
    Datagram,
    /// A stream of bytes in both directions: this end connects, and the other one listens.
    Stream(End),
}

/// A channel that a half wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its number.
    pub id: ChannelId,
    /// What it is.
    pub kind: ChannelKind,
}

/// What is carried beside each other: a track has frames of its own, and its number is that of the ledger's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// Track 0.
    Video,
    /// Any other, by its number.
    Audio(u8),
}

impl Track {
    /// Its number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Video => 0,
            Self::Audio(number) => number,
        }
    }
}

/// What comes to a half on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival<'a> {
    /// A stream is open.
    Opened,
    /// One datagram.
    Datagram(&'a [u8]),
    /// The next bytes of a stream.
    Bytes(&'a [u8]),
    /// Nothing more will come on it.
    Ended,
}

/// The channels of a half, as it writes to them.
pub trait Channels {
    /// Whether a datagram that is made now can leave: a half whose datagrams say when they left makes none before.
    fn has_room(&self, channel: ChannelId) -> bool;

    /// Sends a datagram without waiting. `sequence` is the number by which records know it, where the half counts them.
    ///
    /// # Errors
    /// When the channel is broken.
    fn send(&mut self, channel: ChannelId, datagram: &[u8], sequence: Option<u32>)
    -> Result<DatagramSend, SocketError>;

    /// As [`DatagramSocket::free_room`].
    ///
    /// # Errors
    /// When the channel is broken.
    fn free_room(&mut self, channel: ChannelId) -> Result<DataSize, SocketError>;

    /// As [`StreamSocket::write`].
    ///
    /// # Errors
    /// When the channel is broken, or is none of a stream.
    fn write(&mut self, channel: ChannelId, bytes: &[u8]) -> Result<usize, SocketError>;

    /// As [`StreamSocket::unsent`].
    ///
    /// # Errors
    /// When the channel is broken.
    fn unsent(&mut self, channel: ChannelId) -> Result<DataSize, SocketError>;

    /// As [`StreamSocket::finish`].
    ///
    /// # Errors
    /// When the channel is broken.
    fn finish(&mut self, channel: ChannelId) -> Result<(), SocketError>;
}

/// What a half waits for. Room is asked for without a size: a socket says that it has some by a rule of its own (poll(2)), and
/// no half waits for more than that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// Room in one of these channels.
    pub room: ChannelSet,
    /// This time.
    pub timeout: Option<Timestamp>,
    /// Nothing: it has sent all that it had to send, and expects nothing more.
    pub finished: bool,
}

/// One half of a session.
///
/// Contract: open what [`channels`](Self::channels) names. Then [`drive`](Self::drive) it at its start, whenever what it
/// waits for has come, and after what was [handed to it](Self::handle_arrival); look at what it waits for after that.
/// Bytes of a stream are handed to it while it [wants](Self::wants) them, and stay in the socket else.
/// [`stop`](Self::stop) ends it early: what it then still has to say it sends when it is driven.
pub trait Half {
    /// The channels that it wants, as far as it knows by now.
    fn channels(&self) -> Vec<Channel>;

    /// The tracks that it carries.
    fn tracks(&self) -> Vec<Track> {
        vec![Track::Video]
    }

    /// Something came from the other half.
    fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>);

    /// Whether what arrives on a channel is taken now.
    fn wants(&self, _now: Timestamp, _channel: ChannelId) -> bool {
        true
    }

    /// Does what is due, and sends what the channels take.
    ///
    /// # Errors
    /// When a channel is broken that it cannot do without.
    fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError>;

    /// Ends it early.
    fn stop(&mut self, now: Timestamp);
}

/// One channel as a socket, for the halves of `framewire-transport`.
pub(crate) struct OneChannel<'a> {
    pub(crate) channels: &'a mut dyn Channels,
    pub(crate) id: ChannelId,
}

impl DatagramSocket for OneChannel<'_> {
    fn send(&mut self, datagram: &[u8]) -> Result<DatagramSend, SocketError> {
        self.channels.send(self.id, datagram, None)
    }

    fn free_room(&mut self) -> Result<DataSize, SocketError> {
        self.channels.free_room(self.id)
    }
}

impl StreamSocket for OneChannel<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SocketError> {
        self.channels.write(self.id, bytes)
    }

    fn unsent(&mut self) -> Result<DataSize, SocketError> {
        self.channels.unsent(self.id)
    }

    fn finish(&mut self) -> Result<(), SocketError> {
        self.channels.finish(self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channels_of_a_set_come_in_order_and_no_others() {
        let numbers = [0, 1, 7, 40, 63];
        let set = numbers.iter().fold(ChannelSet::NONE, |set, &number| set.and(ChannelSet::of(ChannelId(number))));
        assert_eq!(set.iter().map(|channel| channel.0).collect::<Vec<_>>(), numbers);
        assert_eq!(ChannelSet::NONE.iter().count(), 0);
    }
}
