//! The client's half of a session: set-up, frames put together, reports, teardown.

mod agreement;
mod arrivals;
mod assembly;
mod event;
mod gaps;
mod intake;
mod opening;
mod player;
mod reporter;
mod requests;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod tracks;

use std::collections::VecDeque;

use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::vtp::{Description, Features, Key, Origin, Reason, Teardown};

use crate::datagram::{Channel, DropReason};
use crate::liveness::Liveness;
use crate::server::closing::Closing;
use arrivals::Arrivals;
use opening::Opening;
use player::Player;
use reporter::Reporter;
use requests::Requests;
use tracks::Tracks;

pub use assembly::Frame;
pub use event::{AudioPacket, ClientEvent};
pub use player::PlayerSettings;
pub use settings::{ClientSettings, ReportKind};
pub use state::ClientState;

/// Datagrams that may wait to be sent.
const MAX_OUTGOING: usize = 64;

/// Events beside frames that may wait to be fetched; the oldest go first.
const MAX_EVENTS: usize = 4_096;

/// How long the last packets may be behind the end of the movie.
const LINGER: Duration = Duration::from_millis(500);

/// The same where the server repeats what is missing: less than the server's teardown takes.
const LINGER_FOR_REPEATS: Duration = Duration::from_millis(1_500);

/// A datagram to be sent to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTransmit {
    /// The socket, and which of the server's addresses.
    pub channel: Channel,
    /// The datagram.
    pub bytes: Vec<u8>,
}

/// The client's half of one session.
///
/// # How to drive it
/// Hand in a datagram ([`handle_datagram`](Self::handle_datagram)), or nothing when
/// [`next_timeout`](Self::next_timeout) has come (at the start, it has); then call
/// [`poll_transmit`](Self::poll_transmit) until it is `None`, sending what it gives, and
/// [`poll_event`](Self::poll_event) until it is `None`; then wait for the next datagram or timeout. Do so until
/// [`is_finished`](Self::is_finished).
///
/// Frames that are not fetched count against [`ClientSettings::buffer`]: an application that does not fetch them loses packets.
pub struct Client {
    settings: ClientSettings,
    phase: Phase,
    liveness: Option<Liveness>,
    description: Option<Description>,
    arrivals: Arrivals,
    reporter: Reporter,
    requests: Requests,
    player: Option<Player>,
    /// Once it is known what comes.
    tracks: Option<Tracks>,
    player_buffer: Option<DataSize>,
    outgoing: VecDeque<ClientTransmit>,
    events: VecDeque<ClientEvent>,
    state: ClientState,
}

#[derive(Debug)]
enum Phase {
    Opening(Opening),
    Streaming,
    /// The server has sent the end of the movie; the last packets may still come.
    Lingering {
        until: Timestamp,
    },
    /// This side has had enough.
    Closing(Closing),
    Closed,
}

impl Client {
    /// A client that has sent nothing yet.
    pub fn new(settings: ClientSettings) -> Self {
        Self {
            reporter: Reporter::new(&settings.reports),
            requests: Requests::new(settings.session, offered(&settings)),
            player: settings.player.map(Player::new),
            settings,
            phase: Phase::Opening(Opening::default()),
            liveness: None,
            description: None,
            arrivals: Arrivals::default(),
            tracks: None,
            player_buffer: None,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            state: ClientState::default(),
        }
    }

    /// A datagram from the server arrived on a channel.
    pub fn handle_datagram(&mut self, now: Timestamp, channel: Channel, datagram: &[u8]) {
        self.advance(now);
        if let Err(reason) = self.accept(now, channel, datagram) {
            self.state.drops.count(reason);
        }
    }

    /// What is to be sent now; `None` when nothing is, before [`next_timeout`](Self::next_timeout).
    pub fn poll_transmit(&mut self, now: Timestamp) -> Option<ClientTransmit> {
        self.advance(now);
        self.outgoing.pop_front()
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        if !matches!(self.events.front(), None | Some(ClientEvent::Ended(_))) {
            return self.events.pop_front();
        }
        if let Some(output) = self.tracks.as_mut().and_then(Tracks::poll_audio) {
            return Some(self.state.count_audio(output));
        }
        let Some(output) = self.tracks.as_mut().and_then(Tracks::poll_video) else {
            return self.events.pop_front(); // the end, after the last frame
        };
        let (event, next) = self.state.count_video(output);
        next.into_iter().for_each(|next| self.events.push_front(next));
        Some(event)
    }

    /// When the client is to be polled although nothing arrived; `None` when never.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let Some(liveness) = &self.liveness else { return Some(Timestamp::ZERO) };
        let vanished = liveness.deadline(self.settings.peer_timeout);
        match &self.phase {
            Phase::Opening(opening) => Some(opening.next_attempt().min(vanished)),
            Phase::Streaming => {
                let own =
                    [self.reporter.next_timeout(), self.requests.next_timeout(|| self.room()), self.next_give_up()];
                // After every packet: a chain of iterators costs as much as all else that a packet does here.
                let [report, request, give_up] = own.map(|timeout| timeout.unwrap_or(Timestamp::MAX));
                Some(report.min(request).min(give_up).min(vanished))
            }
            Phase::Lingering { until } => {
                [Some(*until), self.requests.next_timeout(|| self.room())].into_iter().flatten().min()
            }
            Phase::Closing(closing) => Some(closing.next_attempt()),
            Phase::Closed => None,
        }
    }

    /// Tells how much room the player has, for the server to know (the suggestion of section 4.2).
    pub fn set_player_buffer(&mut self, free: DataSize) {
        self.player_buffer = Some(free);
    }

    /// Tells which moment of the movie the player shows now, where it does not begin when
    /// [`ClientSettings::player`] says, or stands still.
    pub fn set_player_position(&mut self, now: Timestamp, shown: Duration) {
        if let Some(player) = &mut self.player {
            player.set_shown(now, shown);
        }
    }

    /// Ends the session from this side.
    pub fn stop(&mut self, now: Timestamp) {
        match &self.phase {
            // Before a start, the server has kept nothing of this client (its answers are in the cookies).
            Phase::Opening(opening) if !opening.has_started() => self.finish(Reason::Stopped),
            Phase::Opening(_) | Phase::Streaming | Phase::Lingering { .. } => {
                self.phase = Phase::Closing(Closing::new(now, Reason::Stopped))
            }
            Phase::Closing(_) | Phase::Closed => {}
        }
    }

    /// Whether the session is over and everything was sent.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Closed) && self.outgoing.is_empty()
    }

    /// The movie, once the server has described it.
    pub fn description(&self) -> Option<&Description> {
        self.description.as_ref()
    }

    /// What it knows.
    pub fn state(&self) -> ClientState {
        let mut state = self.state.clone();
        state.packets = self.arrivals.received();
        state.missing = self.arrivals.missing();
        state.repeated = self.requests.repeated();
        state.buffered = self.tracks.as_ref().map_or(DataSize::ZERO, Tracks::used);
        state
    }

    /// Whatever has to happen by now without a datagram.
    fn advance(&mut self, now: Timestamp) {
        let liveness = self.liveness.get_or_insert(Liveness::new(now));
        liveness.tick(now);
        let vanished = now >= liveness.deadline(self.settings.peer_timeout);
        let whole = self.is_whole();
        match &mut self.phase {
            Phase::Opening(_) | Phase::Streaming if vanished => self.finish(Reason::Vanished),
            Phase::Opening(opening) => {
                let said = opening.poll(now, self.settings.session, &self.settings.title);
                let starts = opening.is_ready() && !said.is_empty();
                for (channel, mut bytes) in said {
                    seal(self.settings.key.as_ref(), &mut bytes);
                    self.send(channel, bytes);
                }
                if starts {
                    let mut bytes = vec![];
                    self.requests.beside_start(now, &mut bytes);
                    self.report(bytes);
                }
            }
            Phase::Streaming => {
                self.give_up(now);
                self.poll_report(now);
            }
            Phase::Lingering { until } => {
                *until = (*until).min(now + LINGER_FOR_REPEATS); // a clock that went back
                if now >= *until || whole {
                    if self.requests.has_repeats() {
                        self.send_teardown(Reason::Acknowledged);
                    }
                    self.finish(Reason::EndOfMovie);
                } else {
                    self.poll_requests(now);
                }
            }
            Phase::Closing(closing) => {
                let reason = closing.reason();
                if closing.attempt(now) {
                    self.send_teardown(reason);
                } else if closing.is_over(now) {
                    self.finish(reason);
                }
            }
            Phase::Closed => {}
        }
        let next = self.next_timeout();
        if let Some(liveness) = &mut self.liveness {
            liveness.expect(next);
        }
    }

    fn poll_report(&mut self, now: Timestamp) {
        let mut bytes = vec![];
        self.reporter.poll(now, self.settings.session, &mut bytes);
        self.report(bytes);
        self.poll_requests(now);
    }

    fn poll_requests(&mut self, now: Timestamp) {
        let mut bytes = vec![];
        let shown = self.player.as_ref().and_then(|player| player.shown(now));
        let Self { requests, description, tracks, .. } = self;
        requests.poll(now, shown, || room(description.as_ref(), tracks.as_ref()), &mut bytes);
        self.report(bytes);
    }

    /// Frames whose time has come while they waited for repeats.
    fn give_up(&mut self, now: Timestamp) {
        let shown = self.player.as_ref().and_then(|player| player.shown(now));
        let Some(shown) = shown.filter(|_| self.requests.has_repeats()) else { return };
        if let Some(tracks) = &mut self.tracks {
            tracks.wait_for_repeats(shown);
            tracks.give_up_late();
        }
    }

    /// Whether nothing is waited for any more.
    fn is_whole(&self) -> bool {
        self.tracks.as_ref().is_none_or(Tracks::is_whole)
    }

    /// Packets, as long as they may be, that there is room for.
    fn room(&self) -> usize {
        room(self.description.as_ref(), self.tracks.as_ref())
    }

    /// When the next frame is given up that others wait behind.
    fn next_give_up(&self) -> Option<Timestamp> {
        self.player.as_ref()?.time_of(self.tracks.as_ref()?.next_give_up()?)
    }

    fn report(&mut self, mut bytes: Vec<u8>) {
        if !bytes.is_empty() {
            seal(self.settings.key.as_ref(), &mut bytes);
            self.send(Channel::Control, bytes);
        }
    }

    fn send_teardown(&mut self, reason: Reason) {
        let mut bytes = vec![];
        Teardown { session: self.settings.session, reason }.emit(&mut bytes);
        self.report(bytes);
    }

    fn send(&mut self, channel: Channel, bytes: Vec<u8>) {
        if self.outgoing.len() >= MAX_OUTGOING {
            self.state.drops.count(DropReason::NoRoom);
        } else {
            self.outgoing.push_back(ClientTransmit { channel, bytes });
        }
    }

    fn finish(&mut self, reason: Reason) {
        if let Some(tracks) = &mut self.tracks {
            tracks.flush();
        }
        self.phase = Phase::Closed;
        self.event(ClientEvent::Ended(reason));
    }

    fn event(&mut self, event: ClientEvent) {
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

fn room(description: Option<&Description>, tracks: Option<&Tracks>) -> usize {
    let payload = description.map_or(0, |description| description.payload);
    tracks.map_or(0, |tracks| tracks.room(payload))
}

/// What the client can beyond the paper.
fn offered(settings: &ClientSettings) -> Features {
    let names = settings.player.is_some_and(|player| player.repeats);
    if names { Features::REPEATS } else { Features::NONE }
}

fn seal(key: Option<&Key>, bytes: &mut Vec<u8>) {
    if let Some(key) = key {
        key.seal(Origin::Client, bytes);
    }
}
