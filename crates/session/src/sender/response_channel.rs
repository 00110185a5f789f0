//! The channel on which a sender answers the requests of its receiver.

use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;

use super::SenderSession;
use crate::channels::MOVIE_CHANNEL;
use crate::exchange::{Outgoing, PlaybackCommand, ServerExchange};
use crate::half::{Arrival, ChannelId, Channels};
use crate::rtcp::RtcpSetup;

/// Why a flow breaks whose receiver ends it.
const ENDED_EARLY: &str = "the receiver ended it before it had all of the movie";

/// Why one breaks that says nothing, or not what is understood.
const NEVER_ASKED: &str = "the receiver did not ask for the movie";

/// The server side of an exchange, and the channel that it goes on.
pub(crate) struct ResponseChannel {
    exchange: Box<dyn ServerExchange>,
    /// Where it is said: between packets of the movie, or on a channel beside it.
    channel: ChannelId,
    outgoing: Outgoing,
    /// Reports in datagrams, which begin with the movie.
    reports: Vec<RtcpSetup>,
    /// That was told that all of the movie is written.
    all_sent: bool,
    /// Nothing more is said.
    finished: bool,
}

impl ResponseChannel {
    /// What is answered on this channel.
    pub(crate) fn new(exchange: Box<dyn ServerExchange>, channel: ChannelId) -> Self {
        let (outgoing, reports) = (Outgoing::default(), Vec::new());
        Self { exchange, channel, outgoing, reports, all_sent: false, finished: false }
    }

    /// The same with reports that begin with the movie.
    pub(crate) fn with_reports(self, reports: Vec<RtcpSetup>) -> Self {
        Self { reports, ..self }
    }

    /// Where the receiver speaks.
    pub(super) fn channel(&self) -> ChannelId {
        self.channel
    }

    pub(super) fn exchange(&mut self) -> &mut dyn ServerExchange {
        &mut *self.exchange
    }

    /// True when it was told that all of the movie is written.
    pub(super) fn was_all_sent(&self) -> bool {
        self.all_sent
    }

    pub(super) fn next_timeout(&self) -> Option<Timestamp> {
        self.exchange.next_timeout()
    }
}

impl SenderSession {
    /// True when frames may be offered.
    pub(super) fn has_begun(&self) -> bool {
        (self.responses.is_none() || self.log.begun.is_some()) && !self.is_paused()
    }

    pub(super) fn handle_request(&mut self, now: Timestamp, arrival: Arrival<'_>) {
        let Some(served) = &mut self.responses else { return };
        match arrival {
            Arrival::Bytes(bytes) => {
                if let Err(reason) = served.exchange.handle_bytes(now, bytes) {
                    self.failure.get_or_insert(reason);
                }
            }
            Arrival::Ended => served.exchange.handle_close(now),
            Arrival::Opened | Arrival::Datagram(_) => {}
        }
    }

    /// Does what the receiver wants, and hands over what is to be said.
    pub(super) fn serve(&mut self, now: Timestamp) {
        let Some(mut served) = self.responses.take() else { return };
        let exchange = &mut served.exchange;
        if exchange.next_timeout().is_some_and(|at| at <= now) {
            exchange.handle_timeout(now);
        }
        while let Some(command) = exchange.poll_command() {
            match command {
                PlaybackCommand::Begin if self.log.begun.is_none() => {
                    self.programme = self.programme.starting_at(now);
                    self.log.begun = Some(now);
                    self.reports.extend(served.reports.iter().map(|setup| setup.sender(now)));
                }
                PlaybackCommand::End if !self.all_is_offered() => {
                    self.failure.get_or_insert_with(|| ENDED_EARLY.to_owned());
                }
                PlaybackCommand::Begin | PlaybackCommand::End => {}
            }
        }
        if exchange.is_over() && self.log.begun.is_none() {
            self.failure.get_or_insert_with(|| NEVER_ASKED.to_owned());
        }
        while let Some(message) = exchange.poll_transmit() {
            match served.channel {
                MOVIE_CHANNEL => self.half.handle_message(message),
                _ => served.outgoing.push(message),
            }
        }
        self.responses = Some(served);
    }

    /// Writes what is said beside the movie, and at its end closes the channel; where that has no room for something that is
    /// left, which it is.
    pub(super) fn answer(&mut self, channels: &mut dyn Channels) -> Result<Option<ChannelId>, SocketError> {
        let Some(served) = self.responses.as_mut().filter(|served| served.channel != MOVIE_CHANNEL) else {
            return Ok(None);
        };
        let channel = served.channel;
        if !served.outgoing.write_to(|bytes| channels.write(channel, bytes))? {
            return Ok(Some(channel));
        }
        if self.end_signalled && !std::mem::replace(&mut served.finished, true) {
            channels.finish(channel)?;
        }
        Ok(None)
    }

    /// When all is written, there may be something to say before the stream ends; true where there is something to write.
    pub(super) fn ends_now(&mut self, now: Timestamp) -> bool {
        let is_last = self.all_is_offered() && !self.end_signalled;
        let Some(served) = self.responses.as_mut().filter(|_| is_last) else { return false };
        if !std::mem::replace(&mut served.all_sent, true) {
            served.exchange.handle_all_sent(now);
            return true;
        }
        if served.exchange.is_over() {
            self.signal_end(now);
        }
        self.end_signalled
    }
}
