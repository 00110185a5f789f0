//! One movie for many clients: admission, a [`Server`] for each session behind it, and which of them acts next, and when.

mod agenda;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use framewire_units::{Duration, Lateness, Timestamp};
use framewire_wire::vtp::{Description, Header, Origin, Packet, Reason};

use crate::controller::Controller;
use crate::datagram::{Channel, DropReason, Drops, Transmit};
use crate::liveness::JUMP;
use crate::server::{Admission, COOKIE_LIFE, Server, ServerError, ServerEvent, ServerSettings, ServerState};
use crate::source::{PacketSource, Plan};
use agenda::Agenda;

/// Answers to requests that may wait to be sent.
const MAX_ANSWERS: usize = 1_024;

/// Events that may wait to be fetched; the oldest go first.
const MAX_EVENTS: usize = 4_096;

/// Sessions that are over and still remembered; the oldest are forgotten first.
const MAX_OVER: usize = 4_096;

/// Makes the controller of a new session.
pub type MakeController = Box<dyn FnMut() -> Box<dyn Controller> + Send>;

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEvent {
    /// The client's name for the session.
    pub session: u64,
    /// What.
    pub event: ServerEvent,
}

/// A server of one movie for any number of clients.
///
/// It is driven as a [`Server`] is, and notified of departures ([`handle_departure`](Self::handle_departure)), of which
/// it keeps a distribution. Before a client has proved its address, nothing of it is kept; a session costs no more than
/// its own timers when nothing happens in it. A session has its place for good once both addresses are proved: while
/// one is, it is forgotten after [`peer_timeout`](ServerSettings::peer_timeout), or as soon as another start needs its
/// place and it is the oldest such.
///
/// What is due first leaves first, over all sessions: a packet of video at the time that its pace sets, an answer at
/// the time when what it answers arrived. One packet is taken from a session at a time, so that no session, however
/// fast or far behind, holds another one up, and no flood of requests goes before video that was due.
pub struct Host {
    source: Arc<dyn PacketSource>,
    plan: Arc<dyn Plan>,
    settings: ServerSettings,
    make: MakeController,
    most: usize,
    admission: Admission,
    description: Description,
    sessions: BTreeMap<u64, Entry>,
    /// By their age, the sessions of which one start has come: when the host is full, the oldest gives way.
    half_open: BTreeMap<u64, u64>,
    /// Sessions that had begun and are over, and when they were, oldest first: their cookies may still be good.
    over: VecDeque<(Timestamp, u64)>,
    /// Sessions that were opened so far.
    opened: u64,
    agenda: Agenda,
    /// Answers to requests, with the time at which each was asked for.
    answers: VecDeque<(Timestamp, Transmit)>,
    events: VecDeque<HostEvent>,
    /// Of no session, and of sessions that are gone.
    drops: Drops,
    lateness: Lateness,
    /// The time at which it was last polled.
    polled: Timestamp,
}

struct Entry {
    server: Server,
    /// Its time in the agenda.
    scheduled: Option<Timestamp>,
    /// Its place among those that are half open.
    half_open: Option<u64>,
}

impl Host {
    /// A host for at most `most` sessions at a time.
    ///
    /// # Errors
    /// As [`Server::new`].
    pub fn new(
        source: Arc<dyn PacketSource>,
        plan: Arc<dyn Plan>,
        mut make: MakeController,
        settings: ServerSettings,
        most: usize,
    ) -> Result<Self, ServerError> {
        // One that never gets a client: it knows whether this can be served, and how the movie is described.
        let description = Server::new(source.clone(), plan.clone(), make(), settings.clone())?.description().clone();
        Ok(Self {
            admission: Admission::new(settings.secret.clone(), settings.key.clone()),
            source,
            plan,
            settings,
            make,
            most,
            description,
            sessions: BTreeMap::new(),
            half_open: BTreeMap::new(),
            over: VecDeque::new(),
            opened: 0,
            agenda: Agenda::default(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            drops: Drops::default(),
            lateness: Lateness::default(),
            polled: Timestamp::ZERO,
        })
    }

    /// A datagram arrived on a channel.
    pub fn handle_datagram(&mut self, now: Timestamp, channel: Channel, from: SocketAddr, datagram: &[u8]) {
        let named = Header::parse(datagram).ok().map(|(header, _)| header.session);
        let known = named.filter(|session| self.sessions.contains_key(session));
        let session =
            match known.map_or_else(|| self.answer_the_door(now, channel, from, datagram), |known| Ok(Some(known))) {
                Ok(session) => session,
                Err(reason) => return self.drops.count(reason),
            };
        let Some((session, entry)) = session.and_then(|session| Some((session, self.sessions.get_mut(&session)?)))
        else {
            return;
        };
        entry.server.handle_datagram(now, channel, from, datagram);
        self.settle(session, now, Timestamp::ZERO);
    }

    /// What is to be sent now; `None` when nothing is, before [`next_timeout`](Self::next_timeout).
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit> {
        self.mend_clock(now);
        loop {
            let first = self.agenda.due(now);
            let answers_first = |&(asked, _): &(Timestamp, Transmit)| first.is_none_or(|(at, _)| asked <= at);
            if self.answers.front().is_some_and(answers_first) {
                return self.answers.pop_front().map(|(_, answer)| answer);
            }
            let (_, session) = first?;
            if let Some(transmit) = self.poll_session(now, session) {
                return Some(transmit);
            }
        }
    }

    /// A datagram that was due at a time has left.
    pub fn handle_departure(&mut self, due: Timestamp, left: Timestamp) {
        self.lateness.add(left.saturating_since(due));
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    /// When the host is to be polled although nothing arrived; `None` when never.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        if self.answers.is_empty() { self.agenda.next() } else { Some(Timestamp::ZERO) }
    }

    /// Ends all sessions from this side.
    pub fn stop(&mut self, now: Timestamp) {
        for session in self.names() {
            if let Some(entry) = self.sessions.get_mut(&session) {
                entry.server.stop(now);
                self.settle(session, now, Timestamp::ZERO);
            }
        }
    }

    /// A live source has come further: sessions that wait for that go on.
    pub fn handle_more(&mut self, now: Timestamp) {
        for session in self.names() {
            if let Some(entry) = self.sessions.get_mut(&session) {
                entry.server.handle_more(now);
                self.settle(session, now, Timestamp::ZERO);
            }
        }
    }

    /// Sessions there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// What the server of a session knows; `None` when there is no such session.
    pub fn state(&self, session: u64) -> Option<ServerState> {
        self.sessions.get(&session).map(|entry| entry.server.state())
    }

    /// Datagrams that were thrown away: those of no session and those of every session, also when it is over.
    pub fn drops(&self) -> Drops {
        let mut drops = self.drops.clone();
        self.sessions.values().for_each(|entry| drops.add(entry.server.drops()));
        drops
    }

    /// By how much packets of video left later than they were due, over all sessions, as far as it was notified.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// A datagram of a session that is not known. When it opens one, that session is to have it too.
    fn answer_the_door(
        &mut self,
        now: Timestamp,
        channel: Channel,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<Option<u64>, DropReason> {
        let datagram = match &self.settings.key {
            Some(key) => key.open(Origin::Client, datagram)?,
            None => datagram,
        };
        match Packet::parse(datagram)? {
            Packet::Request(request) => {
                let bytes = if request.title != self.settings.title {
                    self.admission.refuse(request.session, Reason::UnknownTitle)
                } else if self.is_full() {
                    self.admission.refuse(request.session, Reason::Busy)
                } else {
                    self.admission.describe(now, channel, from, &request, self.description.clone())
                };
                self.answer(now, Transmit::answer(channel, from, bytes))
            }
            Packet::Start(start) => {
                if start.title != self.settings.title || !self.admission.admits(now, channel, from, &start) {
                    return Err(DropReason::BadCookie);
                }
                if self.was_lately(now, start.session) {
                    return Err(DropReason::Stale);
                }
                if self.is_full() {
                    let bytes = self.admission.refuse(start.session, Reason::Busy);
                    return self.answer(now, Transmit::answer(channel, from, bytes));
                }
                self.open_session(now, start.session)?;
                Ok(Some(start.session))
            }
            Packet::Video(..) | Packet::Description(_) => Err(DropReason::Unexpected),
            Packet::Control(_) | Packet::Report(_) | Packet::Teardown(_) | Packet::Offer(_) | Packet::Missing(_) => {
                Err(DropReason::Foreign)
            }
        }
    }

    fn answer(&mut self, now: Timestamp, transmit: Transmit) -> Result<Option<u64>, DropReason> {
        if self.answers.len() >= MAX_ANSWERS {
            return Err(DropReason::NoRoom);
        }
        self.answers.push_back((now, transmit));
        Ok(None)
    }

    /// Whether every place is taken by a client that has proved both of its addresses.
    fn is_full(&self) -> bool {
        self.sessions.len() >= self.most && self.half_open.is_empty()
    }

    /// Whether the session is over, so that what was sent in it could be sent again to a new one of its name: starts
    /// are good as long as their cookies, and numbers begin anew.
    fn was_lately(&self, now: Timestamp, session: u64) -> bool {
        self.over.iter().any(|&(at, over)| over == session && now.saturating_since(at) < COOKIE_LIFE)
    }

    fn open_session(&mut self, now: Timestamp, session: u64) -> Result<(), DropReason> {
        let server = Server::new(self.source.clone(), self.plan.clone(), (self.make)(), self.settings.clone());
        // It was possible once; what a controller's maker does meanwhile is not known here.
        let server = server.map_err(|_| DropReason::NoRoom)?;
        if self.sessions.len() >= self.most
            && let Some((_, oldest)) = self.half_open.pop_first()
        {
            self.remove(now, oldest);
        }
        self.half_open.insert(self.opened, session);
        self.sessions.insert(session, Entry { server, scheduled: None, half_open: Some(self.opened) });
        self.opened += 1;
        Ok(())
    }

    fn remove(&mut self, now: Timestamp, session: u64) {
        let Some(Entry { server, scheduled, half_open }) = self.sessions.remove(&session) else { return };
        self.agenda.reschedule(session, scheduled, None);
        if let Some(place) = half_open {
            self.half_open.remove(&place);
        } else {
            let is_old = |&(at, _): &(Timestamp, u64)| now.saturating_since(at) >= COOKIE_LIFE;
            while self.over.len() >= MAX_OVER || self.over.front().is_some_and(is_old) {
                self.over.pop_front();
            }
            self.over.push_back((now, session));
        }
        self.drops.add(server.drops());
    }

    /// What a session whose time has come has to send: one datagram, so that the others have their turn.
    fn poll_session(&mut self, now: Timestamp, session: u64) -> Option<Transmit> {
        let transmit = self.sessions.get_mut(&session)?.server.poll_transmit(now);
        // A session that has nothing to send now is not polled again now.
        let earliest = if transmit.is_some() { Timestamp::ZERO } else { now + Duration::from_nanos(1) };
        self.settle(session, now, earliest);
        transmit
    }

    /// Something happened in a session: it waits for its next time, at the earliest for this one, or is gone.
    fn settle(&mut self, session: u64, now: Timestamp, earliest: Timestamp) {
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        while let Some(event) = entry.server.poll_event() {
            if self.events.len() >= MAX_EVENTS {
                self.events.pop_front();
            }
            self.events.push_back(HostEvent { session, event });
        }
        if entry.server.is_finished() || entry.server.is_vacant() {
            return self.remove(now, session);
        }
        if !entry.server.is_half_open()
            && let Some(place) = entry.half_open.take()
        {
            self.half_open.remove(&place);
        }
        let answers = entry.server.has_answers().then_some(now);
        let next = [entry.server.next_timeout(), answers].into_iter().flatten().min().map(|at| at.max(earliest));
        self.agenda.reschedule(session, entry.scheduled, next);
        entry.scheduled = next;
    }

    /// A clock that jumped back, by more than the stamps of arrivals and departures may differ: no session knows of it before it is asked, and the time of none would come.
    fn mend_clock(&mut self, now: Timestamp) {
        if now + JUMP < self.polled {
            for session in self.names() {
                if let Some(entry) = self.sessions.get_mut(&session) {
                    self.agenda.reschedule(session, entry.scheduled, Some(now));
                    entry.scheduled = Some(now);
                }
            }
        }
        self.polled = now;
    }

    fn names(&self) -> Vec<u64> {
        self.sessions.keys().copied().collect()
    }
}
