//! The channel on which a receiver requests the movie.

use bytes::Bytes;
use framewire_recording::record::StreamRead;
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;
use framewire_wire::rtp_payload::FirstPacket;

use super::ReceiverSession;
use crate::channels::MOVIE_CHANNEL;
use crate::exchange::{ClientExchange, ExchangeEvent, Outgoing};
use crate::half::{Arrival, ChannelId, Channels};
use crate::rtcp::{RtcpEnd, RtcpSetup};

/// The client side of an exchange, and the channel that it goes on.
pub(crate) struct RequestChannel {
    exchange: Box<dyn ClientExchange>,
    /// Where it is said: on the stream of the movie, or on a channel beside it.
    channel: ChannelId,
    outgoing: Outgoing,
    /// Reports in datagrams, which begin with the movie.
    reports: Vec<RtcpSetup>,
    /// Bytes of the stream that came so far.
    total: u64,
    /// Those of the movie among them.
    of_movie: u64,
    /// Nothing more is said.
    has_ended: bool,
    /// Why nothing more comes, where that is no end of the movie.
    failure: Option<String>,
}

impl RequestChannel {
    /// What is said on this channel.
    pub(crate) fn new(exchange: Box<dyn ClientExchange>, channel: ChannelId) -> Self {
        let (outgoing, reports) = (Outgoing::default(), Vec::new());
        Self { exchange, channel, outgoing, reports, total: 0, of_movie: 0, has_ended: false, failure: None }
    }

    /// The same with reports that begin with the movie.
    pub(crate) fn with_reports(self, reports: Vec<RtcpSetup>) -> Self {
        Self { reports, ..self }
    }

    /// Where the sender answers.
    pub(super) fn channel(&self) -> ChannelId {
        self.channel
    }

    pub(super) fn first_packet(&self, channel: ChannelId) -> Option<FirstPacket> {
        self.exchange.first_packet(channel)
    }

    pub(super) fn exchange(&mut self) -> &mut dyn ClientExchange {
        &mut *self.exchange
    }

    pub(super) fn next_timeout(&self) -> Option<Timestamp> {
        self.exchange.next_timeout()
    }

    /// Bytes of the stream that were none of the movie.
    pub(super) fn said(&self) -> u64 {
        self.total - self.of_movie
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Nothing more comes.
    pub(super) fn handle_close(&mut self, now: Timestamp) {
        self.exchange.handle_close(now);
        self.take_events(|_| ());
    }

    /// Takes what was learnt; of the movie it gives `take` what came. Whether the movie has begun by that.
    fn take_events(&mut self, mut take: impl FnMut(Bytes)) -> bool {
        let mut begins = false;
        while let Some(event) = self.exchange.poll_event() {
            match event {
                ExchangeEvent::Begins => begins = true,
                ExchangeEvent::Movie(bytes) => {
                    self.of_movie += bytes.len() as u64;
                    take(bytes);
                }
                ExchangeEvent::Ended(reason) => {
                    self.has_ended = true;
                    self.failure = self.failure.take().or(reason);
                }
            }
        }
        begins
    }
}

impl ReceiverSession {
    /// Why it ended before it had the movie.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.requests.as_ref()?.failure()
    }

    /// True where the movie comes beside what is said, which is over.
    pub(crate) fn is_over_beside(&self) -> bool {
        self.requests.as_ref().is_some_and(|requests| requests.has_ended && requests.channel != MOVIE_CHANNEL)
    }

    /// The port of the sender to which reports on a channel of datagrams go, once it has said so.
    pub(crate) fn poll_report_port(&mut self) -> Option<(ChannelId, u16)> {
        self.requests.as_mut()?.exchange.poll_report_port()
    }

    /// Writes what it has to say; where it has no room for something that is left, which it is.
    pub(super) fn say(&mut self, channels: &mut dyn Channels) -> Result<Option<ChannelId>, SocketError> {
        let Some(requests) = &mut self.requests else { return Ok(None) };
        while let Some(message) = requests.exchange.poll_transmit() {
            requests.outgoing.push(message);
        }
        let channel = requests.channel;
        let has_written = requests.outgoing.write_to(|bytes| channels.write(channel, bytes))?;
        Ok((!has_written).then_some(channel))
    }

    /// The sender answers, or says no more.
    pub(super) fn handle_answer(&mut self, now: Timestamp, arrival: Arrival<'_>) {
        let Some(mut requests) = self.requests.take() else { return };
        let begins = match arrival {
            Arrival::Bytes(bytes) => {
                requests.total += bytes.len() as u64;
                requests.exchange.handle_bytes(now, bytes);
                let begins = requests.take_events(|bytes| self.handle_movie(now, &bytes));
                if requests.exchange.has_begun() {
                    self.reception.log.reads.push(StreamRead { total: requests.total, at: now });
                }
                begins
            }
            Arrival::Ended => {
                requests.handle_close(now);
                false
            }
            Arrival::Opened | Arrival::Datagram(_) => false,
        };
        self.requests = Some(requests);
        if begins {
            self.begin_reports(now);
            self.release_early();
        }
        self.drain_events();
    }

    /// The movie begins, by what the sender says or by its first packet: a report of which there are two ways may come by the
    /// faster one.
    pub(super) fn begin_reports(&mut self, now: Timestamp) {
        let Some(requests) = &mut self.requests else { return };
        self.reports.extend(requests.reports.drain(..).map(|setup| setup.receiver(now)));
    }

    /// Something came in datagrams beside the channel on which it asks: a sign of life, and maybe the last one.
    pub(super) fn handle_life(&mut self, now: Timestamp) {
        let Some(requests) = &mut self.requests else { return };
        requests.exchange.handle_life(now);
        if !self.reports.is_empty() && self.reports.iter().all(RtcpEnd::is_alone) {
            requests.exchange.handle_last(now);
        }
        requests.take_events(|_| ());
    }
}
