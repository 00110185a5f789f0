//! The client's half of a session: set-up, frames put together, reports, teardown.

mod agreement;
mod arrivals;
mod assembly;
mod gaps;
mod opening;
mod player;
mod reporter;
mod requests;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::vtp::{Description, Features, Key, Origin, Packet, Reason, Teardown, VideoHeader};

use crate::datagram::{Channel, DropReason, Drops};
use crate::liveness::Liveness;
use crate::server::closing::Closing;
use arrivals::Arrivals;
use assembly::{Assembly, Output};
use opening::Opening;
use player::Player;
use reporter::Reporter;
use requests::{HAND_OVER, Requests};

pub use assembly::Frame;
pub use player::PlayerSettings;
pub use settings::{ClientSettings, ReportKind};

/// Datagrams that may wait to be sent.
const MAX_OUTGOING: usize = 64;

/// Events beside frames that may wait to be fetched; the oldest go first.
const MAX_EVENTS: usize = 4_096;

/// How long the last packets may be behind the end of the movie.
const LINGER: Duration = Duration::from_millis(500);

/// The same where the server repeats what is missing: less than the server takes to say goodbye.
const LINGER_FOR_REPEATS: Duration = Duration::from_millis(1_500);

/// A datagram to be sent to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTransmit {
    /// The socket, and which of the server's addresses.
    pub channel: Channel,
    /// The datagram.
    pub bytes: Vec<u8>,
}

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The server described the movie.
    Described(Description),
    /// A video packet arrived that was not here before (only where [`ClientSettings::packet_events`] asks for it).
    Packet {
        /// When.
        arrived: Timestamp,
        /// What it says.
        header: VideoHeader,
    },
    /// A frame arrived whole; frames come in their order.
    FrameComplete(Frame),
    /// From this frame on, another level arrives.
    LevelChanged {
        /// The first whole frame of the new level.
        frame: u32,
        /// The level before.
        from: usize,
        /// The level now.
        to: usize,
    },
    /// Frames of which not every packet came.
    FramesLost {
        /// The first.
        first: u32,
        /// How many.
        count: u32,
    },
    /// The session is over.
    Ended(Reason),
}

/// What a client knows, for tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientState {
    /// Video packets that arrived, each counted once.
    pub packets: u64,
    /// Video packets up to the newest that did not arrive (yet).
    pub missing: u64,
    /// Packets among those that arrived that repeat one that did not, as far as the server was asked for them.
    pub repeated: u64,
    /// Bytes of video that arrived.
    pub received: DataSize,
    /// Frames that came out whole.
    pub frames_complete: u64,
    /// Frames that were given up.
    pub frames_lost: u64,
    /// The level of the last whole frame.
    pub level: Option<usize>,
    /// The round trip as the server measures it, by the last packet of video that said so.
    pub round_trip: Option<Duration>,
    /// Memory in use.
    pub buffered: DataSize,
    /// Datagrams thrown away.
    pub drops: Drops,
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
/// Frames that are not fetched count against [`ClientSettings::buffer`]: who does not fetch them loses packets.
pub struct Client {
    settings: ClientSettings,
    phase: Phase,
    liveness: Option<Liveness>,
    description: Option<Description>,
    arrivals: Arrivals,
    reporter: Reporter,
    requests: Requests,
    player: Option<Player>,
    assembly: Option<Assembly>,
    player_buffer: Option<DataSize>,
    outgoing: VecDeque<ClientTransmit>,
    events: VecDeque<ClientEvent>,
    state: ClientState,
}

#[derive(Debug)]
enum Phase {
    Opening(Opening),
    Streaming,
    /// The server has said that the movie is over; the last packets may still come.
    Lingering {
        until: Timestamp,
    },
    /// This side has had enough.
    Closing(Closing),
    Closed,
}

impl Client {
    /// A client that has said nothing yet.
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
            assembly: None,
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
        match self.assembly.as_mut().and_then(Assembly::poll) {
            Some(output) => Some(self.output(output)),
            None => self.events.pop_front(), // the end, after the last frame
        }
    }

    /// When the client wants to be polled although nothing arrived; `None` when never.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let Some(liveness) = &self.liveness else { return Some(Timestamp::ZERO) };
        let vanished = liveness.deadline(self.settings.peer_timeout);
        match &self.phase {
            Phase::Opening(opening) => Some(opening.next_attempt().min(vanished)),
            Phase::Streaming => {
                let own = [self.reporter.next_timeout(), self.requests.next_timeout(), self.next_give_up()];
                own.into_iter().flatten().chain([vanished]).min()
            }
            Phase::Lingering { until } => [Some(*until), self.requests.next_timeout()].into_iter().flatten().min(),
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
        match self.phase {
            Phase::Opening(_) => self.finish(Reason::Stopped),
            Phase::Streaming | Phase::Lingering { .. } => {
                self.phase = Phase::Closing(Closing::new(now, Reason::Stopped))
            }
            Phase::Closing(_) | Phase::Closed => {}
        }
    }

    /// Whether the session is over and everything was said.
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
        state.buffered = self.assembly.as_ref().map(Assembly::used).unwrap_or_default();
        state
    }

    fn accept(&mut self, now: Timestamp, channel: Channel, datagram: &[u8]) -> Result<(), DropReason> {
        let packet = open(self.settings.key.as_ref(), datagram)?;
        if packet.session() != self.settings.session {
            return Err(DropReason::Foreign);
        }
        match packet {
            Packet::Video(header, video) => self.accept_video(now, channel, &header, video),
            Packet::Description(description) => self.accept_description(now, channel, description),
            Packet::Teardown(teardown) => self.accept_teardown(now, teardown),
            Packet::Offer(offer) => self.accept_offer(now, channel, offer.features),
            Packet::Request(_) | Packet::Start(_) | Packet::Control(_) | Packet::Report(_) | Packet::Missing(_) => {
                Err(DropReason::Unexpected)
            }
        }
    }

    fn accept_description(
        &mut self,
        now: Timestamp,
        channel: Channel,
        description: Description,
    ) -> Result<(), DropReason> {
        let Phase::Opening(opening) = &mut self.phase else { return Err(DropReason::Stale) };
        let differs = |known: &Description| *known != Description { cookie: known.cookie, ..description.clone() };
        if self.description.as_ref().is_some_and(differs) {
            return Err(DropReason::Inconsistent);
        }
        opening.handle_cookie(now, channel, description.cookie)?;
        if let Some(liveness) = &mut self.liveness {
            liveness.hear(now);
        }
        if self.description.is_none() {
            let settings = &self.settings;
            let period = description.duration / description.frames.max(1);
            self.assembly = Some(Assembly::new(description.frames, period, settings.reorder_frames, settings.buffer));
            self.description = Some(description.clone());
            self.event(ClientEvent::Described(description));
        }
        Ok(())
    }

    fn accept_video(
        &mut self,
        now: Timestamp,
        channel: Channel,
        header: &VideoHeader,
        video: &[u8],
    ) -> Result<(), DropReason> {
        let (Some(description), Some(assembly)) = (&self.description, &mut self.assembly) else {
            return Err(DropReason::Unexpected);
        };
        if channel != Channel::Data || matches!(self.phase, Phase::Closing(_) | Phase::Closed) {
            return Err(DropReason::Unexpected);
        }
        let fits = header.frame < description.frames
            && usize::from(header.level) < description.rates.len()
            && video.len() <= usize::from(description.payload);
        if !fits {
            return Err(DropReason::Inconsistent);
        }
        let Some((number, skipped)) = self.arrivals.insert(header.sequence) else { return Err(DropReason::Stale) };
        if matches!(self.phase, Phase::Opening(_)) {
            self.phase = Phase::Streaming;
        }
        if let Some(liveness) = &mut self.liveness {
            liveness.hear(now);
        }
        self.state.received += header.size;
        self.state.round_trip = Some(header.round_trip).filter(|time| !time.is_zero()).or(self.state.round_trip);
        self.requests.handle_packet(now, number, skipped, header);
        let mut free = self.player_buffer;
        if let Some(player) = &mut self.player {
            player.handle_video(now, header);
            free.get_or_insert(player.free(now));
            if self.requests.has_repeats() {
                assembly
                    .wait_for_repeats(player.shown(now).unwrap_or(i64::MIN).saturating_add(player::nanos(HAND_OVER)));
            }
        }
        let kept = assembly.insert(now, header, video);
        if self.settings.packet_events {
            self.event(ClientEvent::Packet { arrived: now, header: *header });
        }
        let mut bytes = vec![];
        self.reporter.handle_video(now, header, free, &mut bytes);
        self.report(bytes);
        self.poll_report(now);
        kept
    }

    /// The server's part of an agreement.
    fn accept_offer(&mut self, now: Timestamp, channel: Channel, features: Features) -> Result<(), DropReason> {
        let is_open = matches!(self.phase, Phase::Opening(_) | Phase::Streaming);
        if channel != Channel::Control || !is_open || !self.requests.handle_answer(features) {
            return Err(DropReason::Unexpected);
        }
        if let Some(liveness) = &mut self.liveness {
            liveness.hear(now);
        }
        Ok(())
    }

    fn accept_teardown(&mut self, now: Timestamp, teardown: Teardown) -> Result<(), DropReason> {
        if teardown.reason == Reason::Acknowledged {
            let Phase::Closing(closing) = &self.phase else { return Err(DropReason::Unexpected) };
            let reason = closing.reason();
            self.finish(reason);
            return Ok(());
        }
        // The server repeats what is missing until it hears that this is over.
        let waits = teardown.reason == Reason::EndOfMovie
            && self.requests.has_repeats()
            && matches!(self.phase, Phase::Streaming | Phase::Lingering { .. })
            && !self.assembly.as_ref().is_none_or(Assembly::is_done);
        if waits {
            self.requests.tell_newest();
        } else if matches!(self.phase, Phase::Streaming | Phase::Lingering { .. } | Phase::Closing(_)) {
            self.say_goodbye(Reason::Acknowledged);
        }
        match self.phase {
            Phase::Streaming if teardown.reason == Reason::EndOfMovie => {
                self.phase = Phase::Lingering { until: now + if waits { LINGER_FOR_REPEATS } else { LINGER } };
                self.advance(now);
            }
            Phase::Opening(_) | Phase::Streaming => self.finish(teardown.reason),
            Phase::Lingering { .. } | Phase::Closed => {}
            Phase::Closing(closing) => self.finish(closing.reason()),
        }
        Ok(())
    }

    /// Whatever has to happen by now without a datagram.
    fn advance(&mut self, now: Timestamp) {
        let liveness = self.liveness.get_or_insert(Liveness::new(now));
        liveness.tick(now);
        let vanished = now >= liveness.deadline(self.settings.peer_timeout);
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
                if now >= *until || self.assembly.as_ref().is_none_or(Assembly::is_done) {
                    if self.requests.has_repeats() {
                        self.say_goodbye(Reason::Acknowledged);
                    }
                    self.finish(Reason::EndOfMovie);
                } else {
                    self.poll_requests(now);
                }
            }
            Phase::Closing(closing) => {
                let reason = closing.reason();
                if closing.attempt(now) {
                    self.say_goodbye(reason);
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
        self.requests.poll(now, shown, &mut bytes);
        self.report(bytes);
    }

    /// Frames whose time has come while they waited for repeats.
    fn give_up(&mut self, now: Timestamp) {
        if let (true, Some(assembly), Some(player)) = (self.requests.has_repeats(), &mut self.assembly, &self.player)
            && let Some(shown) = player.shown(now)
        {
            assembly.wait_for_repeats(shown.saturating_add(player::nanos(HAND_OVER)));
            assembly.give_up_late();
        }
    }

    /// When the next frame is given up that others wait behind.
    fn next_give_up(&self) -> Option<Timestamp> {
        let (assembly, player) = (self.assembly.as_ref()?, self.player.as_ref()?);
        player.time_of(assembly.next_give_up()?.saturating_sub(player::nanos(HAND_OVER)))
    }

    fn report(&mut self, mut bytes: Vec<u8>) {
        if !bytes.is_empty() {
            seal(self.settings.key.as_ref(), &mut bytes);
            self.send(Channel::Control, bytes);
        }
    }

    fn say_goodbye(&mut self, reason: Reason) {
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
        if let Some(assembly) = &mut self.assembly {
            assembly.flush();
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

    /// Counts what comes out; a change of level goes before the frame that brings it.
    fn output(&mut self, output: Output) -> ClientEvent {
        match output {
            Output::Lost { first, count } => {
                self.state.frames_lost += u64::from(count);
                ClientEvent::FramesLost { first, count }
            }
            Output::Whole(frame) => {
                self.state.frames_complete += 1;
                let before = self.state.level.replace(frame.level);
                match before.filter(|&from| from != frame.level) {
                    Some(from) => {
                        let change = ClientEvent::LevelChanged { frame: frame.frame, from, to: frame.level };
                        self.events.push_front(ClientEvent::FrameComplete(frame));
                        change
                    }
                    None => ClientEvent::FrameComplete(frame),
                }
            }
        }
    }
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

/// Video is never sealed, everything else is where a key is shared.
fn open<'a>(key: Option<&Key>, datagram: &'a [u8]) -> Result<Packet<'a>, DropReason> {
    match (key, Packet::parse(datagram)) {
        (None, packet) | (Some(_), packet @ Ok(Packet::Video(..))) => Ok(packet?),
        (Some(key), _) => Ok(Packet::parse(key.open(Origin::Server, datagram)?)?),
    }
}
