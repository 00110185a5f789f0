//! A transmitter behind a queue. Departures follow from arrivals, so they are known at arrival.

use std::collections::VecDeque;

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use crate::config::QueueLimit;
use crate::queue::{Arrival, DropTail, QueueDiscipline};
use crate::trace::{DeliveryTrace, TraceServer};

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
    server: Server,
    queue: DropTail<()>,
    /// Service start of every packet that still waits in `queue` at the time of the last arrival.
    starts: VecDeque<Timestamp>,
    last_arrival: Timestamp,
}

/// How fast it sends.
#[derive(Clone, Debug)]
enum Server {
    /// In no time.
    Instant { free: Timestamp },
    /// At a constant rate.
    Constant { rate: Bitrate, free: FineTime },
    /// When a recorded link could.
    Recorded(TraceServer),
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
        Self::with_server(
            match rate {
                Some(rate) => Server::Constant { rate, free: FineTime::default() },
                None => Server::Instant { free: Timestamp::ZERO },
            },
            limit,
        )
    }

    /// An idle transmitter that sends when a recorded link could.
    pub fn recorded(trace: DeliveryTrace, limit: QueueLimit) -> Self {
        Self::with_server(Server::Recorded(TraceServer::new(trace)), limit)
    }

    fn with_server(server: Server, limit: QueueLimit) -> Self {
        Self { server, queue: DropTail::new(limit), starts: VecDeque::new(), last_arrival: Timestamp::ZERO }
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
        let start = self.server.start_for(at);
        let arrival = Arrival { at, size, wait: Some(start.saturating_since(at)) };
        self.queue.enqueue(arrival, ()).ok()?;
        self.starts.push_back(start);
        Some(self.server.serve(at, size))
    }
}

impl Server {
    /// When a packet that comes at `at` would begin to be served.
    fn start_for(&self, at: Timestamp) -> Timestamp {
        match self {
            Self::Instant { free } => at.max(*free),
            Self::Constant { free, .. } => at.max(free.nanos),
            Self::Recorded(server) => server.start_for(at),
        }
    }

    fn serve(&mut self, at: Timestamp, size: DataSize) -> Service {
        match self {
            Self::Instant { free } => {
                *free = at.max(*free);
                Service { start: *free, departure: *free }
            }
            Self::Constant { rate, free } => {
                let start = (*free).max(FineTime { nanos: at, fraction: 0 });
                *free = start.after(size, *rate);
                Service { start: start.nanos, departure: free.nanos }
            }
            Self::Recorded(server) => {
                let (start, departure) = server.serve(at, size);
                Service { start, departure }
            }
        }
    }
}

impl FineTime {
    /// When `size` has been serialised at `rate`.
    fn after(self, size: DataSize, rate: Bitrate) -> Self {
        let rate = u128::from(rate.as_bps());
        let exact = u128::from(size.as_bits()) * 1_000_000_000 + u128::from(self.fraction);
        let nanos = u64::try_from(exact / rate).unwrap_or(u64::MAX);
        Self { nanos: self.nanos + Duration::from_nanos(nanos), fraction: (exact % rate) as u64 }
    }
}
