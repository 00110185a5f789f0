//! Latencies and interarrival jitter of frames, in order of arrival.

use framewire_units::{Duration, JitterEstimator, Timestamp, Timing};

use super::{FrameRow, mpegstat_latency};
use crate::record::FrameFacts;
use crate::spool::{Lookup, Sorter, Spool};

/// A frame that arrived.
#[derive(Clone, Debug)]
pub(crate) struct InOrder {
    pub arrival: Timestamp,
    /// Its place among all rows.
    pub frame: u32,
    /// After the first arrival of the flow.
    pub relative: Option<Duration>,
    /// After it was due.
    pub latency: Option<i64>,
    /// After its group's first frame was due.
    pub place: Duration,
    /// What the header of the group of pictures that comes with it says.
    pub group_time: Option<Duration>,
}

/// What a frame that arrived was late by, in nanoseconds, and the jitter then.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    pub frame: u32,
    pub latency: Option<i64>,
    pub jitter: Option<i64>,
}

/// Collects the frames that arrived, in decode order, and fills in what follows from the order of their arrivals.
pub(super) struct Delays {
    arrived: Sorter<InOrder, (Timestamp, u32)>,
    places: mpegstat_latency::Places,
    /// The first row of sound, which has delays of its own.
    first_of_sound: u32,
}

impl Delays {
    /// None yet; `list` is an empty one.
    pub(crate) fn new(list: Spool<InOrder>) -> Self {
        Self {
            arrived: Sorter::new(list, |one| (one.arrival, one.frame)),
            places: mpegstat_latency::Places::default(),
            first_of_sound: u32::MAX,
        }
    }

    /// Takes the next row, which has this place among all.
    pub(crate) fn take(&mut self, frame: u32, row: &FrameRow, facts: &FrameFacts) {
        if row.track != 0 {
            self.first_of_sound = self.first_of_sound.min(frame);
        }
        let place = self.places.take(facts);
        let Some(arrival) = row.arrival else { return };
        self.arrived.push(InOrder {
            arrival,
            frame,
            relative: row.arrival_relative,
            latency: row.latency_nanos,
            place,
            group_time: facts.group_time,
        });
    }

    /// The rows with the latency, where the thesis counts it otherwise, and the jitter of every frame that arrived. The
    /// first has no jitter: it has none to be compared with.
    ///
    /// As in section 3.4 of the thesis. Frames that arrived at the same moment are taken in decode order. `settle` is called
    /// with every row, in decode order.
    pub(crate) fn fill(
        mut self,
        rows: Spool<FrameRow>,
        timing: Timing,
        mut settle: impl FnMut(&mut FrameRow),
    ) -> Spool<FrameRow> {
        self.arrived.ready();
        let (mut estimator, mut clock) = (JitterEstimator::default(), mpegstat_latency::GroupClock::default());
        let mut of_sound = JitterEstimator::default();
        let delays = self.arrived.iter().map(|one| {
            if one.frame >= self.first_of_sound {
                let jitter = one.latency.and_then(|latency| of_sound.update(latency));
                return Delay { frame: one.frame, latency: one.latency, jitter };
            }
            let by_thesis = clock.latency(&one);
            let latency = if timing == Timing::Thesis { by_thesis } else { one.latency };
            let jitter = latency.and_then(|latency| estimator.update(latency));
            Delay { frame: one.frame, latency, jitter }
        });
        let delays = Sorter::of(rows.beside(), |delay: &Delay| delay.frame, delays);
        let mut delays = Lookup::new(delays.iter().map(|delay| (delay.frame.into(), delay)));
        let mut places = 0..;
        rows.map_in_place(|row| {
            if let Some(delay) = places.next().and_then(|place| delays.of(place)) {
                (row.latency_nanos, row.jitter_nanos) = (delay.latency, delay.jitter);
            }
            settle(row);
        })
    }
}
