use std::cmp::Reverse;
use std::collections::BinaryHeap;

use framewire_units::Timestamp;

/// When which session has something to do. Entries are never taken out: who reads them knows which ones count.
#[derive(Debug, Default)]
pub(super) struct Agenda(BinaryHeap<Reverse<(Timestamp, u64)>>);

impl Agenda {
    pub(super) fn add(&mut self, at: Timestamp, session: u64) {
        self.0.push(Reverse((at, session)));
    }

    /// The next entry that `counts`; those before it are forgotten.
    pub(super) fn next(&mut self, counts: impl Fn(u64, Timestamp) -> bool) -> Option<Timestamp> {
        while let Some(&Reverse((at, session))) = self.0.peek() {
            if counts(session, at) {
                return Some(at);
            }
            self.0.pop();
        }
        None
    }

    /// The first entry, if its time has come.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<(Timestamp, u64)> {
        let &Reverse((at, session)) = self.0.peek()?;
        (at <= now).then(|| {
            self.0.pop();
            (at, session)
        })
    }
}
