//! The receiver's side of one flow: receiving half, log and the movie as received.

mod early;
mod request_channel;

use std::collections::VecDeque;

use bytes::Bytes;
use framewire_recording::record::{DatagramReceived, FIRST_OF_SOUND, FoundStream, HandedOn, StreamRead};
use framewire_recording::spool::Spool;
use framewire_transport::event::ReceiverEvent;
use framewire_transport::socket::SocketError;
use framewire_transport::{DatagramReceiver, PacketStreamReceiver, StreamReceiver};
use framewire_units::Timestamp;

use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::flow::FlowRecording;
use crate::half::{Arrival, Channel, ChannelId, ChannelKind, Channels, End, Half, Wait};
use crate::rtcp::{RtcpEnd, RtcpLog};
use crate::sender::SenderLog;
use crate::sound::SOUND_TRACK;

use self::early::EarlyDatagram;
pub(crate) use self::request_channel::RequestChannel;

/// Reasons of rejected input that are kept; more are only counted, so that a hostile peer cannot fill the memory.
const KEPT_REJECTIONS: usize = 16;

/// The receiving half of a flow, over either kind of socket.
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved in a hot path")]
pub enum ReceivingHalf {
    /// From datagrams.
    Datagram(DatagramReceiver),
    /// From a byte stream.
    Stream(StreamReceiver),
    /// From packets in a byte stream.
    Packets(PacketStreamReceiver),
}

/// What the receiver recorded.
#[derive(Clone, Debug, Default)]
pub struct ReceiverLog {
    /// Datagrams received, in order of arrival.
    pub datagrams: Spool<DatagramReceived>,
    /// Reads of the byte stream, in order.
    pub reads: Spool<StreamRead>,
    /// What an application of the user's own gave out.
    pub found: Option<FoundStream>,
    /// Frames that arrived whole.
    pub complete_frames: u32,
    /// Frames of which something arrived, and something was missing.
    pub incomplete_frames: u32,
    /// Packets of sound that arrived whole.
    pub complete_sound: u32,
    /// Packets of sound of which something arrived, and something was missing.
    pub incomplete_sound: u32,
    /// Of frames that were discarded though all of them may have come, the sequence numbers of their last packets, in order.
    pub discarded: Spool<u64>,
    /// Of frames that are not whole, what was handed on, in order.
    pub handed_on: Spool<HandedOn>,
    /// Inputs that were not of this flow or not well formed.
    pub rejected: u64,
    /// The first few reasons.
    pub rejections: Vec<String>,
    /// What was said by RTCP, of each track that has packets of its own; none where the flow has none.
    pub rtcp: Vec<RtcpLog>,
}

impl ReceiverLog {
    /// An empty log.
    pub(crate) fn new(recording: &FlowRecording) -> Self {
        let (datagrams, reads, discarded) = (recording.list(), recording.list(), recording.list());
        Self { datagrams, reads, discarded, handed_on: recording.list(), ..Self::default() }
    }
}

/// Frames until they are fetched, and what was recorded, of a receiver over whatever it is.
#[derive(Debug)]
pub(crate) struct Reception {
    kept: VecDeque<Bytes>,
    kept_sound: VecDeque<Bytes>,
    pub log: ReceiverLog,
}

impl Reception {
    /// Nothing came yet; `log` is empty.
    pub(crate) fn new(log: ReceiverLog) -> Self {
        Self { kept: VecDeque::new(), kept_sound: VecDeque::new(), log }
    }

    /// A frame came whole.
    pub(crate) fn handle_frame(&mut self, bytes: Bytes) {
        self.log.complete_frames += 1;
        self.kept.push_back(bytes);
    }

    /// A packet of sound came whole, or did not.
    fn handle_sound(&mut self, bytes: Option<Bytes>) {
        match bytes {
            Some(bytes) => {
                self.log.complete_sound += 1;
                self.kept_sound.push_back(bytes);
            }
            None => self.log.incomplete_sound += 1,
        }
    }

    /// So many did not.
    pub(crate) fn handle_lost(&mut self, count: u32) {
        self.log.incomplete_frames += count;
    }

    /// The next frame, whole.
    pub(crate) fn poll_frame(&mut self) -> Option<Bytes> {
        self.kept.pop_front()
    }
}

/// The receiver's side of one flow.
///
/// Contract: that of a [`Half`]; beside it, take what it kept with [`poll_frame`](Self::poll_frame) until there is none.
pub struct ReceiverSession {
    half: ReceivingHalf,
    channels: Vec<Channel>,
    /// Sound that has packets of RTP for itself, on a channel of its own.
    sound: Option<DatagramReceiver>,
    reception: Reception,
    reports: Vec<RtcpEnd>,
    /// Where it asks for the movie: what it says about it.
    requests: Option<RequestChannel>,
    /// What came before the answer that is awaited; `None`: none is.
    early: Option<Vec<EarlyDatagram>>,
    /// Nothing more comes.
    ended: bool,
    /// Frames that were known to lack something when that was said.
    lost_before_end: Option<u32>,
}

impl ReceiverSession {
    /// A session around `half` over one channel, which records into `log`.
    pub fn new(half: ReceivingHalf, log: ReceiverLog) -> Self {
        let kind = match &half {
            ReceivingHalf::Datagram(_) => ChannelKind::Datagram,
            ReceivingHalf::Stream(_) | ReceivingHalf::Packets(_) => ChannelKind::Stream(End::Sender),
        };
        let channels = vec![Channel { id: MOVIE_CHANNEL, kind }];
        let reception = Reception::new(log);
        let (sound, requests, early, lost_before_end) = Default::default();
        Self { half, channels, sound, reception, reports: Vec::new(), requests, early, ended: false, lost_before_end }
    }

    /// The same over these channels.
    pub(crate) fn over(self, channels: Vec<Channel>) -> Self {
        Self { channels, ..self }
    }

    /// The same with reports to and from the sender.
    pub(crate) fn with_reports(self, reports: Vec<RtcpEnd>) -> Self {
        Self { reports, ..self }
    }

    /// The same whose sound comes to this half, on a channel of its own.
    pub(crate) fn with_sound(self, sound: Option<DatagramReceiver>) -> Self {
        Self { sound: sound.map(|sound| sound.of_track(SOUND_TRACK)), ..self }
    }

    /// The same that hands on what came of a damaged frame of the movie up to its first gap; over a byte stream none is.
    #[must_use]
    pub fn passing_damaged(self, passes_damaged: bool) -> Self {
        let half = match self.half {
            ReceivingHalf::Datagram(half) => ReceivingHalf::Datagram(half.passing_damaged(passes_damaged)),
            of_stream => of_stream,
        };
        Self { half, ..self }
    }

    /// The same of a receiver that asks for the movie.
    pub(crate) fn with_requests(self, requests: Option<RequestChannel>) -> Self {
        Self { requests, ..self }
    }

    /// Takes what the socket gave: one datagram, or the next bytes of the stream.
    pub fn handle_input(&mut self, now: Timestamp, bytes: &[u8]) {
        self.begin_reports(now);
        self.handle_movie(now, bytes);
        self.handle_life(now);
        self.drain_events();
    }

    fn handle_movie(&mut self, now: Timestamp, bytes: &[u8]) {
        self.report_rtp(now, MOVIE_CHANNEL, bytes);
        if !self.keep_early(now, MOVIE_CHANNEL, bytes) {
            self.take_media(now, MOVIE_CHANNEL, bytes);
        }
    }

    /// Reports are about what comes on their channel.
    fn report_rtp(&mut self, now: Timestamp, channel: ChannelId, datagram: &[u8]) {
        let about = self.reports.iter_mut().filter(|rtcp| rtcp.media() == channel);
        about.for_each(|rtcp| rtcp.handle_rtp(now, datagram));
    }

    /// Takes a datagram of sound.
    fn handle_sound(&mut self, now: Timestamp, datagram: &[u8]) {
        self.report_rtp(now, SOUND_CHANNEL, datagram);
        if !self.keep_early(now, SOUND_CHANNEL, datagram) {
            self.take_media(now, SOUND_CHANNEL, datagram);
        }
        self.drain_events();
    }

    /// Nothing more will come.
    pub fn handle_end(&mut self, now: Timestamp) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.lost_before_end = Some(self.incomplete_frames());
        if let Some(requests) = &mut self.requests {
            requests.handle_close(now);
        }
        self.release_early();
        match &mut self.half {
            ReceivingHalf::Datagram(half) => half.handle_end(now),
            ReceivingHalf::Stream(half) => half.handle_end(now),
            ReceivingHalf::Packets(half) => half.handle_end(now),
        }
        if let Some(sound) = &mut self.sound {
            sound.handle_end(now);
        }
        self.drain_events();
    }

    /// What the sender wrote is known, and nothing more will come. Of a byte stream that was cut off, the last frame is
    /// found where the stream ends: what lies behind its own end is not its own, and unless the sender wrote it to its
    /// end, and all of it came, it does not count as whole, as in the ledger. Call it after
    /// [`handle_end`](Self::handle_end), before the last frames are taken.
    pub fn handle_sent(&mut self, sent: &SenderLog) {
        let ReceivingHalf::Stream(half) = &self.half else { return };
        let Reception { kept, log, .. } = &mut self.reception;
        let said = self.requests.as_ref().map_or(0, RequestChannel::said);
        let (Some(end), Some(last)) = (half.last_frame_end(), kept.back_mut()) else { return };
        let end = end + said;
        let start = end.saturating_sub(last.len() as u64);
        let written = sent.frame_ends.partition_point(|&written| written <= end);
        let written = sent.frame_ends[..written].last().map_or(0, |written| written.saturating_sub(start));
        if written > 0 {
            last.truncate(usize::try_from(written).unwrap_or(usize::MAX));
        } else {
            kept.pop_back();
            log.complete_frames -= 1;
            log.incomplete_frames += 1;
        }
    }

    /// True when the half takes bytes now; always true for datagrams.
    fn wants_bytes(&self, now: Timestamp) -> bool {
        match &self.half {
            ReceivingHalf::Datagram(_) | ReceivingHalf::Packets(_) => true,
            ReceivingHalf::Stream(half) => half.wants_bytes(now),
        }
    }

    /// When [`wants_bytes`](Self::wants_bytes) will turn true by itself.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        let of_half = match &self.half {
            ReceivingHalf::Datagram(_) | ReceivingHalf::Packets(_) => None,
            ReceivingHalf::Stream(half) => half.next_timeout(),
        };
        let of_requests = self.requests.as_ref().and_then(RequestChannel::next_timeout);
        of_half.into_iter().chain(self.reports.iter().filter_map(RtcpEnd::next_timeout)).chain(of_requests).min()
    }

    /// Consumes what is due; to be called when [`next_timeout`](Self::next_timeout) has come.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        if let ReceivingHalf::Stream(half) = &mut self.half {
            half.handle_timeout(now);
        }
        if let Some(requests) = &mut self.requests
            && requests.next_timeout().is_some_and(|at| at <= now)
        {
            requests.exchange().handle_timeout(now);
        }
        self.drain_events();
    }

    /// True when the receiver paces the sender: what counts is when it reads, not when data reached its host.
    pub(crate) fn is_paced(&self) -> bool {
        matches!(&self.half, ReceivingHalf::Stream(half) if half.is_paced())
    }

    /// The next frame, whole, for the received movie.
    pub fn poll_frame(&mut self) -> Option<Bytes> {
        self.reception.poll_frame()
    }

    /// The next packet of sound, whole, for the sound as received.
    pub(crate) fn poll_sound(&mut self) -> Option<Bytes> {
        self.reception.kept_sound.pop_front()
    }

    /// Frames that arrived whole so far.
    pub fn complete_frames(&self) -> u32 {
        self.reception.log.complete_frames
    }

    /// Frames of which something arrived, and something was missing, so far.
    pub(crate) fn incomplete_frames(&self) -> u32 {
        self.reception.log.incomplete_frames
    }

    /// Frames that were known to lack something while it went on: what the end cut off may have been on its way.
    pub(crate) fn lost_frames(&self) -> u32 {
        self.lost_before_end.unwrap_or_else(|| self.incomplete_frames())
    }

    /// What was recorded.
    pub fn into_log(self) -> ReceiverLog {
        let of_requests = self.requests.map(|mut requests| requests.exchange().take_rtcp()).unwrap_or_default();
        let reports = self.reports.into_iter().map(RtcpEnd::into_log).chain(of_requests);
        ReceiverLog { rtcp: reports.collect(), ..self.reception.log }
    }

    fn drain_events(&mut self) {
        loop {
            let event = match &mut self.half {
                ReceivingHalf::Datagram(half) => half.poll_event(),
                ReceivingHalf::Stream(half) => half.poll_event(),
                ReceivingHalf::Packets(half) => half.poll_event(),
            };
            match event {
                Some(event) => self.log_event(event),
                None => break,
            }
        }
        while let Some(event) = self.sound.as_mut().and_then(DatagramReceiver::poll_event) {
            self.log_event(numbered_as_sound(event));
        }
    }

    fn log_event(&mut self, event: ReceiverEvent) {
        let log = &mut self.reception.log;
        match event {
            ReceiverEvent::Datagram { sequence, size, at } => {
                log.datagrams.push(DatagramReceived { sequence, size, at, kept: true });
            }
            // Where something is said beside the movie, bytes are counted with that.
            ReceiverEvent::Read { .. } if self.requests.is_some() => {}
            ReceiverEvent::Read { total, at } => log.reads.push(StreamRead { total, at }),
            ReceiverEvent::Frame { track: 1.., complete, bytes, .. } => {
                self.reception.handle_sound(complete.then_some(bytes));
            }
            ReceiverEvent::Frame { complete: true, bytes, .. } => self.reception.handle_frame(bytes),
            ReceiverEvent::Frame { complete: false, discarded, handed_on, bytes, .. } => {
                log.discarded.extend(discarded);
                if let Some(sequence) = handed_on {
                    log.handed_on.push(HandedOn { sequence, bytes: bytes.len() as u32 });
                    self.reception.kept.push_back(bytes);
                }
                self.reception.handle_lost(1);
            }
            ReceiverEvent::Rejected { reason, .. } => {
                log.rejected += 1;
                if log.rejections.len() < KEPT_REJECTIONS {
                    log.rejections.push(reason);
                }
            }
        }
    }
}

/// What came of sound that has packets for itself, which are numbered by themselves.
fn numbered_as_sound(event: ReceiverEvent) -> ReceiverEvent {
    match event {
        ReceiverEvent::Datagram { sequence, size, at } => {
            ReceiverEvent::Datagram { sequence: FIRST_OF_SOUND + sequence, size, at }
        }
        other => other,
    }
}

impl Half for ReceiverSession {
    fn channels(&self) -> Vec<Channel> {
        self.channels.clone()
    }

    fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        if self.requests.as_ref().is_some_and(|requests| requests.channel() == channel) {
            match (channel, arrival) {
                (MOVIE_CHANNEL, Arrival::Ended) => self.handle_end(now),
                (_, arrival) => self.handle_answer(now, arrival),
            }
            return;
        }
        match (channel, arrival) {
            (MOVIE_CHANNEL, Arrival::Datagram(bytes) | Arrival::Bytes(bytes)) => self.handle_input(now, bytes),
            (SOUND_CHANNEL, Arrival::Datagram(datagram)) => self.handle_sound(now, datagram),
            (_, Arrival::Datagram(datagram)) => {
                self.begin_reports(now);
                let about = self.reports.iter_mut().filter(|rtcp| rtcp.channel() == channel);
                about.for_each(|rtcp| rtcp.handle_rtcp(now, datagram));
                self.handle_life(now);
            }
            (_, Arrival::Ended) => self.handle_end(now),
            (_, Arrival::Opened | Arrival::Bytes(_)) => {}
        }
    }

    fn wants(&self, now: Timestamp, _channel: ChannelId) -> bool {
        self.wants_bytes(now)
    }

    fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        self.handle_timeout(now);
        self.reports.iter_mut().try_for_each(|rtcp| rtcp.drive_on(now, channels))?;
        let room = self.say(channels)?.into();
        Ok(Wait { room, timeout: self.next_timeout(), finished: self.ended })
    }

    fn stop(&mut self, now: Timestamp) {
        self.handle_end(now);
    }
}
