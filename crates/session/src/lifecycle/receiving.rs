//! The receiver of a flow of the movie: from the first byte until nothing more comes.

use framewire_media::audio::AudioFormat;
use framewire_recording::record::FlowStatus;
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;

use super::end::{EndProgress, FlowEnd};
use super::outcome::{FlowOutcome, joined};
use super::received_movie::ReceivedMovie;
use super::sending::MovieSending;
use super::sockets::{Came, HostSockets};
use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::frame_counts::FrameCounts;
use crate::half::{Arrival, ChannelId, Half, Wait};
use crate::receiver::{ReceiverLog, ReceiverSession};

/// The receiver of a flow of the movie.
///
/// Contract: that of a [`FlowEnd`], which takes one arrival whenever it is polled. A world that is given datagrams one by one
/// hands them to [`handle_arrival`](Self::handle_arrival) instead of having them asked for. When it is told that the other end
/// has ended, it takes what has come by then, and ends.
pub struct MovieReceiving {
    session: ReceiverSession,
    movie: ReceivedMovie,
    sound: ReceivedMovie,
    failure: Option<String>,
    /// What it waits for.
    wait: Wait,
    /// Channels on which nothing more comes.
    heard_all: Vec<ChannelId>,
    /// Nothing more comes than there is.
    is_last: bool,
    ended: bool,
}

impl MovieReceiving {
    /// A receiver to which nothing has come yet.
    pub fn new(session: ReceiverSession, movie: ReceivedMovie) -> Self {
        let (sound, wait) = (ReceivedMovie::default(), Wait::default());
        Self { session, movie, sound, failure: None, wait, heard_all: Vec::new(), is_last: false, ended: false }
    }

    /// The same that keeps the sound as received. `format` is what makes a file of packets that do not play by themselves; `None`: they do.
    #[must_use]
    pub fn with_sound(self, sound: ReceivedMovie, format: Option<AudioFormat>) -> Self {
        let sound = match format {
            Some(format) => sound.of_sound(format),
            None => sound,
        };
        Self { sound, ..self }
    }

    /// Something came: behind what is not of the movie there may be something to answer, for which it is to be polled. Nothing
    /// of the movie or its sound comes after the end.
    pub fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        let is_media = [MOVIE_CHANNEL, SOUND_CHANNEL].contains(&channel);
        if !self.ended || !is_media {
            self.session.handle_arrival(now, channel, arrival);
        }
        if !self.ended && is_media {
            self.keep_frames();
        }
    }

    /// When it has something to do by itself; `None` once it has ended.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.session.next_timeout().filter(|_| !self.ended)
    }

    /// True where the movie or its sound cannot be written: the next [`poll`](FlowEnd::poll) ends it.
    pub fn has_failed(&self) -> bool {
        self.movie.has_failed() || self.sound.has_failed()
    }

    /// True when nothing more is taken.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// True where the movie comes in datagrams beside what is said about it, and that is over: what has come is all.
    pub fn is_over_beside(&self) -> bool {
        self.session.is_over_beside()
    }

    /// The port of the sender to which reports on a channel of datagrams go, once it has said so.
    pub fn poll_report_port(&mut self) -> Option<(ChannelId, u16)> {
        self.session.poll_report_port()
    }

    /// Frames that arrived whole so far, and those of which something was missing.
    pub fn frames(&self) -> (u32, u32) {
        (self.session.complete_frames(), self.session.incomplete_frames())
    }

    /// What this end knows of the frames; those that its end cut off may have been on their way, and are not lost.
    pub fn counts(&self) -> FrameCounts {
        let (arrived, lost) = (self.session.complete_frames(), self.session.lost_frames());
        FrameCounts { arrived, lost, ..FrameCounts::default() }
    }

    /// What the flow leaves behind, now that both ends have ended, and the movie as received where that was kept in memory.
    pub fn into_outcome(mut self, sender: MovieSending) -> (FlowOutcome, Vec<u8>) {
        let (status, sent, samples) = sender.into_parts();
        self.session.handle_sent(&sent);
        self.keep_frames();
        self.movie.flush();
        self.sound.flush();
        let (kept_bytes, unwritten, movie) = self.movie.into_parts();
        let (_, unwritten_sound, _) = self.sound.into_parts();
        let received: ReceiverLog = self.session.into_log();
        let status = joined(status, self.failure.or(unwritten).or(unwritten_sound));
        (FlowOutcome { sent, samples, received, kept_bytes, bulk: None, status, doubt: None }, movie)
    }

    /// What it leaves behind, now that it has ended, where the sender is elsewhere: what that wrote is not known. `status`
    /// is how the stream ended, unless this end broke.
    pub fn into_received(mut self, status: FlowStatus) -> FlowOutcome {
        self.keep_frames();
        self.movie.flush();
        self.sound.flush();
        let (kept_bytes, unwritten, _) = self.movie.into_parts();
        let (_, unwritten_sound, _) = self.sound.into_parts();
        let status = joined(status, self.failure.or(unwritten).or(unwritten_sound));
        FlowOutcome { received: self.session.into_log(), kept_bytes, ..FlowOutcome::of_status(status) }
    }

    /// Does what is due, and takes what one call gives; whether there may be more, or `None` where nothing more comes.
    fn step(&mut self, now: Timestamp, sockets: &mut dyn HostSockets) -> Result<Option<bool>, SocketError> {
        self.wait = self.session.drive(now, sockets)?;
        self.keep_frames();
        if self.wait.finished {
            return Ok(None);
        }
        let Some(came) = sockets.take(now, &|channel| self.wants(now, channel))? else {
            return Ok((!self.is_last).then_some(false));
        };
        let Came { channel, at, arrival } = came;
        if arrival == Arrival::Ended {
            if channel == MOVIE_CHANNEL {
                return Ok(None);
            }
            self.heard_all.push(channel);
        }
        // A receiver that paces the sender has arrived at a byte when it reads it, not when its host got it.
        let is_paced = matches!(arrival, Arrival::Bytes(_)) && self.session.is_paced();
        self.handle_arrival(if is_paced { now } else { at }, channel, arrival);
        Ok(Some(true))
    }

    /// It ends now: because the other end said so, the world did, or something is broken.
    fn end(&mut self, now: Timestamp) {
        let told = self.session.failure().map(str::to_owned);
        self.session.handle_end(now);
        // That something is missing where the world has ended the stream is not the other end's doing.
        let told = if self.is_last { told } else { self.session.failure().map(str::to_owned) };
        self.failure = self.failure.take().or(told);
        self.ended = true;
    }

    fn keep_frames(&mut self) {
        self.movie.keep(std::iter::from_fn(|| self.session.poll_frame()));
        self.sound.keep(std::iter::from_fn(|| self.session.poll_sound()));
    }
}

impl FlowEnd for MovieReceiving {
    fn start(&self) -> Timestamp {
        Timestamp::ZERO
    }

    fn poll(&mut self, now: Timestamp, sockets: &mut dyn HostSockets) -> bool {
        if self.ended {
            return false;
        }
        let step = self.step(now, sockets).unwrap_or_else(|error| {
            self.failure = Some(error.to_string());
            None
        });
        if step.is_none() || self.has_failed() || self.session.failure().is_some() {
            self.end(now);
            return false;
        }
        step == Some(true)
    }

    fn wants(&self, now: Timestamp, channel: ChannelId) -> bool {
        !self.ended && !self.heard_all.contains(&channel) && self.session.wants(now, channel)
    }

    fn wait(&self) -> Wait {
        Wait { room: self.wait.room, timeout: self.next_timeout(), finished: self.ended }
    }

    fn stop(&mut self, now: Timestamp) {
        if !self.ended {
            self.is_last = true;
            self.end(now);
        }
    }

    fn fail(&mut self, now: Timestamp, reason: String) {
        if !self.ended {
            self.failure = Some(reason);
            self.session.handle_end(now);
            self.ended = true;
        }
    }

    fn handle_other_ended(&mut self, _: Timestamp) {
        self.is_last = true;
    }

    fn progress(&self) -> EndProgress {
        EndProgress { frames: self.counts(), is_draining: false }
    }
}
