//! The Rate Adaptation Protocol (Rejaie, Handley and Estrin, "RAP: An End-to-end Rate-based Congestion Control
//! Mechanism for Realtime Streams in the Internet", IEEE INFOCOM 1999): TCP's additive increase and multiplicative
//! decrease on a rate.

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use crate::controller::{Controller, ControllerState, Decision, Feedback, PlanRates};
use crate::path_reports::PathReports;

/// beta: what a loss leaves of the rate.
const DECREASE: f64 = 0.5;

/// Packets per round-trip time that the rate never falls below: like TCP's window.
const LEAST_PACKETS: f64 = 1.0;

/// Gains of the short and of the long mean of the round-trip time (section on fine-grain adaptation; the values are
/// those of the protocol's implementation in ns-2: kfrtt 0.9, kxrtt 0.01).
const SHORT_GAIN: f64 = 0.9;
const LONG_GAIN: f64 = 0.01;

/// RAP as a controller of a stream of levels.
///
/// - Once per smoothed round-trip time the rate grows by one packet per round-trip time (in the terms of the paper: the
///   gap between packets IPG becomes IPG*C / (IPG + C), C being SRTT); at a loss it is halved, once for all packets that
///   were on the way.
/// - With fine-grain adaptation, packets leave slower while the round-trip time is longer than usual: the gap is
///   multiplied by the short mean of the round-trip time over the long one.
/// - Until the first control packet it sends at the floor of the plan. From then on it goes below the floor if it must,
///   and never above the cap, where it does not grow either.
/// - The level is the highest whose plan is within the rate.
///
/// RAP acknowledges every packet; here losses are what control packets report, so that with one for each k packets the
/// answer to a loss comes up to k packets later. A packet that the reported one overtook counts as lost.
#[derive(Clone, Debug)]
pub struct Rap {
    path: PathReports,
    fine_grain: bool,
    /// Packets per second; `None` until a round-trip time is known.
    rate: Option<f64>,
    /// Short and long mean of the round-trip time in seconds.
    means: Option<(f64, f64)>,
    next_step: Option<Timestamp>,
    last: Decision,
}

impl Rap {
    /// A controller at the start of a stream, for packets of about this payload.
    pub fn new(payload: DataSize, fine_grain: bool) -> Self {
        Self {
            path: PathReports::new(payload),
            fine_grain,
            rate: None,
            means: None,
            next_step: None,
            last: Decision { rate: Bitrate::default(), level: 0 },
        }
    }

    fn back_off(&mut self) {
        self.path.back_off();
        if let (Some(rate), Some(round_trip)) = (&mut self.rate, self.path.round_trip()) {
            *rate = (*rate * DECREASE).max(LEAST_PACKETS / round_trip.as_secs_f64());
        }
    }

    fn update_means(&mut self, sample: Duration) {
        let new = sample.as_secs_f64();
        let (short, long) = self.means.unwrap_or((new, new));
        self.means = Some((short + SHORT_GAIN * (new - short), long + LONG_GAIN * (new - long)));
    }

    /// One packet per round-trip time more, unless the plan has no use for it.
    fn step(&mut self, now: Timestamp, plan: &PlanRates<'_>) {
        let (Some(rate), Some(round_trip)) = (&mut self.rate, self.path.round_trip()) else { return };
        let cap = plan.cap().as_bps() as f64 / self.path.packet_bits();
        if *rate < cap {
            *rate = (*rate + 1.0 / round_trip.as_secs_f64()).min(cap);
        }
        self.next_step = Some(now + round_trip);
    }
}

impl Controller for Rap {
    fn handle_sent(&mut self, now: Timestamp, sequence: u32, payload: DataSize, ack_requested: bool) {
        self.path.handle_sent(now, sequence, payload, ack_requested);
    }

    fn handle_feedback(&mut self, now: Timestamp, feedback: &Feedback, plan: &PlanRates<'_>) {
        let Feedback::Control(packet) = feedback else { return };
        let Some(report) = self.path.handle(now, packet) else { return };
        self.update_means(report.round_trip);
        if self.rate.is_none() {
            self.rate = Some(plan.floor().as_bps() as f64 / self.path.packet_bits());
            self.next_step = self.path.round_trip().map(|round_trip| now + round_trip);
        }
        if report.congestion {
            self.back_off();
        }
    }

    fn handle_timeout(&mut self, now: Timestamp, plan: &PlanRates<'_>) {
        if self.path.handle_timeout(now) {
            self.back_off();
        }
        if self.next_step.is_some_and(|at| at <= now) {
            self.step(now, plan);
        }
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        [self.path.next_timeout(), self.next_step].into_iter().flatten().min()
    }

    fn decision(&mut self, _now: Timestamp, plan: &PlanRates<'_>) -> Decision {
        let coarse = self.rate.map_or(plan.floor(), |rate| bitrate(rate * self.path.packet_bits()));
        let damping = self.means.filter(|_| self.fine_grain).map_or(1.0, |(short, long)| long / short);
        let rate = bitrate(coarse.as_bps() as f64 * damping).min(plan.cap());
        self.last = Decision { rate, level: plan.highest_within(coarse).unwrap_or(0) };
        self.last
    }

    fn state(&self) -> ControllerState {
        self.path.state(if self.rate.is_some() { "increase" } else { "start" }, self.last)
    }
}

fn bitrate(bits_per_second: f64) -> Bitrate {
    Bitrate::from_bps(bits_per_second.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_reports::testing::control;

    const RATES: [Bitrate; 3] = [Bitrate::from_kbps(125), Bitrate::from_kbps(260), Bitrate::from_kbps(450)];
    const PLAN: PlanRates<'_> = PlanRates { now_in_stream: Duration::ZERO, rates: &RATES };
    const PAYLOAD: DataSize = DataSize::from_bytes(1_000);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// After the first report, at 100 ms of round trip: 8 kbit more each 100 ms.
    fn started(fine_grain: bool) -> Rap {
        let mut rap = Rap::new(PAYLOAD, fine_grain);
        assert_eq!(rap.decision(at(0), &PLAN), Decision { rate: RATES[0], level: 0 });
        rap.handle_sent(at(0), 0, PAYLOAD, true);
        rap.handle_feedback(at(100), &Feedback::Control(control(0, 0, 1, at(0))), &PLAN);
        rap
    }

    #[test]
    fn it_grows_by_a_packet_each_round_trip_and_halves_at_a_loss() {
        let mut rap = started(false);
        for step in 1..=2 {
            let due = rap.next_timeout().unwrap();
            assert_eq!(due, at(100 + 100 * step));
            rap.handle_timeout(due, &PLAN);
            assert_eq!(rap.decision(due, &PLAN).rate, Bitrate::from_kbps(125 + 80 * step));
        }
        assert_eq!(rap.decision(at(301), &PLAN).level, 1, "285 kbit/s");
        rap.handle_sent(at(310), 1, PAYLOAD, false);
        rap.handle_sent(at(320), 2, PAYLOAD, true);
        rap.handle_feedback(at(420), &Feedback::Control(control(1, 2, 1, at(320))), &PLAN);
        assert_eq!(rap.decision(at(420), &PLAN), Decision { rate: Bitrate::from_bps(142_500), level: 0 });
    }

    #[test]
    fn it_stops_at_the_cap_and_at_a_packet_each_round_trip() {
        let mut rap = started(false);
        for step in 2..40 {
            rap.handle_timeout(at(100 * step), &PLAN);
        }
        assert_eq!(rap.decision(at(4_000), &PLAN), Decision { rate: RATES[2], level: 2 });
        for silence in 1..30u64 {
            rap.handle_sent(at(10_000 * silence), 1, PAYLOAD, true);
            let due = rap.path.next_timeout().unwrap();
            rap.next_step = None;
            rap.handle_timeout(due, &PLAN);
        }
        assert_eq!(rap.decision(at(0), &PLAN), Decision { rate: Bitrate::from_kbps(80), level: 0 });
    }

    #[test]
    fn a_longer_round_trip_slows_the_fine_grain_down() {
        let (mut fine, mut coarse) = (started(true), started(false));
        for rap in [&mut fine, &mut coarse] {
            rap.handle_sent(at(110), 1, PAYLOAD, true);
            rap.handle_feedback(at(310), &Feedback::Control(control(1, 1, 1, at(110))), &PLAN);
        }
        // Means: 100 + 0.9 * 100 = 190 ms and 100 + 0.01 * 100 = 101 ms.
        assert_eq!(fine.decision(at(310), &PLAN).rate.as_bps(), (125_000.0f64 * 101.0 / 190.0).round() as u64);
        assert_eq!(coarse.decision(at(310), &PLAN).rate, RATES[0]);
    }
}
