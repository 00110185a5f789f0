//! The distributed coordination function of N stations that all hear each other (clause 10.3).
//!
//! Time jumps from event to event: arrivals, ends of exchanges, and the next expiry of a backoff.

use std::collections::VecDeque;

use framewire_units::{Domain, Duration, Probability, Seed, Timestamp};

use crate::config::{ConfigError, WifiConfig};
use crate::queue::Queued;
use crate::validate::validate_wifi;
use crate::verdict::{Packet, SniffedFrame, Timeout, TimeoutReason};
use crate::wifi::agenda::{Agenda, Due, EventKind};
use crate::wifi::bss::Bss;
use crate::wifi::error_model::ErrorModel;
use crate::wifi::station::{Station, StationConfig, StationCounters, StationVerdict};

/// The card's own retry value, which a value of 0 stands for (thesis, section 1.3).
pub const DEFAULT_RETRY: u16 = 16;

/// A station of a [`Medium`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StationId(pub usize);

/// Something that was decided on the medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediumEvent {
    /// The other end has the packet whole at `at`, for the first time. Comes when the exchange begins.
    Received {
        /// The station that sent it.
        station: StationId,
        /// The packet.
        packet: Packet,
        /// End of its frame on the air.
        at: Timestamp,
    },
    /// A station will be done with a packet that it transmits, at `at`. Comes when its last exchange begins.
    Released {
        /// The station.
        station: StationId,
        /// The packet.
        packet: Packet,
        /// End of the exchange, or of the wait for its acknowledgement.
        at: Timestamp,
    },
    /// A station is done with a packet, or refused it.
    Done {
        /// The station.
        station: StationId,
        /// Its verdict.
        verdict: StationVerdict,
    },
    /// The sniffer captured a transmission.
    Sniffed(SniffedFrame),
}

/// One channel and the stations on it.
///
/// Driven like [`Network`](crate::Network): `handle_packet` and `handle_timeout`, then `poll_event` until nothing is
/// left, then sleep until `next_timeout`. An event at a time t is settled by the first `handle_timeout` after t.
#[derive(Debug)]
pub struct Medium {
    seed: Seed,
    /// Fates of frames on the air.
    pub(super) channel: Domain,
    /// What the sniffer captures.
    pub(super) sniffer: Domain,
    pub(super) config: WifiConfig,
    pub(super) bss: Bss,
    /// A station that begins within this time of another's beginning has not noticed it.
    carrier_sense: Duration,
    pub(super) errors: ErrorModel,
    pub(super) stations: Vec<Station>,
    agenda: Agenda,
    pub(super) events: VecDeque<MediumEvent>,
    /// Time of the last event that was settled.
    settled: Timestamp,
    /// End of the last frame exchange: until then the medium is busy.
    pub(super) busy_until: Timestamp,
    /// Stations that begin to transmit; kept to save an allocation per exchange.
    starters: Vec<usize>,
}

impl Medium {
    /// A medium without stations.
    ///
    /// # Errors
    /// When a value of the configuration makes no sense.
    pub fn new(config: &WifiConfig, seed: Seed) -> Result<Self, ConfigError> {
        validate_wifi("wifi", config)?;
        Ok(Self::with_errors(config, seed, ErrorModel::new(config, seed)))
    }

    /// A medium whose data frames fail with one probability whatever their rate and size, and whose
    /// acknowledgements never do: the channel of many papers, and of the reference runs in the tests.
    ///
    /// # Errors
    /// When a value of the configuration makes no sense.
    pub fn with_frame_errors(config: &WifiConfig, seed: Seed, frames: Probability) -> Result<Self, ConfigError> {
        validate_wifi("wifi", config)?;
        Ok(Self::with_errors(config, seed, ErrorModel::Constant(frames)))
    }

    fn with_errors(config: &WifiConfig, seed: Seed, errors: ErrorModel) -> Self {
        let bss = config.bss();
        Self {
            seed,
            channel: seed.domain("channel"),
            sniffer: seed.domain("sniffer"),
            config: config.clone(),
            bss,
            carrier_sense: config.carrier_sense.unwrap_or_else(|| bss.carrier_sense()),
            errors,
            stations: Vec::new(),
            agenda: Agenda::default(),
            events: VecDeque::new(),
            settled: Timestamp::ZERO,
            busy_until: Timestamp::ZERO,
            starters: Vec::new(),
        }
    }

    /// Adds a station; its number in order names the place of its draws.
    pub fn add_station(&mut self, config: StationConfig) -> StationId {
        let max_transmissions = match config.retry.unwrap_or(self.config.retry) {
            0 => DEFAULT_RETRY,
            retry => retry,
        };
        let number = self.stations.len();
        let station = Station::new(config, &self.bss, self.config.rate, max_transmissions, number as u64, self.seed);
        self.stations.push(station);
        self.look_at(number);
        StationId(number)
    }

    /// A packet arrives at a station's queue at `at`, which may be before or after the last `now`. When what was
    /// settled after `at` could depend on it, its arrival is moved to that time and flagged.
    ///
    /// # Panics
    /// When `station` is not of this medium.
    pub fn handle_packet(&mut self, station: StationId, at: Timestamp, packet: Packet) {
        let queued = Queued::new(packet, at);
        if at >= self.settled {
            self.stations[station.0].schedule(queued);
        } else if self.stations[station.0].can_join_at(at) {
            self.arrive(station.0, queued);
        } else {
            self.stations[station.0].schedule(Queued { at: self.settled, clamped: true, ..queued });
        }
        self.look_at(station.0);
    }

    /// Settles all that happens before `now`.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        while let Some(Due { at, kind, station }) = self.agenda.first().filter(|due| due.at < now) {
            self.settled = self.settled.max(at);
            match kind {
                EventKind::Resolve => self.resolve(station),
                EventKind::Arrival => {
                    let arrival = self.stations[station].take_arrival().expect("invariant: it is on the agenda");
                    self.arrive(station, arrival);
                }
                EventKind::Start => self.start(at - self.carrier_sense),
            }
            match kind {
                EventKind::Resolve | EventKind::Arrival => self.look_at(station),
                EventKind::Start => {
                    let stations = self.stations.iter().enumerate();
                    self.agenda.set_all(stations.map(|(number, station)| due(number, station, self.carrier_sense)));
                }
            }
        }
    }

    /// The next thing that was decided; `None` when all have been given.
    pub fn poll_event(&mut self) -> Option<MediumEvent> {
        self.events.pop_front()
    }

    /// When `handle_timeout` is due: just after the next event.
    pub fn next_timeout(&self) -> Option<Timeout> {
        let Due { at, kind, .. } = self.agenda.first()?;
        let reason = match kind {
            EventKind::Resolve => TimeoutReason::ExchangeEnd,
            EventKind::Arrival => TimeoutReason::Propagation,
            EventKind::Start => TimeoutReason::Contention,
        };
        Some(Timeout { at: at + std::time::Duration::from_nanos(1), reason })
    }

    /// What comes next at a station may have changed.
    fn look_at(&mut self, station: usize) {
        self.agenda.set(due(station, &self.stations[station], self.carrier_sense));
    }

    /// What a station achieved so far.
    ///
    /// # Panics
    /// When `station` is not of this medium.
    pub fn counters(&self, station: StationId) -> StationCounters {
        self.stations[station.0].counters
    }

    fn arrive(&mut self, station: usize, arrival: Queued) {
        self.stations[station].handle_arrival(arrival, self.busy_until);
        self.tell(station);
    }

    fn resolve(&mut self, station: usize) {
        self.stations[station].resolve();
        self.tell(station);
    }

    /// Takes over what a station is done with; of background stations nothing is reported.
    fn tell(&mut self, number: usize) {
        let station = &mut self.stations[number];
        if station.is_saturated() {
            return station.verdicts.clear();
        }
        let done = |verdict| MediumEvent::Done { station: StationId(number), verdict };
        self.events.extend(station.verdicts.drain(..).map(done));
    }

    /// All whose backoff expires at `at` transmit, or before they can notice that; the others defer. Settled when that
    /// time is over, so that a packet which finds the medium idle meanwhile is among them.
    fn start(&mut self, at: Timestamp) {
        let mut starters = std::mem::take(&mut self.starters);
        starters.clear();
        let unnoticed = |start: Timestamp| start == at || start < at + self.carrier_sense;
        let starts = |n: usize| self.stations[n].next_transmission().is_some_and(unnoticed);
        // Nothing of a station that starts is settled later than its start: one look leaves most of them out.
        let settled_by = at + self.carrier_sense * 2;
        starters.extend((0..self.stations.len()).filter(|&n| self.agenda.of(n).at <= settled_by && starts(n)));
        let observers_from = match starters[..] {
            [alone] => self.transmit_alone(alone, at),
            _ => self.collide(&starters),
        };
        for &number in &starters {
            if self.stations[number].is_saturated() {
                continue;
            }
            if let Some((packet, at)) = self.stations[number].release() {
                self.events.push_back(MediumEvent::Released { station: StationId(number), packet, at });
            }
        }
        for (number, station) in self.stations.iter_mut().enumerate() {
            if !starters.contains(&number) {
                station.defer(at, observers_from);
            }
        }
        self.starters = starters;
    }
}

/// The next event of a station, with its number, and when it is settled.
fn due(number: usize, station: &Station, carrier_sense: Duration) -> Due {
    let (at, kind) = station.next_event(carrier_sense);
    Due { at, kind, station: number }
}
