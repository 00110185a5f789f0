use std::collections::BTreeSet;

use framewire_units::Timestamp;

/// When which session has something to do: at most one entry for each.
#[derive(Debug, Default)]
pub(super) struct Agenda(BTreeSet<(Timestamp, u64)>);

impl Agenda {
    /// Moves the entry of a session; `None` is no entry.
    pub(super) fn reschedule(&mut self, session: u64, from: Option<Timestamp>, to: Option<Timestamp>) {
        if from == to {
            return;
        }
        if let Some(from) = from {
            self.0.remove(&(from, session));
        }
        if let Some(to) = to {
            self.0.insert((to, session));
        }
    }

    /// The earliest time.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.0.first().map(|&(at, _)| at)
    }

    /// The entry that has waited for longest, if the time of any has come.
    pub(super) fn due(&self, now: Timestamp) -> Option<(Timestamp, u64)> {
        self.0.first().copied().filter(|&(at, _)| at <= now)
    }
}
