//! PIE, proportional integral controller enhanced (RFC 8033): drops what arrives with a probability that a controller
//! moves until packets wait as long as the target.
//!
//! After the pseudocode of appendix A, with the cap of section 5.5 and the time stamps of section 5.2 instead of an
//! estimate of the rate. Fields are named in words, with the RFC's name as a comment.

use framewire_units::{Duration, Probability, RandomStream, Seed, Timestamp};

use super::fifo::Fifo;
use super::settings::settings;
use super::{Arrival, Backlog, Dropped, QueueDiscipline, QueueSetup, Queued};
use crate::verdict::DropCause;

settings! {
    /// What PIE goes by.
    PieSettings {
        /// The wait that it brings about (QDELAY_REF); RFC 8033, section 4.2: 15 ms.
        target: Time(Duration) = Duration::from_millis(15), Duration::from_micros(1) => Duration::from_secs(60);
        /// How often the probability moves (T_UPDATE); RFC 8033, section 4.2: 15 ms.
        update: Time(Duration) = Duration::from_millis(15), Duration::from_millis(1) => Duration::from_secs(60);
        /// For how long a burst is let through (MAX_BURST); RFC 8033, section 4.4: 150 ms.
        max_burst: Time(Duration) = Duration::from_millis(150), Duration::ZERO => Duration::from_secs(60);
        /// Weight of the wait's distance to the target, in Hz; RFC 8033, section 4.2: 1/8.
        alpha: Number(f64) = 0.125, 0.0 => 1_000.0;
        /// Weight of the wait's change, in Hz; RFC 8033, section 4.2: 1 1/4.
        beta: Number(f64) = 1.25, 0.0 => 1_000.0;
        /// Whether packets of transports that know ECN are marked instead of dropped; RFC 8033, section 5.1 leaves it open.
        ecn: Flag(bool) = false, false => true;
        /// The probability from which on they are dropped all the same (mark_ecnth); RFC 8033, section 5.1: 10 %.
        ecn_limit: Share(Probability) = Probability::clamped(0.1), Probability::ZERO => Probability::ONE;
    }
}

/// Below this the controller does not drop while the wait is under half the target (RFC 8033, section 4.1).
const LOW_PROBABILITY: f64 = 0.2;
/// So many packets wait without a drop (RFC 8033, section 4.1).
const FREE_PACKETS: usize = 2;
/// The tuning of the step: below a probability it is so many times smaller (RFC 8033, section 4.2 and appendix A).
const TUNING: [(f64, f64); 6] =
    [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
/// From this probability on a step adds no more than `STEP_CAP` (RFC 8033, section 5.5).
const CAPPED_FROM: f64 = 0.1;
const STEP_CAP: f64 = 0.02;
/// What is left of the probability after each update while nothing waits (RFC 8033, section 4.2).
const DECAY: f64 = 0.98;

#[derive(Debug)]
pub(super) struct Pie {
    settings: PieSettings,
    fifo: Fifo,
    draws: RandomStream,
    /// `drop_prob_`.
    probability: f64,
    /// How long the last packet that was sent had waited; zero when nothing was left behind it (`current_qdelay`).
    wait: Duration,
    /// The same at the last update (`qdelay_old_`).
    last_wait: Duration,
    /// `burst_allowance_`.
    burst_allowance: Duration,
    /// When the probability moves next.
    next_update: Timestamp,
}

impl Pie {
    pub(super) fn new(settings: PieSettings, setup: &QueueSetup, seed: Seed) -> Self {
        Self {
            settings,
            fifo: Fifo::new(setup.limit),
            draws: seed.stream("pie", &[]),
            probability: 0.0,
            wait: Duration::ZERO,
            last_wait: Duration::ZERO,
            burst_allowance: settings.max_burst,
            next_update: Timestamp::ZERO + settings.update,
        }
    }

    /// Makes up for all updates until `now`.
    fn update_until(&mut self, now: Timestamp) {
        while self.next_update <= now {
            if self.is_at_rest() {
                // Nothing moves until a packet comes.
                self.next_update = (now + Duration::from_nanos(1)).next_multiple_of(self.settings.update);
                return;
            }
            self.update();
            self.next_update += self.settings.update;
        }
    }

    fn is_at_rest(&self) -> bool {
        let waits = self.wait + self.last_wait;
        self.probability == 0.0 && waits.is_zero() && self.burst_allowance == self.settings.max_burst
    }

    /// `calculate_drop_prob` of appendix A.
    fn update(&mut self) {
        let seconds = |duration: Duration| duration.as_secs_f64();
        let (wait, last, target) = (seconds(self.wait), seconds(self.last_wait), seconds(self.settings.target));
        let is_low = wait < target / 2.0 && last < target / 2.0;
        if self.burst_allowance.is_zero() {
            let mut step = self.settings.alpha * (wait - target) + self.settings.beta * (wait - last);
            let tuning = TUNING.iter().find(|(below, _)| self.probability < *below);
            step /= tuning.map_or(1.0, |(_, divisor)| *divisor);
            if self.probability >= CAPPED_FROM {
                step = step.min(STEP_CAP);
            }
            self.probability += step;
        }
        if self.wait.is_zero() && self.last_wait.is_zero() {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.settings.update);
        if self.probability == 0.0 && is_low {
            self.burst_allowance = self.settings.max_burst;
        }
        self.last_wait = self.wait;
    }

    /// `drop_early` of appendix A.
    fn drops_early(&mut self) -> bool {
        let is_low = self.last_wait < self.settings.target / 2 && self.probability < LOW_PROBABILITY;
        if !self.burst_allowance.is_zero() || is_low || self.fifo.backlog().packets <= FREE_PACKETS {
            return false;
        }
        self.draws.next_f64() < self.probability
    }
}

impl QueueDiscipline for Pie {
    fn enqueue(&mut self, mut arrival: Arrival, dropped: &mut Vec<Dropped>) {
        self.update_until(arrival.packet.at);
        if self.drops_early() {
            let may_mark = self.settings.ecn && self.probability < self.settings.ecn_limit.get();
            if !(may_mark && arrival.packet.mark()) {
                let cause = DropCause::ActiveQueueManagement;
                return dropped.push(Dropped { packet: arrival.packet, cause });
            }
        }
        if let Err(packet) = self.fifo.push(arrival) {
            dropped.push(Dropped { packet, cause: DropCause::QueueFull });
        }
    }

    fn dequeue(&mut self, at: Timestamp, _dropped: &mut Vec<Dropped>) -> Option<Queued> {
        self.update_until(at);
        let oldest = self.fifo.pop();
        let is_empty = self.fifo.backlog().packets == 0;
        self.wait = oldest.filter(|_| !is_empty).map_or(Duration::ZERO, |packet| packet.waited(at));
        oldest
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests;
