//! The server's half of a session: set-up, video at the controller's rate, teardown.

pub(crate) mod closing;
mod cursor;
mod door;
mod pacer;
mod repeats;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::tfrc;
use framewire_wire::vtp::{
    Cookie, Description, Features, MAX_LEVELS, Missing, Offer, Origin, Packet, Reason, Teardown,
};

use crate::controller::{Controller, ControllerState, Decision, Feedback};
use crate::datagram::{Channel, DropReason, Drops, Transmit};
use crate::liveness::Liveness;
use crate::source::{PacketSource, Plan, SourceError};
use closing::Closing;
use stream::Stream;

pub use cursor::{Cursor, NextPacket};
pub use door::Door;
pub use pacer::Pacer;
pub use repeats::RepeatCounts;
pub use settings::{ServerError, ServerSettings};

/// Answers that may wait to be sent.
const MAX_ANSWERS: usize = 64;

/// Events that may wait to be fetched; the oldest go first.
const MAX_EVENTS: usize = 1_024;

/// Places of the stream at which the plan is looked at for the description.
const RATE_PROBES: u32 = 64;

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// Both of the client's addresses are proved, and video flows.
    Started {
        /// The client's name for the session.
        session: u64,
        /// Where video goes.
        data: SocketAddr,
        /// Where control packets come from.
        control: SocketAddr,
    },
    /// From this frame on, another level is sent.
    LevelChanged {
        /// The first frame of the new level.
        frame: u32,
        /// The level before.
        from: usize,
        /// The level now.
        to: usize,
    },
    /// The movie cannot be read any further.
    SourceFailed(SourceError),
    /// The session is over.
    Ended(Reason),
}

/// What a server knows, for tables.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerState {
    /// The controller's part.
    pub controller: ControllerState,
    /// The rate and the level decided; `None` before the start.
    pub decision: Option<Decision>,
    /// The plan's rates where the stream is.
    pub plan: Vec<Bitrate>,
    /// The frame that is sent next.
    pub frame: u32,
    /// Its place in the movie.
    pub media_time: Duration,
    /// The level that is sent.
    pub level: usize,
    /// Video packets sent.
    pub packets: u64,
    /// Bytes of video sent.
    pub sent: DataSize,
    /// What of that was sent again.
    pub repeats: RepeatCounts,
    /// Datagrams thrown away.
    pub drops: Drops,
}

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
    door: Door,
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
        let description = Description {
            session: 0,
            cookie: Cookie([0; 16]),
            frames,
            duration: source.duration(),
            buffer: settings.buffer,
            payload: settings.payload,
            ack_every: settings.ack_every,
            rates: (0..levels).map(|level| mean_rate(&*plan, level, source.duration())).collect(),
        };
        Ok(Self {
            door: Door::new(settings.secret.clone(), settings.key.clone()),
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

    /// When the server wants to be polled although nothing arrived; `None` when never.
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

    /// Whether the session is over and everything was said.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Closed) && self.answers.is_empty()
    }

    /// Whether answers wait to be fetched, of which [`next_timeout`](Self::next_timeout) says nothing.
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

    /// What of it there is for tables without a copy of the counters.
    pub fn controller_state(&self) -> ControllerState {
        self.stream.controller_state()
    }

    fn accept(
        &mut self,
        now: Timestamp,
        channel: Channel,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), DropReason> {
        let datagram = match self.door.key() {
            Some(key) => key.open(Origin::Client, datagram)?,
            None => datagram,
        };
        match Packet::parse(datagram)? {
            Packet::Request(request) => {
                if !matches!(self.phase, Phase::Waiting) {
                    return Err(DropReason::Unexpected);
                }
                let bytes = if self.session.is_some_and(|session| session != request.session) {
                    self.door.refuse(request.session, Reason::Busy)
                } else if request.title != self.settings.title {
                    self.door.refuse(request.session, Reason::UnknownTitle)
                } else {
                    self.door.describe(now, channel, from, &request, self.description.clone())
                };
                self.answer(Transmit { channel, to: from, bytes, due: None })
            }
            Packet::Start(start) => {
                if start.title != self.settings.title || !self.door.admits(now, channel, from, &start) {
                    return Err(DropReason::BadCookie);
                }
                self.admit(now, channel, from, start.session)
            }
            Packet::Control(control) => {
                self.accept_report(now, channel, from, control.session, control.report)?;
                self.feed(now, &Feedback::Control(control));
                Ok(())
            }
            Packet::Report(report) => {
                let feedback = tfrc::Feedback::parse(report.body).map_err(|_| DropReason::Malformed)?;
                self.accept_report(now, channel, from, report.session, report.report)?;
                self.feed(now, &Feedback::Tfrc(feedback));
                Ok(())
            }
            Packet::Offer(offer) => self.accept_offer(now, channel, from, offer),
            Packet::Missing(missing) => self.accept_missing(now, channel, from, &missing),
            Packet::Teardown(teardown) => {
                if self.session != Some(teardown.session) || !self.peers.contains(&Some(from)) {
                    return Err(DropReason::Foreign);
                }
                self.accept_teardown(channel, from, teardown)
            }
            Packet::Video(..) | Packet::Description(_) => Err(DropReason::Unexpected),
        }
    }

    /// A start whose address is proved.
    fn admit(&mut self, now: Timestamp, channel: Channel, from: SocketAddr, session: u64) -> Result<(), DropReason> {
        if self.session.is_some_and(|known| known != session) {
            return Err(DropReason::Foreign);
        }
        let peer = &mut self.peers[channel.index()];
        if !matches!(self.phase, Phase::Waiting) || peer.is_some() {
            return Err(DropReason::Stale);
        }
        *peer = Some(from);
        self.session = Some(session);
        self.liveness = Liveness::new(now);
        if let [Some(data), Some(control)] = self.peers {
            self.phase = Phase::Streaming;
            if self.settings.repeats {
                self.stream.allow_repeats();
            }
            self.stream.start(now);
            self.event(ServerEvent::Started { session, data, control });
        }
        Ok(())
    }

    fn accept_report(
        &mut self,
        now: Timestamp,
        channel: Channel,
        from: SocketAddr,
        session: u64,
        report: u32,
    ) -> Result<(), DropReason> {
        if self.session != Some(session) || self.peers[channel.index()] != Some(from) {
            return Err(DropReason::Foreign);
        }
        if channel != Channel::Control || !matches!(self.phase, Phase::Streaming | Phase::Closing(_)) {
            return Err(DropReason::Unexpected);
        }
        if self.last_report.is_some_and(|last| report <= last) {
            return Err(DropReason::Stale);
        }
        self.last_report = Some(report);
        self.liveness.hear(now);
        Ok(())
    }

    /// What of an offer the session has. A server that repeats nothing does as one that knows of no offers.
    fn accept_offer(
        &mut self,
        now: Timestamp,
        channel: Channel,
        from: SocketAddr,
        offer: Offer,
    ) -> Result<(), DropReason> {
        self.check_peer(channel, from, offer.session)?;
        let own = if self.settings.repeats { Features::REPEATS } else { Features::NONE };
        if own == Features::NONE || !matches!(self.phase, Phase::Waiting | Phase::Streaming) {
            return Err(DropReason::Unexpected);
        }
        let features = offer.features.and(own);
        let mut bytes = vec![];
        Offer { features, ..offer }.emit(&mut bytes);
        self.door.seal(&mut bytes);
        self.answer(Transmit { channel, to: from, bytes, due: None })?;
        if features.has(Features::REPEATS) {
            self.stream.agree_on_repeats();
        }
        self.liveness.hear(now);
        Ok(())
    }

    fn accept_missing(
        &mut self,
        now: Timestamp,
        channel: Channel,
        from: SocketAddr,
        missing: &Missing,
    ) -> Result<(), DropReason> {
        self.check_peer(channel, from, missing.session)?;
        let is_over = match self.phase {
            Phase::Streaming => false,
            Phase::Closing(closing) if closing.reason() == Reason::EndOfMovie => true,
            _ => return Err(DropReason::Unexpected),
        };
        if self.last_missing.is_some_and(|last| missing.report <= last) {
            return Err(DropReason::Stale);
        }
        self.stream.handle_missing(now, missing, is_over)?;
        self.last_missing = Some(missing.report);
        self.liveness.hear(now);
        Ok(())
    }

    /// Whether a datagram came from the client's socket for what is not video.
    fn check_peer(&self, channel: Channel, from: SocketAddr, session: u64) -> Result<(), DropReason> {
        if self.session != Some(session) || self.peers[channel.index()] != Some(from) {
            return Err(DropReason::Foreign);
        }
        if channel == Channel::Control { Ok(()) } else { Err(DropReason::Unexpected) }
    }

    fn feed(&mut self, now: Timestamp, feedback: &Feedback) {
        if matches!(self.phase, Phase::Streaming) {
            self.stream.handle_feedback(now, feedback);
        }
    }

    fn accept_teardown(&mut self, channel: Channel, from: SocketAddr, teardown: Teardown) -> Result<(), DropReason> {
        if teardown.reason == Reason::Acknowledged {
            let Phase::Closing(closing) = self.phase else { return Err(DropReason::Unexpected) };
            self.finish(closing.reason());
            return Ok(());
        }
        let bytes = self.door.refuse(teardown.session, Reason::Acknowledged);
        self.answer(Transmit { channel, to: from, bytes, due: None })?;
        match self.phase {
            Phase::Closed => {}
            Phase::Closing(closing) => self.finish(closing.reason()),
            Phase::Waiting | Phase::Streaming => self.finish(teardown.reason),
        }
        Ok(())
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
                    self.say_goodbye(closing.reason());
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
                if let Some((from, to)) = sent.level_change {
                    self.event(ServerEvent::LevelChanged { frame: sent.frame, from, to });
                }
                Some(Transmit { channel: Channel::Data, to, bytes: sent.bytes, due: Some(sent.due) })
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

    /// Begins to say goodbye; with nobody there, it is said already.
    fn close(&mut self, now: Timestamp, reason: Reason) {
        match self.phase {
            Phase::Waiting => self.finish(reason),
            Phase::Streaming => self.phase = Phase::Closing(Closing::new(now, reason)),
            Phase::Closing(_) | Phase::Closed => {}
        }
    }

    fn say_goodbye(&mut self, reason: Reason) {
        if let (Some(session), Some(to)) = (self.session, self.peers[Channel::Control.index()]) {
            let bytes = self.door.refuse(session, reason);
            if self.answer(Transmit { channel: Channel::Control, to, bytes, due: None }).is_err() {
                self.drops.count(DropReason::NoRoom);
            }
        }
    }

    fn finish(&mut self, reason: Reason) {
        self.phase = Phase::Closed;
        self.event(ServerEvent::Ended(reason));
    }
}

fn mean_rate(plan: &dyn Plan, level: usize, duration: Duration) -> Bitrate {
    let rate = |place: u32| u128::from(plan.rate_at(level, duration / RATE_PROBES * place).as_bps());
    let sum: u128 = (0..RATE_PROBES).map(rate).sum();
    Bitrate::from_bps(u64::try_from(sum / u128::from(RATE_PROBES)).unwrap_or(u64::MAX))
}
