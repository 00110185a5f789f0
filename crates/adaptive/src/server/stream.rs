use std::sync::Arc;

use framewire_units::{Bitrate, DataSize, Timestamp};
use framewire_wire::vtp::{MAX_PAYLOAD, VideoHeader};

use super::ServerState;
use super::cursor::{Cursor, NextPacket};
use super::pacer::Pacer;
use crate::controller::{Controller, ControllerState, Decision, Feedback, PlanRates};
use crate::datagram::Drops;
use crate::source::{PacketSource, Plan, SourceError};

/// The video of a session: the file side (cursor), the network side (pacer) and the controller between them.
pub(super) struct Stream {
    cursor: Cursor,
    pacer: Pacer,
    plan: Arc<dyn Plan>,
    rates: Vec<Bitrate>,
    controller: Box<dyn Controller>,
    decision: Option<Decision>,
    /// Before this, nobody knew that the next packet may leave so early.
    known_since: Timestamp,
    ack_every: u32,
    sequence: u32,
    packets: u64,
    sent: DataSize,
}

/// A video packet that leaves.
pub(super) struct Sent {
    /// When it was to leave.
    pub(super) due: Timestamp,
    pub(super) frame: u32,
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
            cursor: Cursor::new(source),
            pacer: Pacer::default(),
            plan,
            rates: vec![],
            controller,
            decision: None,
            known_since: Timestamp::ZERO,
            ack_every,
            sequence: 0,
            packets: 0,
            sent: DataSize::ZERO,
        }
    }

    pub(super) fn start(&mut self, now: Timestamp) {
        self.decide(now);
    }

    pub(super) fn handle_feedback(&mut self, now: Timestamp, feedback: &Feedback) {
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
        let departure = self.decision.map(|decision| self.pacer.due(decision.rate));
        [departure, self.controller.next_timeout()].into_iter().flatten().min()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.cursor.is_at_end()
    }

    /// The next packet, if it is due.
    pub(super) fn poll(&mut self, now: Timestamp, session: u64) -> Result<Option<Sent>, SourceError> {
        let Some(decision) = self.decision else { return Ok(None) };
        if !self.pacer.is_due(now, decision.rate) {
            return Ok(None);
        }
        self.skip_frames(now);
        let before = self.cursor.level();
        let Some(next) = self.cursor.take(decision.level)? else { return Ok(None) };
        if next.packet.bytes.len() > MAX_PAYLOAD {
            let reason = format!("{} bytes, and a datagram has room for {MAX_PAYLOAD}", next.packet.bytes.len());
            let (frame, level, index) = (next.frame, next.level, u32::from(next.index));
            return Err(SourceError { frame, level, index, reason });
        }
        let due = self.due().unwrap_or(now);
        let bytes = self.send(now, session, decision.rate, &next);
        self.decide(now);
        let level_change = (next.level != before).then_some((before, next.level));
        Ok(Some(Sent { due, frame: next.frame, level_change, bytes }))
    }

    /// Leaves out what the controller does not keep, up to the next frame at which a level may be entered.
    fn skip_frames(&mut self, now: Timestamp) {
        while self.cursor.may_skip() {
            let (controller, plan) = self.with_plan();
            if controller.keeps_frame(now, &plan) {
                return;
            }
            self.cursor.skip_frame();
        }
    }

    fn send(&mut self, now: Timestamp, session: u64, rate: Bitrate, next: &NextPacket) -> Vec<u8> {
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
        };
        self.pacer.depart(now, rate, header.size);
        self.packets += 1;
        self.sent += header.size;
        self.controller.handle_sent(now, sequence, header.size, header.ack_request);
        let mut bytes = vec![];
        header.emit(&next.packet.bytes, &mut bytes);
        bytes
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
            sent: self.sent,
            drops,
        }
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
        let now_in_stream = self.cursor.media_time();
        self.rates.clear();
        self.rates.extend((0..self.plan.levels()).map(|level| self.plan.rate_at(level, now_in_stream)));
        (&mut *self.controller, PlanRates { now_in_stream, rates: &self.rates })
    }
}
