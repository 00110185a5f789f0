//! One movie for many clients: the door, a [`Server`] for each session behind it, and who is to act when.

mod agenda;
mod lateness;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use framewire_units::Timestamp;
use framewire_wire::vtp::{Description, Header, Origin, Packet, Reason};

use crate::controller::Controller;
use crate::datagram::{Channel, DropReason, Drops, Transmit};
use crate::server::{Door, Server, ServerError, ServerEvent, ServerSettings, ServerState};
use crate::source::{PacketSource, Plan};
use agenda::Agenda;

pub use lateness::Lateness;

/// Answers of the door that may wait to be sent.
const MAX_ANSWERS: usize = 1_024;

/// Events that may wait to be fetched; the oldest go first.
const MAX_EVENTS: usize = 4_096;

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
/// It is driven as a [`Server`] is. Before a client has proved its address, nothing of it is kept; a session costs no
/// more than its own timers when nothing happens in it.
pub struct Host {
    source: Arc<dyn PacketSource>,
    plan: Arc<dyn Plan>,
    settings: ServerSettings,
    make: MakeController,
    most: usize,
    door: Door,
    description: Description,
    sessions: BTreeMap<u64, Entry>,
    agenda: Agenda,
    /// Sessions with something to send or to say.
    ready: VecDeque<u64>,
    answers: VecDeque<Transmit>,
    events: VecDeque<HostEvent>,
    drops: Drops,
    lateness: Lateness,
}

struct Entry {
    server: Server,
    /// The entry in the agenda that counts.
    scheduled: Option<Timestamp>,
    is_ready: bool,
    /// When it should have acted, for the measure of lateness.
    due: Option<Timestamp>,
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
            door: Door::new(settings.secret.clone(), settings.key.clone()),
            source,
            plan,
            settings,
            make,
            most,
            description,
            sessions: BTreeMap::new(),
            agenda: Agenda::default(),
            ready: VecDeque::new(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            drops: Drops::default(),
            lateness: Lateness::default(),
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
        if !entry.is_ready {
            entry.is_ready = true;
            self.ready.push_back(session);
        }
    }

    /// What is to be sent now; `None` when nothing is, before [`next_timeout`](Self::next_timeout).
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        loop {
            if self.ready.is_empty() {
                self.wake_due(now);
            }
            let session = *self.ready.front()?;
            if let Some(transmit) = self.poll_session(now, session) {
                return Some(transmit);
            }
            self.ready.pop_front();
        }
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    /// When the host wants to be polled although nothing arrived; `None` when never.
    pub fn next_timeout(&mut self) -> Option<Timestamp> {
        if !self.ready.is_empty() || !self.answers.is_empty() {
            return Some(Timestamp::ZERO);
        }
        let sessions = &self.sessions;
        self.agenda.next(|session, at| sessions.get(&session).is_some_and(|entry| entry.scheduled == Some(at)))
    }

    /// Ends all sessions from this side.
    pub fn stop(&mut self, now: Timestamp) {
        for (&session, entry) in &mut self.sessions {
            entry.server.stop(now);
            if !entry.is_ready {
                entry.is_ready = true;
                self.ready.push_back(session);
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

    /// Datagrams of no session that were thrown away.
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// By how much packets of video left later than they were due, over all sessions.
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
                    self.door.refuse(request.session, Reason::UnknownTitle)
                } else if self.sessions.len() >= self.most {
                    self.door.refuse(request.session, Reason::Busy)
                } else {
                    self.door.describe(now, channel, from, &request, self.description.clone())
                };
                self.answer(Transmit { channel, to: from, bytes })
            }
            Packet::Start(start) => {
                if start.title != self.settings.title || !self.door.admits(now, channel, from, &start) {
                    return Err(DropReason::BadCookie);
                }
                if self.sessions.len() >= self.most {
                    let bytes = self.door.refuse(start.session, Reason::Busy);
                    return self.answer(Transmit { channel, to: from, bytes });
                }
                self.open_session(start.session)?;
                Ok(Some(start.session))
            }
            Packet::Video(..) | Packet::Description(_) => Err(DropReason::Unexpected),
            Packet::Control(_) | Packet::Report(_) | Packet::Teardown(_) => Err(DropReason::Foreign),
        }
    }

    fn answer(&mut self, transmit: Transmit) -> Result<Option<u64>, DropReason> {
        if self.answers.len() >= MAX_ANSWERS {
            return Err(DropReason::NoRoom);
        }
        self.answers.push_back(transmit);
        Ok(None)
    }

    fn open_session(&mut self, session: u64) -> Result<(), DropReason> {
        let server = Server::new(self.source.clone(), self.plan.clone(), (self.make)(), self.settings.clone());
        // It was possible once; what a controller's maker does meanwhile is not known here.
        let server = server.map_err(|_| DropReason::NoRoom)?;
        self.sessions.insert(session, Entry { server, scheduled: None, is_ready: false, due: None });
        Ok(())
    }

    /// Makes the sessions ready whose time has come.
    fn wake_due(&mut self, now: Timestamp) {
        while let Some((at, session)) = self.agenda.pop_due(now) {
            let Some(entry) = self.sessions.get_mut(&session) else { continue };
            if entry.scheduled != Some(at) {
                continue;
            }
            entry.scheduled = None;
            entry.due = Some(at);
            if !entry.is_ready {
                entry.is_ready = true;
                self.ready.push_back(session);
            }
        }
    }

    /// What a session has to send; when nothing more, it waits for its next time or is gone.
    fn poll_session(&mut self, now: Timestamp, session: u64) -> Option<Transmit> {
        let entry = self.sessions.get_mut(&session)?;
        let transmit = entry.server.poll_transmit(now);
        while let Some(event) = entry.server.poll_event() {
            if self.events.len() >= MAX_EVENTS {
                self.events.pop_front();
            }
            self.events.push_back(HostEvent { session, event });
        }
        if let Some(transmit) = transmit {
            if transmit.channel == Channel::Data
                && let Some(due) = entry.due.take()
            {
                self.lateness.add(now.saturating_since(due));
            }
            return Some(transmit);
        }
        entry.is_ready = false;
        entry.due = None;
        if entry.server.is_finished() {
            self.sessions.remove(&session);
            return None;
        }
        let next = entry.server.next_timeout();
        if next != entry.scheduled {
            entry.scheduled = next;
            if let Some(at) = next {
                self.agenda.add(at, session);
            }
        }
        None
    }
}
