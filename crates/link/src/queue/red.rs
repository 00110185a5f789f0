//! Random early detection (S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993), with the gentle slope of S. Floyd, "Recommendation on using the gentle_ variant
//! of RED", 2000.
//!
//! RFC 7567, section 4 no longer recommends it as the default of routers, because its numbers have to be tuned to the
//! link. Defaults are those of ns-3's RedQueueDisc, in packets.

use framewire_units::{DataSize, Duration, Probability, RandomStream, Seed, Timestamp};

use super::fifo::Fifo;
use super::settings::settings;
use super::{Arrival, Backlog, Dropped, QueueDiscipline, QueueSetup, Queued};
use crate::verdict::DropCause;

settings! {
    /// What RED goes by.
    RedSettings {
        /// Mean queue, in packets, up to which nothing is dropped (min_th); ns-3: 5.
        min_threshold: Count(u32) = 5, 1 => 999_999;
        /// Mean queue, in packets, at which the probability is `max_probability` (max_th); ns-3: 15.
        max_threshold: Count(u32) = 15, 2 => 1_000_000;
        /// Probability of a drop at `max_threshold` (max_p); ns-3: 1/50, as Floyd and Jacobson, section 7.
        max_probability: Share(Probability) = Probability::clamped(0.02),
            Probability::clamped(0.000_001) => Probability::ONE;
        /// Weight of the present queue in the mean (w_q); Floyd and Jacobson, section 6: 0.002.
        weight: Share(Probability) = Probability::clamped(0.002), Probability::clamped(0.000_001) => Probability::ONE;
        /// The size that packets have in the mean, for what might have been sent while nothing waited; ns-3: 500 B.
        mean_packet: Size(DataSize) = DataSize::from_bytes(500), DataSize::from_bytes(28) => DataSize::from_bytes(65_535);
        /// Whether the probability goes on rising from `max_threshold` to twice it, where it is 1, and does not jump there.
        gentle: Flag(bool) = true, false => true;
        /// Whether drops are kept apart: at least 1 / p packets lie between two (the paper's uniform gaps; `wait_` of ns-3).
        wait: Flag(bool) = true, false => true;
        /// Whether packets of transports that know ECN are marked instead of dropped, but where all are dropped; off in ns-3.
        ecn: Flag(bool) = false, false => true;
    }
}

#[derive(Debug)]
pub(super) struct Red {
    settings: RedSettings,
    fifo: Fifo,
    draws: RandomStream,
    /// Packets of the mean size that the transmitter could send in a second; zero where its rate is not known.
    packets_per_second: f64,
    /// The mean queue (avg).
    mean: f64,
    /// Packets since the last drop (count).
    since_drop: u32,
    /// The mean was over the lower threshold at the last arrival.
    was_above: bool,
    /// When the queue became empty, where it is.
    emptied: Option<Timestamp>,
}

impl Red {
    pub(super) fn new(settings: RedSettings, setup: &QueueSetup, seed: Seed) -> Self {
        let mean_bits = settings.mean_packet.as_bits() as f64;
        Self {
            settings,
            fifo: Fifo::new(setup.limit),
            draws: seed.stream("red", &[]),
            packets_per_second: setup.rate.map_or(0.0, |rate| rate.as_bps() as f64 / mean_bits),
            mean: 0.0,
            since_drop: 0,
            was_above: false,
            emptied: None,
        }
    }

    /// The mean at an arrival. After a time with nothing to send it is what it would be if packets had come all the while
    /// to an empty queue (section 4: m = f(time - q_time)).
    fn update_mean(&mut self, arrival: &Arrival) {
        let packets = self.fifo.backlog().packets as f64;
        let idle = match arrival.wait {
            Some(_) => arrival.idle,
            // An interface that does not know its rate does not show its queue what finds it idle.
            None => self.emptied.map_or(Duration::ZERO, |since| arrival.packet.at.saturating_since(since)),
        };
        let missed = libm::floor(self.packets_per_second * idle.as_secs_f64());
        let weight = self.settings.weight.get();
        self.mean = self.mean * libm::pow(1.0 - weight, missed + 1.0) + weight * packets;
    }

    /// Whether the packet is to be dropped, and whether it may be marked instead.
    fn decides(&mut self) -> Option<Verdict> {
        let Settings { min, max, .. } = self.thresholds();
        if self.mean < min || self.fifo.backlog().packets <= 1 {
            self.was_above = false;
            return None;
        }
        let all = if self.settings.gentle { 2.0 * max } else { max };
        if self.mean >= all {
            return Some(Verdict::Forced);
        }
        if !self.was_above {
            self.was_above = true;
            self.since_drop = 1;
            return None;
        }
        let probability = self.spread(self.probability());
        if self.draws.next_f64() >= probability {
            return None;
        }
        self.since_drop = 0;
        Some(Verdict::Early)
    }

    /// p_b: what it is by the mean alone.
    fn probability(&self) -> f64 {
        let Settings { min, max, most } = self.thresholds();
        let probability = if self.mean < max {
            most * (self.mean - min) / (max - min)
        } else {
            (1.0 - most) / max * self.mean + 2.0 * most - 1.0
        };
        probability.clamp(0.0, 1.0)
    }

    /// p_a: what makes the gaps between drops uniform (section 7).
    fn spread(&self, probability: f64) -> f64 {
        let expected = f64::from(self.since_drop) * probability;
        let free = if self.settings.wait { 1.0 } else { 0.0 };
        match expected {
            expected if self.settings.wait && expected < 1.0 => 0.0,
            expected if expected < 1.0 + free => probability / (1.0 + free - expected),
            _ => 1.0,
        }
    }

    fn thresholds(&self) -> Settings {
        Settings {
            min: f64::from(self.settings.min_threshold),
            max: f64::from(self.settings.max_threshold),
            most: self.settings.max_probability.get(),
        }
    }
}

/// The numbers of the slope.
struct Settings {
    min: f64,
    max: f64,
    most: f64,
}

/// Why a packet is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// By chance: it may be marked instead.
    Early,
    /// The mean is so high that all go (RFC 3168, section 7: an overloaded router drops).
    Forced,
}

impl QueueDiscipline for Red {
    fn enqueue(&mut self, mut arrival: Arrival, dropped: &mut Vec<Dropped>) {
        self.update_mean(&arrival);
        self.emptied = None;
        self.since_drop = self.since_drop.saturating_add(1);
        let goes = match self.decides() {
            None => false,
            Some(Verdict::Forced) => true,
            Some(Verdict::Early) => !(self.settings.ecn && arrival.packet.mark()),
        };
        if goes {
            let cause = DropCause::ActiveQueueManagement;
            return dropped.push(Dropped { packet: arrival.packet, cause });
        }
        if let Err(packet) = self.fifo.push(arrival) {
            dropped.push(Dropped { packet, cause: DropCause::QueueFull });
        }
    }

    fn dequeue(&mut self, at: Timestamp, _dropped: &mut Vec<Dropped>) -> Option<Queued> {
        let oldest = self.fifo.pop();
        if self.fifo.backlog().packets == 0 {
            self.emptied = Some(at);
        }
        oldest
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use framewire_units::{Bitrate, Ecn};

    use super::*;
    use crate::queue::QueueLimit;
    use crate::verdict::{Packet, PacketId};

    fn red(settings: RedSettings) -> Red {
        let setup = QueueSetup {
            limit: QueueLimit::Packets(1_000),
            mtu: DataSize::from_bytes(1500),
            rate: Some(Bitrate::from_mbps(4)),
        };
        Red::new(settings, &setup, Seed(1))
    }

    fn offer(red: &mut Red, ecn: Ecn, idle: Duration) -> Vec<Dropped> {
        let packet = Packet { ecn, ..Packet::new(PacketId(0), DataSize::from_bytes(500)) };
        let mut dropped = Vec::new();
        let wait = Some(Duration::from_millis(1));
        red.enqueue(Arrival { packet: Queued::new(packet, Timestamp::ZERO), wait, idle }, &mut dropped);
        dropped
    }

    #[test]
    fn the_slope_is_that_of_the_paper_and_gentle_beyond_it() {
        let mut red = red(RedSettings::default());
        for (mean, expected) in [(5.0, 0.0), (10.0, 0.01), (15.0, 0.02), (22.5, 0.51), (30.0, 1.0)] {
            red.mean = mean;
            assert!((red.probability() - expected).abs() < 1e-12, "{mean}: {}", red.probability());
        }
    }

    #[test]
    fn gaps_between_drops_are_uniform() {
        // With p = 0.02: at least 50 packets lie between two drops, and at most 100 (section 7, with the wait).
        let mut red = red(RedSettings { weight: Probability::clamped(0.000_001), ..RedSettings::default() });
        (0..3).for_each(|_| drop(offer(&mut red, Ecn::NotEct, Duration::ZERO)));
        let mut last = 0;
        let mut gaps = Vec::new();
        for n in 1..200_000 {
            red.mean = 14.999_999;
            if !offer(&mut red, Ecn::NotEct, Duration::ZERO).is_empty() {
                gaps.push(n - last);
                last = n;
            } else {
                red.dequeue(Timestamp::ZERO, &mut Vec::new());
            }
        }
        gaps.remove(0);
        assert!(gaps.iter().all(|gap| (50..=101).contains(gap)), "{:?} {:?}", gaps.iter().min(), gaps.iter().max());
        let mean = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
        assert!((mean - 75.5).abs() < 5.0 * 50.0 / 12f64.sqrt() / (gaps.len() as f64).sqrt(), "{mean}");
    }

    #[test]
    fn the_mean_falls_while_nothing_is_sent() {
        let mut red = red(RedSettings::default());
        red.mean = 10.0;
        // 4 Mbit/s send 1,000 packets of 500 B in a second.
        offer(&mut red, Ecn::NotEct, Duration::from_secs(1));
        assert!((red.mean - 10.0 * 0.998f64.powi(1_001)).abs() < 1e-9, "{}", red.mean);
    }

    #[test]
    fn it_marks_what_knows_ecn_but_where_all_go() {
        let mut red = red(RedSettings { ecn: true, ..RedSettings::default() });
        (0..3).for_each(|_| drop(offer(&mut red, Ecn::Ect0, Duration::ZERO)));
        red.mean = 29.0;
        (0..10).for_each(|_| assert!(offer(&mut red, Ecn::Ect0, Duration::ZERO).is_empty()));
        assert!(red.backlog().packets == 13);
        let marked = std::iter::from_fn(|| red.dequeue(Timestamp::ZERO, &mut Vec::new())).filter(|one| one.marked);
        assert!((4..=10).contains(&marked.count()));
        (0..3).for_each(|_| drop(offer(&mut red, Ecn::Ect0, Duration::ZERO)));
        red.mean = 31.0;
        assert_eq!(offer(&mut red, Ecn::Ect0, Duration::ZERO).len(), 1);
    }
}
