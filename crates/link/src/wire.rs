//! One direction of a wire: a bottleneck, then loss, delay and jitter.

use framewire_units::{Bitrate, Duration, Seed, Timestamp};

use crate::bottleneck::{Bottleneck, Fate, Settled};
use crate::config::WireConfig;
use crate::loss::Loss;
use crate::queue::Queued;
use crate::rates::Rates;
use crate::verdict::{Hop, HopRecord, Outcome, Packet, Timeout, TimeoutReason};

/// Propagation: a delay and a jitter that never reorders, and ticks at which packets come out.
#[derive(Clone, Debug)]
struct Propagation {
    delay: Duration,
    jitter: Duration,
    tick: Duration,
    seed: Seed,
    wire: u64,
    packets: u64,
    last: Timestamp,
}

impl Propagation {
    #[inline]
    fn arrival(&mut self, departure: Timestamp) -> Timestamp {
        let jitter = self.next_jitter();
        self.last = self.last.max((departure + self.delay + jitter).next_multiple_of(self.tick));
        self.last
    }

    /// A draw of the packet's own, and so none where there is nothing to draw.
    fn next_jitter(&mut self) -> Duration {
        if self.jitter.is_zero() {
            return Duration::ZERO;
        }
        let mut draws = self.seed.stream("jitter", &[self.wire, self.packets]);
        self.packets += 1;
        Duration::from_nanos((draws.next_f64() * self.jitter.as_nanos() as f64) as u64)
    }
}

/// One direction of a wire.
///
/// Every handler gives what it settled to its last argument. Verdicts come in the order of departures and drops.
#[derive(Debug)]
pub(crate) struct Wire {
    bottleneck: Bottleneck,
    line: Line,
}

/// What a wire decided on a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireVerdict {
    /// The packet as it leaves.
    pub(crate) packet: Packet,
    /// When the transmitter was done with it.
    pub(crate) released: Timestamp,
    /// Its life on this hop; delivered at `finished`, or dropped then.
    pub(crate) record: HopRecord,
}

impl Wire {
    /// An idle wire; `number` names it among those of the network, for its draws.
    pub(crate) fn new(config: &WireConfig, hop: Hop, seed: Seed, number: u64) -> Self {
        let queue_seed = Seed(seed.stream("queue", &[number]).next_u64());
        let propagation = Propagation {
            delay: config.delay,
            jitter: config.jitter,
            tick: config.tick,
            seed,
            wire: number,
            packets: 0,
            last: Timestamp::ZERO,
        };
        let loss = Loss::new(config.loss, config.outages.clone(), seed, number);
        Self {
            bottleneck: Bottleneck::new(config, queue_seed),
            line: Line { hop, rate: config.rate, loss, propagation },
        }
    }

    /// When a packet enters the queue that is stamped `at`: at that time, unless something later is settled already.
    pub(crate) fn entry(&self, at: Timestamp) -> Timestamp {
        self.bottleneck.entry(at)
    }

    /// A packet arrives at `at`.
    #[inline]
    pub(crate) fn handle_packet(&mut self, at: Timestamp, packet: Packet, mut verdict: impl FnMut(WireVerdict)) {
        let Self { bottleneck, line } = self;
        bottleneck.handle_packet(at, packet, |settled| verdict(line.verdict(settled)));
    }

    /// Settles all that happens up to `now`.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, mut verdict: impl FnMut(WireVerdict)) {
        let Self { bottleneck, line } = self;
        bottleneck.handle_timeout(now, |settled| verdict(line.verdict(settled)));
    }

    /// When `handle_timeout` is due; `None` where only a packet can change something.
    pub(crate) fn next_timeout(&self) -> Option<Timeout> {
        let at = self.bottleneck.next_timeout()?;
        Some(Timeout { at, reason: TimeoutReason::Departure })
    }
}

/// What comes behind the bottleneck, and the verdicts on packets.
#[derive(Debug)]
struct Line {
    hop: Hop,
    rate: Option<Bitrate>,
    loss: Loss,
    propagation: Propagation,
}

impl Line {
    #[inline]
    fn verdict(&mut self, settled: Settled) -> WireVerdict {
        let Settled { packet: Queued { packet, at, clamped, marked }, fate } = settled;
        let (service, released, (finished, outcome)) = match fate {
            Fate::Dropped { at, cause } => (None, at, (at, Outcome::Dropped(cause))),
            Fate::Served(service) => (Some(service), service.departure, self.propagate(service.departure)),
        };
        let record = HopRecord {
            packet: packet.id,
            hop: self.hop,
            size: packet.size,
            enqueued: at,
            clamped,
            started: service.map(|service| service.start),
            finished,
            transmissions: service.and(self.rate).map_or_else(Rates::new, Rates::from),
            marked,
            outcome,
        };
        WireVerdict { packet, released, record }
    }

    #[inline]
    fn propagate(&mut self, departure: Timestamp) -> (Timestamp, Outcome) {
        match self.loss.handle_packet(departure) {
            Err(cause) => (departure, Outcome::Dropped(cause)),
            Ok(()) => (self.propagation.arrival(departure), Outcome::Delivered),
        }
    }
}
