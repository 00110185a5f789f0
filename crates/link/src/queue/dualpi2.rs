//! DualPI2 (RFC 9332, appendix A): two coupled queues. Transports that answer to marks in proportion (L4S) have one with
//! a delay under a millisecond; all others have one with a PI controller whose probability is squared, so that both get
//! about the same rate.
//!
//! After the pseudocode of appendix A.1, with what A.2 does in overload. Fields are named in words, with the RFC's name as
//! a comment. The RFC's text was not at hand: numbers and steps are from memory, and agree with those that picoquic's test of
//! it quotes (C. Huitema, `picoquictest/dualq.c`).

use framewire_units::{Duration, Ecn, Probability, Timestamp};

use super::fifo::Fifo;
use super::settings::settings;
use super::{Arrival, Backlog, Dropped, QueueDiscipline, QueueLimit, QueueSetup, Queued};
use crate::verdict::DropCause;

settings! {
    /// What DualPI2 goes by.
    DualPi2Settings {
        /// The wait of classic traffic that it brings about; RFC 9332, appendix A.1: 15 ms.
        target: Time(Duration) = Duration::from_millis(15), Duration::from_micros(1) => Duration::from_secs(60);
        /// The longest round trip that is expected (RTT_max), from which the controller's gains follow; appendix A.1: 100 ms.
        max_rtt: Time(Duration) = Duration::from_millis(100), Duration::from_millis(1) => Duration::from_secs(60);
        /// How many times the square root of the classic probability L4S packets are marked with (k); appendix A.1: 2.
        coupling: Number(f64) = 2.0, 0.1 => 100.0;
        /// The wait of an L4S packet from which on it may be marked (minTh); appendix A.1: 800 us.
        threshold: Time(Duration) = Duration::from_micros(800), Duration::ZERO => Duration::from_secs(60);
        /// So much above it all are marked, with a ramp between (range); appendix A.1: 400 us. Zero is a step.
        ramp: Time(Duration) = Duration::from_micros(400), Duration::ZERO => Duration::from_secs(60);
        /// No packet is marked by its own wait while no more L4S packets than these wait behind it (Th_len); appendix A.1: 1.
        min_packets: Count(u32) = 1, 0 => 1_000_000;
        /// The share of the rate that classic traffic has at least while both wait; 1/16, the weight of appendix A.1.
        classic_share: Share(Probability) = Probability::clamped(0.0625), Probability::ZERO => Probability::clamped(0.5);
    }
}

/// L4S packets are all marked from here on (p_Lmax), and classic drops take over (appendix A.2).
const MOST_MARKED: f64 = 1.0;

/// Decides so that in the long run as many are chosen as the probability says, as evenly as can be (`recur`).
#[derive(Clone, Copy, Debug, Default)]
struct Recurrence(f64);

impl Recurrence {
    fn chooses(&mut self, probability: f64) -> bool {
        self.0 += probability;
        let chosen = self.0 > 1.0;
        if chosen {
            self.0 -= 1.0;
        }
        chosen
    }
}

#[derive(Debug)]
pub(super) struct DualPi2 {
    settings: DualPi2Settings,
    limit: QueueLimit,
    /// `lq`.
    low_latency: Fifo,
    /// `cq`.
    classic: Fifo,
    low_latency_marks: Recurrence,
    classic_drops: Recurrence,
    controller: Controller,
    next_update: Timestamp,
    /// Bytes of classic traffic that are owed to it, times one less its share.
    owed: f64,
}

/// The PI controller (`dualpi2_update`).
#[derive(Clone, Copy, Debug)]
struct Controller {
    /// Seconds.
    target: f64,
    /// `Tupdate`.
    update: Duration,
    /// Gains, in Hz.
    alpha: f64,
    beta: f64,
    /// The base probability, `p'`.
    base: f64,
    /// Seconds that the oldest packet had waited at the last update (`prevq`).
    last_wait: f64,
}

impl Controller {
    fn new(settings: &DualPi2Settings) -> Self {
        let update = settings.target.min(settings.max_rtt / 3);
        let max_rtt = settings.max_rtt.as_secs_f64();
        Self {
            target: settings.target.as_secs_f64(),
            update,
            alpha: 0.1 * update.as_secs_f64() / (max_rtt * max_rtt),
            beta: 0.3 / max_rtt,
            base: 0.0,
            last_wait: 0.0,
        }
    }

    fn update(&mut self, wait: Duration) {
        let wait = wait.as_secs_f64();
        let step = self.alpha * (wait - self.target) + self.beta * (wait - self.last_wait);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.last_wait = wait;
    }
}

impl DualPi2 {
    pub(super) fn new(settings: DualPi2Settings, setup: &QueueSetup) -> Self {
        let controller = Controller::new(&settings);
        let unlimited = || Fifo::new(QueueLimit::Packets(u32::MAX));
        Self {
            settings,
            limit: setup.limit,
            low_latency: unlimited(),
            classic: unlimited(),
            low_latency_marks: Recurrence::default(),
            classic_drops: Recurrence::default(),
            controller,
            next_update: Timestamp::ZERO + controller.update,
            owed: 0.0,
        }
    }

    /// Makes up for all updates until `now`. Nothing enters or leaves between two calls.
    fn update_until(&mut self, now: Timestamp) {
        while self.next_update <= now {
            let Controller { base, last_wait, update, .. } = self.controller;
            if base == 0.0 && last_wait == 0.0 && self.backlog().packets == 0 {
                self.next_update = (now + Duration::from_nanos(1)).next_multiple_of(update);
                return;
            }
            let at = self.next_update;
            let wait = |queue: &Fifo| queue.oldest().map_or(Duration::ZERO, |packet| packet.waited(at));
            self.controller.update(wait(&self.classic).max(wait(&self.low_latency)));
            self.next_update = at + update;
        }
    }

    /// Whether the next packet is an L4S one: they go first, as long as classic traffic has its share.
    fn serves_low_latency(&mut self) -> bool {
        let share = self.settings.classic_share.get();
        let bytes = |queue: &Fifo| queue.oldest().map(|packet| packet.packet.size.as_bytes() as f64);
        match (bytes(&self.low_latency), bytes(&self.classic)) {
            (Some(low_latency), Some(classic)) => {
                let is_due = self.owed >= classic * (1.0 - share);
                self.owed += if is_due { -classic * (1.0 - share) } else { low_latency * share };
                !is_due
            }
            (low_latency, _) => {
                self.owed = 0.0;
                low_latency.is_some()
            }
        }
    }

    /// The mark of an L4S packet by its own wait (`laqm`).
    fn native_probability(&self, packet: &Queued, at: Timestamp) -> f64 {
        let DualPi2Settings { threshold, ramp, min_packets, .. } = self.settings;
        let over = packet.waited(at).saturating_sub(threshold);
        if over.is_zero() || self.low_latency.backlog().packets <= min_packets as usize {
            0.0
        } else if over >= ramp {
            1.0
        } else {
            over.as_secs_f64() / ramp.as_secs_f64()
        }
    }

    /// What becomes of an L4S packet whose turn it is: an error where it is dropped.
    fn low_latency_verdict(&mut self, mut packet: Queued, at: Timestamp) -> Result<Queued, Queued> {
        let coupled = self.settings.coupling * self.controller.base;
        if coupled < MOST_MARKED {
            let probability = self.native_probability(&packet, at).max(coupled);
            if self.low_latency_marks.chooses(probability) {
                packet.mark();
            }
            return Ok(packet);
        }
        // Overload: it is dropped as a classic one is, and what is left is marked.
        if self.low_latency_marks.chooses(self.controller.base * self.controller.base) {
            return Err(packet);
        }
        if self.low_latency_marks.chooses(coupled.min(MOST_MARKED)) {
            packet.mark();
        }
        Ok(packet)
    }

    fn classic_verdict(&mut self, mut packet: Queued) -> Result<Queued, Queued> {
        if !self.classic_drops.chooses(self.controller.base * self.controller.base) {
            return Ok(packet);
        }
        // In overload it no longer marks: p_C >= p_Cmax = 1 / k^2.
        let overload = self.settings.coupling * self.controller.base >= MOST_MARKED;
        if !overload && packet.mark() { Ok(packet) } else { Err(packet) }
    }
}

impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, arrival: Arrival, dropped: &mut Vec<Dropped>) {
        let Arrival { packet, wait, .. } = arrival;
        self.update_until(packet.at);
        if !self.limit.has_room(self.backlog(), packet.packet.size, wait) {
            return dropped.push(Dropped { packet, cause: DropCause::QueueFull });
        }
        // RFC 9331, section 5.1: ECT(1) says L4S, and a packet that is marked already may be one.
        match packet.packet.ecn {
            Ecn::Ect1 | Ecn::Ce => self.low_latency.add(packet),
            Ecn::NotEct | Ecn::Ect0 => self.classic.add(packet),
        }
    }

    fn dequeue(&mut self, at: Timestamp, dropped: &mut Vec<Dropped>) -> Option<Queued> {
        self.update_until(at);
        loop {
            let verdict = if self.serves_low_latency() {
                let packet = self.low_latency.pop()?;
                self.low_latency_verdict(packet, at)
            } else {
                let packet = self.classic.pop()?;
                self.classic_verdict(packet)
            };
            match verdict {
                Ok(packet) => return Some(packet),
                Err(packet) => dropped.push(Dropped { packet, cause: DropCause::ActiveQueueManagement }),
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.low_latency.backlog() + self.classic.backlog()
    }
}

#[cfg(test)]
mod tests;
