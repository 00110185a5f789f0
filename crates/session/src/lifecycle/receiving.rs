//! The receiver of a flow of the movie: from the first byte until nothing more comes.

use framewire_recording::record::FlowStatus;
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;

use super::outcome::{FlowOutcome, joined};
use super::received_movie::ReceivedMovie;
use super::sending::MovieSending;
use crate::half::{Arrival, ChannelId, Half};
use crate::receiver::{ReceiverLog, ReceiverSession};
use crate::sender::MOVIE_CHANNEL;
use crate::sound::SOUND_CHANNEL;

/// What one look at a receiver's socket gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken<'a> {
    /// Nothing is there.
    Nothing,
    /// Nothing more will come.
    End,
    /// Something changed, but there are no bytes: a connection was accepted.
    Opened,
    /// One datagram, or the next bytes of a stream, and when they reached the host.
    Bytes(Timestamp, &'a [u8]),
    /// A datagram on another channel than that of the movie, and when it reached the host: of sound, or of RTCP.
    Datagram(ChannelId, Timestamp, &'a [u8]),
}

/// The socket of a receiver, as its host has it.
pub trait ReceivingSocket {
    /// Takes what one call gives.
    ///
    /// # Errors
    /// When the socket is broken.
    fn take(&mut self, now: Timestamp) -> Result<Taken<'_>, SocketError>;

    /// Sends a datagram of RTCP on this channel without waiting; only asked of a flow that has it. False where it did not leave.
    ///
    /// # Errors
    /// When the socket is broken.
    fn report(&mut self, now: Timestamp, channel: ChannelId, datagram: &[u8]) -> Result<bool, SocketError>;

    /// Writes to the sender, on the stream on which the movie comes, without waiting, and returns how many bytes were taken; 0
    /// also while the connection does not stand yet. Only asked of a receiver that asks for the movie.
    ///
    /// # Errors
    /// When the socket is broken.
    fn write_request(&mut self, _now: Timestamp, _bytes: &[u8]) -> Result<usize, SocketError> {
        // errno(3): the words of EOPNOTSUPP.
        Err(SocketError { operation: "write", reason: "Operation not supported".to_owned() })
    }
}

/// What a world is to do next for a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivingStep {
    /// There may be more: call again.
    Again,
    /// Wait for this time, if there is one, and where that is true for something to read, or for room.
    Wait {
        /// Wake when there is something to read.
        readable: bool,
        /// Wake when something can be written.
        writable: bool,
        /// Wake at this time.
        timeout: Option<Timestamp>,
    },
    /// Nothing more: it has ended.
    Ended,
}

/// The receiver of a flow of the movie.
///
/// Contract: call [`poll`](Self::poll) when there is something to read or its time has come, until it does not say
/// [`Again`](ReceivingStep::Again). A world that is given datagrams one by one hands them to
/// [`handle_datagram`](Self::handle_datagram) instead of having them asked for. Where nothing more comes, because what the
/// sender had under way has settled, [`poll`](Self::poll) is given that.
pub struct MovieReceiving {
    session: ReceiverSession,
    movie: ReceivedMovie,
    sound: ReceivedMovie,
    failure: Option<String>,
    ended: bool,
}

impl MovieReceiving {
    /// A receiver to which nothing has come yet.
    pub fn new(session: ReceiverSession, movie: ReceivedMovie) -> Self {
        Self { session, movie, sound: ReceivedMovie::default(), failure: None, ended: false }
    }

    /// The same that keeps the sound as received.
    #[must_use]
    pub fn with_sound(self, sound: ReceivedMovie) -> Self {
        Self { sound, ..self }
    }

    /// A datagram came on this channel, of which there is no buffer to fill: after one of RTCP there may be something to answer,
    /// for which it is to be polled. None of the movie or its sound comes after the end.
    pub fn handle_datagram(&mut self, now: Timestamp, channel: ChannelId, bytes: &[u8]) {
        let is_media = [MOVIE_CHANNEL, SOUND_CHANNEL].contains(&channel);
        if !self.ended || !is_media {
            Half::handle_arrival(&mut self.session, now, channel, Arrival::Datagram(bytes));
        }
        if !self.ended && is_media {
            self.keep_frames();
        }
    }

    /// Does what is due, and reads once if that is wanted. `is_last`: nothing more comes than there is.
    pub fn poll(&mut self, now: Timestamp, is_last: bool, socket: &mut impl ReceivingSocket) -> ReceivingStep {
        if self.ended {
            return ReceivingStep::Ended;
        }
        let step = self.step(now, is_last, socket).unwrap_or_else(|error| {
            self.failure = Some(error.to_string());
            ReceivingStep::Ended
        });
        if step == ReceivingStep::Ended || self.has_failed() || self.session.failure().is_some() {
            let told = self.session.failure().map(str::to_owned);
            self.session.handle_end(now);
            // That something is missing where the world has ended the stream is not the other end's doing.
            let told = if is_last { told } else { self.session.failure().map(str::to_owned) };
            self.failure = self.failure.take().or(told);
            self.ended = true;
            return ReceivingStep::Ended;
        }
        step
    }

    /// Ends it, because the world cannot go on.
    pub fn fail(&mut self, now: Timestamp, error: impl ToString) {
        if !self.ended {
            self.failure = Some(error.to_string());
            self.session.handle_end(now);
            self.ended = true;
        }
    }

    /// When it has something to do by itself; `None` once it has ended.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.session.next_timeout().filter(|_| !self.ended)
    }

    /// True where the movie or its sound cannot be written: the next [`poll`](Self::poll) ends it.
    pub fn has_failed(&self) -> bool {
        self.movie.has_failed() || self.sound.has_failed()
    }

    /// True when nothing more is taken.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Frames that arrived whole so far, and those of which something was missing.
    pub fn frames(&self) -> (u32, u32) {
        (self.session.complete_frames(), self.session.incomplete_frames())
    }

    /// What the flow leaves behind, now that both ends have ended, and the movie as received where that was kept in memory.
    pub fn into_outcome(mut self, sender: MovieSending) -> (FlowOutcome, Vec<u8>) {
        let (status, sent, samples) = sender.into_parts();
        self.session.handle_sent(&sent);
        self.keep_frames();
        self.movie.flush();
        self.sound.flush();
        let (kept_bytes, unwritten, movie) = self.movie.into_parts();
        let (_, unwritten_sound, _) = self.sound.into_parts();
        let received: ReceiverLog = self.session.into_log();
        let status = joined(status, self.failure.or(unwritten).or(unwritten_sound));
        (FlowOutcome { sent, samples, received, kept_bytes, bulk: None, status, doubt: None }, movie)
    }

    /// What it leaves behind, now that it has ended, where the sender is elsewhere: what that wrote is not known. `status`
    /// is how the stream ended, unless this end broke.
    pub fn into_received(mut self, status: FlowStatus) -> FlowOutcome {
        self.keep_frames();
        self.movie.flush();
        self.sound.flush();
        let (kept_bytes, unwritten, _) = self.movie.into_parts();
        let (_, unwritten_sound, _) = self.sound.into_parts();
        let status = joined(status, self.failure.or(unwritten).or(unwritten_sound));
        FlowOutcome { received: self.session.into_log(), kept_bytes, ..FlowOutcome::of_status(status) }
    }

    fn step(
        &mut self,
        now: Timestamp,
        is_last: bool,
        socket: &mut impl ReceivingSocket,
    ) -> Result<ReceivingStep, SocketError> {
        self.session.handle_timeout(now);
        self.keep_frames();
        self.session.report(now, |channel, datagram| socket.report(now, channel, datagram))?;
        let writable = self.session.say(|bytes| socket.write_request(now, bytes))?;
        let readable = self.session.wants_bytes(now);
        let taken = if readable { socket.take(now)? } else { Taken::Nothing };
        match taken {
            Taken::End => Ok(ReceivingStep::Ended),
            Taken::Nothing if is_last => Ok(ReceivingStep::Ended),
            Taken::Nothing => Ok(ReceivingStep::Wait { readable, writable, timeout: self.session.next_timeout() }),
            Taken::Opened => Ok(ReceivingStep::Again),
            Taken::Datagram(channel, at, datagram) => {
                self.handle_datagram(at, channel, datagram);
                Ok(ReceivingStep::Again)
            }
            Taken::Bytes(at, bytes) => {
                // A receiver that paces the sender has arrived at a byte when it reads it, not when its host got it.
                let at = if self.session.is_paced() { now } else { at };
                self.session.handle_input(at, bytes);
                self.keep_frames();
                Ok(ReceivingStep::Again)
            }
        }
    }

    fn keep_frames(&mut self) {
        self.movie.keep(std::iter::from_fn(|| self.session.poll_frame()));
        self.sound.keep(std::iter::from_fn(|| self.session.poll_sound()));
    }
}
