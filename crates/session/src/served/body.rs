//! What goes behind the header of a response.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use framewire_media::streaming_file::ReadAt;
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp::RtpHeader;

use super::CONNECTION;
use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::half::{ChannelId, ChannelSet, Channels, Half};
use crate::sender::{PacketSent, SenderSession};

/// Bytes that are read of a file at a time.
const PIECE: usize = 64 << 10;

/// Bytes that one receiver is written in a row, however fast it takes them: the others have their turn then.
const IN_A_ROW: u64 = 256 << 10;

/// What is written.
pub(super) enum Body {
    /// Bytes that are there.
    Bytes(Bytes),
    /// A part of a file.
    File { file: Arc<dyn ReadAt>, left: Range<u64>, read: Bytes },
    /// A movie, of which the first bytes may be left out, and what is behind an end.
    Movie { session: Box<SenderSession>, skip: u64, left: u64, form: Form },
}

/// What a movie is to the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A file: its length was said.
    File,
    /// A stream, which ends where it ends.
    Stream,
    /// Packets, between which messages go.
    Interleaved,
    /// Datagrams, beside the connection.
    Datagrams,
}

/// What a body waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing: all of it is written.
    Complete,
    /// Room in one of these channels.
    Room(ChannelSet),
    /// This time; for ever where there is none.
    Time(Option<Timestamp>),
    /// Its turn.
    Turn,
}

impl Body {
    /// These bytes of what a session sends, of which so many more go before them.
    pub(super) fn fetched(session: SenderSession, skip: u64, bytes: &Range<u64>, is_file: bool) -> Self {
        let form = if is_file { Form::File } else { Form::Stream };
        Self::Movie { session: session.into(), skip, left: bytes.end - bytes.start, form }
    }

    /// All of what a session sends, between messages or in datagrams.
    pub(super) fn streamed(session: SenderSession, in_datagrams: bool) -> Self {
        let form = if in_datagrams { Form::Datagrams } else { Form::Interleaved };
        Self::Movie { session: session.into(), skip: 0, left: u64::MAX, form }
    }

    /// Writes a message behind the packet that was begun; gives it back where messages do not go between packets.
    pub(super) fn handle_message(&mut self, message: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Self::Movie { session, form: Form::Interleaved, .. } => {
                session.handle_message(message);
                None
            }
            _ => Some(message),
        }
    }

    /// What has to be written of a packet that was begun, and of messages, where it ends here.
    pub(super) fn take_begun(&mut self) -> Vec<Bytes> {
        match self {
            Self::Movie { session, form: Form::Interleaved, .. } => session.take_begun(),
            _ => Vec::new(),
        }
    }

    /// Writes what is due and taken; adds how much that was to `written`.
    ///
    /// # Errors
    /// When the channel is broken, or a file cannot be read.
    pub(super) fn drive(
        &mut self,
        now: Timestamp,
        channels: &mut dyn Channels,
        written: &mut u64,
    ) -> Result<Next, SocketError> {
        let (packets, is_datagrams) = (Vec::new(), matches!(self, Self::Movie { form: Form::Datagrams, .. }));
        let (skip, left, turn) = (0, u64::MAX, IN_A_ROW);
        let mut window = Window { channels, skip, left, turn, written: 0, ended: false, packets };
        let next = match self {
            Self::Bytes(bytes) => window.write_all(bytes),
            Self::File { file, left, read } => write_file(&mut window, &**file, left, read),
            Self::Movie { session, skip, left, form } => {
                (window.skip, window.left) = (*skip, *left);
                let wait = Half::drive(&mut **session, now, &mut window);
                (*skip, *left) = (window.skip, window.left);
                wait.and_then(|wait| match (wait.room, wait.finished || window.ended) {
                    _ if window.left == 0 => Ok(Next::Complete),
                    (_, true) if *form == Form::File => Err(too_short()),
                    (_, true) => Ok(Next::Complete),
                    (room, _) if room.is_empty() => Ok(Next::Time(wait.timeout)),
                    (room, _) if is_datagrams => Ok(Next::Room(room)),
                    _ if window.turn == 0 => Ok(Next::Turn),
                    _ => Ok(Next::Room(ChannelSet::of(CONNECTION))),
                })
            }
        };
        *written += window.written;
        if let Self::Movie { session, .. } = self {
            window.packets.into_iter().for_each(|packet| session.note_packet(packet));
        }
        next
    }
}

/// What was said of the length of a file is not true: its movie changed meanwhile.
fn too_short() -> SocketError {
    SocketError { operation: "read", reason: "the movie is shorter than it was".to_owned() }
}

fn write_file(
    window: &mut Window<'_>,
    file: &dyn ReadAt,
    left: &mut Range<u64>,
    read: &mut Bytes,
) -> Result<Next, SocketError> {
    loop {
        let next = window.write_all(read)?;
        if next != Next::Complete || left.is_empty() {
            return Ok(next);
        }
        let length = usize::try_from(left.end - left.start).unwrap_or(PIECE).min(PIECE);
        let piece = file.bytes_at(left.start, length);
        *read = piece.map_err(|error| SocketError { operation: "read", reason: error.to_string() })?;
        left.start += length as u64;
    }
}

/// The channel of a receiver, as what writes a body sees it: a part of it alone is written, and only so much in a row.
struct Window<'a> {
    channels: &'a mut dyn Channels,
    skip: u64,
    left: u64,
    turn: u64,
    written: u64,
    /// All of the movie was written.
    ended: bool,
    /// Packets of RTP that were sent in datagrams.
    packets: Vec<PacketSent>,
}

impl Window<'_> {
    fn write_all(&mut self, bytes: &mut Bytes) -> Result<Next, SocketError> {
        while !bytes.is_empty() {
            let taken = self.write(CONNECTION, bytes)?;
            if taken == 0 {
                return Ok(if self.turn == 0 { Next::Turn } else { Next::Room(ChannelSet::of(CONNECTION)) });
            }
            drop(bytes.split_to(taken));
        }
        Ok(Next::Complete)
    }
}

impl Channels for Window<'_> {
    fn has_room(&self, channel: ChannelId) -> bool {
        self.channels.has_room(channel)
    }

    fn send(&mut self, channel: ChannelId, bytes: &[u8], sequence: Option<u32>) -> Result<DatagramSend, SocketError> {
        let sent = self.channels.send(channel, bytes, sequence)?;
        if sent == DatagramSend::Sent {
            self.written += bytes.len() as u64;
            let is_sound = channel == SOUND_CHANNEL;
            self.packets.extend(RtpHeader::parse(bytes).ok().map(|(header, payload)| {
                let (timestamp, octets) = (header.timestamp, payload.len() as u32);
                PacketSent { timestamp, octets, is_sound }
            }));
        }
        Ok(sent)
    }

    fn free_room(&mut self, channel: ChannelId) -> Result<DataSize, SocketError> {
        self.channels.free_room(channel)
    }

    fn write(&mut self, channel: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        if self.skip > 0 {
            let skipped = self.skip.min(bytes.len() as u64);
            self.skip -= skipped;
            return Ok(skipped as usize);
        }
        let most = (bytes.len() as u64).min(self.left).min(self.turn);
        if most == 0 {
            return Ok(0);
        }
        let taken = self.channels.write(on_connection(channel), &bytes[..most as usize])?.min(most as usize) as u64;
        self.left -= taken;
        self.turn -= taken;
        self.written += taken;
        Ok(taken as usize)
    }

    fn unsent(&mut self, channel: ChannelId) -> Result<DataSize, SocketError> {
        self.channels.unsent(on_connection(channel))
    }

    /// The connection goes on behind a body.
    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.ended = true;
        Ok(())
    }
}

/// A movie that goes on the connection on which it is asked for is to its session on a channel of its own.
fn on_connection(channel: ChannelId) -> ChannelId {
    if channel == MOVIE_CHANNEL { CONNECTION } else { channel }
}
