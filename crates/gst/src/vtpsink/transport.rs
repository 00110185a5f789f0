//! What decides on rate and level: VTP and its rivals, by the names of `framewire send --transport`.

use std::sync::Arc;

use framewire_adaptive::better::{BetterController, BetterSettings};
use framewire_adaptive::binomial::{Binomial, BinomialSettings};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::host::MakeController;
use framewire_adaptive::rap::Rap;
use framewire_adaptive::source::Plan;
use framewire_adaptive::tfrc::{SegmentSize, SenderSettings, TfrcController};
use framewire_adaptive::vtp::{VtpController, VtpSettings};
use framewire_units::DataSize;
use gst::glib;

/// What decides on rate and level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstFramewireVtpTransport")]
pub enum Transport {
    /// The paper's rate control.
    #[default]
    #[enum_value(name = "The Video Transport Protocol's rate control", nick = "vtp")]
    Vtp,
    /// The second rate control of VTP.
    #[enum_value(name = "VTP's packets, and a rate control that goes beyond the paper's", nick = "better")]
    Better,
    /// RFC 5348.
    #[enum_value(name = "TFRC (RFC 5348); clients need reports=tfrc", nick = "tfrc")]
    Tfrc,
    /// Rejaie, Handley and Estrin 1999.
    #[enum_value(name = "The Rate Adaptation Protocol", nick = "rap")]
    Rap,
    /// Bansal and Balakrishnan 2001, with k = l = 1/2.
    #[enum_value(name = "Binomial congestion control, square root", nick = "sqrt")]
    Sqrt,
    /// The same with k = 0 and l = 1: TCP's.
    #[enum_value(name = "Additive increase, multiplicative decrease", nick = "aimd")]
    Aimd,
    /// The top level, whatever arrives.
    #[enum_value(name = "The plan of the top level, whatever the network takes", nick = "fixed")]
    Fixed,
}

impl Transport {
    /// Makes the controller of each session, for packets of up to `payload` bytes of video. `ahead` is what a controller
    /// may know of the future.
    pub(super) fn maker(self, payload: u16, ahead: Option<Arc<dyn Plan>>) -> MakeController {
        const OWN: &str = "invariant: these settings are the library's own";
        let payload = DataSize::from_bytes(payload.into());
        let binomial = |settings: BinomialSettings| -> MakeController {
            Box::new(move || Box::new(Binomial::new(settings).expect(OWN)))
        };
        match self {
            Self::Vtp => Box::new(|| {
                let controller = VtpController::new(VtpSettings::paper());
                Box::new(controller.expect(OWN)) as Box<dyn Controller>
            }),
            Self::Better => Box::new(move || {
                let settings = BetterSettings { payload, ..BetterSettings::default() };
                Box::new(BetterController::new(settings, ahead.clone()).expect(OWN))
            }),
            Self::Tfrc => {
                let segment = SegmentSize::Nominal(payload);
                let settings = SenderSettings { segment, ..SenderSettings::default() };
                Box::new(move || Box::new(TfrcController::new(settings)))
            }
            Self::Rap => Box::new(move || Box::new(Rap::new(payload, true))),
            Self::Sqrt => binomial(BinomialSettings { payload, ..BinomialSettings::SQRT }),
            Self::Aimd => binomial(BinomialSettings { payload, ..BinomialSettings::AIMD }),
            Self::Fixed => Box::new(|| Box::new(FixedRate::new())),
        }
    }
}
