//! The two ends of a stream of levels of a ladder: its samples and its status.

use framewire_adaptive::server::ServerState;
use framewire_recording::Samples;
use framewire_recording::record::{FlowSample, FlowStatus};
use framewire_transport::socket::SocketError;
use framewire_units::{DataSize, Duration, Timestamp};

use super::end::{EndProgress, FlowEnd};
use super::outcome::FlowOutcome;
use super::received_movie::ReceivedMovie;
use super::sampling::Sampling;
use super::sockets::{Came, HostSockets};
use crate::adaptive::{AdaptiveReceiver, AdaptiveSender};
use crate::frame_counts::FrameCounts;
use crate::half::{Arrival, ChannelId, Channels, Half, Wait};

/// The time that a stopped server may still take: teardowns for two seconds, if its device lets them leave.
const TEARDOWN_TIME: Duration = Duration::from_millis(2_500);

/// What a client that has not received the end waits for, when the server is gone: packets that are still under way.
const LINGER: Duration = Duration::from_secs(1);

/// Datagrams that are taken before something else is done.
const BATCH: usize = 64;

/// The server's end of an adaptive flow.
///
/// Contract: that of a [`FlowEnd`]. In virtual time, where nothing is ever held back for good, that of [`AdaptiveSender`], a
/// [`Half`]; beside it, [`sample`](Self::sample) whenever [`next_timeout`](Self::next_timeout) has come,
/// [`stop_serving`](Self::stop_serving) to end it early, and [`handle_client_gone`](Self::handle_client_gone) when the other end
/// has ended.
pub struct AdaptiveServing {
    sender: AdaptiveSender,
    sampling: Sampling,
    stopped: bool,
    failure: Option<String>,
    /// Once the end is near: when it ends in any case.
    deadline: Option<Timestamp>,
    /// That has come.
    gave_up: bool,
}

impl AdaptiveServing {
    /// A server whose client comes at `start`; `samples` is where they go.
    pub fn new(sender: AdaptiveSender, start: Timestamp, samples: Samples) -> Self {
        Self {
            sender,
            sampling: Sampling::starting_at(start, samples),
            stopped: false,
            failure: None,
            deadline: None,
            gave_up: false,
        }
    }

    /// Something came from the client.
    pub fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        self.sender.handle_arrival(now, channel, arrival);
    }

    /// Sends what is due and what its channels take.
    ///
    /// # Errors
    /// When a channel is broken.
    pub fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        self.sender.drive(now, channels)
    }

    /// When it has something to do by itself. Where its channels have no room, it waits for that and not for a time; what is
    /// sampled is sampled all the same.
    pub fn next_timeout(&self, has_room: bool) -> Option<Timestamp> {
        if self.is_finished() {
            return None;
        }
        let sender = self.sender.next_timeout().filter(|_| has_room);
        sender.into_iter().chain([self.sampling.next()]).min()
    }

    /// True while something waits for room in its channel.
    pub fn is_waiting(&self) -> bool {
        self.sender.is_waiting()
    }

    /// Notes the state where that is due. `queued` is what has not left its host, where that is known.
    pub fn sample(&mut self, now: Timestamp, queued: impl FnOnce() -> Option<DataSize>) {
        if self.sampling.is_due(now) {
            let sample = self.sender.sample(now);
            let queued_bytes = if sample.is_some() { queued().map(DataSize::as_bytes) } else { None };
            self.sampling.take(now, sample.map(|sample| FlowSample { queued_bytes, ..sample }));
        }
    }

    /// The client has ended: where it never came, none will.
    pub fn handle_client_gone(&mut self, now: Timestamp) {
        if !self.is_finished() && !self.sender.has_started() {
            self.sender.stop(now);
        }
    }

    /// Ends the stream early, and says so to the client.
    pub fn stop_serving(&mut self, now: Timestamp) {
        self.stopped = true;
        self.sender.stop(now);
    }

    /// True when the session is over and everything was said.
    pub fn is_finished(&self) -> bool {
        self.sender.is_finished()
    }

    /// True when every frame was sent or left out.
    pub fn offered_all(&self) -> bool {
        self.sender.offered_all()
    }

    /// True when a client came for the stream.
    pub fn has_started(&self) -> bool {
        self.sender.has_started()
    }

    /// All that the server knows of the stream; `None` before video flows and after it has ended.
    pub fn state(&self) -> Option<ServerState> {
        self.sender.state()
    }

    /// What it knows of its frames.
    pub fn counts(&self) -> FrameCounts {
        FrameCounts { stopped: self.stopped, ..self.sender.counts() }
    }

    fn status(&self, receiver: Option<String>) -> FlowStatus {
        // Of a stream that was stopped it does not matter what became of it then.
        let broken = || if self.stopped { None } else { self.sender.failure() };
        match (self.failure.clone().or_else(broken), receiver) {
            (Some(reason), _) => FlowStatus::Failed(format!("sender: {reason}")),
            (None, Some(reason)) => FlowStatus::Failed(format!("receiver: {reason}")),
            (None, None) if self.stopped => FlowStatus::Partial,
            (None, None) if self.offered_all() => FlowStatus::Complete,
            (None, None) => FlowStatus::Failed("receiver: nothing came from the sender any more".to_owned()),
        }
    }
}

impl FlowEnd for AdaptiveServing {
    fn start(&self) -> Timestamp {
        Timestamp::ZERO
    }

    fn poll(&mut self, now: Timestamp, sockets: &mut dyn HostSockets) -> bool {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.gave_up = true;
            return false;
        }
        self.sample(now, || sockets.queued().ok());
        match take_some(now, sockets, |at, channel, arrival| self.handle_arrival(at, channel, arrival)) {
            Ok(any) => match self.drive(now, sockets) {
                Ok(_) => any,
                Err(error) => self.broke(error),
            },
            Err(error) => self.broke(error),
        }
    }

    fn wants(&self, _: Timestamp, _: ChannelId) -> bool {
        true
    }

    fn wait(&self) -> Wait {
        let timeout = self.next_timeout(true).into_iter().chain(self.deadline).min();
        let is_over = self.is_finished() && !self.is_waiting() || self.gave_up;
        Wait { room: self.sender.waits_for_room().into(), timeout, finished: is_over || self.failure.is_some() }
    }

    fn stop(&mut self, now: Timestamp) {
        if self.deadline.is_none() {
            self.stop_serving(now);
            self.deadline = Some(now + TEARDOWN_TIME);
        }
    }

    fn fail(&mut self, _: Timestamp, reason: String) {
        self.failure.get_or_insert(reason);
    }

    fn handle_other_ended(&mut self, now: Timestamp) {
        if self.deadline.is_none() {
            self.handle_client_gone(now);
            self.deadline = Some(now + TEARDOWN_TIME);
        }
    }

    fn progress(&self) -> EndProgress {
        EndProgress { frames: self.counts(), is_draining: self.offered_all() }
    }
}

impl AdaptiveServing {
    fn broke(&mut self, error: SocketError) -> bool {
        self.failure.get_or_insert_with(|| error.to_string());
        false
    }
}

/// Hands over some of what came; whether there was as much, so that there may be more.
fn take_some(
    now: Timestamp,
    sockets: &mut dyn HostSockets,
    mut handle: impl FnMut(Timestamp, ChannelId, Arrival<'_>),
) -> Result<bool, SocketError> {
    for _ in 0..BATCH {
        let Some(Came { channel, at, arrival }) = sockets.take(now, &|_| true)? else { return Ok(false) };
        handle(at, channel, arrival);
    }
    Ok(true)
}

/// The client's end of an adaptive flow.
///
/// Contract: that of a [`FlowEnd`]. In virtual time that of [`AdaptiveReceiver`], a [`Half`] which sends first, at the start of
/// the flow; frames are kept by themselves.
pub struct AdaptiveViewing {
    receiver: AdaptiveReceiver,
    start: Timestamp,
    movie: ReceivedMovie,
    failure: Option<String>,
    /// What it waits for.
    wait: Wait,
    /// Once the server is gone: when this end has waited long enough.
    deadline: Option<Timestamp>,
}

impl AdaptiveViewing {
    /// A client that begins at `start`.
    pub fn new(receiver: AdaptiveReceiver, start: Timestamp, movie: ReceivedMovie) -> Self {
        Self { receiver, start, movie, failure: None, wait: Wait::default(), deadline: None }
    }

    /// Something came from the server.
    pub fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        self.receiver.handle_arrival(now, channel, arrival);
    }

    /// Sends what is due, and keeps what came whole meanwhile.
    ///
    /// # Errors
    /// When a channel is broken.
    pub fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        let wait = self.receiver.drive(now, channels);
        self.keep_frames();
        wait
    }

    /// When it has something to do by itself.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.receiver.next_timeout()
    }

    /// Video and audio that came so far, without headers.
    pub fn received(&self) -> DataSize {
        self.receiver.received()
    }

    /// True when the session is over and everything was said.
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// Frames that arrived whole so far, and those that the client gave up.
    pub fn counts(&self) -> FrameCounts {
        let (arrived, lost) = (self.receiver.complete_frames(), self.receiver.incomplete_frames());
        FrameCounts { arrived, lost, ..FrameCounts::default() }
    }

    /// What the flow leaves behind, now that both ends have ended, and the movie as received where that was kept in memory.
    pub fn into_outcome(mut self, serving: AdaptiveServing) -> (FlowOutcome, Vec<u8>) {
        self.keep_frames();
        self.movie.flush();
        let (kept_bytes, unwritten, movie) = self.movie.into_parts();
        let status = serving.status(self.failure.or(unwritten));
        let outcome = FlowOutcome {
            sent: serving.sender.into_log(),
            samples: serving.sampling.into_samples(),
            received: self.receiver.into_log(),
            kept_bytes,
            bulk: None,
            status,
            doubt: None,
        };
        (outcome, movie)
    }

    fn keep_frames(&mut self) {
        self.movie.keep(std::iter::from_fn(|| self.receiver.poll_frame()));
    }
}

impl FlowEnd for AdaptiveViewing {
    fn start(&self) -> Timestamp {
        self.start
    }

    fn poll(&mut self, now: Timestamp, sockets: &mut dyn HostSockets) -> bool {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            // It says so a few times, and then the session is over for it.
            self.receiver.stop(now);
            self.deadline = Some(Timestamp::MAX);
        }
        let taken = take_some(now, sockets, |at, channel, arrival| self.handle_arrival(at, channel, arrival));
        let driven = taken.and_then(|any| Ok((any, self.drive(now, sockets)?)));
        match driven {
            Ok((any, wait)) => {
                self.wait = wait;
                any
            }
            Err(error) => {
                self.failure.get_or_insert_with(|| error.to_string());
                false
            }
        }
    }

    fn wants(&self, _: Timestamp, _: ChannelId) -> bool {
        true
    }

    fn wait(&self) -> Wait {
        let timeout = self.next_timeout().into_iter().chain(self.deadline).min();
        let is_over = self.wait.finished || self.failure.is_some() || self.movie.has_failed();
        Wait { room: self.wait.room, timeout, finished: is_over }
    }

    /// Nothing was asked for yet, or it is the server that ends it.
    fn stop(&mut self, now: Timestamp) {
        self.receiver.stop(now);
    }

    fn fail(&mut self, _: Timestamp, reason: String) {
        self.failure.get_or_insert(reason);
    }

    fn handle_other_ended(&mut self, now: Timestamp) {
        self.deadline.get_or_insert(now + LINGER);
    }

    fn progress(&self) -> EndProgress {
        EndProgress { frames: self.counts(), is_draining: false }
    }
}
