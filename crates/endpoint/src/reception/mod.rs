//! A client on a thread of its own, and what waits between it and those that take its frames and its audio.

mod audio_queue;
mod player_position;
#[cfg(test)]
mod tests;
mod timing;

use std::collections::VecDeque;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings, ClientState};
use framewire_units::DataSize;
use framewire_wire::vtp::Reason;

use crate::client_driver::ClientDriver;

use timing::Timing;

pub use audio_queue::{AudioItem, AudioQueue};
pub use player_position::PlayerPosition;

/// How long the teardown to the server may take once downstream wants no more; it is not waited for.
const TEARDOWN_TIME: Duration = Duration::from_millis(500);

/// How long the thread waits for room before it looks at the network again.
const TICK: Duration = Duration::from_millis(50);

/// What an event costs beside the bytes of its frame: its place in a line that may have grown to twice what is in it.
/// So frames of no bytes, losses and changes of level fill the memory too, which a server may send without end.
const EVENT_COST: u64 = 256;

const _: () = assert!(2 * size_of::<ClientEvent>() as u64 <= EVENT_COST);

/// What to receive.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name or address of the server.
    pub host: String,
    /// Its port of the video.
    pub data_port: u16,
    /// Its port of the control packets.
    pub control_port: u16,
    /// The session.
    pub client: ClientSettings,
    /// From the first frame to when it goes on.
    pub startup: Duration,
    /// Frames and other events that may wait for downstream.
    pub buffer: DataSize,
}

/// What the streaming thread gets, in order.
#[derive(Debug)]
pub enum Next {
    /// Something happened.
    Event(ClientEvent),
    /// There can be no session, in words.
    Failed(String),
    /// The streaming thread is to stop waiting.
    Flushing,
}

/// A session on its way, or one that ended.
///
/// The thread is stopped by [`cancel`](Self::cancel) and never waited for: it holds no part of the pipeline.
#[derive(Clone)]
pub struct Reception(Arc<Shared>);

struct Shared {
    plan: Plan,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<ClientEvent>,
    /// Memory in use by them.
    bytes: u64,
    /// No frames are taken any more.
    unseen: bool,
    audio: AudioQueue,
    /// When the first frame may go on.
    begin: Option<Instant>,
    failure: Option<String>,
    /// Nothing more will come.
    ended: bool,
    cancelled: bool,
    flushing: bool,
    state: ClientState,
    timing: Timing,
    position: PlayerPosition,
}

impl Reception {
    /// Begins to receive.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(plan: Plan) -> Result<Self, std::io::Error> {
        let shared = Arc::new(Shared { plan, waiting: Mutex::default(), changed: Condvar::new() });
        let of_thread = shared.clone();
        std::thread::Builder::new().name("vtp-client".to_owned()).spawn(move || {
            let failure = receive(&of_thread).err();
            let mut waiting = of_thread.lock();
            waiting.failure = failure;
            waiting.ended = true;
            of_thread.changed.notify_all();
        })?;
        Ok(Self(shared))
    }

    /// Waits for the next event; frames not before the start-up delay is over.
    pub fn next(&self) -> Next {
        let mut waiting = self.0.lock();
        loop {
            if waiting.flushing || waiting.cancelled {
                return Next::Flushing;
            }
            let patience = self.patience(&waiting);
            if patience.is_none()
                && let Some(event) = waiting.pop()
            {
                if let ClientEvent::FrameComplete(frame) = &event {
                    waiting.position.begin(Instant::now(), frame.media_time);
                }
                self.0.changed.notify_all();
                return Next::Event(event);
            }
            if waiting.ended && waiting.events.is_empty() {
                let failure = waiting.failure.take();
                return Next::Failed(failure.unwrap_or_else(|| "the session is over".to_owned()));
            }
            waiting = match patience {
                Some(patience) => {
                    self.0.changed.wait_timeout(waiting, patience).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.0.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// How long the frame in front still waits for the start-up delay; `None` when it does not.
    fn patience(&self, waiting: &Waiting) -> Option<Duration> {
        let is_frame = matches!(waiting.events.front(), Some(ClientEvent::FrameComplete(_)));
        if !is_frame || waiting.ended || waiting.bytes >= self.0.plan.buffer.as_bytes() {
            return None;
        }
        until(waiting.begin?)
    }

    /// Waits for the next thing to be heard; not before the first frame may go on.
    pub fn next_audio(&self) -> AudioItem {
        let mut waiting = self.0.lock();
        loop {
            let limit = self.0.plan.buffer.as_bytes();
            let is_full = waiting.bytes >= limit || waiting.audio.bytes() >= limit;
            let goes_on = waiting.ended || waiting.audio.ends() || is_full;
            // Before the first frame it is not known how long.
            let patience = if goes_on { None } else { waiting.begin.map_or(Some(TICK), until) };
            if waiting.cancelled {
                return AudioItem::Flushing;
            }
            let is_over = waiting.ended;
            if let Some(item) = waiting.audio.take(patience.is_none(), is_over) {
                if let AudioItem::Packet(packet) = &item {
                    waiting.position.begin(Instant::now(), packet.media_time);
                }
                return item;
            }
            waiting = self
                .0
                .changed
                .wait_timeout(waiting, patience.unwrap_or(TICK))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Changes what is to become of the audio.
    pub fn with_audio(&self, change: impl FnOnce(&mut AudioQueue)) {
        change(&mut self.0.lock().audio);
        self.0.changed.notify_all();
    }

    /// Changes what is known of the player's position.
    pub fn with_position(&self, change: impl FnOnce(&mut PlayerPosition, Instant)) {
        change(&mut self.0.lock().position, Instant::now());
    }

    /// Frames are no longer kept for downstream: its stream has ended, and the audio's goes on.
    pub fn drop_frames(&self) {
        let mut waiting = self.0.lock();
        waiting.unseen = true;
        waiting.events = VecDeque::new();
        waiting.bytes = 0;
        self.0.changed.notify_all();
    }

    /// Makes [`next`](Self::next) return at once, or wait again.
    pub fn set_flushing(&self, flushing: bool) {
        self.0.lock().flushing = flushing;
        self.0.changed.notify_all();
    }

    /// Ends the session and forgets what waits.
    pub fn cancel(&self) {
        let mut waiting = self.0.lock();
        waiting.cancelled = true;
        waiting.events = VecDeque::new();
        waiting.bytes = 0;
        waiting.audio.drop_all();
        self.0.changed.notify_all();
    }

    /// What is known now.
    pub fn known(&self) -> Known {
        let mut waiting = self.0.lock();
        let rate = waiting.timing.rate(Instant::now());
        let timing = &waiting.timing;
        Known {
            state: waiting.state.clone(),
            waiting: waiting.bytes + waiting.audio.bytes(),
            audio_lost: waiting.state.audio_lost + waiting.audio.refused(),
            in_time: timing.in_time,
            late: timing.late,
            newest: timing.newest,
            rate,
        }
    }
}

/// What is known of a reception.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The client's part.
    pub state: ClientState,
    /// Memory that frames, other events and audio take which wait for downstream.
    pub waiting: u64,
    /// Packets of audio that did not come, or did not fit.
    pub audio_lost: u64,
    /// Whole frames that came before a player that begins after the start-up delay shows them.
    pub in_time: u64,
    /// Whole frames that came after that.
    pub late: u64,
    /// Play-out time of the newest whole frame.
    pub newest: Option<Duration>,
    /// Bits of video and audio that came in the last second.
    pub rate: Option<u64>,
}

impl Waiting {
    fn pop(&mut self) -> Option<ClientEvent> {
        let event = self.events.pop_front()?;
        self.bytes -= cost(&event);
        Some(event)
    }

    fn push(&mut self, event: ClientEvent) {
        self.bytes += cost(&event);
        self.events.push_back(event);
    }
}

fn cost(event: &ClientEvent) -> u64 {
    let of_frame = if let ClientEvent::FrameComplete(frame) = event { frame.bytes.len() } else { 0 };
    EVENT_COST + of_frame as u64
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what happened while there is room; true when all of it.
    fn take(&self, viewing: &mut ClientDriver) -> bool {
        let limit = self.plan.buffer.as_bytes();
        let mut waiting = self.lock();
        let mut taken_all = false;
        while waiting.bytes < limit && !taken_all {
            match viewing.poll_event() {
                Some(ClientEvent::Audio(packet)) => waiting.audio.push(packet, limit),
                Some(ClientEvent::AudioLost { first, count }) => waiting.audio.lose(first, count),
                Some(ClientEvent::FrameComplete(_)) if waiting.unseen => {}
                Some(ClientEvent::FrameComplete(frame)) => {
                    waiting.timing.frame(&frame, self.plan.startup);
                    waiting.begin.get_or_insert_with(|| Instant::now() + self.plan.startup);
                    waiting.push(ClientEvent::FrameComplete(frame));
                }
                Some(event) => {
                    if matches!(event, ClientEvent::Ended(_)) {
                        waiting.audio.end();
                    }
                    if !waiting.unseen {
                        waiting.push(event);
                    }
                }
                None => taken_all = true,
            }
        }
        // What comes out is counted as it does.
        waiting.state = viewing.state();
        let received = waiting.state.received.as_bytes();
        waiting.timing.note(Instant::now(), received);
        let free = DataSize::from_bytes(limit.saturating_sub(waiting.bytes));
        let shown = waiting.position.shown(Instant::now());
        drop(waiting);
        viewing.set_player_buffer(free);
        if let Some(shown) = shown {
            viewing.set_player_position(shown);
        }
        self.changed.notify_all();
        taken_all
    }
}

/// The session, from looking up the name to the teardown.
fn receive(shared: &Shared) -> Result<(), String> {
    let plan = &shared.plan;
    let data = resolve(&plan.host, plan.data_port)?;
    let control = SocketAddr::new(data.ip(), plan.control_port);
    let client = Client::new(plan.client.clone());
    let mut viewing = ClientDriver::open(client, data, control).map_err(|error| error.to_string())?;
    let mut deadline = None;
    loop {
        viewing.step().map_err(|error| error.to_string())?;
        if shared.lock().cancelled {
            let deadline = *deadline.get_or_insert_with(|| {
                viewing.stop();
                Instant::now() + TEARDOWN_TIME
            });
            if viewing.is_finished() || Instant::now() >= deadline {
                return Ok(());
            }
            continue;
        }
        let taken_all = shared.take(&mut viewing);
        if viewing.is_finished() {
            if taken_all {
                return Ok(());
            }
            // The rest waits for downstream.
            let waiting = shared.lock();
            drop(shared.changed.wait_timeout(waiting, TICK));
        }
    }
}

/// How long it is until then; `None` when it is over.
fn until(moment: Instant) -> Option<Duration> {
    let left = moment.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(left)
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let mut addresses = (host, port).to_socket_addrs().map_err(|error| format!("host \"{host}\": {error}"))?;
    addresses.next().ok_or_else(|| format!("host \"{host}\" has no address"))
}

/// What an end that is not the end of the movie means; `None` where the stream just ends.
pub fn complaint(reason: Reason, plan: &Settled) -> Option<String> {
    let Settled { server, title } = plan;
    match reason {
        Reason::EndOfMovie | Reason::Stopped | Reason::Acknowledged => None,
        Reason::UnknownTitle => Some(format!("the server at {server} has no movie \"{title}\"")),
        Reason::Busy => Some(format!("the server at {server} takes no more sessions")),
        Reason::Vanished => Some(format!("nothing was heard of the server at {server} any more")),
        Reason::SourceFailed => Some(format!("the server at {server} cannot read the movie any further")),
    }
}

/// What errors name.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Host and port.
    pub server: String,
    /// The movie.
    pub title: String,
}

impl Reception {
    /// What errors name.
    pub fn settled(&self) -> Settled {
        let plan = &self.0.plan;
        Settled {
            server: format!("{} port {}", plan.host, plan.control_port),
            title: plan.client.title.as_str().to_owned(),
        }
    }
}
