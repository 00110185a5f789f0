//! What a receiver says that asks for the movie.

use bytes::Bytes;
use framewire_recording::record::StreamRead;
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;

use super::ReceiverSession;
use crate::exchange::{Asking, Heard, Outgoing};
use crate::half::{Arrival, ChannelId, Channels};
use crate::rtcp::{RtcpEnd, RtcpSetup};

/// What a receiver has asked for.
pub(crate) struct Asked {
    asking: Box<dyn Asking>,
    /// Where it is said: on the stream of the movie, or on a channel beside it.
    channel: ChannelId,
    outgoing: Outgoing,
    /// Reports in datagrams, which begin with the movie.
    reports: Vec<RtcpSetup>,
    /// Bytes of the stream that came so far.
    total: u64,
    /// Those of the movie among them.
    of_movie: u64,
    /// Why nothing more comes, where that is no end of the movie.
    failure: Option<String>,
}

impl Asked {
    /// What is said on this channel.
    pub(crate) fn new(asking: Box<dyn Asking>, channel: ChannelId) -> Self {
        let (outgoing, reports) = (Outgoing::default(), Vec::new());
        Self { asking, channel, outgoing, reports, total: 0, of_movie: 0, failure: None }
    }

    /// The same with reports that begin with the movie.
    pub(crate) fn with_reports(self, reports: Vec<RtcpSetup>) -> Self {
        Self { reports, ..self }
    }

    /// Where the sender answers.
    pub(super) fn channel(&self) -> ChannelId {
        self.channel
    }

    pub(super) fn asking(&mut self) -> &mut dyn Asking {
        &mut *self.asking
    }

    pub(super) fn next_timeout(&self) -> Option<Timestamp> {
        self.asking.next_timeout()
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
        self.asking.handle_close(now);
        self.take_heard(|_| ());
    }

    /// Takes what was learnt; of the movie it gives `take` what came. Whether the movie has begun by that.
    fn take_heard(&mut self, mut take: impl FnMut(Bytes)) -> bool {
        let mut begins = false;
        while let Some(heard) = self.asking.poll_heard() {
            match heard {
                Heard::Begins => begins = true,
                Heard::Movie(bytes) => {
                    self.of_movie += bytes.len() as u64;
                    take(bytes);
                }
                Heard::Ended(None) => {}
                Heard::Ended(Some(reason)) => drop(self.failure.get_or_insert(reason)),
            }
        }
        begins
    }
}

impl ReceiverSession {
    /// Why it ended before it had the movie.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.asked.as_ref()?.failure()
    }

    /// Writes what it has to say; where it has no room for something that is left, which it is.
    pub(super) fn say(&mut self, channels: &mut dyn Channels) -> Result<Option<ChannelId>, SocketError> {
        let Some(asked) = &mut self.asked else { return Ok(None) };
        while let Some(message) = asked.asking.poll_transmit() {
            asked.outgoing.push(message);
        }
        let channel = asked.channel;
        let has_written = asked.outgoing.write_to(|bytes| channels.write(channel, bytes))?;
        Ok((!has_written).then_some(channel))
    }

    /// The sender answers, or says no more.
    pub(super) fn handle_answer(&mut self, now: Timestamp, arrival: Arrival<'_>) {
        let Some(mut asked) = self.asked.take() else { return };
        let begins = match arrival {
            Arrival::Bytes(bytes) => {
                asked.total += bytes.len() as u64;
                asked.asking.handle_bytes(now, bytes);
                let begins = asked.take_heard(|bytes| self.handle_movie(now, &bytes));
                if asked.asking.has_begun() {
                    self.reception.log.reads.push(StreamRead { total: asked.total, at: now });
                }
                begins
            }
            Arrival::Ended => {
                asked.handle_close(now);
                false
            }
            Arrival::Opened | Arrival::Datagram(_) => false,
        };
        self.asked = Some(asked);
        if begins {
            self.begin_reports(now);
        }
        self.drain_events();
    }

    /// The movie begins, by what the sender says or by its first packet: a report of which there are two ways may come by the
    /// faster one.
    pub(super) fn begin_reports(&mut self, now: Timestamp) {
        let Some(asked) = &mut self.asked else { return };
        self.reports.extend(asked.reports.drain(..).map(|setup| setup.receiver(now)));
    }

    /// Something came in datagrams beside the channel on which it asks: a sign of life, and maybe the last one.
    pub(super) fn handle_life(&mut self, now: Timestamp) {
        let Some(asked) = &mut self.asked else { return };
        asked.asking.handle_life(now);
        if !self.reports.is_empty() && self.reports.iter().all(RtcpEnd::is_alone) {
            asked.asking.handle_last(now);
        }
        asked.take_heard(|_| ());
    }
}
