//! Binomial congestion control (Bansal and Balakrishnan, "Binomial Congestion Control Algorithms", IEEE INFOCOM 2001):
//! a window that grows by alpha / w^k each round-trip time and shrinks by beta * w^l at a loss.

use framewire_units::{Bitrate, DataSize, Timestamp};

use crate::controller::{Controller, ControllerState, Decision, Feedback, PlanRates};
use crate::path_reports::PathReports;

/// The four numbers of a binomial algorithm. It competes fairly with TCP where k + l = 1 and l <= 1 (the paper's rule).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinomialSettings {
    /// k: how much a large window slows the increase.
    pub increase_exponent: f64,
    /// l: how much a large window deepens the decrease.
    pub decrease_exponent: f64,
    /// alpha: the increase of a window of one packet.
    pub increase: f64,
    /// beta: the decrease of a window of one packet.
    pub decrease: f64,
    /// Payload of a packet, about.
    pub payload: DataSize,
}

/// Why a binomial algorithm cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} of a binomial control = {value}, allowed: {allowed}")]
pub struct BinomialError {
    name: &'static str,
    value: f64,
    allowed: &'static str,
}

impl BinomialSettings {
    /// SQRT: k = l = 1/2, alpha = 1. Its window is sqrt(alpha / (beta*p)) on average, that of TCP sqrt(3 / (2*p)):
    /// beta = 2/3 makes them equal.
    pub const SQRT: Self = Self {
        increase_exponent: 0.5,
        decrease_exponent: 0.5,
        increase: 1.0,
        decrease: 2.0 / 3.0,
        payload: DataSize::from_bytes(1_000),
    };

    /// TCP's own: k = 0, l = 1, alpha = 1, beta = 1/2.
    pub const AIMD: Self =
        Self { increase_exponent: 0.0, decrease_exponent: 1.0, increase: 1.0, decrease: 0.5, ..Self::SQRT };

    fn check(&self) -> Result<(), BinomialError> {
        let error = |name, value, allowed| Err(BinomialError { name, value, allowed });
        for (name, value) in [("k", self.increase_exponent), ("l", self.decrease_exponent)] {
            if !(-1.0..=2.0).contains(&value) {
                return error(name, value, "-1 to 2");
            }
        }
        for (name, value) in [("alpha", self.increase), ("beta", self.decrease)] {
            if !(value > 0.0 && value <= 100.0) {
                return error(name, value, "more than 0, at most 100");
            }
        }
        Ok(())
    }
}

/// A binomial algorithm as a controller of a stream of levels.
///
/// The rate is the window over the smoothed round-trip time. The window doubles each round-trip time until the first
/// loss, falls to one packet when the receiver is silent for a retransmission timeout, and answers losses once for all
/// packets that were on the way. Until the first control packet the rate is the floor of the plan; from then on it goes
/// below the floor if it must, and never above the cap, where it does not grow either. The level is the highest whose
/// plan is within the rate. Losses are what control packets report; a packet that the reported one overtook counts as
/// lost.
#[derive(Clone, Debug)]
pub struct Binomial {
    settings: BinomialSettings,
    path: PathReports,
    /// w, in packets, at least one; `None` until a round-trip time is known.
    window: Option<f64>,
    slow_start: bool,
    next_step: Option<Timestamp>,
    last: Decision,
}

impl Binomial {
    /// A controller at the start of a stream.
    ///
    /// # Errors
    /// When one of the four numbers is out of range.
    pub fn new(settings: BinomialSettings) -> Result<Self, BinomialError> {
        settings.check()?;
        Ok(Self {
            settings,
            path: PathReports::new(settings.payload),
            window: None,
            slow_start: true,
            next_step: None,
            last: Decision { rate: Bitrate::default(), level: 0 },
        })
    }

    fn shrink(&mut self) {
        self.path.back_off();
        self.slow_start = false;
        let BinomialSettings { decrease, decrease_exponent, .. } = self.settings;
        self.window = self.window.map(|window| (window - decrease * libm::pow(window, decrease_exponent)).max(1.0));
    }

    /// A round-trip time passed: the window grows, unless the plan has no use for it.
    fn step(&mut self, now: Timestamp, plan: &PlanRates<'_>) {
        let (Some(window), Some(round_trip)) = (self.window, self.path.round_trip()) else { return };
        let cap = plan.cap().as_bps() as f64 * round_trip.as_secs_f64() / self.path.packet_bits();
        if window < cap {
            let BinomialSettings { increase, increase_exponent, .. } = self.settings;
            let growth = if self.slow_start { window } else { increase / libm::pow(window, increase_exponent) };
            self.window = Some((window + growth).min(cap).max(1.0));
        }
        self.next_step = Some(now + round_trip);
    }

    fn rate(&self) -> Option<Bitrate> {
        let (window, round_trip) = (self.window?, self.path.round_trip()?);
        Some(Bitrate::from_bps((window * self.path.packet_bits() / round_trip.as_secs_f64()).round() as u64))
    }
}

impl Controller for Binomial {
    fn handle_sent(&mut self, now: Timestamp, sequence: u32, payload: DataSize, ack_requested: bool) {
        self.path.handle_sent(now, sequence, payload, ack_requested);
    }

    fn handle_feedback(&mut self, now: Timestamp, feedback: &Feedback, plan: &PlanRates<'_>) {
        let Feedback::Control(packet) = feedback else { return };
        let Some(report) = self.path.handle(now, packet) else { return };
        if let (None, Some(round_trip)) = (self.window, self.path.round_trip()) {
            let floor = plan.floor().as_bps() as f64 * round_trip.as_secs_f64() / self.path.packet_bits();
            self.window = Some(floor.max(1.0));
            self.next_step = Some(now + round_trip);
        }
        if report.congestion {
            self.shrink();
        }
    }

    fn handle_timeout(&mut self, now: Timestamp, plan: &PlanRates<'_>) {
        if self.path.handle_timeout(now) {
            self.shrink();
            self.window = self.window.map(|_| 1.0);
        }
        if self.next_step.is_some_and(|at| at <= now) {
            self.step(now, plan);
        }
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        [self.path.next_timeout(), self.next_step].into_iter().flatten().min()
    }

    fn decision(&mut self, _now: Timestamp, plan: &PlanRates<'_>) -> Decision {
        let rate = self.rate().unwrap_or(plan.floor());
        self.last = Decision { rate: rate.min(plan.cap()), level: plan.highest_within(rate).unwrap_or(0) };
        self.last
    }

    fn state(&self) -> ControllerState {
        let name = match (self.window, self.slow_start) {
            (None, _) => "start",
            (_, true) => "slow start",
            (_, false) => "avoidance",
        };
        self.path.state(name, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use framewire_units::Duration;

    use crate::path_reports::testing::control;

    const RATES: [Bitrate; 2] = [Bitrate::from_kbps(160), Bitrate::from_mbps(100)];
    const PLAN: PlanRates<'_> = PlanRates { now_in_stream: Duration::ZERO, rates: &RATES };
    const PAYLOAD: DataSize = DataSize::from_bytes(1_000);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// 160 kbit/s at 100 ms are a window of two packets.
    fn started(settings: BinomialSettings) -> Binomial {
        let mut binomial = Binomial::new(settings).unwrap();
        assert_eq!(binomial.decision(at(0), &PLAN), Decision { rate: RATES[0], level: 0 });
        binomial.handle_sent(at(0), 0, PAYLOAD, true);
        binomial.handle_feedback(at(100), &Feedback::Control(control(0, 0, 1, at(0))), &PLAN);
        assert_eq!(binomial.window, Some(2.0));
        binomial
    }

    #[test]
    fn steps_by_hand() {
        let mut sqrt = started(BinomialSettings::SQRT);
        for (millis, expected) in [(200, 4.0), (300, 8.0), (400, 16.0)] {
            assert_eq!(sqrt.next_timeout(), Some(at(millis)));
            sqrt.handle_timeout(at(millis), &PLAN);
            assert_eq!(sqrt.window, Some(expected));
        }
        sqrt.shrink();
        assert_eq!(sqrt.window, Some(16.0 - 2.0 / 3.0 * 4.0));
        sqrt.window = Some(16.0);
        sqrt.handle_timeout(at(500), &PLAN);
        assert_eq!(sqrt.window, Some(16.25));
        assert_eq!(sqrt.decision(at(500), &PLAN).rate, Bitrate::from_kbps(1_300));
    }

    #[test]
    fn silence_leaves_one_packet() {
        let mut sqrt = started(BinomialSettings::SQRT);
        sqrt.handle_sent(at(110), 1, PAYLOAD, true);
        sqrt.next_step = None;
        let due = sqrt.next_timeout().unwrap();
        sqrt.handle_timeout(due, &PLAN);
        assert_eq!((sqrt.window, sqrt.state().name), (Some(1.0), "avoidance"));
    }

    /// Mean packets per round-trip time when every n-th packet is lost.
    fn mean_window(settings: BinomialSettings, packets_per_loss: f64) -> f64 {
        let mut binomial = started(settings);
        binomial.shrink();
        let (mut until_loss, mut sent, rounds) = (packets_per_loss, 0.0, 40_000);
        for round in 0..rounds {
            let window = binomial.window.unwrap();
            sent += window;
            until_loss -= window;
            if until_loss <= 0.0 {
                until_loss += packets_per_loss;
                binomial.shrink();
            }
            binomial.step(at(100 * round), &PLAN);
        }
        sent / rounds as f64
    }

    #[test]
    fn square_root_gets_what_tcp_gets_at_the_same_loss() {
        for packets_per_loss in [200.0, 1_000.0, 5_000.0] {
            let theory = (1.5f64 * packets_per_loss).sqrt();
            let sqrt = mean_window(BinomialSettings::SQRT, packets_per_loss);
            let aimd = mean_window(BinomialSettings::AIMD, packets_per_loss);
            assert!((sqrt / theory - 1.0).abs() < 0.05, "SQRT: {sqrt}, not {theory}");
            assert!((aimd / theory - 1.0).abs() < 0.05, "AIMD: {aimd}, not {theory}");
        }
    }

    #[test]
    fn settings_without_sense_are_refused_by_name() {
        let refused = |settings| Binomial::new(settings).map(|_| ()).unwrap_err().to_string();
        let sqrt = BinomialSettings::SQRT;
        assert_eq!(
            refused(BinomialSettings { increase: f64::NAN, ..sqrt }),
            "alpha of a binomial control = NaN, allowed: more than 0, at most 100"
        );
        assert!(refused(BinomialSettings { decrease: -1.0, ..sqrt }).contains("beta"));
        assert!(refused(BinomialSettings { increase_exponent: 3.0, ..sqrt }).contains("-1 to 2"));
        assert!(refused(BinomialSettings { decrease_exponent: f64::INFINITY, ..sqrt }).starts_with("l of"));
    }
}
