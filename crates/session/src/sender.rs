//! The sender's side of one flow: frame clock, sending half and log.

mod log;
mod offering;
mod playback;
mod programme;
mod response_channel;
mod sending_half;
#[cfg(test)]
mod sound_tests;

use framewire_scenario::Pacing;
use framewire_transport::socket::SocketError;
use framewire_transport::{DatagramSender, WriteProgress};
use framewire_units::Timestamp;

use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::frame_counts::FrameCounts;
use crate::half::{Arrival, Channel, ChannelId, ChannelKind, ChannelSet, Channels, End, Half, OneChannel, Track, Wait};
use crate::plan::SendingPlan;
use crate::rtcp::{RtcpEnd, Tapped};

pub use self::log::{SenderLog, as_sent};
use self::playback::PlaybackState;
pub(crate) use self::playback::{PacketSent, Playback};
use self::programme::Programme;
pub(crate) use self::response_channel::ResponseChannel;
pub use self::sending_half::SendingHalf;

/// The sender's side of one flow.
///
/// Contract: that of a [`Half`]. It offers due frames, writes what its channels take and logs every event. A flow that is
/// stopped ends the stream early.
pub struct SenderSession {
    programme: Programme,
    pacing: Pacing,
    half: SendingHalf,
    channels: Vec<Channel>,
    next: u32,
    /// The next packet of sound.
    next_sound: u32,
    end_signalled: bool,
    stopped: bool,
    log: SenderLog,
    counts: FrameCounts,
    reports: Vec<RtcpEnd>,
    /// Sound that has packets of RTP for itself, on a channel of its own.
    sound: Option<DatagramSender>,
    /// Where the receiver asks for the movie: what is said about it.
    responses: Option<ResponseChannel>,
    /// What broke it.
    failure: Option<String>,
    /// Where it is one of many: it records nothing of its frames.
    playback: Option<PlaybackState>,
    /// Sound stands before the frame during which it plays, as in the index of a file.
    is_file: bool,
}

impl SenderSession {
    /// A session that sends `plan` through `half` over one channel, and records into `log`.
    pub fn new(plan: SendingPlan, pacing: Pacing, half: SendingHalf, log: SenderLog) -> Self {
        let is_stream = !matches!(half, SendingHalf::Datagram(_));
        let kind = if is_stream { ChannelKind::Stream(End::Sender) } else { ChannelKind::Datagram };
        Self {
            programme: Programme::new(plan),
            pacing,
            half,
            channels: vec![Channel { id: MOVIE_CHANNEL, kind }],
            next: 0,
            next_sound: 0,
            end_signalled: false,
            stopped: false,
            log,
            counts: FrameCounts::default(),
            reports: Vec::new(),
            sound: None,
            responses: None,
            failure: None,
            playback: None,
            is_file: false,
        }
    }

    /// The same over these channels.
    pub(crate) fn over(self, channels: Vec<Channel>) -> Self {
        Self { channels, ..self }
    }

    /// The same for a receiver that asks for the movie: nothing is due before it does.
    pub(crate) fn with_responses(self, responses: Option<ResponseChannel>) -> Self {
        Self { responses, ..self }
    }

    /// The same with reports to and from the receiver.
    pub(crate) fn with_reports(self, reports: Vec<RtcpEnd>) -> Self {
        Self { reports, ..self }
    }

    /// The same whose sound goes by this half, on a channel of its own.
    pub(crate) fn with_sound(self, sound: Option<DatagramSender>) -> Self {
        Self { sound, ..self }
    }

    /// Ends the stream now: what was not written is given up.
    pub(crate) fn stop(&mut self, now: Timestamp) {
        self.stopped = true;
        self.end_signalled = true;
        self.drain_events();
        let given_up = self.counts.given_up;
        self.half.handle_abort(now);
        if let Some(sound) = &mut self.sound {
            sound.handle_abort(now);
        }
        self.drain_events();
        self.counts.cut_off += self.counts.given_up - given_up;
        self.counts.given_up = given_up;
    }

    /// What it knows of its frames.
    pub(crate) fn counts(&self) -> FrameCounts {
        self.counts
    }

    /// The plan that it sends.
    pub(crate) fn plan(&self) -> &SendingPlan {
        self.programme.plan()
    }

    /// What was recorded.
    pub fn into_log(self) -> SenderLog {
        let of_responses = self.responses.map(|mut served| served.exchange().take_rtcp()).unwrap_or_default();
        let reports = self.reports.into_iter().map(RtcpEnd::into_log).chain(of_responses);
        SenderLog { rtcp: reports.collect(), ..self.log }
    }

    fn next_timeout(&self, progress: WriteProgress) -> Option<Timestamp> {
        let has_clock = self.pacing == Pacing::Sender && !self.stopped && self.has_begun();
        let waits_for_clock = has_clock && self.half.wants_frame();
        let frame = (waits_for_clock && self.next < self.programme.end()).then(|| self.programme.due(self.next));
        let sound = self.sound_turn().filter(|_| has_clock && !self.is_file);
        let packet = if progress == WriteProgress::Early { self.half.next_timeout() } else { None };
        let exchange = self.responses.as_ref().and_then(ResponseChannel::next_timeout);
        [frame, sound, packet, exchange].into_iter().flatten().min()
    }
}

impl Half for SenderSession {
    fn channels(&self) -> Vec<Channel> {
        self.channels.clone()
    }

    fn tracks(&self) -> Vec<Track> {
        self.programme.tracks()
    }

    /// The receiver's reports, and what it asks for.
    fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        if self.is_asked_on(channel) {
            return self.handle_request(now, arrival);
        }
        let mut reports = self.reports.iter_mut();
        if let (Some(rtcp), Arrival::Datagram(datagram)) = (reports.find(|rtcp| rtcp.channel() == channel), arrival) {
            rtcp.handle_rtcp(now, datagram);
            if let Some(served) = &mut self.responses {
                served.exchange().handle_life(now);
            }
        }
    }

    /// Nothing comes where it only sends.
    fn wants(&self, _: Timestamp, channel: ChannelId) -> bool {
        match channel {
            MOVIE_CHANNEL | SOUND_CHANNEL => self.is_asked_on(channel),
            _ => true,
        }
    }

    fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        self.serve(now);
        let mut reports = std::mem::take(&mut self.reports);
        let movie = self.drive_movie(now, &mut Tapped { channels, reports: &mut reports, now });
        let is_last = self.responses.as_ref().is_some_and(ResponseChannel::was_all_sent);
        if is_last || movie.as_ref().is_ok_and(|wait| wait.finished) {
            reports.iter_mut().for_each(|rtcp| rtcp.leave(now));
        }
        let reported = reports.iter_mut().try_for_each(|rtcp| rtcp.drive_on(now, channels));
        let timeout = reports.iter().filter_map(RtcpEnd::next_timeout).min();
        let has_left = reports.iter().all(RtcpEnd::has_left);
        self.reports = reports;
        let wait = movie?;
        reported?;
        let left = ChannelSet::from(self.answer(channels)?);
        let timeout = wait.timeout.into_iter().chain(timeout).min();
        Ok(Wait { room: wait.room.and(left), timeout, finished: wait.finished && has_left && left.is_empty() })
    }

    fn stop(&mut self, now: Timestamp) {
        self.stop(now);
    }
}

impl SenderSession {
    fn is_asked_on(&self, channel: ChannelId) -> bool {
        self.responses.as_ref().is_some_and(|served| served.channel() == channel)
    }

    /// What [`Half::drive`] does of the movie and its sound.
    fn drive_movie(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        if self.sound.is_some() {
            self.offer_due(now);
            self.send_sound(now, channels)?;
        }
        let progress = self.write_movie(now, &mut OneChannel { channels, id: MOVIE_CHANNEL })?;
        let sound = self.send_sound(now, channels)?;
        let blocked = |progress, channel| ChannelSet::from((progress == WriteProgress::Blocked).then_some(channel));
        Ok(Wait {
            room: blocked(progress, MOVIE_CHANNEL).and(blocked(sound, SOUND_CHANNEL)),
            timeout: self.next_timeout(progress),
            finished: self.end_signalled && self.half.is_finished() && self.sound_is_finished(),
        })
    }

    /// Offers due frames and writes what its channel takes.
    fn write_movie(&mut self, now: Timestamp, channel: &mut OneChannel<'_>) -> Result<WriteProgress, SocketError> {
        loop {
            self.serve(now);
            if let Some(reason) = self.failure.take() {
                return Err(SocketError { operation: "session", reason });
            }
            self.offer_due(now);
            let progress = self.half.poll_write(now, channel)?;
            self.drain_events();
            let is_idle = progress == WriteProgress::Idle || self.half.sends_stuffing_alone();
            if !is_idle || !(self.can_offer(now) || self.can_offer_sound(now) || self.ends_now(now)) {
                return Ok(progress);
            }
        }
    }

    /// Sends the sound that waits for a channel of its own.
    fn send_sound(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<WriteProgress, SocketError> {
        let Some(sound) = &mut self.sound else { return Ok(WriteProgress::Idle) };
        let progress = sound.poll_write(now, &mut OneChannel { channels, id: SOUND_CHANNEL })?;
        self.drain_events();
        Ok(progress)
    }

    fn sound_is_finished(&self) -> bool {
        self.sound.as_ref().is_none_or(DatagramSender::is_finished)
    }
}
