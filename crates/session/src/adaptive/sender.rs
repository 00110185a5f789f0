//! The server of an adaptive stream, and what it did to which frame.

use std::net::{Ipv4Addr, SocketAddr};

use framewire_adaptive::datagram::{Channel as SessionChannel, Transmit};
use framewire_adaptive::server::{Server, ServerEvent, ServerState};
use framewire_recording::record::{DatagramSent, FlowSample, FrameEvent, FrameEventKind, LossPlace};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::Timestamp;
use framewire_wire::vtp::{Reason, VIDEO_HEADER_LENGTH, VideoHeader};

use super::{LadderContent, channel_id, channel_of, channels};
use crate::frame_counts::FrameCounts;
use crate::half::{Arrival, Channel, ChannelId, Channels, Half, Wait};
use crate::sender::SenderLog;

/// The sender's side of an adaptive flow.
///
/// Contract: that of a [`Half`] over two channels of datagrams to one client, each connected to that client's. What it
/// sends counts as sent at `now`, also where it is kept for want of room.
pub struct AdaptiveSender {
    server: Server,
    content: LadderContent,
    start: Timestamp,
    started: bool,
    ended: Option<Reason>,
    source_failure: Option<String>,
    /// What its channel had no room for; nothing else is sent before.
    waiting: Option<Transmit>,
    /// By frame, the level that it was sent from or would have been.
    levels: Vec<Option<u8>>,
    log: SenderLog,
    counts: FrameCounts,
}

impl AdaptiveSender {
    pub(crate) fn new(server: Server, content: LadderContent, start: Timestamp, log: SenderLog) -> Self {
        Self {
            server,
            content,
            start,
            started: false,
            ended: None,
            source_failure: None,
            waiting: None,
            levels: Vec::new(),
            log,
            counts: FrameCounts::default(),
        }
    }

    /// What is to be sent now.
    fn poll_transmit(&mut self, now: Timestamp) -> Option<Transmit> {
        let transmit = self.server.poll_transmit(now);
        self.take_events();
        if let Some(transmit) = &transmit
            && let Some(header) = &transmit.carries
        {
            self.record(now, header, transmit.bytes.len());
        }
        if self.server.is_finished() {
            self.leave_out(now, self.server.state().frame);
        }
        transmit
    }

    /// When it has something to do by itself. While something waits for room, that is what it waits for.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        self.server.next_timeout().filter(|_| !self.is_waiting())
    }

    /// True while something waits for room in its channel.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// The channel in whose room something waits.
    pub(crate) fn waits_for_room(&self) -> Option<ChannelId> {
        self.waiting.as_ref().map(|transmit| channel_id(transmit.channel))
    }

    /// True when the session is over and everything was said.
    pub(crate) fn is_finished(&self) -> bool {
        self.server.is_finished()
    }

    /// True when a receiver came for the stream.
    pub(crate) fn has_started(&self) -> bool {
        self.started
    }

    /// True when every frame was sent or left out.
    pub(crate) fn offered_all(&self) -> bool {
        self.server.state().frame >= self.content.frames()
    }

    /// What broke, if anything did.
    pub(crate) fn failure(&self) -> Option<String> {
        match self.ended {
            Some(Reason::Vanished) => Some("nothing came from the receiver any more".to_owned()),
            _ => self.source_failure.clone(),
        }
    }

    /// What it knows of its frames.
    pub(crate) fn counts(&self) -> FrameCounts {
        self.counts
    }

    /// All that the server knows of the stream; `None` before video flows and after it has ended.
    pub(crate) fn state(&self) -> Option<ServerState> {
        (self.started && self.ended.is_none()).then(|| self.server.state())
    }

    /// The state of the stream; `None` before video flows and after it has ended.
    pub(crate) fn sample(&self, at: Timestamp) -> Option<FlowSample> {
        let state = self.state()?;
        Some(FlowSample {
            at,
            srtt: state.controller.round_trip,
            sending_rate: Some(state.decision.map_or(state.controller.rate, |decision| decision.rate)),
            estimate: state.controller.estimate,
            level: u8::try_from(state.level).ok(),
            ..FlowSample::default()
        })
    }

    /// What was recorded.
    pub(crate) fn into_log(self) -> SenderLog {
        let frames = 0..self.content.frames();
        let level = |frame: u32| self.levels.get(frame as usize).copied().flatten();
        let facts = frames.map(|frame| self.content.facts(frame, level(frame), self.start));
        SenderLog { frames: Some(self.log.frame_events.with(facts)), ..self.log }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Started { .. } => self.started = true,
                ServerEvent::SourceFailed(error) => self.source_failure = Some(error.to_string()),
                ServerEvent::Ended(reason) => self.ended = Some(reason),
                ServerEvent::LevelChanged { .. } => {}
            }
        }
    }

    fn record(&mut self, now: Timestamp, header: &VideoHeader, size: usize) {
        let frame = frame_of(header);
        if let Some(frame) = frame.filter(|&frame| self.levels.len() <= frame as usize) {
            self.leave_out(now, frame);
            self.levels.push(Some(header.level));
            self.counts.offered += 1;
            self.event(frame, now, FrameEventKind::Offered);
            self.event(frame, now, FrameEventKind::FirstByte);
        }
        self.log.datagrams.push(DatagramSent {
            sequence: header.sequence.into(),
            frame,
            part: Some(header.index),
            size: u32::try_from(size).unwrap_or(u32::MAX),
            headers: VIDEO_HEADER_LENGTH as u16,
            at: now,
            sent: true,
        });
        if let Some(frame) = frame.filter(|_| header.last && header.repeats.is_none()) {
            self.event(frame, now, FrameEventKind::LastByte);
        }
    }

    /// The frames before `frame` that were not sent: the server did not hold them for worth it.
    fn leave_out(&mut self, now: Timestamp, frame: u32) {
        while self.levels.len() < frame as usize {
            let left_out = self.levels.len() as u32;
            self.levels.push(self.levels.last().copied().flatten());
            self.counts.offered += 1;
            self.counts.given_up += 1;
            self.event(left_out, now, FrameEventKind::Offered);
            let rule = "left out by the server".to_owned();
            self.event(left_out, now, FrameEventKind::Discarded { place: LossPlace::SenderPipeline, rule });
        }
    }

    fn event(&mut self, frame: u32, at: Timestamp, what: FrameEventKind) {
        self.log.frame_events.push(FrameEvent { frame, at, what });
    }
}

/// Where the server sees its client, on a channel that is connected to it (RFC 5737 has the address for examples).
fn client(channel: SessionChannel) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(192, 0, 2, 2), 1 + channel.index() as u16))
}

impl Half for AdaptiveSender {
    fn channels(&self) -> Vec<Channel> {
        channels()
    }

    fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        if let (Some(channel), Arrival::Datagram(bytes)) = (channel_of(channel), arrival) {
            self.server.handle_datagram(now, channel, client(channel), bytes);
            self.take_events();
        }
    }

    /// A packet says when it left: none is made while there is no room for it.
    fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        let video = channel_id(SessionChannel::Data);
        let mut room = None;
        loop {
            if !self.is_waiting() && !channels.has_room(video) {
                room = Some(video);
                break;
            }
            let Some(transmit) = self.waiting.take().or_else(|| self.poll_transmit(now)) else { break };
            let (channel, sequence) = (channel_id(transmit.channel), transmit.carries.map(|header| header.sequence));
            if channels.send(channel, &transmit.bytes, sequence)? == DatagramSend::WouldBlock {
                room = Some(channel);
                self.waiting = Some(transmit);
                break;
            }
        }
        let timeout = if room.is_none() { self.server.next_timeout() } else { None };
        Ok(Wait { room: room.into(), timeout, finished: self.is_finished() && !self.is_waiting() })
    }

    /// Ends the stream, and says so to the receiver.
    fn stop(&mut self, now: Timestamp) {
        self.server.stop(now);
        self.take_events();
    }
}

/// The frame that a packet is a part of; none of audio, which counts by itself.
fn frame_of(header: &VideoHeader) -> Option<u32> {
    (!header.audio).then_some(header.frame)
}
