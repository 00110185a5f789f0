//! The sender of a flow of the movie: from the first frame until nothing is left in its host.

use framewire_recording::Samples;
use framewire_recording::record::{FlowSample, FlowStatus};
use framewire_transport::socket::SocketError;
use framewire_units::{DataSize, Timestamp};

use super::outcome::{FlowOutcome, joined};
use super::receiving::Taken;
use super::sampling::{SAMPLE_INTERVAL, Sampling};
use crate::half::{Arrival, ChannelId, Channels, Half, Wait};
use crate::sender::{MOVIE_CHANNEL, SenderLog, SenderProgress, SenderSession};

/// The socket of a sender, as its host has it.
pub trait SendingSocket: Channels {
    /// Bytes that have not left this host, or are not acknowledged (SIOCOUTQ).
    ///
    /// # Errors
    /// When the socket is broken.
    fn queued(&mut self) -> Result<DataSize, SocketError>;

    /// Its state; `None` where the system does not report it.
    fn sample(&mut self, at: Timestamp) -> Option<FlowSample>;

    /// Takes what one call gives of what the receiver says on the stream; only asked where it [may
    /// speak](MovieSending::listens).
    ///
    /// # Errors
    /// When the socket is broken.
    fn take_request(&mut self, _now: Timestamp) -> Result<Taken<'_>, SocketError> {
        Ok(Taken::Nothing)
    }
}

/// Where a sender is.
#[derive(Clone, Debug)]
enum Phase {
    /// Frames are offered and written.
    Streaming(Wait),
    /// All is written; at the time, it looks whether all has left the host.
    Draining(Timestamp),
    /// It has ended so.
    Ended(FlowStatus),
}

/// The sender of a flow of the movie.
///
/// Contract: call [`poll`](Self::poll) at the origin of the run, and whenever what it asked for has come: the time, or room
/// in the socket. Where a world does not know what woke it, [`is_due`](Self::is_due) says whether there is anything to
/// do. [`stop`](Self::stop) ends it early, [`fail`](Self::fail) because the world cannot go on. When
/// [`has_ended`](Self::has_ended), nothing is left in its host that is waited for, and the socket is to be closed.
///
/// While it [listens](Self::listens), call [`listen`](Self::listen) when the receiver may have said something, before it is
/// polled.
pub struct MovieSending {
    session: SenderSession,
    phase: Phase,
    sampling: Sampling,
    /// The receiver says nothing more.
    heard_all: bool,
}

impl MovieSending {
    /// A sender that begins at the origin of the run; `samples` is where they go.
    pub fn new(session: SenderSession, samples: Samples) -> Self {
        let wait = Wait { timeout: Some(Timestamp::ZERO), ..Wait::default() };
        let sampling = Sampling::starting_at(Timestamp::ZERO, samples);
        Self { session, phase: Phase::Streaming(wait), sampling, heard_all: false }
    }

    /// Offers and writes what is due and what the socket takes; when all is written, looks whether it has left the host.
    pub fn poll(&mut self, now: Timestamp, socket: &mut impl SendingSocket) {
        if let Err(error) = self.step(now, socket) {
            self.fail(now, error);
        }
    }

    /// A report of the receiver came on this channel, by RTCP: there may be something to answer, for which it is to be polled.
    pub fn handle_report(&mut self, now: Timestamp, channel: ChannelId, datagram: &[u8]) {
        Half::handle_arrival(&mut self.session, now, channel, Arrival::Datagram(datagram));
        if let Phase::Streaming(wait) = &mut self.phase {
            wait.timeout = Some(now);
        }
    }

    /// True where the receiver asks for the movie on the same stream, and may still speak.
    pub fn listens(&self) -> bool {
        self.session.listens() && !self.heard_all && !self.has_ended()
    }

    /// Takes what the receiver has said: there may be something to answer, for which it is to be polled. What it says when all
    /// is written is read, too: a socket that is closed with something unread resets the connection (RFC 2525, 2.17).
    pub fn listen(&mut self, now: Timestamp, socket: &mut impl SendingSocket) {
        while self.listens() {
            let arrival = match socket.take_request(now) {
                Ok(Taken::Nothing) => return,
                Ok(Taken::Opened) => Arrival::Opened,
                Ok(Taken::Bytes(_, bytes) | Taken::Datagram(_, _, bytes)) => Arrival::Bytes(bytes),
                Ok(Taken::End) => Arrival::Ended,
                Err(error) => return self.fail(now, error),
            };
            self.heard_all |= arrival == Arrival::Ended;
            Half::handle_arrival(&mut self.session, now, MOVIE_CHANNEL, arrival);
            if let Phase::Streaming(wait) = &mut self.phase {
                wait.timeout = Some(now);
            }
        }
    }

    /// True where [`poll`](Self::poll) has something to do: a time has come, or there is room that it waits for.
    pub fn is_due(&self, now: Timestamp, is_writable: impl FnOnce() -> bool) -> bool {
        self.next_timeout().is_some_and(|at| at <= now) || self.waits_for_room() && is_writable()
    }

    /// When it has something to do by itself; `None` once it has ended.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Streaming(wait) => {
                Some(wait.timeout.map_or(self.sampling.next(), |at| at.min(self.sampling.next())))
            }
            Phase::Draining(look) => Some(*look),
            Phase::Ended(_) => None,
        }
    }

    /// True where it waits for room in the socket.
    pub fn waits_for_room(&self) -> bool {
        matches!(&self.phase, Phase::Streaming(wait) if wait.room.is_some())
    }

    /// Ends the stream now: what was not written is given up, and what is left in the host is not waited for.
    pub fn stop(&mut self, now: Timestamp) {
        self.end(now, FlowStatus::Partial);
    }

    /// Ends it because of this.
    pub fn fail(&mut self, now: Timestamp, error: impl ToString) {
        if !self.has_ended() {
            self.session.stop(now);
            self.phase = Phase::Ended(FlowStatus::Failed(error.to_string()));
        }
    }

    /// True when all is written, and it waits for that to leave the host.
    pub fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Draining(_))
    }

    /// True when it has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// True when it has ended and the stream itself signals it to the receiver: not on datagrams, and not where the
    /// stream was cut off. Of the others what is under way has to [settle](super::Settling).
    pub fn tells_its_end(&self) -> bool {
        self.session.is_stream() && matches!(self.phase, Phase::Ended(FlowStatus::Complete))
    }

    /// When its first frame is due.
    pub fn first_due(&self) -> Timestamp {
        self.session.plan().due(0)
    }

    /// Counters for a progress display.
    pub fn progress(&self) -> SenderProgress {
        self.session.progress()
    }

    /// What the flow leaves behind at its sender, now that it has ended, where the receiver is elsewhere.
    pub fn into_outcome(self) -> FlowOutcome {
        let (status, sent, samples) = self.into_parts();
        FlowOutcome { sent, samples, ..FlowOutcome::of_status(joined(status, None)) }
    }

    /// How it ended, what was recorded, and the samples.
    pub(crate) fn into_parts(self) -> (FlowStatus, SenderLog, Samples) {
        let status = if let Phase::Ended(status) = self.phase { status } else { FlowStatus::Partial };
        (status, self.session.into_log(), self.sampling.into_samples())
    }

    fn step(&mut self, now: Timestamp, socket: &mut impl SendingSocket) -> Result<(), SocketError> {
        if let Phase::Streaming(_) = self.phase {
            if self.sampling.is_due(now) {
                self.sampling.take(now, socket.sample(now));
            }
            let wait = Half::drive(&mut self.session, now, socket)?;
            self.phase = if wait.finished { Phase::Draining(now) } else { Phase::Streaming(wait) };
        }
        if let Phase::Draining(look) = &mut self.phase
            && *look <= now
        {
            let queued = socket.queued()?;
            *look = now + SAMPLE_INTERVAL;
            // Also when nothing is left: the last sample has what was counted until the end.
            self.sampling.take(now, socket.sample(now));
            if queued == DataSize::ZERO {
                self.end(now, FlowStatus::Complete);
            }
        }
        Ok(())
    }

    fn end(&mut self, now: Timestamp, status: FlowStatus) {
        if let Phase::Streaming(_) = self.phase {
            self.session.stop(now);
        }
        if !self.has_ended() {
            self.phase = Phase::Ended(status);
        }
    }
}
