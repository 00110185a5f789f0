//! What comes next at each station of a medium, and which of that is first.

use framewire_units::Timestamp;

/// In the order in which events at the same time are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EventKind {
    /// A station knows the fate of its transmission.
    Resolve,
    /// A packet reaches a station's queue.
    Arrival,
    /// A station's backoff is over.
    Start,
}

/// An event of a station. The order is that in which events are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    /// When it is settled; [`Timestamp::MAX`] where nothing is due.
    pub(super) at: Timestamp,
    pub(super) kind: EventKind,
    pub(super) station: usize,
}

/// The next event of each station, and the first of all, which is asked for far more often than it changes.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    of_station: Vec<Due>,
    first: Option<Due>,
}

impl Agenda {
    /// The first event of all.
    pub(super) fn first(&self) -> Option<Due> {
        self.first
    }

    /// The next event of a station.
    pub(super) fn of(&self, station: usize) -> Due {
        self.of_station[station]
    }

    /// Takes the next event of the station with the number in it, which is one that is known or the next.
    pub(super) fn set(&mut self, due: Due) {
        match self.of_station.get_mut(due.station) {
            Some(known) => *known = due,
            None => self.of_station.push(due),
        }
        // Behind another station's event it changes nothing.
        if self.first.is_none_or(|first| first.station == due.station || due < first) {
            self.find_first();
        }
    }

    /// Takes the next events of all stations, in their order.
    pub(super) fn set_all(&mut self, due: impl Iterator<Item = Due>) {
        self.of_station.clear();
        self.of_station.extend(due);
        self.find_first();
    }

    fn find_first(&mut self) {
        self.first = self.of_station.iter().min().copied().filter(|due| due.at < Timestamp::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_always_the_least(changes in prop::collection::vec((0usize..6, 0u64..20, 0u8..3), 1..200)) {
            let mut agenda = Agenda::default();
            let mut known: Vec<Due> = Vec::new();
            for (station, time, kind) in changes {
                // 19 stands for nothing.
                let at = if time == 19 { Timestamp::MAX } else { Timestamp::from_nanos(time) };
                let kind = [EventKind::Resolve, EventKind::Arrival, EventKind::Start][usize::from(kind)];
                let due = Due { at, kind, station: station.min(known.len()) };
                match known.get_mut(due.station) {
                    Some(place) => *place = due,
                    None => known.push(due),
                }
                agenda.set(due);
                let least = known.iter().copied().min_by_key(|due| (due.at, due.kind, due.station));
                prop_assert_eq!(agenda.first(), least.filter(|due| due.at < Timestamp::MAX));
                prop_assert_eq!(agenda.of(due.station), due);
            }
        }
    }
}
