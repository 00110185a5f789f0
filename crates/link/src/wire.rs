//! One direction of a wire: a bottleneck, then loss, delay and jitter.

use framewire_units::{Bitrate, Duration, Seed, Timestamp};

use crate::bottleneck::{Bottleneck, Service};
use crate::config::WireConfig;
use crate::loss::Loss;
use crate::rates::Rates;
use crate::verdict::{DropCause, Hop, HopRecord, Outcome, Packet, Port};

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

/// One direction of a wire. All is decided at the arrival of a packet.
#[derive(Clone, Debug)]
pub struct Wire {
    hop: Hop,
    rate: Option<Bitrate>,
    bottleneck: Bottleneck,
    loss: Loss,
    propagation: Propagation,
}

/// What a wire decided on a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireVerdict {
    /// When the transmitter was done with it.
    pub released: Timestamp,
    /// Its life on this hop; delivered at `finished`, or dropped then.
    pub record: HopRecord,
}

impl Wire {
    /// An idle wire; `number` names it among those of the network, for its draws.
    pub fn new(config: &WireConfig, hop: Hop, seed: Seed, number: u64) -> Self {
        Self {
            hop,
            rate: config.rate,
            bottleneck: match &config.trace {
                Some(trace) => Bottleneck::recorded(trace.clone(), config.queue),
                None => Bottleneck::new(config.rate, config.queue),
            },
            loss: Loss::new(config.loss, config.outages.clone(), seed, number),
            propagation: Propagation {
                delay: config.delay,
                jitter: config.jitter,
                tick: config.tick,
                seed,
                wire: number,
                packets: 0,
                last: Timestamp::ZERO,
            },
        }
    }

    /// A packet arrives at `at`.
    pub fn handle_packet(&mut self, at: Timestamp, from: Port, packet: Packet) -> WireVerdict {
        let (enqueued, clamped) = self.bottleneck.settle_arrival(at);
        let service = self.bottleneck.handle_packet(enqueued, packet.size);
        let (finished, outcome) = match service {
            None => (enqueued, Outcome::Dropped(DropCause::QueueFull)),
            Some(service) => self.propagate(service.departure),
        };
        let record = HopRecord {
            packet: packet.id,
            hop: self.hop,
            from,
            size: packet.size,
            enqueued,
            clamped,
            started: service.map(|service| service.start),
            finished,
            transmissions: service.and(self.rate).map_or_else(Rates::new, Rates::from),
            outcome,
        };
        WireVerdict { released: released(service, enqueued), record }
    }

    fn propagate(&mut self, departure: Timestamp) -> (Timestamp, Outcome) {
        match self.loss.handle_packet(departure) {
            Err(cause) => (departure, Outcome::Dropped(cause)),
            Ok(()) => (self.propagation.arrival(departure), Outcome::Delivered),
        }
    }
}

fn released(service: Option<Service>, enqueued: Timestamp) -> Timestamp {
    service.map_or(enqueued, |service| service.departure)
}
