//! A session that is one of many of the same movie: it keeps no ledger, and says how punctual it is.

use bytes::Bytes;
use framewire_scenario::Pacing;
use framewire_units::{Duration, Timestamp};

use super::SenderSession;

/// How one of many receivers is sent a movie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Showing {
    /// When it begins.
    pub(crate) start: Timestamp,
    /// By its frame clock, or as fast as it is taken.
    pub(crate) pacing: Pacing,
    /// How much of it is due at the start: what the receiver then has ahead of its player.
    pub(crate) ahead: Duration,
    /// It begins anew where it has ended, for as long as there is a receiver.
    pub(crate) is_endless: bool,
}

/// What is known of such a session.
#[derive(Debug)]
pub(super) struct Shown {
    start: Timestamp,
    /// By how much frames were offered late that were not looked at yet.
    late: Vec<Duration>,
    /// Packets of RTP that were written and not looked at yet.
    packets: Vec<PacketSent>,
}

/// A packet of RTP that was written, for the reports about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketSent {
    pub(crate) timestamp: u32,
    /// Bytes of its payload.
    pub(crate) octets: u32,
    pub(crate) is_sound: bool,
}

impl SenderSession {
    /// The same session as one of many: nothing of its frames is recorded.
    pub(crate) fn shown(self, showing: &Showing) -> Self {
        let programme = self.programme.starting_at(showing.start).sooner(showing.ahead);
        let programme = if showing.is_endless { programme.without_end() } else { programme };
        let shown = Some(Shown { start: showing.start, late: Vec::new(), packets: Vec::new() });
        Self { programme, pacing: showing.pacing, shown, ..self }
    }

    /// The same of a file, whose sound stands where its index says, behind so many frames and packets of sound.
    pub(crate) fn of_file(self, [frames, sounds]: [u32; 2]) -> Self {
        let plan = self.programme.plan();
        let first = frames.min(plan.len() - 1);
        let passed = plan.due(first).saturating_since(plan.start());
        Self { programme: self.programme.sooner(passed), next: frames, next_sound: sounds, is_file: true, ..self }
    }

    /// By how much frames were offered late since it was asked last, of those that were due after the start.
    pub(crate) fn take_lateness(&mut self) -> Vec<Duration> {
        self.shown.as_mut().map(|shown| std::mem::take(&mut shown.late)).unwrap_or_default()
    }

    /// Packets of RTP that were written since it was asked last, where they go between messages of a session.
    pub(crate) fn take_packets(&mut self) -> Vec<PacketSent> {
        self.shown.as_mut().map(|shown| std::mem::take(&mut shown.packets)).unwrap_or_default()
    }

    /// Writes a message of the session behind the packet that was begun.
    pub(crate) fn handle_message(&mut self, message: Vec<u8>) {
        self.half.handle_message(message);
    }

    /// What has to be written of a packet and of messages, before the stream goes on in another way.
    pub(crate) fn take_begun(&mut self) -> Vec<Bytes> {
        self.half.take_begun()
    }

    pub(super) fn note_packet(&mut self, packet: PacketSent) {
        if let Some(shown) = &mut self.shown {
            shown.packets.push(packet);
        }
    }

    pub(super) fn note_lateness(&mut self, now: Timestamp, due: Timestamp) {
        let has_clock = self.pacing == Pacing::Sender;
        if let Some(shown) = self.shown.as_mut().filter(|shown| has_clock && due > shown.start) {
            shown.late.push(now.saturating_since(due));
        }
    }
}
