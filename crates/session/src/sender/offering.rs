//! Which frame or packet of sound is offered next, and when: the frame clock.

use framewire_recording::record::FrameEventKind;
use framewire_scenario::Pacing;
use framewire_units::Timestamp;

use super::SenderSession;

impl SenderSession {
    pub(super) fn can_offer(&self, now: Timestamp) -> bool {
        !self.stopped
            && self.has_begun()
            && self.half.wants_frame()
            && self.next < self.programme.end()
            && (self.pacing != Pacing::Sender || self.programme.due(self.next) <= now)
    }

    /// Sound is offered at its own time, whatever waits; where the sender has no clock, by the time of the next frame.
    pub(super) fn can_offer_sound(&self, now: Timestamp) -> bool {
        let is_due = |place| match self.pacing {
            Pacing::Sender if !self.is_file => self.sound_turn().is_some_and(|at| at <= now),
            _ => self.next == self.programme.end() || place < self.programme.place(self.next),
        };
        !self.stopped && self.has_begun() && self.programme.sound_place(self.next_sound).is_some_and(is_due)
    }

    /// When the next packet of sound is offered by the frame clock. What is due sooner than it plays keeps its order with frames, of which
    /// the first has the tables of a transport stream.
    pub(super) fn sound_turn(&self) -> Option<Timestamp> {
        let (due, place) = (self.programme.sound_due(self.next_sound)?, self.programme.sound_place(self.next_sound)?);
        let is_next = self.next == self.programme.end() || place < self.programme.place(self.next);
        Some(if is_next { due } else { place })
    }

    pub(super) fn offer_due(&mut self, now: Timestamp) {
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

    pub(super) fn offer_frame(&mut self, now: Timestamp) {
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

    pub(super) fn offer_sound(&mut self, now: Timestamp) {
        let sound = self.programme.outgoing_sound(self.next_sound);
        self.record(sound.id, now, FrameEventKind::Offered);
        self.next_sound += 1;
        match &mut self.sound {
            Some(half) => half.handle_sound(now, sound),
            None => self.half.handle_sound(now, sound),
        }
        self.drain_events();
    }

    pub(super) fn end_when_all_is_offered(&mut self, now: Timestamp) {
        if !self.all_is_offered() || self.end_signalled {
            return;
        }
        match self.responses {
            None => self.signal_end(now),
            // It is signalled when that has said what is to be said behind all of it.
            Some(_) => self.half.handle_complete(),
        }
    }

    /// No more is offered.
    pub(super) fn signal_end(&mut self, now: Timestamp) {
        self.end_signalled = true;
        self.half.handle_end(now);
        if let Some(sound) = &mut self.sound {
            sound.handle_end(now);
        }
    }

    pub(super) fn all_is_offered(&self) -> bool {
        self.next == self.programme.end() && self.programme.sound_due(self.next_sound).is_none()
    }
}
