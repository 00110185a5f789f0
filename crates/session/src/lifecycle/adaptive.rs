//! The two ends of a stream of levels of a ladder: its samples and its status.

use framewire_adaptive::server::ServerState;
use framewire_recording::Samples;
use framewire_recording::record::{FlowSample, FlowStatus};
use framewire_transport::socket::SocketError;
use framewire_units::{DataSize, Timestamp};

use super::outcome::FlowOutcome;
use super::received_movie::ReceivedMovie;
use super::sampling::Sampling;
use crate::adaptive::{AdaptiveReceiver, AdaptiveSender};
use crate::half::{Arrival, ChannelId, Channels, Half, Wait};
use crate::sender::SenderProgress;

/// The server's end of an adaptive flow.
///
/// Contract: as that of [`AdaptiveSender`], a [`Half`]; beside it, [`sample`](Self::sample) whenever [`next_timeout`](Self::next_timeout)
/// has come, [`stop`](Self::stop) to end it early, and [`handle_client_gone`](Self::handle_client_gone) when the other end
/// has ended.
pub struct AdaptiveServing {
    sender: AdaptiveSender,
    sampling: Sampling,
    stopped: bool,
    failure: Option<String>,
}

impl AdaptiveServing {
    /// A server whose client comes at `start`; `samples` is where they go.
    pub fn new(sender: AdaptiveSender, start: Timestamp, samples: Samples) -> Self {
        Self { sender, sampling: Sampling::starting_at(start, samples), stopped: false, failure: None }
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
    pub fn stop(&mut self, now: Timestamp) {
        self.stopped = true;
        self.sender.stop(now);
    }

    /// The world cannot go on with it.
    pub fn fail(&mut self, error: impl ToString) {
        self.failure.get_or_insert_with(|| error.to_string());
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

    /// Counters for a progress display.
    pub fn progress(&self) -> SenderProgress {
        self.sender.progress()
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

/// The client's end of an adaptive flow.
///
/// Contract: as that of [`AdaptiveReceiver`], a [`Half`] which sends first, at the start of the flow; frames are kept
/// by themselves.
pub struct AdaptiveViewing {
    receiver: AdaptiveReceiver,
    movie: ReceivedMovie,
    failure: Option<String>,
}

impl AdaptiveViewing {
    /// A client to which nothing has come yet.
    pub fn new(receiver: AdaptiveReceiver, movie: ReceivedMovie) -> Self {
        Self { receiver, movie, failure: None }
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

    /// Ends the session from this side.
    pub fn stop(&mut self, now: Timestamp) {
        self.receiver.stop(now);
    }

    /// The world cannot go on with it.
    pub fn fail(&mut self, error: impl ToString) {
        self.failure.get_or_insert_with(|| error.to_string());
    }

    /// True when the session is over and everything was said.
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// True where the movie could not be written, or the world could not go on.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some() || self.movie.has_failed()
    }

    /// Frames that arrived whole so far, and those that the client gave up.
    pub fn frames(&self) -> (u32, u32) {
        (self.receiver.complete_frames(), self.receiver.incomplete_frames())
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
