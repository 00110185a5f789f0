//! A transmitter of fixed rate behind a queue. Departures follow from arrivals, so they are known at arrival.

use std::collections::VecDeque;

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use crate::config::QueueLimit;
use crate::queue::{Arrival, DropTail, QueueDiscipline};

/// When a packet is serialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// First bit.
    pub start: Timestamp,
    /// Last bit: it enters the wire.
    pub departure: Timestamp,
}

/// A rate and a queue, shared by all flows of one direction. What propagates behind it is not its business.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    rate: Option<Bitrate>,
    queue: DropTail<()>,
    /// Service start of every packet that still waits in `queue` at the time of the last arrival.
    starts: VecDeque<Timestamp>,
    free: FineTime,
    last_arrival: Timestamp,
}

/// A time with its fraction of a nanosecond, so that a rate is exact over any number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct FineTime {
    nanos: Timestamp,
    /// In units of a nanosecond divided by the rate in bits per second.
    fraction: u64,
}

impl Bottleneck {
    /// An idle transmitter; without a rate it serialises in no time.
    pub fn new(rate: Option<Bitrate>, limit: QueueLimit) -> Self {
        Self {
            rate,
            queue: DropTail::new(limit),
            starts: VecDeque::new(),
            free: FineTime::default(),
            last_arrival: Timestamp::ZERO,
        }
    }

    /// Moves an arrival that is seen after a later one: the order of service is settled. Returns the arrival as the
    /// queue sees it and whether it was moved.
    pub fn settle_arrival(&mut self, at: Timestamp) -> (Timestamp, bool) {
        let clamped = at < self.last_arrival;
        self.last_arrival = self.last_arrival.max(at);
        (self.last_arrival, clamped)
    }

    /// A packet arrives, not before any earlier one; `None` when the queue refuses it.
    pub fn handle_packet(&mut self, at: Timestamp, size: DataSize) -> Option<Service> {
        while self.starts.front().is_some_and(|&start| start <= at) {
            let start = self.starts.pop_front().expect("invariant: just seen");
            self.queue.dequeue(start);
        }
        let start = self.free.max(FineTime { nanos: at, fraction: 0 });
        let arrival = Arrival { at, size, wait: Some(start.nanos.saturating_since(at)) };
        self.queue.enqueue(arrival, ()).ok()?;
        self.starts.push_back(start.nanos);
        self.free = self.serialise(start, size);
        Some(Service { start: start.nanos, departure: self.free.nanos })
    }

    fn serialise(&self, start: FineTime, size: DataSize) -> FineTime {
        let Some(rate) = self.rate else { return start };
        let rate = u128::from(rate.as_bps());
        let exact = u128::from(size.as_bits()) * 1_000_000_000 + u128::from(start.fraction);
        let nanos = u64::try_from(exact / rate).unwrap_or(u64::MAX);
        FineTime { nanos: start.nanos + Duration::from_nanos(nanos), fraction: (exact % rate) as u64 }
    }
}
