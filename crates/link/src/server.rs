//! How fast a bottleneck sends: when each packet's first and last bit leave.

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use crate::config::WireConfig;
use crate::framing::Framing;
use crate::token_bucket::Bucket;
use crate::trace::TraceServer;

/// When a packet is serialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// First bit.
    pub(crate) start: Timestamp,
    /// Last bit: it enters the wire.
    pub(crate) departure: Timestamp,
}

/// How fast it sends.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    /// In no time.
    Instant { free: Timestamp },
    /// At a constant rate.
    Constant { rate: Bitrate, free: FineTime },
    /// When a recorded link could.
    Recorded(TraceServer),
    /// With more around each packet, or within a token bucket, or both.
    Shaped(Box<Shaped>),
}

/// A server with what not every one has.
#[derive(Clone, Debug)]
pub(crate) struct Shaped {
    line: Server,
    framing: Framing,
    bucket: Option<Bucket>,
}

/// What waits, as IP packets and as what the line carries for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// IP bytes.
    pub(crate) packets: DataSize,
    /// Bytes on the line.
    pub(crate) line: DataSize,
}

/// A time with its fraction of a nanosecond, so that a rate is exact over any number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FineTime {
    nanos: Timestamp,
    /// In units of a nanosecond divided by the rate in bits per second.
    fraction: u64,
}

impl std::ops::Add for Load {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, line: self.line + other.line }
    }
}

impl std::ops::Sub for Load {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { packets: self.packets - other.packets, line: self.line - other.line }
    }
}

impl Server {
    /// That of a wire.
    pub(crate) fn new(config: &WireConfig) -> Self {
        let line = match (&config.trace, config.rate) {
            (Some(trace), _) => Self::Recorded(TraceServer::new(trace.clone())),
            (None, Some(rate)) => Self::Constant { rate, free: FineTime::default() },
            (None, None) => Self::Instant { free: Timestamp::ZERO },
        };
        if config.framing == Framing::NONE && config.shaper.is_none() {
            return line;
        }
        Self::Shaped(Box::new(Shaped { line, framing: config.framing, bucket: config.shaper.map(Bucket::new) }))
    }

    /// Since when nothing is served, where nothing is.
    pub(crate) fn free_since(&self) -> Timestamp {
        self.start_for(Timestamp::ZERO)
    }

    /// When a packet that comes at `at` would begin to be served, after all earlier ones.
    #[inline]
    pub(crate) fn start_for(&self, at: Timestamp) -> Timestamp {
        match self {
            Self::Instant { free } => at.max(*free),
            Self::Constant { free, .. } => at.max(free.nanos),
            Self::Recorded(server) => server.start_for(at),
            Self::Shaped(shaped) => shaped.start_for(at),
        }
    }

    /// What it has to send of a packet.
    pub(crate) fn load(&self, packet: DataSize) -> Load {
        let line = match self {
            Self::Shaped(shaped) => shaped.framing.on_line(packet),
            Self::Instant { .. } | Self::Constant { .. } | Self::Recorded(_) => packet,
        };
        Load { packets: packet, line }
    }

    /// When a packet that comes at `at` would begin to be served behind so much that waits since `since`.
    pub(crate) fn start_behind(&self, load: Load, since: Timestamp, at: Timestamp) -> Timestamp {
        let waiting = load.line;
        match self {
            Self::Instant { free } => at.max(*free),
            Self::Constant { rate, free } => at.max(free.after(waiting, *rate).nanos),
            Self::Recorded(server) => {
                let mut server = server.clone();
                if waiting > DataSize::ZERO {
                    server.serve(since, waiting);
                }
                server.start_for(at)
            }
            Self::Shaped(shaped) => {
                let line = shaped.line.start_behind(load, since, at);
                match &shaped.bucket {
                    Some(bucket) if waiting > DataSize::ZERO => {
                        line.max(bucket.ready(shaped.line.start_for(since), load.packets))
                    }
                    _ => line,
                }
            }
        }
    }

    /// Serves a packet that is there from `at` on, after all earlier ones.
    #[inline]
    pub(crate) fn serve(&mut self, at: Timestamp, size: DataSize) -> Service {
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
            Self::Shaped(shaped) => shaped.serve(at, size),
        }
    }

    /// Nothing else is served until then.
    fn hold(&mut self, until: Timestamp) {
        match self {
            Self::Instant { free } => *free = until.max(*free),
            Self::Constant { free, .. } => *free = FineTime::at(until).max(*free),
            Self::Recorded(_) | Self::Shaped(_) => {}
        }
    }
}

impl Shaped {
    #[inline(never)]
    fn start_for(&self, at: Timestamp) -> Timestamp {
        self.line.start_for(at)
    }

    /// A packet leaves the queue when the one before it has left the line, and its last bit follows when the bucket has
    /// filled up for it: what has left in any time since is never more than the burst and what the rate brings.
    // Apart, so that a server without any of it is served in one piece of code.
    #[inline(never)]
    fn serve(&mut self, at: Timestamp, size: DataSize) -> Service {
        let Service { start, departure } = self.line.serve(at, self.framing.on_line(size));
        let Some(bucket) = &mut self.bucket else { return Service { start, departure } };
        let ready = bucket.ready(start, size);
        bucket.take(start, size);
        if ready > departure {
            self.line.hold(ready);
        }
        Service { start, departure: departure.max(ready) }
    }
}

impl FineTime {
    /// A whole nanosecond.
    pub(crate) const fn at(nanos: Timestamp) -> Self {
        Self { nanos, fraction: 0 }
    }

    /// Without its fraction.
    pub(crate) const fn nanos(self) -> Timestamp {
        self.nanos
    }

    /// When `size` has been serialised at `rate`.
    #[inline]
    pub(crate) fn after(self, size: DataSize, rate: Bitrate) -> Self {
        // Up to 2 GB it fits: of wider numbers a division takes three times as long.
        let narrow = size.as_bits().checked_mul(1_000_000_000).and_then(|bits| bits.checked_add(self.fraction));
        let rate = rate.as_bps();
        if let Some(exact) = narrow {
            return Self { nanos: self.nanos + Duration::from_nanos(exact / rate), fraction: exact % rate };
        }
        let rate = u128::from(rate);
        let exact = u128::from(size.as_bits()) * 1_000_000_000 + u128::from(self.fraction);
        let nanos = u64::try_from(exact / rate).unwrap_or(u64::MAX);
        Self { nanos: self.nanos + Duration::from_nanos(nanos), fraction: (exact % rate) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// In narrow and in wide numbers, which begin at some 2.3 GB.
        #[test]
        fn a_rate_is_exact_to_the_fraction(
            bytes in prop_oneof![0u64..10_000, 2_200_000_000u64..2_400_000_000, any::<u32>().prop_map(|n| u64::from(n) << 8)],
            bps in prop_oneof![1u64..1_000_000_000, (u64::MAX - 1_000)..u64::MAX],
            fraction in any::<u64>(),
        ) {
            let fraction = fraction % bps;
            let start = FineTime { nanos: Timestamp::from_secs(1), fraction };
            let after = start.after(DataSize::from_bytes(bytes), Bitrate::from_bps(bps));
            let exact = u128::from(bytes) * 8_000_000_000 + u128::from(fraction);
            let nanos = u64::try_from(exact / u128::from(bps)).unwrap_or(u64::MAX);
            prop_assert_eq!(after.nanos, start.nanos + Duration::from_nanos(nanos));
            prop_assert_eq!(u128::from(after.fraction), exact % u128::from(bps));
        }
    }
}
