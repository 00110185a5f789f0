//! What the link said of each datagram.

use std::iter::Peekable;

use framewire_units::Timestamp;

use crate::record::{FlowLog, LossPlace};
use crate::spool::{Lookup, Sorter};

/// The verdict that decides: a drop, or else the hop that delivered it last.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Dropped(Timestamp, LossPlace, &'static str),
    Delivered(Timestamp, &'static str),
}

impl Verdict {
    /// A drop outweighs deliveries (of other hops, or of other fragments); the first drop and the last delivery count.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Dropped(at, ..), Self::Dropped(other_at, ..)) => {
                if other_at < at {
                    other
                } else {
                    self
                }
            }
            (Self::Dropped(..), Self::Delivered(..)) => self,
            (Self::Delivered(..), Self::Dropped(..)) => other,
            (Self::Delivered(at, _), Self::Delivered(other_at, _)) => {
                if other_at >= at {
                    other
                } else {
                    self
                }
            }
        }
    }
}

/// The verdicts by sequence number.
pub(super) struct Verdicts(Sorter<(u64, Verdict), u64>);

impl Verdicts {
    pub(crate) fn of(log: &FlowLog) -> Self {
        let datagrams = log.packets.iter().filter(|packet| packet.tells_its_frame());
        let verdicts = datagrams.filter_map(|packet| {
            let verdict = match packet.dropped {
                Some((place, cause)) => Verdict::Dropped(packet.finished, place, cause),
                None => Verdict::Delivered(packet.finished, packet.hop),
            };
            Some((packet.sequence?, verdict))
        });
        Self(Sorter::of(log.frames.beside(), |verdict| verdict.0, verdicts))
    }

    /// The verdict that decides on each datagram, in order of their sequence numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Verdict)> {
        let mut verdicts: Peekable<_> = self.0.iter().peekable();
        std::iter::from_fn(move || {
            let (sequence, mut verdict) = verdicts.next()?;
            while let Some((_, other)) = verdicts.next_if(|(next, _)| *next == sequence) {
                verdict = verdict.and(other);
            }
            Some((sequence, verdict))
        })
    }

    /// The hop that datagrams passed last before they arrived; `arrived` are their sequence numbers, ascending.
    pub(crate) fn last_hop(&self, mut arrived: impl Iterator<Item = u64>) -> Option<&'static str> {
        let mut verdicts = Lookup::new(self.iter());
        arrived.find_map(|sequence| match verdicts.of(sequence) {
            Some(Verdict::Delivered(_, hop)) => Some(hop),
            _ => None,
        })
    }
}
