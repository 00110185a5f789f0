//! The server's half of a session: set-up, video at the controller's rate, teardown.

mod admission;
pub(crate) mod closing;
mod cursor;
mod description;
mod event;
mod intake;
mod pacer;
mod repeats;
mod settings;
mod state;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use framewire_units::Timestamp;
use framewire_wire::vtp::{Description, MAX_LEVELS, Reason};

use crate::controller::{Controller, ControllerState};
use crate::datagram::{Channel, DropReason, Drops, Transmit};
use crate::liveness::Liveness;
use crate::source::{PacketSource, Plan};
use closing::Closing;
use description::describe;
use stream::{Sent, Stream};

pub(crate) use admission::COOKIE_LIFE;

pub(crate) use admission::Admission;
pub(crate) use cursor::{Cursor, NextPacket};
pub use event::ServerEvent;
pub(crate) use pacer::Pacer;
pub use repeats::RepeatCounts;
pub use settings::{ServerError, ServerSettings};
pub use state::ServerState;

/// Answers that may wait to be sent.
const MAX_ANSWERS: usize = 64;

/// Events that may wait to be fetched; the oldest go first.
const MAX_EVENTS: usize = 1_024;

/// The server's half of one session.
///
/// # How to drive it
/// Hand in a datagram ([`handle_datagram`](Self::handle_datagram)), or nothing when
/// [`next_timeout`](Self::next_timeout) has come; then call [`poll_transmit`](Self::poll_transmit) until it is `None`,
/// sending what it gives, and [`poll_event`](Self::poll_event) until it is `None`; then wait for the next datagram or
/// timeout. Do so until [`is_finished`](Self::is_finished).
///
/// A datagram that has no place here is thrown away and counted by its reason; nothing that arrives lets memory grow.
pub struct Server {
    admission: Admission,
    description: Description,
    settings: ServerSettings,
    stream: Stream,
    phase: Phase,
    session: Option<u64>,
    peers: [Option<SocketAddr>; 2],
    liveness: Liveness,
    last_report: Option<u32>,
    last_missing: Option<u32>,
    answers: VecDeque<Transmit>,
    events: VecDeque<ServerEvent>,
    drops: Drops,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// For starts on both channels.
    Waiting,
    Streaming,
    Closing(Closing),
    Closed,
}

impl Server {
    /// A server that waits for its client.
    ///
    /// # Errors
    /// When the movie has no frame, no level or too many, when the plan has other levels, or when k is zero.
    pub fn new(
        source: Arc<dyn PacketSource>,
        plan: Arc<dyn Plan>,
        controller: Box<dyn Controller>,
        settings: ServerSettings,
    ) -> Result<Self, ServerError> {
        let (levels, frames) = (source.levels(), source.frames());
        let checks = [
            ("the number of levels", levels as u64, MAX_LEVELS as u64, "1 to 255"),
            ("the number of frames", u64::from(frames), u64::MAX, "at least 1"),
            ("k", u64::from(settings.ack_every), u64::MAX, "at least 1"),
            ("the payload", u64::from(settings.payload), framewire_wire::vtp::MAX_PAYLOAD as u64, "1 to 65,447"),
        ];
        for (what, value, most, allowed) in checks {
            if value < 1 || value > most {
                return Err(ServerError::OutOfRange { what, value, allowed });
            }
        }
        if plan.levels() != levels {
            return Err(ServerError::Levels { plan: plan.levels(), source_levels: levels });
        }
        let description = describe(&*source, &*plan, &settings);
        Ok(Self {
            admission: Admission::new(settings.secret.clone(), settings.key.clone()),
            description,
            stream: Stream::new(source, plan, controller, u32::from(settings.ack_every)),
            settings,
            phase: Phase::Waiting,
            session: None,
            peers: [None; 2],
            liveness: Liveness::new(Timestamp::ZERO),
            last_report: None,
            last_missing: None,
            answers: VecDeque::new(),
            events: VecDeque::new(),
            drops: Drops::default(),
        })
    }

    /// A datagram arrived on a channel.
    pub fn handle_datagram(&mut self, now: Timestamp, channel: Channel, from: SocketAddr, datagram: &[u8]) {
        self.advance(now);
        if let Err(reason) = self.accept(now, channel, from, datagram) {
            self.drops.count(reason);
        }
        // A start may be all that happens until the other one is late.
        self.liveness.expect(self.next_timeout());
    }

    /// What is to be sent now; `None` when nothing is, before [`next_timeout`](Self::next_timeout).
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit> {
        self.advance(now);
        self.answers.pop_front().or_else(|| self.poll_video(now))
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// When the server is to be polled although nothing arrived; `None` when never.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Waiting => self.session.map(|_| self.liveness.deadline(self.settings.peer_timeout)),
            Phase::Streaming => {
                let vanished = self.liveness.deadline(self.settings.peer_timeout);
                Some(self.stream.next_timeout().map_or(vanished, |next| next.min(vanished)))
            }
            Phase::Closing(closing) => {
                [Some(closing.next_attempt()), self.stream.next_repeat()].into_iter().flatten().min()
            }
            Phase::Closed => None,
        }
    }

    /// Ends the session from this side.
    pub fn stop(&mut self, now: Timestamp) {
        self.close(now, Reason::Stopped);
    }

    /// A live source has come further.
    pub fn handle_more(&mut self, now: Timestamp) {
        self.stream.handle_more(now);
    }

    /// Whether the session is over and everything was sent.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Closed) && self.answers.is_empty()
    }

    /// Whether no client has it, as before the first start, or as the other start never came in time. Alone it goes on to
    /// wait for another client; among others it is not needed any more.
    pub(crate) fn is_vacant(&self) -> bool {
        matches!(self.phase, Phase::Waiting) && self.session.is_none() && self.answers.is_empty()
    }

    /// Whether it waits for its client's other start.
    pub(crate) fn is_half_open(&self) -> bool {
        matches!(self.phase, Phase::Waiting) && self.session.is_some()
    }

    /// Whether answers wait to be fetched, which [`next_timeout`](Self::next_timeout) does not cover.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The movie as it is described to clients, but for session and cookie.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// What it knows.
    pub fn state(&self) -> ServerState {
        self.stream.state(self.drops.clone())
    }

    /// Datagrams that were thrown away.
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// What of it there is for tables without a copy of the counters.
    pub fn controller_state(&self) -> ControllerState {
        self.stream.controller_state()
    }

    fn answer(&mut self, transmit: Transmit) -> Result<(), DropReason> {
        if self.answers.len() >= MAX_ANSWERS {
            return Err(DropReason::NoRoom);
        }
        self.answers.push_back(transmit);
        Ok(())
    }

    fn event(&mut self, event: ServerEvent) {
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Whatever has to happen by now without a datagram.
    fn advance(&mut self, now: Timestamp) {
        let vanished = |liveness: &Liveness, settings: &ServerSettings| now >= liveness.deadline(settings.peer_timeout);
        self.liveness.tick(now);
        match self.phase {
            Phase::Waiting => {
                if self.session.is_some() && vanished(&self.liveness, &self.settings) {
                    // The other start never came: wait for another client.
                    self.session = None;
                    self.peers = [None; 2];
                }
            }
            Phase::Streaming if vanished(&self.liveness, &self.settings) => self.close(now, Reason::Vanished),
            Phase::Streaming => self.stream.handle_timeout(now),
            Phase::Closing(mut closing) => {
                if closing.attempt(now) {
                    self.phase = Phase::Closing(closing);
                    self.send_teardown(closing.reason());
                } else if closing.is_over(now) {
                    self.finish(closing.reason());
                } else {
                    self.phase = Phase::Closing(closing);
                }
            }
            Phase::Closed => {}
        }
        self.liveness.expect(self.next_timeout());
    }

    fn poll_video(&mut self, now: Timestamp) -> Option<Transmit> {
        let (Some(session), Some(to)) = (self.session, self.peers[0]) else { return None };
        let sent = match self.phase {
            Phase::Streaming => self.stream.poll(now, session),
            Phase::Closing(_) => self.stream.poll_repeat(now, session),
            Phase::Waiting | Phase::Closed => return None,
        };
        match sent {
            Ok(Some(sent)) => {
                let Sent { due, header, level_change, bytes } = sent;
                if let Some((from, to)) = level_change {
                    self.event(ServerEvent::LevelChanged { frame: header.frame, from, to });
                }
                Some(Transmit { channel: Channel::Data, to, bytes, due: Some(due), carries: Some(header) })
            }
            Ok(None) if self.stream.is_at_end() && matches!(self.phase, Phase::Streaming) => {
                self.close(now, Reason::EndOfMovie);
                self.advance(now);
                self.answers.pop_front()
            }
            Ok(None) => None,
            Err(error) => {
                self.event(ServerEvent::SourceFailed(error));
                self.close(now, Reason::SourceFailed);
                self.advance(now);
                self.answers.pop_front()
            }
        }
    }

    /// Begins the teardown; without a client, it has ended already.
    fn close(&mut self, now: Timestamp, reason: Reason) {
        match self.phase {
            Phase::Waiting => self.finish(reason),
            Phase::Streaming => self.phase = Phase::Closing(Closing::new(now, reason)),
            Phase::Closing(_) | Phase::Closed => {}
        }
    }

    fn send_teardown(&mut self, reason: Reason) {
        if let (Some(session), Some(to)) = (self.session, self.peers[Channel::Control.index()]) {
            let bytes = self.admission.refuse(session, reason);
            if self.answer(Transmit::answer(Channel::Control, to, bytes)).is_err() {
                self.drops.count(DropReason::NoRoom);
            }
        }
    }

    fn finish(&mut self, reason: Reason) {
        self.phase = Phase::Closed;
        self.event(ServerEvent::Ended(reason));
    }
}
