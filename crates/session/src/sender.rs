//! The sender's side of one flow: frame clock, sending half and log.

mod programme;
mod requests;
mod sending_half;
mod shown;
#[cfg(test)]
mod sound_tests;

use framewire_media::picture_order::Renumbering;
use framewire_recording::record::{DatagramSent, FIRST_OF_SOUND, FrameEvent, FrameEventKind, FrameFacts, Place};
use framewire_recording::spool::Spool;
use framewire_scenario::Pacing;
use framewire_transport::event::{SenderEvent, SenderPlace};
use framewire_transport::socket::SocketError;
use framewire_transport::{DatagramSender, WriteProgress};
use framewire_units::Timestamp;

use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::flow::FlowRecording;
use crate::frame_counts::FrameCounts;
use crate::half::{Arrival, Channel, ChannelId, ChannelKind, ChannelSet, Channels, End, Half, OneChannel, Track, Wait};
use crate::plan::SendingPlan;
use crate::rtcp::{RtcpEnd, RtcpLog, Tapped};

use self::programme::Programme;
pub(crate) use self::requests::Answering;
pub use self::sending_half::SendingHalf;
use self::shown::Shown;
pub(crate) use self::shown::{PacketSent, Showing};

/// What the sender recorded.
#[derive(Clone, Debug, Default)]
pub struct SenderLog {
    /// What happened to frames, in order.
    pub frame_events: Spool<FrameEvent>,
    /// Datagrams offered to the socket, in order.
    pub datagrams: Spool<DatagramSent>,
    /// Where in the byte stream each frame ends that was written to its end, ascending; none on datagrams.
    pub frame_ends: Vec<u64>,
    /// The frames as they were sent, where only the sender knows: from which levels of a ladder. `None`: as planned, but
    /// for what is `renumbered`.
    pub frames: Option<Spool<FrameFacts>>,
    /// The frames of a movie whose numbers were changed before they were sent: by how much, and how many bytes they have
    /// then, where that is known; in decode order.
    pub renumbered: Spool<(u32, Renumbering, Option<u32>)>,
    /// When the receiver asked for the movie, from when on its frames are due; `None` where it need not.
    pub begun: Option<Timestamp>,
    /// What was said by RTCP, of each track that has packets of its own; none where the flow has none.
    pub rtcp: Vec<RtcpLog>,
}

impl SenderLog {
    /// An empty log.
    pub(crate) fn new(recording: &FlowRecording) -> Self {
        let frame_events = recording.list();
        Self { renumbered: frame_events.with([]), frame_events, datagrams: recording.list(), ..Self::default() }
    }
}

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
    answering: Option<Answering>,
    /// What broke it.
    failure: Option<String>,
    /// Where it is one of many: it records nothing of its frames.
    shown: Option<Shown>,
    /// Sound stands before the frame during which it plays, as in the index of a file.
    is_file: bool,
}

impl SenderSession {
    /// A session that sends `plan` through `half` over one channel, and records into `log`.
    pub fn new(plan: SendingPlan, pacing: Pacing, half: SendingHalf, log: SenderLog) -> Self {
        let is_stream = matches!(half, SendingHalf::Stream(_));
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
            answering: None,
            failure: None,
            shown: None,
            is_file: false,
        }
    }

    /// The same over these channels.
    pub(crate) fn over(self, channels: Vec<Channel>) -> Self {
        Self { channels, ..self }
    }

    /// The same for a receiver that asks for the movie: nothing is due before it does.
    pub(crate) fn with_serving(self, answering: Option<Answering>) -> Self {
        Self { answering, ..self }
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
        self.half.handle_abort(now);
        if let Some(sound) = &mut self.sound {
            sound.handle_abort(now);
        }
        self.drain_events();
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
        let of_serving = self.answering.map(|mut served| served.serving().take_rtcp()).unwrap_or_default();
        let reports = self.reports.into_iter().map(RtcpEnd::into_log).chain(of_serving);
        SenderLog { rtcp: reports.collect(), ..self.log }
    }

    fn can_offer(&self, now: Timestamp) -> bool {
        !self.stopped
            && self.has_begun()
            && self.half.wants_frame()
            && self.next < self.programme.end()
            && (self.pacing != Pacing::Sender || self.programme.due(self.next) <= now)
    }

    /// Sound is offered at its own time, whatever waits; where the sender has no clock, by the time of the next frame.
    fn can_offer_sound(&self, now: Timestamp) -> bool {
        let is_due = |place| match self.pacing {
            Pacing::Sender if !self.is_file => self.sound_turn().is_some_and(|at| at <= now),
            _ => self.next == self.programme.end() || place < self.programme.place(self.next),
        };
        !self.stopped && self.has_begun() && self.programme.sound_place(self.next_sound).is_some_and(is_due)
    }

    /// When the next packet of sound is offered by the frame clock. What is due sooner than it plays keeps its order with frames, of which
    /// the first has the tables of a transport stream.
    fn sound_turn(&self) -> Option<Timestamp> {
        let (due, place) = (self.programme.sound_due(self.next_sound)?, self.programme.sound_place(self.next_sound)?);
        let is_next = self.next == self.programme.end() || place < self.programme.place(self.next);
        Some(if is_next { due } else { place })
    }

    fn offer_due(&mut self, now: Timestamp) {
        loop {
            let frame = self.can_offer(now).then(|| self.programme.place(self.next));
            let sound = self.programme.sound_place(self.next_sound).filter(|_| self.can_offer_sound(now));
            match (frame, sound) {
                (None, None) => break,
                // A frame goes before sound of the same time: the first one has the tables and the clock.
                (Some(frame), Some(sound)) if sound < frame => self.offer_sound(now),
                (Some(_), _) => self.offer_frame(now),
                (None, Some(_)) => self.offer_sound(now),
            }
        }
        self.end_when_all_is_offered(now);
    }

    fn offer_frame(&mut self, now: Timestamp) {
        let frame = self.programme.outgoing(self.next);
        self.record(self.next, now, FrameEventKind::Offered);
        self.note_lateness(now, self.programme.due(self.next));
        self.next += 1;
        self.counts.offered += 1;
        if !self.is_sound_alone() {
            self.half.handle_frame(now, frame);
        }
        self.drain_events();
    }

    fn offer_sound(&mut self, now: Timestamp) {
        let sound = self.programme.outgoing_sound(self.next_sound);
        self.record(sound.id, now, FrameEventKind::Offered);
        self.next_sound += 1;
        match &mut self.sound {
            Some(half) => half.handle_sound(now, sound),
            None => self.half.handle_sound(now, sound),
        }
        self.drain_events();
    }

    fn end_when_all_is_offered(&mut self, now: Timestamp) {
        if self.all_is_offered() && self.answering.is_none() && !self.end_signalled {
            self.signal_end(now);
        }
    }

    /// No more is offered.
    fn signal_end(&mut self, now: Timestamp) {
        self.end_signalled = true;
        self.half.handle_end(now);
        if let Some(sound) = &mut self.sound {
            sound.handle_end(now);
        }
    }

    fn all_is_offered(&self) -> bool {
        self.next == self.programme.end() && self.programme.sound_due(self.next_sound).is_none()
    }

    fn next_timeout(&self, progress: WriteProgress) -> Option<Timestamp> {
        let has_clock = self.pacing == Pacing::Sender && !self.stopped && self.has_begun();
        let waits_for_clock = has_clock && self.half.wants_frame();
        let frame = (waits_for_clock && self.next < self.programme.end()).then(|| self.programme.due(self.next));
        let sound = self.sound_turn().filter(|_| has_clock && !self.is_file);
        let packet = if progress == WriteProgress::Early { self.half.next_timeout() } else { None };
        let serving = self.answering.as_ref().and_then(Answering::next_timeout);
        [frame, sound, packet, serving].into_iter().flatten().min()
    }

    fn drain_events(&mut self) {
        while let Some(event) = self.half.poll_event() {
            self.log_event(event);
        }
        while let Some(event) = self.sound.as_mut().and_then(DatagramSender::poll_event) {
            self.log_event(numbered_as_sound(event));
        }
    }

    fn log_event(&mut self, event: SenderEvent) {
        match event {
            SenderEvent::Renumbered { .. } | SenderEvent::Datagram { .. } if !self.is_recorded() => {}
            SenderEvent::Queued { frame, at } => self.record(frame, at, FrameEventKind::Queued),
            SenderEvent::FirstByte { frame, at } => self.record(frame, at, FrameEventKind::FirstByte),
            SenderEvent::BeginsSequence { frame, at } => self.record(frame, at, FrameEventKind::BeginsSequence),
            SenderEvent::Renumbered { frame, by, size, .. } => {
                self.log.renumbered.push((frame, by, Some(u32::try_from(size).unwrap_or(u32::MAX))));
            }
            SenderEvent::Packet { timestamp, octets, is_sound, .. } if self.shown.is_some() => {
                self.note_packet(PacketSent { timestamp, octets, is_sound });
            }
            SenderEvent::Packet { at, timestamp, octets, is_sound } => {
                if let Some(served) = &mut self.answering {
                    served.serving().handle_packet_sent(at, PacketSent { timestamp, octets, is_sound });
                }
            }
            SenderEvent::LastByte { frame, at, end } => {
                self.log.frame_ends.extend(end.filter(|_| self.is_recorded()));
                self.record(frame, at, FrameEventKind::LastByte);
            }
            SenderEvent::Discarded { frame, at, place, rule } => {
                let (place, count) = match place {
                    SenderPlace::Pipeline => (Place::SenderPipeline, &mut self.counts.given_up),
                    SenderPlace::Socket => (Place::SenderSocket, &mut self.counts.lost),
                };
                *count += u32::from(frame < self.programme.len());
                self.record(frame, at, FrameEventKind::Discarded { place, rule: rule.to_owned() });
            }
            SenderEvent::Datagram { frame, sequence, size, headers, at, sent } => {
                let frame = Some(frame);
                self.log.datagrams.push(DatagramSent { sequence, frame, part: None, size, headers, at, sent });
            }
        }
    }

    fn record(&mut self, frame: u32, at: Timestamp, what: FrameEventKind) {
        if self.is_recorded() {
            self.log.frame_events.push(FrameEvent { frame, at, what });
        }
    }
}

/// What happened to sound that has packets for itself, which are numbered by themselves.
fn numbered_as_sound(event: SenderEvent) -> SenderEvent {
    match event {
        SenderEvent::Datagram { frame, sequence, size, headers, at, sent } => {
            SenderEvent::Datagram { frame, sequence: FIRST_OF_SOUND + sequence, size, headers, at, sent }
        }
        other => other,
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
            if let Some(served) = &mut self.answering {
                served.serving().handle_life(now);
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
        let is_last = self.answering.as_ref().is_some_and(Answering::was_all_sent);
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
        self.answering.as_ref().is_some_and(|served| served.channel() == channel)
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
            let is_idle = progress == WriteProgress::Idle;
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

/// The frames of a movie with the numbers that they were sent with: by how much they were changed, and the size that they
/// have then where it is known, in decode order.
pub fn as_sent(
    facts: impl Iterator<Item = FrameFacts>,
    renumbered: impl Iterator<Item = (u32, Renumbering, Option<u32>)>,
) -> impl Iterator<Item = FrameFacts> {
    let mut renumbered = renumbered.peekable();
    facts.zip(0..).map(move |(mut facts, number)| {
        if let Some((_, by, size)) = renumbered.next_if(|(frame, ..)| *frame == number) {
            facts.size = size.unwrap_or(facts.size);
            facts.picture_order = facts.picture_order.map(|order| order.renumbered(by));
        }
        facts
    })
}

#[cfg(test)]
mod tests {
    use framewire_media::Movie;
    use framewire_scenario::Scenario;

    use super::*;
    use crate::flow::FlowSetup;

    /// A sequence of MPEG-2, a group and three I pictures of one slice (ISO/IEC 13818-2, 6.2).
    fn movie() -> Movie {
        let mut bytes =
            vec![0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18, 0, 0, 1, 0xb8, 0, 8, 0, 0x40];
        for reference in 0..3 {
            bytes.extend([0, 0, 1, 0, 0, reference << 6 | 0x0f, 0xff, 0xf8, 0, 0, 1, 1, 0x13, 0x80, 0x81]);
        }
        Movie::parse(bytes.into()).expect("a movie")
    }

    #[test]
    fn frames_end_where_their_last_byte_stands_in_the_stream() {
        for (transport, expected) in [("udp", [].as_slice()), ("tcp", &[100, 115])] {
            let scenario =
                Scenario::parse(&format!("[[flow]]\ntransport = \"{transport}\""), &[]).expect("well formed");
            let plan = SendingPlan::new(movie(), Timestamp::ZERO);
            let setup = FlowSetup::of_movie(&scenario.flows[0], plan, 1);
            let mut session = match setup.expect("it sends the movie") {
                FlowSetup::Datagram(setup) => setup.sender(),
                FlowSetup::Stream(setup) => setup.sender(),
                other => panic!("{other:?}"),
            };
            let (at, by) = (Timestamp::ZERO, Renumbering { frame_num: 1, order: 2 });
            for frame in 0..2 {
                session.log_event(SenderEvent::Renumbered { frame, at, by, size: 100 + u64::from(frame) });
            }
            // The second was given up half-way.
            for (frame, end) in [(0, 100), (2, 115)] {
                let end = (transport == "tcp").then_some(end);
                session.log_event(SenderEvent::LastByte { frame, at, end });
            }
            let log = session.into_log();
            assert_eq!(log.renumbered.to_vec(), [(0, by, Some(100)), (1, by, Some(101))]);
            assert_eq!(log.frame_ends, expected, "{transport}");
        }
    }
}
