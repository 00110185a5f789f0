//! What the two ends of a flow say to each other where the receiver asks for the movie.
//!
//! In such a session the receiver opens the connection. [`ClientExchange`] is what it says, [`ServerExchange`] what the sender answers; both
//! are sans-IO. The movie begins when the receiver wants it, which is when the sender's frame clock starts: frames are due from
//! then on. What is said goes before the movie on the same stream, between two of its packets, or on a channel beside it.

mod http;
pub(crate) mod rtsp;
#[cfg(test)]
pub(crate) mod testing;

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;
use framewire_wire::rtp_payload::FirstPacket;

pub(crate) use http::{Fetched, HttpClientExchange, HttpServerExchange};

use crate::half::ChannelId;
use crate::rtcp::RtcpLog;
use crate::sender::PacketSent;

/// What a client requests of its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlaybackCommand {
    /// The movie, from its first frame on.
    Begin,
    /// No more of it.
    End,
}

/// The sender's end of such a session.
///
/// Contract: hand it what the receiver says, then drain [`poll_command`](Self::poll_command) and
/// [`poll_transmit`](Self::poll_transmit). When [`next_timeout`](Self::next_timeout) has come, call
/// [`handle_timeout`](Self::handle_timeout). When all of the movie is written, tell it [so](Self::handle_all_sent), and end the
/// stream when it [is over](Self::is_over) and has nothing more to transmit.
pub(crate) trait ServerExchange: fmt::Debug + Send {
    /// The receiver says this.
    ///
    /// # Errors
    /// When that makes no sense: the flow is broken.
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) -> Result<(), String>;

    /// The receiver says nothing more.
    fn handle_close(&mut self, now: Timestamp);

    /// Does what is due.
    fn handle_timeout(&mut self, now: Timestamp);

    /// When it has something to do by itself.
    fn next_timeout(&self) -> Option<Timestamp>;

    /// All of the movie is written.
    fn handle_all_sent(&mut self, now: Timestamp);

    /// What the receiver wants.
    fn poll_command(&mut self) -> Option<PlaybackCommand>;

    /// What is to be written next, whole, where a packet of the movie has ended.
    fn poll_transmit(&mut self) -> Option<Vec<u8>>;

    /// True when nothing more is expected of the receiver.
    fn is_over(&self) -> bool;

    /// The receiver gave a sign of life in another way: a report in a datagram.
    fn handle_life(&mut self, _now: Timestamp) {}

    /// A packet of RTP was written.
    fn handle_packet_sent(&mut self, _now: Timestamp, _packet: PacketSent) {}

    /// What was said by RTCP on the same stream about each of its own, at the end; none where nothing is.
    fn take_rtcp(&mut self) -> Vec<RtcpLog> {
        Vec::new()
    }
}

/// What a client learns of its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeEvent {
    /// The movie begins.
    Begins,
    /// A packet of the movie, or the next bytes of it where it goes in none.
    Movie(Bytes),
    /// It ended, because of this; nothing where it was asked to, or all had come.
    Ended(Option<String>),
}

/// The receiver's end of such a session.
///
/// Contract: send what [`poll_transmit`](Self::poll_transmit) gives, from the beginning on; hand in what comes, and drain
/// [`poll_event`](Self::poll_event). When [`next_timeout`](Self::next_timeout) has come, call
/// [`handle_timeout`](Self::handle_timeout).
pub(crate) trait ClientExchange: fmt::Debug + Send {
    /// The next bytes of the connection came.
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]);

    /// The sender says nothing more.
    fn handle_close(&mut self, now: Timestamp);

    /// A packet of the movie or a report came beside what is said.
    fn handle_life(&mut self, _now: Timestamp) {}

    /// The sender has said beside it that all is sent.
    fn handle_last(&mut self, _now: Timestamp) {}

    /// Does what is due.
    fn handle_timeout(&mut self, now: Timestamp);

    /// When it has something to do by itself.
    fn next_timeout(&self) -> Option<Timestamp>;

    /// What it learnt.
    fn poll_event(&mut self) -> Option<ExchangeEvent>;

    /// What is to be written next.
    fn poll_transmit(&mut self) -> Option<Vec<u8>>;

    /// True from the first byte of the movie on: a player counts from then.
    fn has_begun(&self) -> bool;

    /// What was said by RTCP on the same stream about each of its own, at the end; none where nothing is.
    fn take_rtcp(&mut self) -> Vec<RtcpLog> {
        Vec::new()
    }

    /// What the sender says of the first packet on a channel of datagrams, once the movie begins.
    fn first_packet(&self, _channel: ChannelId) -> Option<FirstPacket> {
        None
    }

    /// The port of the sender to which reports on a channel of datagrams go, once it has said so.
    fn poll_report_port(&mut self) -> Option<(ChannelId, u16)> {
        None
    }
}

/// Bytes that are to be written, in order, as the socket takes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    messages: VecDeque<Vec<u8>>,
    /// Of the first one.
    written: usize,
}

impl Outgoing {
    /// A message more.
    pub(crate) fn push(&mut self, message: Vec<u8>) {
        self.messages.push_back(message);
    }

    /// Writes what is taken; false where something is left.
    pub(crate) fn write_to(
        &mut self,
        mut write: impl FnMut(&[u8]) -> Result<usize, SocketError>,
    ) -> Result<bool, SocketError> {
        while let Some(message) = self.messages.front() {
            let rest = &message[self.written..];
            let taken = if rest.is_empty() { 0 } else { write(rest)?.min(rest.len()) };
            self.written += taken;
            if self.written < message.len() {
                return Ok(false);
            }
            self.messages.pop_front();
            self.written = 0;
        }
        Ok(true)
    }
}
