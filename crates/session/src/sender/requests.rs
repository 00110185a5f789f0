//! What is said where the receiver asks for the movie.

use framewire_units::Timestamp;

use super::SenderSession;
use crate::exchange::Wish;
use crate::half::Arrival;

/// Why a flow breaks whose receiver ends it.
const ENDED_EARLY: &str = "the receiver ended it before it had all of the movie";

/// Why one breaks that says nothing, or not what is understood.
const NEVER_ASKED: &str = "the receiver did not ask for the movie";

impl SenderSession {
    /// True when frames may be offered.
    pub(super) fn has_begun(&self) -> bool {
        self.serving.is_none() || self.log.begun.is_some()
    }

    pub(super) fn handle_request(&mut self, now: Timestamp, arrival: Arrival<'_>) {
        let Some(serving) = &mut self.serving else { return };
        match arrival {
            Arrival::Bytes(bytes) => {
                if let Err(reason) = serving.handle_bytes(now, bytes) {
                    self.failure.get_or_insert(reason);
                }
            }
            Arrival::Ended => serving.handle_close(now),
            Arrival::Opened | Arrival::Datagram(_) => {}
        }
    }

    /// Does what the receiver wants, and hands over what is to be said.
    pub(super) fn serve(&mut self, now: Timestamp) {
        let Some(mut serving) = self.serving.take() else { return };
        if serving.next_timeout().is_some_and(|at| at <= now) {
            serving.handle_timeout(now);
        }
        while let Some(wish) = serving.poll_wish() {
            match wish {
                Wish::Begin if self.log.begun.is_none() => {
                    self.programme = self.programme.starting_at(now);
                    self.log.begun = Some(now);
                }
                Wish::End if !self.all_is_offered() => {
                    self.failure.get_or_insert_with(|| ENDED_EARLY.to_owned());
                }
                Wish::Begin | Wish::End => {}
            }
        }
        if serving.is_over() && self.log.begun.is_none() {
            self.failure.get_or_insert_with(|| NEVER_ASKED.to_owned());
        }
        while let Some(message) = serving.poll_transmit() {
            self.half.handle_message(message);
        }
        self.serving = Some(serving);
    }

    /// When all is written, there may be something to say before the stream ends; true where there is something to write.
    pub(super) fn ends_now(&mut self, now: Timestamp) -> bool {
        let is_last = self.all_is_offered() && !self.end_signalled;
        let Some(serving) = self.serving.as_mut().filter(|_| is_last) else { return false };
        if !std::mem::replace(&mut self.all_sent, true) {
            serving.handle_all_sent(now);
            return true;
        }
        if serving.is_over() {
            self.end_signalled = true;
            self.half.handle_end(now);
        }
        self.end_signalled
    }
}
