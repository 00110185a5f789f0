//! What does not come to a client although it should.

use framewire_adaptive::client::ClientEvent;
use framewire_units::{Duration, Timestamp};

use crate::no_feedback::PATIENCE;

/// Silence at the beginning that is worth a word: requests are repeated after 0.25, 0.5 and each further second.
const SILENCE: Duration = Duration::from_secs(3);

/// Notices what does not come although it should.
///
/// Hand in whatever happens to the client ([`handle`](Self::handle)), and ask it ten times a second or so
/// ([`poll`](Self::poll)). Packets have to be events
/// ([`packet_events`](framewire_adaptive::client::ClientSettings::packet_events)): they show what has reached the
/// server.
#[derive(Clone, Debug)]
pub struct SilenceWatch {
    began: Timestamp,
    /// When the first packet came.
    first_packet: Option<Timestamp>,
    is_answered: bool,
    /// The server has a round trip: it receives the reports.
    is_heard: bool,
    /// Something but the top level comes, so that reports matter: `fixed` sends the top level and listens to none.
    is_below_top: bool,
    levels: usize,
    reported_silent: bool,
    reported_no_feedback: bool,
}

/// What a [`SilenceWatch`] noticed; each is returned once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Nothing came from the server.
    NoAnswer {
        /// For so long, from the beginning.
        waited: Duration,
    },
    /// Packets come, below the top level, and the server has used none of this side's reports: it has no round trip.
    NoFeedback {
        /// For so long, from the first packet on.
        waited: Duration,
    },
}

impl SilenceWatch {
    /// From `began` on.
    pub fn new(began: Timestamp) -> Self {
        Self {
            began,
            first_packet: None,
            is_answered: false,
            is_heard: false,
            is_below_top: false,
            levels: 0,
            reported_silent: false,
            reported_no_feedback: false,
        }
    }

    /// Whatever happens in the session.
    pub fn handle(&mut self, now: Timestamp, event: &ClientEvent) {
        match event {
            ClientEvent::Described(description) => self.levels = description.rates.len(),
            ClientEvent::Packet { header, .. } => {
                self.first_packet.get_or_insert(now);
                self.is_heard |= !header.round_trip.is_zero();
                self.is_below_top |= !header.audio && usize::from(header.level) + 1 < self.levels;
            }
            _ => {}
        }
        self.is_answered = true;
    }

    /// What is noticed by now, if it was not returned yet.
    pub fn poll(&mut self, now: Timestamp) -> Option<Silence> {
        let is_silent = !self.is_answered && now.saturating_since(self.began) >= SILENCE;
        if is_silent && !self.reported_silent {
            self.reported_silent = true;
            return Some(Silence::NoAnswer { waited: SILENCE });
        }
        let is_late = self.first_packet.is_some_and(|first| now.saturating_since(first) >= PATIENCE);
        if is_late && !self.is_heard && self.is_below_top && !self.reported_no_feedback {
            self.reported_no_feedback = true;
            return Some(Silence::NoFeedback { waited: PATIENCE });
        }
        None
    }
}

#[cfg(test)]
#[path = "silence_tests.rs"]
mod tests;
