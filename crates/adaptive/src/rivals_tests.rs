//! RAP and the binomial controls over a path that only loses packets: the rate that theory gives to additive increase
//! and multiplicative decrease, and what it makes them equal to.

use std::collections::VecDeque;

use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed, Timestamp};
use framewire_wire::vtp::ControlPacket;

use crate::binomial::{Binomial, BinomialSettings};
use crate::controller::{Controller, Feedback, PlanRates};
use crate::path_reports::testing::control;
use crate::rap::Rap;

const PAYLOAD: DataSize = DataSize::from_bytes(1_000);
const ROUND_TRIP: Duration = Duration::from_millis(100);
const RATES: [Bitrate; 2] = [Bitrate::from_kbps(80), Bitrate::from_mbps(100)];
const PLAN: PlanRates<'_> = PlanRates { now_in_stream: Duration::ZERO, rates: &RATES };

/// Packets per second that a controller sends where each is lost with this probability, and one in `k` is reported.
fn mean_rate(mut controller: Box<dyn Controller>, loss: f64, k: u32) -> f64 {
    let (start, end) = (Timestamp::from_secs(60), Timestamp::from_secs(1_560));
    let mut draws = Seed(8).stream("rivals", &[]);
    let mut reports: VecDeque<(Timestamp, ControlPacket)> = VecDeque::new();
    let (mut now, mut next_send, mut sequence, mut sent) = (Timestamp::ZERO, Timestamp::ZERO, 0, 0u32);
    let (mut arrived, mut report) = (0, 0);
    while now < end {
        while reports.front().is_some_and(|(at, _)| *at <= now) {
            let (_, packet) = reports.pop_front().unwrap();
            controller.handle_feedback(now, &Feedback::Control(packet), &PLAN);
        }
        if controller.next_timeout().is_some_and(|at| at <= now) {
            controller.handle_timeout(now, &PLAN);
        }
        if next_send <= now {
            let asks = sequence % k == k - 1;
            controller.handle_sent(now, sequence, PAYLOAD, asks);
            sent += u32::from(now >= start);
            if !draws.chance(Probability::new(loss).unwrap()) {
                arrived += 1;
                if asks {
                    reports.push_back((now + ROUND_TRIP, control(report, sequence, arrived, now)));
                    (report, arrived) = (report + 1, 0);
                }
            }
            sequence += 1;
            next_send = now + controller.decision(now, &PLAN).rate.transmit_time(PAYLOAD);
        }
        let report_due = reports.front().map(|(at, _)| *at);
        let next = [report_due, controller.next_timeout(), Some(next_send)].into_iter().flatten().min().unwrap();
        now = next.max(now);
    }
    f64::from(sent) / end.saturating_since(start).as_secs_f64()
}

/// sqrt(3 / (2p)) packets per round trip (Mathis et al. 1997, for periodic losses).
fn theory(loss: f64) -> f64 {
    (1.5 / loss).sqrt() / ROUND_TRIP.as_secs_f64()
}

#[test]
fn all_get_what_additive_increase_and_multiplicative_decrease_get() {
    let rivals: [fn() -> Box<dyn Controller>; 3] = [
        || Box::new(Rap::new(PAYLOAD, false)),
        || Box::new(Binomial::new(BinomialSettings::SQRT).unwrap()),
        || Box::new(Binomial::new(BinomialSettings::AIMD).unwrap()),
    ];
    for loss in [0.001, 0.005, 0.02] {
        for (rival, name) in rivals.iter().zip(["RAP", "SQRT", "AIMD"]) {
            for k in [1, 5] {
                let ratio = mean_rate(rival(), loss, k) / theory(loss);
                println!("{name}, loss {loss}, a report for {k}: {ratio:.3} of theory");
                assert!((0.75..=1.25).contains(&ratio), "{name}, loss {loss}, a report for {k}: {ratio} of theory");
            }
        }
    }
}
