//! The sender's end (RFC 5348, section 4).

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::tfrc::Feedback;

use super::data_limits::DataLimits;
use super::receive_limit::ReceiveRates;
use super::settings::{SegmentSize, SenderSettings};

/// t_mbi: the longest time between two packets, in seconds (section 4.3).
const MAXIMUM_BACKOFF_INTERVAL: f64 = 64.0;

/// The no-feedback timer before the first round-trip sample (section 4.2 and appendix B).
const INITIAL_TIMER: Duration = Duration::from_secs(2);

/// q: how much of the round-trip time stays at a new sample (section 4.3), and of its root's mean (q2, section 4.5).
const FILTER: f64 = 0.9;

/// What a new packet adds to the mean segment size; the RFC names no filter (section 4.1), this is RFC 4828's.
const SEGMENT_GAIN: f64 = 1.0 / 16.0;

/// What is left of a receive rate at a loss in a data-limited time (section 4.3, step 4).
const DATA_LIMITED_LOSS: f64 = 0.85;

/// Round-trip times that are believed: shorter ones are a clock that stands still, longer ones than t_mbi one that
/// jumped.
const ROUND_TRIPS: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(64));

/// Why a packet did not leave earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The allowed rate: the sender sends all that it may.
    Rate,
    /// There was no data to send: the sender is data-limited.
    Data,
}

/// The sender of a TFRC flow.
///
/// # How to drive it
/// Send no packet before [`next_send`](Self::next_send), report every packet that leaves
/// ([`handle_sent`](Self::handle_sent)) and every feedback that comes ([`handle_feedback`](Self::handle_feedback)), and
/// call [`handle_timeout`](Self::handle_timeout) when [`next_timeout`](Self::next_timeout) has come. Every data packet
/// carries [`round_trip`](Self::round_trip). A sender that paces by itself may take the
/// [rate](Self::instantaneous_rate) instead of the times.
#[derive(Clone, Debug)]
pub struct Sender {
    settings: SenderSettings,
    /// s, in bytes.
    segment: f64,
    /// X, in bytes per second.
    rate: f64,
    /// R, in seconds.
    round_trip: Option<f64>,
    /// The last R_sample.
    sample: Option<Duration>,
    /// R_sqmean / sqrt(R_sample): what oscillation reduction makes of the rate.
    damping: f64,
    /// R_sqmean, in the root of seconds.
    root_mean: f64,
    /// p of the last feedback.
    loss_event_rate: f64,
    receive_rates: ReceiveRates,
    last_receive_rate: Option<Bitrate>,
    limits: DataLimits,
    /// tld: when the rate was last doubled.
    last_doubled: Timestamp,
    /// The no-feedback timer; runs from the first packet on.
    timer: Option<Timestamp>,
    /// A packet left since that timer was set.
    busy: bool,
    first_sent: Option<Timestamp>,
    last_echoed: Option<Timestamp>,
    /// When the last packet should have left, and its size in bytes.
    last_departure: Option<(Timestamp, f64)>,
    discarded: u64,
}

impl Sender {
    /// A sender that has sent nothing; it may send one packet per second until the first feedback (section 4.2).
    pub fn new(settings: SenderSettings) -> Self {
        let segment = settings.segment.initial();
        let mut sender = Self {
            settings,
            segment,
            rate: 0.0,
            round_trip: None,
            sample: None,
            damping: 1.0,
            root_mean: 0.0,
            loss_event_rate: 0.0,
            receive_rates: ReceiveRates::new(Timestamp::ZERO),
            last_receive_rate: None,
            limits: DataLimits::default(),
            last_doubled: Timestamp::ZERO,
            timer: None,
            busy: false,
            first_sent: None,
            last_echoed: None,
            last_departure: None,
            discarded: 0,
        };
        sender.set_rate(segment);
        sender
    }

    /// A data packet with so much payload leaves, and what it waited for.
    pub fn handle_sent(&mut self, now: Timestamp, payload: DataSize, limit: Limit) {
        let size = payload.as_bytes() as f64;
        let earliest = now - self.settings.granularity.min(self.round_trip().unwrap_or_default());
        let departure = if self.last_departure.is_some() { self.nominal_departure().max(earliest) } else { now };
        self.last_departure = Some((departure, size));
        if let SegmentSize::Mean(_) = self.settings.segment {
            self.segment = (self.segment + SEGMENT_GAIN * (size - self.segment)).max(1.0);
        }
        self.limits.handle_sent(now, limit == Limit::Data);
        self.first_sent.get_or_insert(now);
        self.busy = true;
        self.timer.get_or_insert(now + INITIAL_TIMER);
    }

    /// Feedback came (section 4.3). Feedback that cannot be, or is older than the last, is discarded and counted.
    pub fn handle_feedback(&mut self, now: Timestamp, feedback: &Feedback) {
        let Some(sample) = self.round_trip_sample(now, feedback) else {
            self.discarded += 1;
            return;
        };
        let covered_from = self.last_echoed.replace(feedback.echoed);
        let first = self.round_trip.is_none();
        self.update_round_trip(sample);
        let new_loss = feedback.loss_event_rate > self.loss_event_rate;
        self.loss_event_rate = feedback.loss_event_rate;
        self.last_receive_rate = Some(feedback.receive_rate);
        if first {
            self.last_doubled = now;
            self.receive_rates = ReceiveRates::new(now);
            self.set_rate(self.initial_rate());
        } else {
            let from = covered_from.unwrap_or_default();
            let receive_rate = feedback.receive_rate.as_bps() as f64 / 8.0;
            // Nothing received is a first packet's feedback, of no data-limited interval (section 4.3).
            let data_limited = self.limits.was_data_limited(from, feedback.echoed) && receive_rate > 0.0;
            let limit = self.receive_limit(now, receive_rate, data_limited, new_loss);
            self.recompute_rate(now, limit);
        }
        self.restart_timer(now);
    }

    /// The time of [`next_timeout`](Self::next_timeout) has come, or passed: no feedback in time (section 4.4).
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        let received = self.receive_rates.maximum();
        let in_slow_start = self.loss_event_rate == 0.0;
        let Some(round_trip) = self.round_trip else {
            if self.busy {
                self.set_rate(self.rate / 2.0);
            }
            return self.restart_timer(now);
        };
        let recover = self.initial_window() / round_trip;
        let is_low = if in_slow_start { self.rate < 2.0 * recover } else { received < recover };
        let equation = self.equation_rate();
        if !self.busy && is_low {
            // An idle sender keeps what it could begin with.
        } else if in_slow_start {
            self.set_rate(self.rate / 2.0);
        } else if equation > 2.0 * received {
            self.limit_rate(now, received);
        } else {
            self.limit_rate(now, equation / 2.0);
        }
        self.restart_timer(now);
    }

    /// When the no-feedback timer expires; `None` before the first packet.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.timer
    }

    /// The next packet may leave now or then, whichever is later (sections 4.6 and 8.3); the origin before the first.
    pub fn next_send(&self) -> Timestamp {
        let Some((_, size)) = self.last_departure else { return Timestamp::ZERO };
        let interval = self.departure_interval(size);
        let early = interval.min(self.settings.granularity).min(self.round_trip().unwrap_or_default()) / 2;
        self.nominal_departure() - early
    }

    /// X: the allowed rate, in payload.
    pub fn allowed_rate(&self) -> Bitrate {
        to_bitrate(self.rate)
    }

    /// X_inst: the rate at which packets leave now (section 4.5).
    pub fn instantaneous_rate(&self) -> Bitrate {
        to_bitrate(self.departure_rate())
    }

    /// R: the smoothed round-trip time; `None` before the first feedback.
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip.map(Duration::from_secs_f64)
    }

    /// The last round-trip sample.
    pub(crate) fn last_sample(&self) -> Option<Duration> {
        self.sample
    }

    /// p of the last feedback; `None` before the first.
    pub fn loss_event_rate(&self) -> Option<f64> {
        self.last_echoed.map(|_| self.loss_event_rate)
    }

    /// X_recv of the last feedback.
    pub fn receive_rate(&self) -> Option<Bitrate> {
        self.last_receive_rate
    }

    /// Feedback that was discarded.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// R_sample (section 4.3, step 1), of feedback that can be: it echoes a packet that was sent, later than the one
    /// before, and its delay and its loss event rate are possible.
    fn round_trip_sample(&self, now: Timestamp, feedback: &Feedback) -> Option<Duration> {
        let sent = self.first_sent.is_some_and(|first| first <= feedback.echoed) && feedback.echoed <= now;
        let newer = self.last_echoed.is_none_or(|last| last < feedback.echoed);
        let possible = (0.0..=1.0).contains(&feedback.loss_event_rate);
        if !(sent && newer && possible) {
            return None;
        }
        let (least, most) = ROUND_TRIPS;
        let sample = now.saturating_since(feedback.echoed).checked_sub(feedback.delay)?;
        Some(sample.clamp(least, most))
    }

    /// Steps 1 and 2 of section 4.3, and section 4.5.
    fn update_round_trip(&mut self, sample: Duration) {
        let filter = |mean: Option<f64>, new: f64| mean.map_or(new, |mean| FILTER * mean + (1.0 - FILTER) * new);
        let root = sample.as_secs_f64().sqrt();
        self.root_mean = filter(self.round_trip.map(|_| self.root_mean), root);
        self.round_trip = Some(filter(self.round_trip, sample.as_secs_f64()));
        self.sample = Some(sample);
        self.damping = if self.settings.oscillation_reduction { self.root_mean / root } else { 1.0 };
    }

    /// recv_limit of step 4.
    fn receive_limit(&mut self, now: Timestamp, receive_rate: f64, data_limited: bool, new_loss: bool) -> f64 {
        match (data_limited, new_loss) {
            (true, true) => {
                self.receive_rates.halve();
                self.receive_rates.maximize(now, DATA_LIMITED_LOSS * receive_rate);
                self.receive_rates.maximum()
            }
            (true, false) => {
                self.receive_rates.maximize(now, receive_rate);
                2.0 * self.receive_rates.maximum()
            }
            (false, _) => {
                self.receive_rates.update(now, receive_rate, self.round_trip().unwrap_or_default());
                2.0 * self.receive_rates.maximum()
            }
        }
    }

    /// The second half of step 4: the equation after a loss, slow start before.
    fn recompute_rate(&mut self, now: Timestamp, limit: f64) {
        if self.loss_event_rate > 0.0 {
            self.set_rate(self.equation_rate().min(limit));
        } else if now.saturating_since(self.last_doubled) >= self.round_trip().unwrap_or_default() {
            self.set_rate((2.0 * self.rate).min(limit).max(self.initial_rate()));
            self.last_doubled = now;
        }
    }

    /// Update_Limits() of section 4.4.
    fn limit_rate(&mut self, now: Timestamp, limit: f64) {
        let limit = limit.max(self.least_rate());
        self.receive_rates.replace(now, limit / 2.0);
        self.recompute_rate(now, limit);
    }

    fn set_rate(&mut self, rate: f64) {
        let most = self.settings.maximum_rate.map_or(f64::INFINITY, |most| most.as_bps() as f64 / 8.0);
        self.rate = rate.min(most).max(self.least_rate());
    }

    /// max(4R, 2s/X), and no more often than times are kept.
    fn restart_timer(&mut self, now: Timestamp) {
        let silence = (4.0 * self.round_trip.unwrap_or_default()).max(2.0 * self.segment / self.rate);
        self.timer = Some(now + seconds(silence).max(self.settings.granularity));
        self.busy = false;
    }

    /// X_Bps.
    fn equation_rate(&self) -> f64 {
        let round_trip = self.round_trip().unwrap_or_default();
        self.segment * self.settings.equation.packets_per_second(round_trip, self.loss_event_rate)
    }

    /// W_init (section 4.2, after RFC 3390), in bytes.
    fn initial_window(&self) -> f64 {
        (4.0 * self.segment).min((2.0 * self.segment).max(4_380.0))
    }

    fn initial_rate(&self) -> f64 {
        self.round_trip.map_or(self.segment, |round_trip| self.initial_window() / round_trip)
    }

    /// s / t_mbi.
    fn least_rate(&self) -> f64 {
        self.segment / MAXIMUM_BACKOFF_INTERVAL
    }

    fn departure_rate(&self) -> f64 {
        let most = self.settings.maximum_rate.map_or(f64::INFINITY, |most| most.as_bps() as f64 / 8.0);
        (self.rate * self.damping).min(most).max(self.least_rate())
    }

    /// t_ipi, for a packet of this size.
    fn departure_interval(&self, size: f64) -> Duration {
        seconds(size / self.departure_rate())
    }

    fn nominal_departure(&self) -> Timestamp {
        self.last_departure.map_or(Timestamp::ZERO, |(at, size)| at + self.departure_interval(size))
    }
}

fn to_bitrate(bytes_per_second: f64) -> Bitrate {
    Bitrate::from_bps((bytes_per_second * 8.0).round() as u64)
}

/// A time from finite seconds, the longest that a [`Timestamp`] can move by when there are more.
fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}
