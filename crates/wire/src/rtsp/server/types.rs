//! What a server offers, and what a client asks of it.

use std::sync::Arc;

use bytes::Bytes;
use framewire_units::Duration;

use crate::message::Answered;
use crate::rtsp::digest::Account;
use crate::rtsp::range::NptRange;

/// A movie that a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presentation {
    /// Its path, with the slash that it begins with and without escapes: `/movie`.
    pub path: String,
    /// Its session description, as of [`sdp::describe_session`](crate::sdp::describe_session).
    pub description: String,
    /// Its streams, in the order of the description.
    pub streams: Vec<StreamStart>,
    /// How long it is, where it may be played from any place in it on; `None`: only as it comes.
    pub length: Option<Duration>,
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamStart {
    /// Its synchronisation source.
    pub ssrc: u32,
    /// The sequence number of its first packet.
    pub sequence: u16,
    /// The time stamp of that.
    pub timestamp: u32,
}

/// What a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Its movies, which connections share.
    pub presentations: Arc<[Presentation]>,
    /// It sends in datagrams, too; else only interleaved.
    pub over_udp: bool,
    /// Who may see it, and the realm of the account; `None`: all.
    pub account: Option<(String, Account)>,
    /// When a session without a sign of life ends.
    pub timeout: Duration,
}

/// How a client asks for the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Between the messages, on these channels of RTP and RTCP.
    Interleaved(u8, u8),
    /// To these ports of the client's host.
    Udp(u16, u16),
}

/// What a client asks for, or how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// It asks for a stream in datagrams: [`handle_opened`](Server::handle_opened) answers.
    Open {
        /// The movie.
        movie: usize,
        /// Its stream.
        stream: usize,
        /// The ports of the client's host to which RTP and RTCP go.
        client: (u16, u16),
    },
    /// It asks for a movie to be played, also one that is being played, from another place on:
    /// [`handle_playing`](Server::handle_playing) answers.
    Play {
        /// The movie.
        movie: usize,
        /// How it asks for each of the streams, of which it may leave some out.
        deliveries: Vec<Option<Delivery>>,
        /// What of it; `None`: it does not say, and where it was paused goes on.
        range: Option<NptRange>,
    },
    /// It asks for nothing more for now.
    Pause,
    /// A packet on the channel of RTCP of a stream, by its number.
    Rtcp(usize, Bytes),
    /// It asks for no more, or gave no sign of life.
    Stop,
    /// It was refused what it asked for.
    Answered(Answered),
}

/// What is played, as a client is told that wanted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playing {
    /// What of the movie.
    pub range: NptRange,
    /// Of each stream, its first packet of that.
    pub streams: Vec<StreamStart>,
}
