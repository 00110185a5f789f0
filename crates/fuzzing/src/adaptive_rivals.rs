//! Any feedback at any times, to every controller beside the paper's: what is decided stays within the plan, or within
//! what the hybrid one may send ahead of it.

use framewire_adaptive::hybrid::{HybridController, HybridSettings};
use framewire_adaptive::binomial::{Binomial, BinomialSettings};
use framewire_adaptive::controller::{Controller, Feedback, PlanRates, TfrcFeedback};
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::rap::Rap;
use framewire_adaptive::tfrc::{SenderSettings, TfrcController};
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::vtp::ControlPacket;

/// (kind, step of the clock or a jump, numbers)
type Step = (u8, u32, u32, u32, u64);

pub(crate) fn run(data: &[u8]) {
    let Some(input) = crate::decoded::<(u8, Vec<u32>, Vec<Step>)>(data) else { return };
    let (which, rates, steps) = input;
    let size = DataSize::from_bytes(1_000);
    let mut controller: Box<dyn Controller> = match which % 7 {
        0 => Box::new(Rap::new(size, false)),
        1 => Box::new(Rap::new(size, true)),
        2 => Box::new(Binomial::new(BinomialSettings::SQRT).unwrap()),
        3 => Box::new(Binomial::new(BinomialSettings::AIMD).unwrap()),
        4 => Box::new(FixedRate::new()),
        5 => Box::new(HybridController::new(HybridSettings::default(), None).unwrap()),
        _ => Box::new(TfrcController::new(SenderSettings::default())),
    };
    let mut rates: Vec<Bitrate> = rates.iter().take(8).map(|&rate| Bitrate::from_bps(u64::from(rate))).collect();
    rates.push(Bitrate::from_kbps(450));
    let plan = PlanRates { now_in_stream: Duration::ZERO, rates: &rates };
    let mut now = Timestamp::ZERO;
    // The last packet that asked: what does not answer it is refused at once.
    let mut asked = (0, Timestamp::ZERO);
    for (kind, wait, sequence, report, number) in steps {
        now =
            if kind & 0x80 != 0 { Timestamp::from_nanos(number) } else { now + Duration::from_micros(u64::from(wait)) };
        let time = Timestamp::from_nanos(number);
        match kind & 3 {
            0 | 1 => {
                controller.handle_sent(now, sequence, DataSize::from_bytes(u64::from(report)), kind & 1 != 0);
                asked = if kind & 1 != 0 { (sequence, now) } else { asked };
            }
            2 => {
                let (sequence, sender_time) = if kind & 8 != 0 { asked } else { (sequence, time) };
                let packet = ControlPacket {
                    session: 0,
                    sequence,
                    sender_time,
                    receiver_time: time,
                    size: if kind & 16 != 0 { DataSize::ZERO } else { size },
                    report,
                    first_arrival: time,
                    packets: wait & 7,
                    buffer_free: (kind & 4 != 0).then_some(DataSize::from_bytes(number & u64::from(u32::MAX))),
                };
                controller.handle_feedback(now, &Feedback::Control(packet), &plan);
            }
            _ => {
                let feedback = TfrcFeedback {
                    echoed: time,
                    delay: Duration::from_micros(u64::from(wait)),
                    receive_rate: Bitrate::from_bps(u64::from(report)),
                    loss_event_rate: f64::from(sequence) / f64::from(u32::MAX),
                };
                controller.handle_feedback(now, &Feedback::Tfrc(feedback), &plan);
            }
        }
        controller.handle_timeout(now, &plan);
        let decision = controller.decision(now, &plan);
        let ahead = if which % 7 == 5 { plan.cap().as_bps() / 4 } else { 0 };
        assert!(decision.rate.as_bps() <= plan.cap().as_bps() + ahead && decision.level <= plan.top());
        assert!(decision.rate == controller.state().rate);
    }
}
