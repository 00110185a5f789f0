use framewire_units::{Duration, Timestamp};

use super::queue::Queue;

// Where no source is named, a number was measured on the paths of docs/vtp-hybrid.md: "Constants" there says what
// 0.7 and 1.4 times of it change, and "flat" here that nothing does beyond the bounds given there.

/// What a trial sends of what arrives: a queue that no other flow fills then shrinks by 0.3 s in each second. Half is
/// as good; with 0.98 nothing is learned.
const TRIAL_SHARE: f64 = 0.7;

/// Time that such a queue is given to drain, over what it needs: measured; 1 is too short on 100 kbit/s, twice costs a
/// fifth of a level beside BBR flows.
const PATIENCE: f64 = 1.5;

/// Below this part of the target the queue counts as drained, and below this part of the longest one. TCP flows that
/// halve their windows together may empty a queue of up to the bandwidth-delay product as well; that is then taken for
/// one's own. The first is flat from 0.56 to 0.98.
const DRAINED: f64 = 0.8;
const DRAINED_OF_LONGEST: f64 = 1.0 / 3.0;

/// A few reports at the least: flat.
const SHORTEST_TRIAL: Duration = Duration::from_millis(500);

/// What is left of the rate that arrived once the queue is drained: flat to 0.98, and below costs the rate itself.
const AFTER_DRAINING: f64 = 0.9;

/// How long rivals are believed in before the next trial: doubled with each trial that finds them again. Measured: 3.5
/// s cost a fifth of a level beside BBR flows, and 7 s take a tenth more beside reno flows; the longest is flat.
const FIRST_BELIEF: Duration = Duration::from_secs(5);
const LONGEST_BELIEF: Duration = Duration::from_secs(80);

/// A round trip that growth is reckoned with at least: the reno of a 200 ms path, so that a stream on a short path
/// climbs no faster than the viewer can see. Flat.
const LEAST_RESPONSE_S: f64 = 0.2;

/// Growth per second at least, as in Google's congestion control (draft-ietf-rmcat-gcc-02, section 5.5: 1.08 each
/// second).
const GROWTH: f64 = 0.08;

/// Growth per second near the rate at which the stream last filled the path by itself: a quarter of the usual one.
/// 0.014 and 0.028 change no share; 0.014 freezes four times more often on 100 kbit/s.
const SLOW_GROWTH: f64 = 0.02;
const NEAR: std::ops::Range<f64> = 0.9..1.05;

/// The rate never exceeds this multiple of what arrives while it grows (RFC 5348, section 4.3: twice), ...
const OVER_DELIVERED: f64 = 2.0;

/// ... and, where others fill the queue, this one: more than a fifth lost is not a share of the path any more. 1.02
/// halves the share beside BBR flows, 1.75 takes a tenth more beside reno flows.
const OVER_DELIVERED_AMONG_RIVALS: f64 = 1.25;

/// The state of the path at a report. Rates are bits of video per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// When.
    pub now: Timestamp,
    /// Smoothed round-trip time.
    pub round_trip: Duration,
    /// What arrives.
    pub delivered: Option<f64>,
    /// What a TCP flow would have with the same loss events; infinite before the first.
    pub limit: f64,
    /// Bits of video in a packet.
    pub packet_bits: f64,
    /// What is never gone below, but for the length of a trial, and what there is no use for more than.
    pub bounds: (f64, f64),
}

/// Which traffic fills the queue, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// No flow, or this stream: the queue is kept short.
    Alone,
    /// Less is sent to see whether the queue drains.
    Trial(Trial),
    /// Others: the queue is theirs, and losses alone determine what is fair.
    Rivals { until: Timestamp },
}

/// What is known during a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Trial {
    began: Timestamp,
    round_trip: Duration,
    rate_before: f64,
    /// The most that arrived: while a queue of one's own drains, all that the path can carry.
    delivered: f64,
    /// The longest queue so far, in seconds: what is under way when the trial begins still makes it longer.
    longest: f64,
}

impl Trial {
    /// The time in which a queue of one's own drains is over.
    fn is_over(&self, now: Timestamp) -> bool {
        let drain = PATIENCE * self.longest / (1.0 - TRIAL_SHARE);
        let wait = self.round_trip.saturating_add(Duration::from_secs_f64(drain)).max(SHORTEST_TRIAL);
        now.saturating_since(self.began) >= wait
    }

    /// The queue drained to this in less than half of the time that one of one's own takes: the path only paused, and
    /// carries more than was sent.
    fn is_early(&self, now: Timestamp, drained: f64) -> bool {
        let expected = (self.longest - drained).max(0.0) / (1.0 - TRIAL_SHARE);
        now.saturating_since(self.began) < self.round_trip.saturating_add(Duration::from_secs_f64(expected / 2.0))
    }

    /// What the path carried when it was full.
    fn capacity(&self) -> f64 {
        AFTER_DRAINING * self.delivered
    }
}

/// The rate that the network allows.
///
/// Two bounds: what a TCP flow would have, from loss events, and what keeps the queue short. The second one would
/// starve next to flows that fill the queue, and next to BBR, which keeps one of its own; so a queue that is too long
/// is tried: the stream sends 0.7 of what arrives, for as long as its own queue would need to drain. If it does, the
/// queue was its own; if not, it belongs to others, and the rate from before comes back.
#[derive(Clone, Debug)]
pub(crate) struct Allowance {
    target: f64,
    /// Bits of video per second; `None` before the first report.
    rate: Option<f64>,
    /// Whether no limit was met so far: the rate doubles.
    is_starting: bool,
    mode: Mode,
    belief: Duration,
    /// What arrived when the stream last filled the path by itself.
    own_capacity: Option<f64>,
    last: Timestamp,
}

impl Allowance {
    /// Nothing is known.
    pub(crate) fn new(queue_target: Duration) -> Self {
        Self {
            target: queue_target.as_secs_f64(),
            rate: None,
            is_starting: true,
            mode: Mode::Alone,
            belief: FIRST_BELIEF,
            own_capacity: None,
            last: Timestamp::ZERO,
        }
    }

    /// In bits of video per second; `None` before the first report.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// The rate that can be kept, in bits of video per second: not the low one of a trial, which is made up for.
    pub(crate) fn sustained(&self) -> Option<f64> {
        match self.mode {
            Mode::Trial(trial) => self.rate.map(|rate| rate.max(trial.rate_before.min(trial.capacity()))),
            Mode::Alone | Mode::Rivals { .. } => self.rate,
        }
    }

    /// Whether no limit was met so far.
    pub(crate) fn is_starting(&self) -> bool {
        self.is_starting
    }

    /// Whether a queue drained when less was sent, or this is being tried: it is this stream's own.
    pub(crate) fn owns_queue(&self) -> bool {
        self.own_capacity.is_some() || matches!(self.mode, Mode::Trial(_))
    }

    /// What is never gone below. A trial goes lower by its share: where the path carries little more than the least,
    /// its queue would not drain in time, and would be taken for that of others.
    pub(crate) fn least(&self, least: f64) -> f64 {
        if matches!(self.mode, Mode::Trial(_)) { TRIAL_SHARE * least } else { least }
    }

    /// Name of the mode, for tables.
    pub(crate) fn name(&self) -> &'static str {
        match self.mode {
            _ if self.rate.is_none() => "start",
            Mode::Alone if self.is_starting => "startup",
            Mode::Alone => "alone",
            Mode::Trial(_) => "trial",
            Mode::Rivals { .. } => "rivals",
        }
    }

    /// Takes a report; before the first one the stream sends at `initial`.
    pub(crate) fn handle_report(&mut self, reading: &Reading, queue: &Queue, initial: f64) {
        let rate = *self.rate.get_or_insert(initial);
        // A clock that jumps is no time to grow in.
        let passed = reading.now.saturating_since(self.last).as_secs_f64().min(1.0);
        let passed = if self.last == Timestamp::ZERO { 0.0 } else { passed };
        self.last = reading.now;
        let (next, grows) = self.next_mode(reading, queue, rate);
        let grown = if grows { self.grown(reading, next, passed) } else { next };
        if reading.limit < grown {
            self.is_starting = false;
        }
        let (least, most) = reading.bounds;
        self.rate = Some(grown.min(reading.limit).min(most).max(self.least(least)));
    }

    /// The receiver is silent: half of the rate.
    pub(crate) fn handle_silence(&mut self, least: f64) {
        self.is_starting = false;
        self.rate = self.rate.map(|rate| (rate / 2.0).max(least));
    }

    /// The rate by the queue, and whether it may grow.
    fn next_mode(&mut self, reading: &Reading, queue: &Queue, rate: f64) -> (f64, bool) {
        let (now, delay) = (reading.now, queue.delay());
        let is_long = delay > self.target && queue.is_not_falling();
        match self.mode {
            Mode::Alone if is_long => (self.begin_trial(reading, queue, rate), false),
            Mode::Alone => (rate, delay <= self.target),
            Mode::Trial(trial) if delay < self.drained(&trial) => {
                (self.mode, self.belief) = (Mode::Alone, FIRST_BELIEF);
                if trial.is_early(now, self.drained(&trial)) {
                    (trial.rate_before, false)
                } else {
                    self.own_capacity = Some(trial.delivered);
                    (trial.rate_before.min(trial.capacity()), false)
                }
            }
            Mode::Trial(trial) if trial.is_over(now) => {
                (self.mode, self.own_capacity) = (Mode::Rivals { until: now + self.belief }, None);
                self.belief = (self.belief * 2).min(LONGEST_BELIEF);
                (trial.rate_before.min(OVER_DELIVERED_AMONG_RIVALS * trial.delivered), false)
            }
            Mode::Trial(trial) => {
                let delivered = reading.delivered.map_or(trial.delivered, |delivered| delivered.max(trial.delivered));
                self.mode = Mode::Trial(Trial { longest: trial.longest.max(delay), delivered, ..trial });
                (TRIAL_SHARE * trial.delivered.min(trial.rate_before), false)
            }
            Mode::Rivals { until } if now >= until => {
                self.mode = Mode::Alone;
                (rate, true)
            }
            Mode::Rivals { .. } => (rate, true),
        }
    }

    /// The delay below which the queue of a trial is drained.
    fn drained(&self, trial: &Trial) -> f64 {
        (DRAINED * self.target).max(DRAINED_OF_LONGEST * trial.longest)
    }

    fn begin_trial(&mut self, reading: &Reading, queue: &Queue, rate: f64) -> f64 {
        self.is_starting = false;
        let delivered = reading.delivered.unwrap_or(rate).min(rate);
        let Reading { now: began, round_trip, .. } = *reading;
        self.mode = Mode::Trial(Trial { began, round_trip, rate_before: rate, delivered, longest: queue.delay() });
        TRIAL_SHARE * delivered
    }

    fn grown(&self, reading: &Reading, rate: f64, passed: f64) -> f64 {
        let response = reading.round_trip.as_secs_f64().max(LEAST_RESPONSE_S);
        let is_near = self.own_capacity.is_some_and(|capacity| NEAR.contains(&(rate / capacity)));
        let grown = if self.is_starting {
            rate * libm::exp2(passed / response)
        } else if is_near {
            rate * (1.0 + SLOW_GROWTH * passed)
        } else {
            rate + passed * (GROWTH * rate).max(reading.packet_bits / (response * response))
        };
        let multiple = match self.mode {
            Mode::Rivals { .. } => OVER_DELIVERED_AMONG_RIVALS,
            Mode::Alone | Mode::Trial(_) => OVER_DELIVERED,
        };
        // Growth that is not used yet is not yet earned.
        grown.min(reading.delivered.map_or(rate, |delivered| (multiple * delivered).max(rate)))
    }
}
