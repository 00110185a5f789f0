//! Round trips, counted by sequence numbers: a round ends when what was sent after its beginning is acknowledged.

use super::Acknowledgement;

/// The present round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Over when this number is passed; `None` after a reset, until the next acknowledgement shows what was sent.
    end: Option<u64>,
}

impl Round {
    /// The round of a new connection, whose stream begins at number 1.
    pub(super) fn first() -> Self {
        Self { end: Some(1) }
    }

    /// Begins a round outside an acknowledgement: it ends with what is in flight then.
    pub(super) fn reset(&mut self) {
        self.end = None;
    }

    /// To be called with each acknowledgement, first.
    pub(super) fn note(&mut self, ack: &Acknowledgement) {
        self.end.get_or_insert(ack.next_sequence);
    }

    /// True when `ack` passes the end; a new round begins then.
    pub(super) fn ends_with(&mut self, ack: &Acknowledgement) -> bool {
        let is_over = self.end.is_some_and(|end| ack.first_unacknowledged > end);
        if is_over {
            self.end = Some(ack.next_sequence);
        }
        is_over
    }
}
