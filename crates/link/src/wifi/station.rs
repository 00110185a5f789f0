//! One station of the distributed coordination function (clause 10.3): its queue, its backoff, its exchange.

use std::collections::VecDeque;

use framewire_units::{DataSize, Domain, Duration, Seed, Timestamp};

use crate::config::ETHERNET_MTU;

use crate::queue::QueueLimit;
use crate::queue::{Arrival, Discipline, Dropped, QueueDiscipline, QueueSetup, Queued};
use crate::rates::Rates;
use crate::verdict::{DropCause, Hop, HopRecord, Outcome, Packet, PacketId};
use crate::wifi::agenda::EventKind;
use crate::wifi::bss::Bss;
use crate::wifi::phy::DataRate;
use crate::wifi::rate_control::{RateControl, RatePolicy};

/// What a station is, beside what all stations of a medium share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationConfig {
    /// Interface queue; the packet being sent is not counted.
    pub queue: QueueLimit,
    /// What becomes of what waits in it.
    pub queue_discipline: Discipline,
    /// The hop that its verdicts name.
    pub hop: Hop,
    /// Maximal number of transmissions of a packet, 0 for [`DEFAULT_RETRY`](crate::wifi::DEFAULT_RETRY); `None`: that
    /// of the medium.
    pub retry: Option<u16>,
    /// A background station: it always has an IP packet of this size of its own to send, and its packets raise no
    /// events. It is not given packets.
    pub saturated: Option<DataSize>,
}

/// What a station did since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// Transmissions of its packets, collisions included.
    pub transmissions: u64,
    /// Transmissions that began together with another station's.
    pub collisions: u64,
    /// Packets that the other end has.
    pub delivered: u64,
    /// IP bytes of these packets.
    pub delivered_size: DataSize,
    /// Packets given up after the maximal number of transmissions.
    pub dropped: u64,
}

impl std::ops::Add for StationCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            transmissions: self.transmissions + other.transmissions,
            collisions: self.collisions + other.collisions,
            delivered: self.delivered + other.delivered,
            delivered_size: self.delivered_size + other.delivered_size,
            dropped: self.dropped + other.dropped,
        }
    }
}

/// The number of every packet of background stations.
const BACKGROUND: PacketId = PacketId(u64::MAX);

/// The packet that the station sends now.
#[derive(Clone, Debug)]
pub(super) struct Head {
    queued: Queued,
    /// When it became the one to send.
    ready: Timestamp,
    started: Option<Timestamp>,
    transmissions: Rates,
    /// When the receiver first had it whole.
    pub(super) received: Option<Timestamp>,
}

/// A transmission whose fate is decided and not yet known to its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    /// When the sender knows: end of the acknowledgement, or of the wait for it.
    pub(super) resolved: Timestamp,
    pub(super) acknowledged: bool,
    /// False when the data frame was not sent, because its request was not answered.
    pub(super) data_sent: bool,
    /// When its DIFS or EIFS after that is over.
    pub(super) count_from: Timestamp,
}

/// A hop's verdict, and when the station was done with the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationVerdict {
    /// The hop's record.
    pub record: HopRecord,
    /// End of the last exchange, or the moment of the refusal.
    pub released: Timestamp,
}

/// The times that a station counts by.
#[derive(Clone, Copy, Debug)]
struct MacTiming {
    /// Nanoseconds: backoffs are counted in slots by each station for each exchange.
    slot: u64,
    difs: Duration,
    cw_min: u32,
}

#[derive(Debug)]
pub(super) struct Station {
    config: StationConfig,
    number: u64,
    /// Draws of backoffs.
    draws: Domain,
    timing: MacTiming,
    max_transmissions: u16,
    /// Arrivals that the medium's clock has not reached, in order.
    arrivals: VecDeque<Queued>,
    queue: Box<dyn QueueDiscipline>,
    /// What the queue dropped in a call; kept to save an allocation.
    dropped: Vec<Dropped>,
    /// What is to be reported.
    pub(super) verdicts: Vec<StationVerdict>,
    pub(super) head: Option<Head>,
    last_queue_change: Timestamp,
    contention_window: u32,
    /// Slots left; `None` when no backoff is pending.
    backoff: Option<u32>,
    /// When this station's DIFS or EIFS after the last busy time is over and slots count.
    count_from: Timestamp,
    pub(super) in_flight: Option<InFlight>,
    pub(super) rate_control: RateControl,
    /// Its number of transmissions names the place of the channel's draws.
    pub(super) counters: StationCounters,
    backoffs: u64,
}

impl Station {
    pub(super) fn new(
        config: StationConfig,
        bss: &Bss,
        rate: RatePolicy,
        max_transmissions: u16,
        number: u64,
        seed: Seed,
    ) -> Self {
        let timing = MacTiming { slot: bss.slot().as_nanos() as u64, difs: bss.difs(), cw_min: bss.cw_min() };
        let queue_seed = Seed(seed.stream("station queue", &[number]).next_u64());
        // What it carries depends on the others: the rate on the air is the best guess.
        let fastest = bss.standard.rates().iter().map(|rate| rate.bitrate()).max();
        let setup = QueueSetup { limit: config.queue, mtu: ETHERNET_MTU, rate: fastest };
        let mut station = Self {
            config,
            number,
            draws: seed.domain("backoff"),
            timing,
            max_transmissions,
            arrivals: VecDeque::new(),
            queue: config.queue_discipline.build(&setup, queue_seed),
            dropped: Vec::new(),
            verdicts: Vec::new(),
            head: None,
            last_queue_change: Timestamp::ZERO,
            contention_window: timing.cw_min,
            backoff: None,
            count_from: Timestamp::ZERO + timing.difs,
            in_flight: None,
            rate_control: RateControl::new(rate, bss.standard),
            counters: StationCounters::default(),
            backoffs: 0,
        };
        if station.is_saturated() {
            // As after an earlier packet, or all of them would begin together.
            station.head = station.next_head(Timestamp::ZERO);
            station.draw_backoff();
        }
        station
    }

    /// True for a background station.
    pub(super) fn is_saturated(&self) -> bool {
        self.config.saturated.is_some()
    }

    /// True when an arrival at `at` can still take effect at that time although others' events after it are settled:
    /// it joins the queue behind a packet that was there already, and so affects no other station.
    pub(super) fn can_join_at(&self, at: Timestamp) -> bool {
        self.head.is_some() && self.last_queue_change <= at
    }

    /// Takes note of an arrival that the medium's clock has not reached.
    pub(super) fn schedule(&mut self, arrival: Queued) {
        let position = self.arrivals.partition_point(|other| other.at <= arrival.at);
        self.arrivals.insert(position, arrival);
    }

    /// What comes next here, and when it is settled; at [`Timestamp::MAX`] where nothing does. A start is settled when
    /// all have noticed it who do not begin themselves.
    pub(super) fn next_event(&self, carrier_sense: Duration) -> (Timestamp, EventKind) {
        let never = Timestamp::MAX;
        let own = match self.in_flight {
            Some(in_flight) => (in_flight.resolved, EventKind::Resolve),
            None => (self.next_transmission().map_or(never, |start| start + carrier_sense), EventKind::Start),
        };
        let arrival = self.arrivals.front().map_or(never, |arrival| arrival.at);
        own.min((arrival, EventKind::Arrival))
    }

    pub(super) fn take_arrival(&mut self) -> Option<Queued> {
        self.arrivals.pop_front()
    }

    /// A packet arrives; the medium is busy until `busy_until`.
    pub(super) fn handle_arrival(&mut self, arrival: Queued, busy_until: Timestamp) {
        self.last_queue_change = self.last_queue_change.max(arrival.at);
        if self.head.is_none() {
            self.request_access(arrival.at, busy_until);
            self.head = Some(Head::new(arrival, arrival.at));
            return;
        }
        self.queue.enqueue(Arrival { packet: arrival, wait: None, idle: Duration::ZERO }, &mut self.dropped);
        self.note_drops(arrival.at);
    }

    /// The verdicts on what the queue dropped at `at`.
    fn note_drops(&mut self, at: Timestamp) {
        if self.dropped.is_empty() {
            return;
        }
        let mut dropped = std::mem::take(&mut self.dropped);
        for Dropped { packet, cause } in dropped.drain(..) {
            self.conclude(Head::new(packet, at), at, at, Outcome::Dropped(cause));
        }
        self.dropped = dropped;
    }

    /// Clause 10.3.4.2: a station that finds the medium idle for a DIFS sends at once; one that finds it busy, or has
    /// not finished the backoff after its last transmission, waits for its backoff.
    fn request_access(&mut self, at: Timestamp, busy_until: Timestamp) {
        if at < busy_until {
            if self.backoff.is_none() {
                self.draw_backoff();
            }
        } else if self.count_end() <= at {
            self.backoff = None;
        }
    }

    fn draw_backoff(&mut self) {
        let mut draws = self.draws.stream(&[self.number, self.backoffs]);
        self.backoffs += 1;
        self.backoff = Some(draws.next_inclusive(self.contention_window));
    }

    fn count_end(&self) -> Timestamp {
        let slots = u64::from(self.backoff.unwrap_or(0));
        Timestamp::from_nanos(self.count_from.as_nanos().saturating_add(slots * self.timing.slot))
    }

    /// When it sends next, if no other station does before.
    pub(super) fn next_transmission(&self) -> Option<Timestamp> {
        match (&self.head, self.in_flight) {
            (Some(head), None) => Some(self.count_end().max(head.ready)),
            _ => None,
        }
    }

    /// An exchange begins: the number of its attempt, from 1, the packet, and the rate of its data.
    pub(super) fn begin(&mut self, at: Timestamp) -> (u16, Packet, DataRate) {
        let rate = self.rate_control.rate(at);
        let head = self.head.as_mut().expect("invariant: only a station with a packet has a next transmission");
        self.backoff = None;
        self.counters.transmissions += 1;
        head.started.get_or_insert(at);
        (head.transmissions.len() as u16 + 1, head.queued.packet, rate)
    }

    /// The exchange has sent a frame at `rate`: data, or a request that stays without an answer.
    pub(super) fn record_transmission(&mut self, rate: DataRate) {
        let head = self.head.as_mut().expect("invariant: a transmission has a packet");
        head.transmissions.push(rate.bitrate());
    }

    /// Others transmit from `at`: the backoff counter stops, and goes on at `count_from`.
    pub(super) fn defer(&mut self, at: Timestamp, count_from: Timestamp) {
        if let Some(slots) = self.backoff {
            let counted = at.as_nanos().saturating_sub(self.count_from.as_nanos()) / self.timing.slot;
            let left = slots - counted.min(u64::from(slots)) as u32;
            self.backoff = (left > 0 || self.head.is_some()).then_some(left);
        } else if self.head.is_some() {
            // It waited for the end of its DIFS without a backoff, and the medium became busy.
            self.draw_backoff();
        }
        self.count_from = self.count_from.max(count_from);
    }

    /// The packet that it will be done with at the end of the exchange in progress, and when that is.
    pub(super) fn release(&self) -> Option<(Packet, Timestamp)> {
        let (head, in_flight) = self.head.as_ref().zip(self.in_flight)?;
        let done = in_flight.acknowledged || self.is_exhausted(head);
        done.then_some((head.queued.packet, in_flight.resolved))
    }

    fn is_exhausted(&self, head: &Head) -> bool {
        head.transmissions.len() >= usize::from(self.max_transmissions)
    }

    /// The fate of its transmission is known to it.
    pub(super) fn resolve(&mut self) {
        let in_flight = self.in_flight.take().expect("invariant: resolved once per transmission");
        let head = self.head.take().expect("invariant: a transmission has a packet");
        let exhausted = self.is_exhausted(&head);
        match in_flight {
            InFlight { acknowledged: true, .. } => self.rate_control.handle_success(),
            InFlight { data_sent: true, .. } => self.rate_control.handle_failure(),
            InFlight { data_sent: false, .. } => {}
        }
        if exhausted && !in_flight.acknowledged {
            self.rate_control.handle_packet_given_up(in_flight.resolved);
        }
        self.count_from = self.count_from.max(in_flight.count_from);
        if in_flight.acknowledged || exhausted {
            self.contention_window = self.timing.cw_min;
            self.draw_backoff();
            self.finish(head, in_flight.resolved);
        } else {
            self.contention_window = (2 * self.contention_window + 1).min(Bss::CW_MAX);
            self.draw_backoff();
            self.head = Some(head);
        }
    }

    fn finish(&mut self, head: Head, at: Timestamp) {
        self.last_queue_change = self.last_queue_change.max(at);
        let (finished, outcome) = match head.received {
            Some(received) => {
                self.counters.delivered += 1;
                self.counters.delivered_size += head.queued.packet.size;
                (received, Outcome::Delivered)
            }
            None => {
                self.counters.dropped += 1;
                (at, Outcome::Dropped(DropCause::RetryLimit))
            }
        };
        self.conclude(head, finished, at, outcome);
        self.head = self.next_head(at);
    }

    /// The packet to send after one that was done with at `at`.
    fn next_head(&mut self, at: Timestamp) -> Option<Head> {
        let own = self.config.saturated.map(|size| Queued::new(Packet::new(BACKGROUND, size), at));
        let next = own.or_else(|| self.next_waiting(at));
        next.map(|next| Head::new(next, at))
    }

    fn next_waiting(&mut self, at: Timestamp) -> Option<Queued> {
        if self.queue.backlog().packets == 0 {
            return None;
        }
        let next = self.queue.dequeue(at, &mut self.dropped);
        self.note_drops(at);
        next
    }

    fn conclude(&mut self, head: Head, finished: Timestamp, released: Timestamp, outcome: Outcome) {
        let Queued { packet, at, clamped, marked } = head.queued;
        let record = HopRecord {
            packet: packet.id,
            hop: self.config.hop,
            size: packet.size,
            enqueued: at,
            clamped,
            started: head.started,
            finished,
            transmissions: head.transmissions,
            marked,
            outcome,
        };
        self.verdicts.push(StationVerdict { record, released });
    }
}

impl Head {
    fn new(queued: Queued, ready: Timestamp) -> Self {
        Self { queued, ready, started: None, transmissions: Rates::new(), received: None }
    }
}
