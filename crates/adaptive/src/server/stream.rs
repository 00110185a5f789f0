use std::sync::Arc;

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::vtp::{MAX_PAYLOAD, Missing, VideoHeader};

use super::ServerState;
use super::cursor::{Cursor, NextPacket};
use super::pacer::Pacer;
use super::repeats::{Rank, Remembered, Repeats};
use crate::controller::{Controller, ControllerState, Decision, Feedback, PlanRates};
use crate::datagram::{DropReason, Drops};
use crate::liveness::UNKNOWN_ROUND_TRIP;
use crate::source::{PacketSource, Plan, PlanWithAudio, SourceError};

/// The video of a session: the file side (cursor), the network side (pacer) and the controller between them.
pub(super) struct Stream {
    cursor: Cursor,
    pacer: Pacer,
    plan: Arc<dyn Plan>,
    rates: Vec<Bitrate>,
    controller: Box<dyn Controller>,
    decision: Option<Decision>,
    /// Before this, it was not known that the next packet may leave so early.
    known_since: Timestamp,
    /// A live stream has not come further: a packet was due, and there was none.
    waits: bool,
    ack_every: u32,
    sequence: u32,
    packets: u64,
    /// Of them, those of audio.
    audio: u64,
    sent: DataSize,
    /// The last sample of the round trip, whatever the controller makes of it.
    round_trip: Option<Duration>,
    /// Where the session has repeats.
    repeats: Option<Repeats>,
}

/// A video packet that leaves.
pub(super) struct Sent {
    /// When it was to leave.
    pub(super) due: Timestamp,
    /// What it carries.
    pub(super) header: VideoHeader,
    /// From which level to which, when this is the first packet of another one.
    pub(super) level_change: Option<(usize, usize)>,
    pub(super) bytes: Vec<u8>,
}

impl Stream {
    pub(super) fn new(
        source: Arc<dyn PacketSource>,
        plan: Arc<dyn Plan>,
        controller: Box<dyn Controller>,
        ack_every: u32,
    ) -> Self {
        Self {
            plan: PlanWithAudio::of(&*source, plan),
            cursor: Cursor::new(source),
            pacer: Pacer::default(),
            rates: vec![],
            controller,
            decision: None,
            known_since: Timestamp::ZERO,
            waits: false,
            ack_every,
            sequence: 0,
            packets: 0,
            audio: 0,
            sent: DataSize::ZERO,
            round_trip: None,
            repeats: None,
        }
    }

    pub(super) fn start(&mut self, now: Timestamp) {
        self.cursor.begin();
        self.handle_more(now);
        self.decide(now);
    }

    pub(super) fn handle_feedback(&mut self, now: Timestamp, feedback: &Feedback) {
        if let Feedback::Control(packet) = feedback
            && packet.sender_time <= now
        {
            self.round_trip = Some(now.saturating_since(packet.sender_time));
        }
        let (controller, plan) = self.with_plan();
        controller.handle_feedback(now, feedback, &plan);
        self.decide(now);
    }

    pub(super) fn handle_timeout(&mut self, now: Timestamp) {
        if self.controller.next_timeout().is_some_and(|due| due <= now) {
            let (controller, plan) = self.with_plan();
            controller.handle_timeout(now, &plan);
            self.decide(now);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Timestamp> {
        let due = || self.decision.map(|decision| self.pacer.due(decision.rate));
        let departure = if self.waits { self.next_repeat() } else { due() };
        match (departure, self.controller.next_timeout()) {
            (Some(departure), Some(control)) => Some(departure.min(control)),
            (departure, control) => departure.or(control),
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.cursor.is_at_end() && !self.cursor.owes_audio()
    }

    /// What is sent can be asked for again, once the client has offered that.
    pub(super) fn allow_repeats(&mut self) {
        self.repeats.get_or_insert_default();
    }

    pub(super) fn agree_on_repeats(&mut self) {
        self.repeats.get_or_insert_default().agree();
    }

    /// The client named packets; see [`Repeats::handle_missing`].
    pub(super) fn handle_missing(
        &mut self,
        now: Timestamp,
        missing: &Missing,
        is_over: bool,
    ) -> Result<(), DropReason> {
        if is_over {
            self.known_since = now; // nothing waited to leave
        }
        let round_trip = self.round_trip();
        let repeats = self.repeats.as_mut().ok_or(DropReason::Unexpected)?;
        repeats.handle_missing(now, missing, round_trip, is_over)
    }

    /// When the next repeat may leave; `None` when there is none.
    pub(super) fn next_repeat(&self) -> Option<Timestamp> {
        let waits = self.repeats.as_ref().is_some_and(|repeats| !repeats.is_empty());
        self.decision.filter(|_| waits).map(|decision| self.pacer.due(decision.rate))
    }

    /// The next packet that is sent again, if it is due and one is wanted that can still be shown in time.
    pub(super) fn poll_repeat(&mut self, now: Timestamp, session: u64) -> Result<Option<Sent>, SourceError> {
        let (Some(decision), Some(_)) = (self.decision, self.next_repeat()) else { return Ok(None) };
        if !self.pacer.is_due(now, decision.rate) {
            return Ok(None);
        }
        let round_trip = self.round_trip();
        while let Some(packet) = self.repeats.as_mut().and_then(|repeats| repeats.next(now, round_trip)) {
            let level = usize::from(packet.level);
            let next = match packet.rank {
                Rank::Audio => Some(self.cursor.audio_again(packet.frame)?),
                Rank::Key | Rank::Other => self.cursor.again(packet.frame, level, packet.index)?,
            };
            let Some(next) = next else { continue };
            let due = self.due().map_or(now, |due| due.min(now)); // a clock that went back
            let (header, bytes) =
                self.send(now, session, decision.rate, &next, packet.rank == Rank::Audio, Some(packet.sequence));
            if let Some(repeats) = &mut self.repeats {
                repeats.count(DataSize::from_bytes(next.packet.bytes.len() as u64));
            }
            self.decide(now);
            return Ok(Some(Sent { due, header, level_change: None, bytes }));
        }
        Ok(None)
    }

    /// The next packet, if it is due: first what is to be repeated, which is needed first.
    pub(super) fn poll(&mut self, now: Timestamp, session: u64) -> Result<Option<Sent>, SourceError> {
        let Some(decision) = self.decision else { return Ok(None) };
        if !self.pacer.is_due(now, decision.rate) {
            return Ok(None);
        }
        if let Some(repeat) = self.poll_repeat(now, session)? {
            return Ok(Some(repeat));
        }
        if let Some(audio) = self.next_audio(now)? {
            return Ok(Some(self.leave(now, session, decision.rate, &audio, true)));
        }
        let before = self.cursor.level();
        let next = self.cursor.take(decision.level)?;
        self.wait_for_more(next.is_none());
        let Some(next) = next else { return Ok(None) };
        if next.packet.bytes.len() > MAX_PAYLOAD {
            let reason = format!("{} bytes, and a datagram has room for {MAX_PAYLOAD}", next.packet.bytes.len());
            let (frame, level, index) = (next.frame, next.level, u32::from(next.index));
            return Err(SourceError::Video { frame, level, index, reason });
        }
        let sent = self.leave(now, session, decision.rate, &next, false);
        let level_change = (next.level != before).then_some((before, next.level));
        Ok(Some(Sent { level_change, ..sent }))
    }

    /// A packet that was not sent before.
    fn leave(&mut self, now: Timestamp, session: u64, rate: Bitrate, next: &NextPacket, audio: bool) -> Sent {
        let due = self.due().map_or(now, |due| due.min(now)); // a clock that went back
        let (header, bytes) = self.send(now, session, rate, next, audio, None);
        self.decide(now);
        Sent { due, header, level_change: None, bytes }
    }

    /// A live stream has come further.
    pub(super) fn handle_more(&mut self, now: Timestamp) {
        if std::mem::take(&mut self.waits) {
            self.known_since = now;
        }
        if let Some(made) = self.cursor.made() {
            self.controller.handle_more(now, made);
        }
    }

    /// Notes whether there is nothing to send yet.
    fn wait_for_more(&mut self, nothing: bool) {
        let waits = nothing && !self.cursor.is_at_end();
        if waits && !self.waits {
            self.controller.handle_idle();
        }
        self.waits = waits;
    }

    /// Leaves out what the controller does not keep, up to the next frame at which a level may be entered, or to the audio
    /// before a frame, which is never left out.
    fn next_audio(&mut self, now: Timestamp) -> Result<Option<NextPacket>, SourceError> {
        loop {
            let audio = self.cursor.take_audio()?;
            if audio.is_some() || !self.cursor.may_skip() {
                return Ok(audio);
            }
            let (controller, plan) = self.with_plan();
            if controller.keeps_frame(now, &plan) {
                return Ok(None);
            }
            self.cursor.skip_frame();
        }
    }

    /// `repeats` is the packet that carried the same before.
    fn send(
        &mut self,
        now: Timestamp,
        session: u64,
        rate: Bitrate,
        next: &NextPacket,
        audio: bool,
        repeats: Option<u32>,
    ) -> (VideoHeader, Vec<u8>) {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let header = VideoHeader {
            ack_request: self.sequence.is_multiple_of(self.ack_every),
            session,
            sequence,
            sender_time: now,
            size: DataSize::from_bytes(next.packet.bytes.len() as u64),
            frame: next.frame,
            index: next.index,
            level: u8::try_from(next.level).expect("invariant: a server has at most 255 levels"),
            last: next.packet.last,
            key: next.packet.key,
            media_time: next.media_time,
            round_trip: self.controller.state().round_trip.unwrap_or_default(),
            repeats,
            audio,
        };
        if let Some(remembering) = &mut self.repeats {
            remembering.remember(remembered(&header));
        }
        self.pacer.depart(now, rate, header.size);
        self.packets += 1;
        self.audio += u64::from(audio);
        self.sent += header.size;
        self.controller.handle_sent(now, sequence, header.size, header.ack_request);
        let mut bytes = vec![];
        header.emit(&next.packet.bytes, &mut bytes);
        (header, bytes)
    }

    pub(super) fn controller_state(&self) -> ControllerState {
        self.controller.state()
    }

    pub(super) fn state(&self, drops: Drops) -> ServerState {
        ServerState {
            controller: self.controller.state(),
            decision: self.decision,
            plan: self.rates.clone(),
            frame: self.cursor.frame(),
            media_time: self.cursor.media_time(),
            level: self.cursor.level(),
            packets: self.packets,
            audio: self.audio,
            sent: self.sent,
            repeats: self.repeats.as_ref().map(Repeats::counts).unwrap_or_default(),
            drops,
        }
    }

    /// The round trip to reckon with: the controller's may be the least one, and the last one may be longer.
    fn round_trip(&self) -> Duration {
        self.controller.state().round_trip.max(self.round_trip).unwrap_or(UNKNOWN_ROUND_TRIP)
    }

    fn decide(&mut self, now: Timestamp) {
        let (due, rate) = (self.due(), self.decision.map(|decision| decision.rate));
        let (controller, plan) = self.with_plan();
        let decision = controller.decision(now, &plan);
        self.decision = Some(decision);
        if rate != Some(decision.rate) {
            self.known_since = due.map_or(now, |due| due.min(now));
        }
    }

    /// When the next packet is to leave. A rate that rises moves it to a time that may have passed; a driver is late
    /// only from the moment when it could know.
    fn due(&self) -> Option<Timestamp> {
        self.decision.map(|decision| self.pacer.due(decision.rate).max(self.known_since))
    }

    /// The controller, and the plan where the stream is.
    fn with_plan(&mut self) -> (&mut dyn Controller, PlanRates<'_>) {
        let (now_in_stream, place) = (self.cursor.media_time(), self.cursor.place());
        self.rates.clear();
        self.rates.extend((0..self.plan.levels()).map(|level| self.plan.rate_at(level, place)));
        (&mut *self.controller, PlanRates { now_in_stream, rates: &self.rates })
    }
}

fn remembered(header: &VideoHeader) -> Remembered {
    Remembered {
        sequence: header.sequence,
        frame: header.frame,
        index: header.index,
        level: header.level,
        rank: match (header.audio, header.key) {
            (true, _) => Rank::Audio,
            (false, true) => Rank::Key,
            (false, false) => Rank::Other,
        },
        media_time: header.media_time,
        sent: header.sender_time,
    }
}
