//! The sender of a flow of the movie: from the first frame until nothing is left in its host.

use framewire_recording::Samples;
use framewire_recording::record::FlowStatus;
use framewire_transport::socket::SocketError;
use framewire_units::{DataSize, Timestamp};

use super::end::{EndProgress, FlowEnd, Notice};
use super::outcome::{FlowOutcome, joined};
use super::sampling::{SAMPLE_INTERVAL, Sampling};
use super::sockets::{Came, HostSockets};
use crate::channels::MOVIE_CHANNEL;
use crate::frame_counts::FrameCounts;
use crate::half::{Arrival, ChannelId, ChannelKind, ChannelSet, Half, Wait};
use crate::sender::{SenderLog, SenderSession};

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
/// Contract: that of a [`FlowEnd`], from the origin of the run on. A world that does not wait for sockets hands over what came
/// by [`handle_arrival`](Self::handle_arrival) or [`receive`](Self::receive), and calls [`drive`](Self::drive) where that
/// [is due](Self::is_due). When it has ended, nothing is left in its host that is waited for, and its sockets are to be closed.
pub struct MovieSending {
    session: SenderSession,
    phase: Phase,
    sampling: Sampling,
    /// Channels on which nothing more comes.
    heard_all: Vec<ChannelId>,
}

impl MovieSending {
    /// A sender that begins at the origin of the run; `samples` is where they go.
    pub fn new(session: SenderSession, samples: Samples) -> Self {
        let wait = Wait { timeout: Some(Timestamp::ZERO), ..Wait::default() };
        let sampling = Sampling::starting_at(Timestamp::ZERO, samples);
        Self { session, phase: Phase::Streaming(wait), sampling, heard_all: Vec::new() }
    }

    /// Something came from the receiver: there may be something to answer, for which it is to be driven.
    pub fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        if arrival == Arrival::Ended {
            self.heard_all.push(channel);
        }
        self.session.handle_arrival(now, channel, arrival);
        if let Phase::Streaming(wait) = &mut self.phase {
            wait.timeout = Some(now);
        }
    }

    /// Takes what the receiver has said. What it says when all is written is read, too: a socket that is closed with something
    /// unread resets the connection (RFC 2525, 2.17).
    pub fn receive(&mut self, now: Timestamp, sockets: &mut (impl HostSockets + ?Sized)) {
        loop {
            match sockets.take(now, &|channel| self.wants(now, channel)) {
                Ok(None) => return,
                Ok(Some(Came { channel, at, arrival: arrival @ Arrival::Datagram(_) })) => {
                    self.handle_arrival(at, channel, arrival);
                }
                // A stream that was read late is answered late.
                Ok(Some(Came { channel, arrival, .. })) => self.handle_arrival(now, channel, arrival),
                Err(error) => return self.fail(now, error.to_string()),
            }
        }
    }

    /// Offers and writes what is due and what the sockets take; when all is written, looks whether it has left the host.
    pub fn drive(&mut self, now: Timestamp, sockets: &mut dyn HostSockets) {
        if let Err(error) = self.step(now, sockets) {
            self.fail(now, error.to_string());
        }
    }

    /// True where [`drive`](Self::drive) has something to do: a time has come, or there is room that it waits for.
    pub fn is_due(&self, now: Timestamp, is_writable: impl Fn(ChannelId) -> bool) -> bool {
        self.next_timeout().is_some_and(|at| at <= now) || self.waits_for_room().iter().any(is_writable)
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

    /// The channels in which it waits for room.
    pub fn waits_for_room(&self) -> ChannelSet {
        if let Phase::Streaming(wait) = &self.phase { wait.room } else { ChannelSet::NONE }
    }

    /// True when all is written, and it waits for that to leave the host.
    pub fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Draining(_))
    }

    /// True when it has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// Counters for a progress display.
    pub fn counts(&self) -> FrameCounts {
        FrameCounts { stopped: matches!(self.phase, Phase::Ended(FlowStatus::Partial)), ..self.session.counts() }
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

    fn step(&mut self, now: Timestamp, sockets: &mut dyn HostSockets) -> Result<(), SocketError> {
        if let Phase::Streaming(_) = self.phase {
            if self.sampling.is_due(now) {
                self.sampling.take(now, sockets.sample(now));
            }
            let wait = self.session.drive(now, sockets)?;
            self.phase = if wait.finished { Phase::Draining(now) } else { Phase::Streaming(wait) };
        }
        if let Phase::Draining(look) = &mut self.phase
            && *look <= now
        {
            let queued = sockets.queued()?;
            *look = now + SAMPLE_INTERVAL;
            // Also when nothing is left: the last sample has what was counted until the end.
            self.sampling.take(now, sockets.sample(now));
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

impl FlowEnd for MovieSending {
    fn start(&self) -> Timestamp {
        Timestamp::ZERO
    }

    fn first_due(&self) -> Option<Timestamp> {
        Some(self.session.plan().due(0))
    }

    fn poll(&mut self, now: Timestamp, sockets: &mut dyn HostSockets) -> bool {
        self.receive(now, sockets);
        self.drive(now, sockets);
        false
    }

    fn wants(&self, now: Timestamp, channel: ChannelId) -> bool {
        !self.has_ended() && !self.heard_all.contains(&channel) && self.session.wants(now, channel)
    }

    fn wait(&self) -> Wait {
        Wait { room: self.waits_for_room(), timeout: self.next_timeout(), finished: self.has_ended() }
    }

    /// Ends the stream now: what was not written is given up, and what is left in the host is not waited for.
    fn stop(&mut self, now: Timestamp) {
        self.end(now, FlowStatus::Partial);
    }

    fn fail(&mut self, now: Timestamp, reason: String) {
        if !self.has_ended() {
            self.session.stop(now);
            self.phase = Phase::Ended(FlowStatus::Failed(reason));
        }
    }

    /// It sends on: what it sends is lost, as to any host on which nobody listens.
    fn handle_other_ended(&mut self, _: Timestamp) {}

    /// A stream of bytes says so itself, unless it was cut off.
    fn notice(&self) -> Notice {
        let movie = self.session.channels().into_iter().find(|channel| channel.id == MOVIE_CHANNEL);
        let is_stream = movie.is_some_and(|movie| movie.kind != ChannelKind::Datagram);
        match is_stream && matches!(self.phase, Phase::Ended(FlowStatus::Complete)) {
            true => Notice::InStream,
            false => Notice::WhenSettled,
        }
    }

    fn progress(&self) -> EndProgress {
        EndProgress { frames: self.counts(), is_draining: self.is_draining() }
    }
}
