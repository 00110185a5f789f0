//! The receiver's end (RFC 5348, section 6).

use std::collections::VecDeque;

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::tfrc::{DataHeader, Feedback};

use super::arrivals::Arrival;
use super::loss_detector::{Arrived, LossDetector};
use super::loss_history::LossHistory;
use super::settings::ReceiverSettings;

/// Round-trip times that a sender may claim; others are taken for the nearest. The floor keeps a sender from asking for
/// feedback after every packet, the ceiling (t_mbi of section 4.3) from asking for none.
const ROUND_TRIPS: (Duration, Duration) = (Duration::from_micros(100), Duration::from_secs(64));

/// Expirations of the feedback timer that are remembered: more than hasten in one round-trip time.
const MARKS: usize = 8;

/// A data packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPacket {
    /// Its content.
    pub header: DataHeader,
    /// Its payload.
    pub size: DataSize,
    /// Whether it was marked by ECN (congestion experienced), which counts as lost.
    pub congestion_experienced: bool,
}

/// What had arrived at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Timestamp,
    bytes: u64,
    packets: u64,
}

/// The packet that feedback refers to.
#[derive(Clone, Copy, Debug)]
struct Latest {
    arrived: Timestamp,
    sent: Timestamp,
}

/// The receiver of a TFRC flow.
///
/// # How to drive it
/// Give it every data packet ([`handle_data`](Self::handle_data)) and call [`handle_timeout`](Self::handle_timeout)
/// when [`next_timeout`](Self::next_timeout) has come; after either, send what [`poll_feedback`](Self::poll_feedback)
/// gives. There is at most one feedback packet for each data packet that arrived, usually one per round-trip time, and
/// none while nothing arrives.
#[derive(Clone, Debug)]
pub struct Receiver {
    settings: ReceiverSettings,
    detector: LossDetector,
    /// R_m of the packet with the highest number; `None` until a packet had one.
    round_trip: Option<Duration>,
    latest: Option<Latest>,
    total: Mark,
    marks: VecDeque<Mark>,
    /// Largest receive rate in packets per second so far: X_target of section 6.3.1.
    best_packet_rate: f64,
    /// Data arrived since the last feedback.
    fresh: bool,
    due: bool,
    timer: Option<Timestamp>,
    duplicates: u64,
}

impl Receiver {
    /// A receiver that has seen nothing yet.
    pub fn new(settings: ReceiverSettings) -> Self {
        let history = LossHistory::new(settings.weights, settings.history_discounting);
        Self {
            settings,
            detector: LossDetector::new(history),
            round_trip: None,
            latest: None,
            total: Mark::default(),
            marks: VecDeque::with_capacity(MARKS + 1),
            best_packet_rate: 0.0,
            fresh: false,
            due: false,
            timer: None,
            duplicates: 0,
        }
    }

    /// A data packet arrived (section 6.1).
    pub fn handle_data(&mut self, now: Timestamp, packet: &DataPacket) {
        if self.latest.is_none() {
            self.handle_first(now);
        }
        let sequence = self.extend(packet.header.sequence);
        let newest = self.detector.highest().is_none_or(|highest| sequence >= highest);
        if newest {
            let (least, most) = ROUND_TRIPS;
            self.round_trip = packet.header.round_trip.map(|claimed| claimed.clamp(least, most)).or(self.round_trip);
        }
        let arrived = self.detect(now, sequence, packet.congestion_experienced);
        if arrived == Arrived::Twice {
            self.duplicates += 1;
            return;
        }
        let overdue = self.skip_idle_expirations(now);
        self.total.bytes = self.total.bytes.saturating_add(packet.size.as_bytes());
        self.total.packets += 1;
        self.latest = Some(Latest { arrived: now, sent: packet.header.sent });
        self.fresh = true;
        // A new loss event raises p (step 4 of section 6.1), nothing else can; one that is taken back is reported at
        // once as well (section 6).
        let urgent = matches!(arrived, Arrived::WithLossEvent | Arrived::WithoutLossEvent);
        self.due |= urgent || overdue || self.round_trip.is_none();
        self.start_timer();
    }

    /// The time of [`next_timeout`](Self::next_timeout) has come, or passed (section 6.2).
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            self.due |= self.fresh;
        }
    }

    /// When the feedback timer expires. It does not run while there is nothing to report.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.timer
    }

    /// The feedback packet that is due.
    pub fn poll_feedback(&mut self, now: Timestamp) -> Option<Feedback> {
        let latest = self.latest.filter(|_| self.due && self.fresh)?;
        let (bytes, packets) = self.measure(now);
        self.best_packet_rate = self.best_packet_rate.max(packets);
        self.mark(now);
        (self.due, self.fresh) = (false, false);
        self.timer = None;
        Some(Feedback {
            echoed: latest.sent,
            delay: now.saturating_since(latest.arrived),
            receive_rate: Bitrate::from_bps((bytes * 8.0).round() as u64),
            loss_event_rate: self.loss_event_rate(),
        })
    }

    /// p: the loss event rate, 0 before the first loss.
    pub fn loss_event_rate(&self) -> f64 {
        self.detector.loss_event_rate()
    }

    /// Packets that arrived more than once, or so late that nothing is known of them any more.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Section 6.3: the first packet is reported at once, with a receive rate of zero.
    fn handle_first(&mut self, now: Timestamp) {
        if let Some(first) = self.settings.first_sequence {
            self.detector.begin(BEFORE_WRAP + u64::from(first), now);
        }
        self.due = true;
    }

    fn detect(&mut self, now: Timestamp, sequence: u64, marked: bool) -> Arrived {
        let round_trip = self.round_trip.unwrap_or_default();
        let (settings, best) = (&self.settings, self.best_packet_rate);
        let first_interval = |start: u64| {
            let null = settings.first_sequence.is_some_and(|first| BEFORE_WRAP + u64::from(first) == start);
            first_interval(settings, round_trip, if null { 0.0 } else { best })
        };
        self.detector.handle(Arrival { sequence, at: now }, marked, round_trip, &first_interval)
    }

    /// What the timer did while nothing arrived: it expired each round-trip time without an effect (the end of section
    /// 6.2). The last two of these times bound what the next feedback measures. Returns whether there was one: then the
    /// packet that arrives now is reported at once (steps 2 and 4 of section 6.1).
    fn skip_idle_expirations(&mut self, now: Timestamp) -> bool {
        let (Some(round_trip), Some(last), false) = (self.round_trip, self.marks.back(), self.fresh) else {
            return false;
        };
        let (since, period) = (last.at, round_trip.as_nanos() as u64);
        let expired = now.saturating_since(since).as_nanos() as u64 / period;
        for number in expired.saturating_sub(1).max(1)..=expired {
            self.mark(since + Duration::from_nanos(number.saturating_mul(period)));
        }
        expired > 0
    }

    /// The timer expires a round-trip time after it did the last time.
    fn start_timer(&mut self) {
        let (Some(round_trip), Some(last), None) = (self.round_trip, self.marks.back(), self.timer) else { return };
        self.timer = Some(last.at + round_trip);
    }

    /// The timer expires now, with what has arrived by now.
    fn mark(&mut self, at: Timestamp) {
        self.marks.push_back(Mark { at, ..self.total });
        if self.marks.len() > MARKS {
            self.marks.pop_front();
        }
    }

    /// Bytes and packets per second since the timer expired the last time, or a time before it when that was less than a
    /// round-trip time ago (section 6.2, step 2): never over two round-trip times or more, so that a slow sender's rate
    /// is not taken for the network's.
    fn measure(&self, now: Timestamp) -> (f64, f64) {
        let round_trip = self.round_trip.unwrap_or_default();
        let old_enough = |mark: &&Mark| now.saturating_since(mark.at) >= round_trip;
        let Some(mark) = self.marks.iter().rev().find(old_enough).or(self.marks.front()) else { return (0.0, 0.0) };
        let seconds = now.saturating_since(mark.at).max(Duration::from_nanos(1)).as_secs_f64();
        let since = |total: u64, then: u64| total.saturating_sub(then) as f64 / seconds;
        (since(self.total.bytes, mark.bytes), since(self.total.packets, mark.packets))
    }

    /// The extended number nearest to the highest so far.
    fn extend(&self, sequence: u32) -> u64 {
        let around = self.detector.highest().unwrap_or(BEFORE_WRAP + u64::from(sequence));
        let step = sequence.wrapping_sub(around as u32) as i32;
        around.saturating_add_signed(i64::from(step))
    }
}

/// Room below the first number for packets that it overtook.
const BEFORE_WRAP: u64 = 1 << 32;

/// The interval that section 6.3.1 makes up: the one at which the equation gives the best receive rate so far, which in
/// slow start is half of the best sending rate. Never less than half a packet per round-trip time, and that where the
/// first packet of the flow was lost. Rates are in packets, since the receiver does not know s.
fn first_interval(settings: &ReceiverSettings, round_trip: Duration, best: f64) -> f64 {
    let round_trip = round_trip.max(ROUND_TRIPS.0);
    let target = best.max(0.5 / round_trip.as_secs_f64());
    1.0 / settings.equation.loss_event_rate(round_trip, target)
}
