//! The controller of each adaptive transport, with the settings that `framewire send` has.

use std::sync::Arc;

use framewire_adaptive::better::{BetterController, BetterSettings};
use framewire_adaptive::binomial::{Binomial, BinomialSettings};
use framewire_adaptive::client::ReportKind;
use framewire_adaptive::controller::Controller;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::rap::Rap;
use framewire_adaptive::source::Plan;
use framewire_adaptive::tfrc::{ReceiverSettings, SegmentSize, SenderSettings, TfrcController};
use framewire_adaptive::vtp::{VtpController, VtpSettings};
use framewire_scenario::Transport;
use framewire_units::{DataSize, Duration};

const OWN: &str = "invariant: these settings are the library's own";

/// The controller of a transport; `None` for one that is not adaptive. `payload` is bytes of video in a packet, and
/// `startup` what the player waits for.
pub(crate) fn controller(
    transport: Transport,
    payload: DataSize,
    plan: &Arc<dyn Plan>,
    startup: Duration,
) -> Option<Box<dyn Controller>> {
    let binomial =
        |settings: BinomialSettings| Box::new(Binomial::new(BinomialSettings { payload, ..settings }).expect(OWN));
    Some(match transport {
        Transport::Vtp => Box::new(VtpController::new(VtpSettings::paper()).expect(OWN)),
        Transport::Better => {
            let settings = BetterSettings { startup, ..BetterSettings::default() };
            Box::new(BetterController::new(settings, Some(Arc::clone(plan))).expect(OWN))
        }
        Transport::Tfrc => {
            let segment = SegmentSize::Nominal(payload);
            Box::new(TfrcController::new(SenderSettings { segment, ..SenderSettings::default() }))
        }
        Transport::Rap => Box::new(Rap::new(payload, true)),
        Transport::Sqrt => binomial(BinomialSettings::SQRT),
        Transport::Aimd => binomial(BinomialSettings::AIMD),
        Transport::Fixed => Box::new(FixedRate::new()),
        _ => return None,
    })
}

/// What the client of a transport reports.
pub(crate) fn reports(transport: Transport) -> ReportKind {
    match transport {
        Transport::Tfrc => ReportKind::Tfrc(ReceiverSettings::default()),
        _ => ReportKind::Control,
    }
}
