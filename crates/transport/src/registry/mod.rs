//! The transports of a movie by name: four parts each, defaults, and the reasons for them.
//!
//! A transport is a [`Queue`] (which frame goes next, what is given up), a [`Format`] (how frames become bytes), a
//! [`Session`] (what stands between the format and the socket) and a socket. [`TransportKind::ALL`] are those with an
//! entry of their own in `table.rs`; every other combination of parts that makes sense has a name as well, and the
//! settings of the entry that is nearest to it.

mod format;
mod names;
mod parts;
mod payload;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::LazyLock;

use framewire_media::access_unit::Codec;
use framewire_media::audio::AudioFormat;
use framewire_units::{DataSize, Keyword};
use framewire_wire::rtp_payload::PacketRule;

pub use format::{Format, RtpContent, UnknownFormat};
pub use names::UnknownTransport;
pub use parts::{Parts, Queue, Session, Socket, SocketKind};
pub use payload::{file_coding, payload_format, sound_coding, sound_format, sound_type, stream_type};

use crate::datagram::Overflow;
use crate::frame::Payload;
use crate::queue::{FrameQueue, QueueKind};

/// A transport of the movie: parts, and the kernel settings that make it what it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TransportKind(&'static Profile);

/// What a transport is made of, and its default settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What it is made of.
    pub parts: Parts,
    /// `SO_SNDBUF` as getsockopt reports it; `None`: the kernel's own (for TCP: autotuned).
    pub send_buffer: Option<DataSize>,
    /// Length of the sending device's queue (txqueuelen) in packets.
    pub device_queue: u32,
    /// `TCP_NOTSENT_LOWAT`; `None`: not set.
    pub unsent_limit: Option<DataSize>,
    /// Why these settings.
    pub reason: &'static str,
}

/// Combinations without an entry of their own.
static COMBINATIONS: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    let carriers = table::ENTRIES.iter().map(|entry| entry.parts).filter(|parts| parts.queue == Queue::Direct);
    // What carries something in datagrams does so whatever is done where there is no room.
    let carriers = carriers.chain([table::TS.parts, table::TS_RTP.parts].into_iter().flat_map(|parts| {
        let overflows = [Overflow::Drop, Overflow::DropRestOfFrame];
        overflows.map(|overflow| Parts { socket: SocketKind::Datagram(overflow), ..parts })
    }));
    let carriers = carriers.chain([Overflow::Wait, Overflow::DropRestOfFrame].map(|overflow| {
        let socket = SocketKind::Datagram(overflow);
        Parts { socket, ..table::RTSP_UDP.parts }
    }));
    let parts = carriers.flat_map(|parts| Queue::ALL.iter().map(move |&queue| Parts { queue, ..parts }));
    let without_entry = parts.filter(|parts| parts.check().is_ok() && table::entry_of(*parts).is_none());
    without_entry.map(combination).collect()
});

/// The settings that a combination takes over: over the same kind of socket those of the same queue, or of another one that
/// keeps what waits where it can be given up. The rules of other programs have the socket as it is without a queue.
fn combination(parts: Parts) -> Profile {
    let over_such_a_socket = |queue: Queue| {
        let mut entries = table::ENTRIES.into_iter();
        entries.find(|entry| entry.parts.queue == queue && entry.parts.socket == parts.socket)
    };
    let alike = over_such_a_socket(parts.queue).or_else(|| match parts.queue.is_rival() {
        true => table::entry_of(parts.direct()).or_else(|| over_such_a_socket(Queue::Direct)),
        false => over_such_a_socket(Queue::Dependency),
    });
    let alike = alike.expect("invariant: combinations are made of carriers that have an entry");
    Profile {
        name: names::name(parts).leak(),
        summary: format!("{}, over {}.", parts.queue.meaning().trim_end_matches('.'), names::carrier(parts)).leak(),
        parts,
        reason: format!("as {}", alike.name).leak(),
        ..*alike
    }
}

impl TransportKind {
    /// All that have an entry of their own, in the order in which they are shown.
    pub const ALL: [Self; table::ENTRIES.len()] = {
        let mut all = [Self(table::ENTRIES[0]); table::ENTRIES.len()];
        let mut filled = 1;
        while filled < all.len() {
            all[filled] = Self(table::ENTRIES[filled]);
            filled += 1;
        }
        all
    };

    /// RTP over UDP as an application gets it; adaptive streams have its socket.
    pub const UDP: Self = Self(&table::UDP);
    /// I-Frame Delay over UDP.
    pub const UDP_IFD: Self = Self(&table::UDP_IFD);
    /// The elementary stream over TCP as an application gets it; bulk connections have its socket.
    pub const TCP: Self = Self(&table::TCP);
    /// I-Frame Delay over TCP.
    pub const TCP_IFD: Self = Self(&table::TCP_IFD);

    /// The other combinations of parts that make sense.
    pub fn combinations() -> impl Iterator<Item = Self> {
        COMBINATIONS.iter().map(Self)
    }

    /// The one of these parts.
    ///
    /// # Errors
    /// When they do not go together; with the reason.
    pub fn of(parts: Parts) -> Result<Self, &'static str> {
        parts.check()?;
        let combination = || COMBINATIONS.iter().find(|profile| profile.parts == parts);
        let profile = table::entry_of(parts).or_else(combination);
        Ok(Self(profile.expect("invariant: what makes sense has an entry, or is made of one that has")))
    }

    /// Its parts and defaults.
    pub const fn profile(self) -> &'static Profile {
        self.0
    }

    /// Its name in scenario files.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Its frame queue, with default limits.
    pub const fn queue(self) -> QueueKind {
        self.0.parts.queue.kind()
    }

    /// Whether it carries a movie of this codec.
    ///
    /// # Errors
    /// When it does not; with what would.
    pub fn check_codec(self, codec: Codec) -> Result<(), String> {
        self.0.parts.format.check_codec(self.name(), codec)
    }

    /// True where it carries sound beside the movie.
    pub const fn carries_sound(self) -> bool {
        self.0.parts.format.has_sound()
    }

    /// Whether it carries sound of this format beside the movie.
    ///
    /// # Errors
    /// When it does not; with what would.
    pub fn check_sound(self, format: AudioFormat) -> Result<(), String> {
        if !self.carries_sound() {
            return Err(format!(
                "{self} carries no sound: RTP, transport streams and files do, udp, ts, rtsp, http and their like"
            ));
        }
        match (self.0.parts.format.innermost(), sound_type(format)) {
            (Format::Ts, None) => Err(format!(
                "{self} sends a transport stream, which here carries AAC and MPEG audio; the sound is {}: RTP (udp, rtp+tcp) \
                 and files (http, http+fmp4) carry it",
                format.codec
            )),
            _ => Ok(()),
        }
    }

    /// Whether packets of a movie of this codec can be cut by a rule; always where it does not go in packets.
    ///
    /// # Errors
    /// When they cannot; with the reason.
    pub fn check_packets(self, codec: Codec, rule: PacketRule) -> Result<(), String> {
        match (self.0.parts.format.innermost(), payload_format(codec)) {
            (Format::Rtp(_), Some(format)) => format.check_rule(rule).map_err(|error| error.to_string()),
            (Format::Ts, _) if rule != PacketRule::Full => {
                Err(format!("packets = \"{rule}\": those of a transport stream have 188 bytes, and datagrams are full"))
            }
            _ => Ok(()),
        }
    }

    /// True where all of it is there before the first byte is sent, so that there is no frame clock.
    pub const fn is_file(self) -> bool {
        matches!(self.0.parts.format, Format::Mp4)
    }

    /// True where it waits for room and gives no frame up, so that the frame clock can be left out.
    pub const fn waits_for_room(self) -> bool {
        matches!(self.0.parts.queue, Queue::Direct)
            && matches!(self.0.parts.socket, SocketKind::Stream | SocketKind::Datagram(Overflow::Wait))
    }

    /// True over a byte stream.
    pub const fn is_stream(self) -> bool {
        matches!(self.0.parts.socket, SocketKind::Stream)
    }

    /// What it does when the socket is full; `None` over a byte stream.
    pub const fn overflow(self) -> Option<Overflow> {
        self.0.parts.socket.overflow()
    }

    /// True when the socket is to report drops in the device queue (IP_RECVERR): `udp-whole` lives on such reports,
    /// while `udp` is what an application gets that does not ask.
    pub const fn wants_error_reports(self) -> bool {
        matches!(self.overflow(), Some(Overflow::DropRestOfFrame))
    }

    /// A new frame queue of its kind.
    pub fn frame_queue<P: Payload>(self) -> FrameQueue<P> {
        FrameQueue::new(self.queue())
    }
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
