//! The rate controls by name: what each is made of, and what a session needs beside it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use framewire_units::{DataSize, Duration, Keyword};

use crate::binomial::{Binomial, BinomialSettings};
use crate::client::{PlayerSettings, ReportKind};
use crate::controller::Controller;
use crate::fixed::FixedRate;
use crate::host::MakeController;
use crate::hybrid::{HybridController, HybridSettings};
use crate::rap::Rap;
use crate::source::Plan;
use crate::tfrc::{ReceiverSettings, SegmentSize, SenderSettings, TfrcController};
use crate::vtp::{Estimate, VtpController, VtpSettings};

const OWN: &str = "invariant: the library's own settings are in range, and so is a packet that has a payload";

/// The rate controls: of each its value, its name in files and on command lines, and what it does. Gives them to a macro
/// that makes an enumeration of them.
#[macro_export]
macro_rules! rate_controls {
    ($make:ident) => {
        $make! {
            /// The Video Transport Protocol's, as the paper has it.
            Vtp, "vtp", "Adaptive streaming of the ladder by the Video Transport Protocol.";
            /// VTP's packets, and a rate control by losses and queueing delay together.
            Hybrid, "vtp-hybrid", "Adaptive streaming by VTP's packets, with a rate control by loss and queueing delay.";
            /// TFRC (RFC 5348).
            Tfrc, "tfrc", "Adaptive streaming by TFRC (RFC 5348).";
            /// The Rate Adaptation Protocol (Rejaie, Handley and Estrin 1999).
            Rap, "rap", "Adaptive streaming by the Rate Adaptation Protocol.";
            /// Binomial congestion control (Bansal and Balakrishnan 2001) with k = l = 1/2.
            Sqrt, "sqrt", "Adaptive streaming by the binomial control SQRT.";
            /// The same with k = 0 and l = 1: TCP's additive increase and multiplicative decrease.
            Aimd, "aimd", "Adaptive streaming by additive increase and multiplicative decrease.";
            /// The plan of the top level, whatever the network takes.
            Fixed, "fixed", "The ladder's top level by its plan, whatever the network does.";
        }
    };
}

macro_rules! rate_control {
    ($($(#[doc = $doc:literal])+ $value:ident, $name:literal, $summary:literal;)+) => {
        /// What decides on rate and level.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RateControl {
            $($(#[doc = $doc])+ $value,)+
        }

        impl RateControl {
            /// All there are; VTP first.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Its name, as files and command lines have it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }

            /// What it is, in a line.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$value => $summary),+ }
            }
        }
    };
}
rate_controls! { rate_control }

/// What a rate control is made for.
#[derive(Clone)]
pub struct RateControlSettings {
    /// Bytes of video in a packet, at most; more than none.
    pub payload: DataSize,
    /// What may be known of the future, [with the audio](crate::source::PlanWithAudio) that goes beside the video; `None`
    /// of a live stream.
    pub plan: Option<Arc<dyn Plan>>,
    /// What the player waits for, from the first packet to the first frame.
    pub startup: Duration,
    /// How VTP reads equation 1 of its paper; nothing to the others.
    pub estimate: Estimate,
    /// α of VTP's equation 2, at least 0 and below 1; `None`: as calibrated for the estimate.
    pub alpha: Option<f64>,
    /// By how much VTP's rate rises in a step, per second and more than nothing; `None`: as the paper has it.
    pub step: Option<DataSize>,
}

impl RateControlSettings {
    /// For packets of up to so many bytes of video, a default player, and an unknown future.
    pub fn new(payload: DataSize) -> Self {
        let startup = PlayerSettings::default().startup;
        Self { payload, plan: None, startup, estimate: Estimate::PAPER, alpha: None, step: None }
    }
}

impl RateControl {
    /// The controller of one session.
    ///
    /// # Panics
    /// When a packet has no payload, or a constant of VTP is out of its range.
    pub fn controller(self, settings: &RateControlSettings) -> Box<dyn Controller> {
        let payload = settings.payload;
        let binomial = |of: BinomialSettings| Box::new(Binomial::new(BinomialSettings { payload, ..of }).expect(OWN));
        match self {
            Self::Vtp => {
                let own = VtpSettings::reading(settings.estimate);
                let (alpha, step) = (settings.alpha.unwrap_or(own.alpha), settings.step.unwrap_or(own.step));
                Box::new(VtpController::new(VtpSettings { alpha, step, ..own }).expect(OWN))
            }
            Self::Hybrid => {
                let own = HybridSettings { payload, startup: settings.startup, ..HybridSettings::default() };
                Box::new(HybridController::new(own, settings.plan.clone()).expect(OWN))
            }
            Self::Tfrc => {
                let segment = SegmentSize::Nominal(payload);
                Box::new(TfrcController::new(SenderSettings { segment, ..SenderSettings::default() }))
            }
            Self::Rap => Box::new(Rap::new(payload, true)),
            Self::Sqrt => binomial(BinomialSettings::SQRT),
            Self::Aimd => binomial(BinomialSettings::AIMD),
            Self::Fixed => Box::new(FixedRate::new()),
        }
    }

    /// Makes the controller of each session of a [`Host`](crate::host::Host).
    ///
    /// # Panics
    /// As [`controller`](Self::controller), when a session begins.
    pub fn maker(self, settings: RateControlSettings) -> MakeController {
        Box::new(move || self.controller(&settings))
    }

    /// What its clients have to report.
    pub fn reports(self) -> ReportKind {
        match self {
            Self::Tfrc => ReportKind::Tfrc(ReceiverSettings::default()),
            _ => ReportKind::Control,
        }
    }

    /// Whether its sessions know the client's player and send again what did not arrive: the paper's do not, and its
    /// rivals are compared with the paper's.
    pub const fn repeats(self) -> bool {
        matches!(self, Self::Hybrid)
    }
}

impl Keyword for RateControl {
    const NAME: &'static str = "RateControl";
    const ALL: &'static [Self] = &Self::ALL;
    const MEANING: &'static str = "What decides on rate and level.";

    fn as_str(self) -> &'static str {
        self.as_str()
    }

    fn meaning(self) -> &'static str {
        self.summary()
    }
}

impl fmt::Display for RateControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that no rate control has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("controller \"{name}\" does not exist; {} do", RateControl::ALL.map(RateControl::as_str).join(", "))]
pub struct UnknownRateControl {
    name: String,
}

impl RateControl {
    /// Names in scenarios and results of earlier versions, and what they are called now.
    pub const FORMER_NAMES: [(&str, Self); 1] = [("better", Self::Hybrid)];
}

impl FromStr for RateControl {
    type Err = UnknownRateControl;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == name);
        let former = Self::FORMER_NAMES.into_iter().find(|(former, _)| *former == name);
        known.or(former.map(|(_, control)| control)).ok_or_else(|| UnknownRateControl { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use framewire_units::{Bitrate, Timestamp};
    use framewire_wire::vtp::ControlPacket;

    use super::*;
    use crate::controller::{Feedback, PlanRates};
    use crate::path_reports::testing::control;

    const PAYLOAD: DataSize = DataSize::from_bytes(1_000);

    #[test]
    fn names_are_read_as_they_are_written() {
        for control in RateControl::ALL {
            assert_eq!(control.to_string().parse(), Ok(control));
        }
        assert_eq!("better".parse(), Ok(RateControl::Hybrid), "its name in files of earlier versions");
        let error = "Vtp".parse::<RateControl>().unwrap_err().to_string();
        assert_eq!(error, "controller \"Vtp\" does not exist; vtp, vtp-hybrid, tfrc, rap, sqrt, aimd, fixed do");
    }

    /// Packets between a packet that asks for a report and the report.
    const BEHIND: u32 = 10;

    /// Rates that come of a packet each 10 ms, of which each fifth is reported after 100 ms, and a loss now and then.
    fn rates_of(mut controller: Box<dyn Controller>) -> Vec<Bitrate> {
        let rates = [100, 900, 9_000].map(Bitrate::from_kbps);
        let plan = PlanRates { now_in_stream: Duration::ZERO, rates: &rates };
        let mut taken = vec![];
        for sequence in 0..400 {
            let now = sent_at(sequence);
            controller.handle_sent(now, sequence, PAYLOAD, sequence % 5 == 4);
            if controller.next_timeout().is_some_and(|at| at <= now) {
                controller.handle_timeout(now, &plan);
            }
            if let Some(reported) = sequence.checked_sub(BEHIND).filter(|reported| reported % 5 == 4) {
                let report = packet(reported, 5 - u32::from(reported % 100 == 99), sent_at(reported));
                controller.handle_feedback(now, &Feedback::Control(report), &plan);
            }
            taken.push(controller.decision(now, &plan).rate);
        }
        taken
    }

    fn sent_at(sequence: u32) -> Timestamp {
        Timestamp::from_millis(60_000 + 10 * u64::from(sequence))
    }

    fn packet(sequence: u32, packets: u32, sent: Timestamp) -> ControlPacket {
        let arrived = sent + Duration::from_millis(2);
        let first_arrival = sent_at(sequence.saturating_sub(4)) + Duration::from_millis(2);
        ControlPacket { receiver_time: arrived, first_arrival, ..control(sequence / 5, sequence, packets, sent) }
    }

    /// Against the algorithms themselves, each of which does something else than all others.
    #[test]
    fn each_name_is_its_own_algorithm() {
        let binomial = |of: BinomialSettings| Binomial::new(BinomialSettings { payload: PAYLOAD, ..of }).unwrap();
        let own: [Box<dyn Controller>; 7] = [
            Box::new(VtpController::new(VtpSettings::paper()).unwrap()),
            Box::new(HybridController::new(HybridSettings { payload: PAYLOAD, ..Default::default() }, None).unwrap()),
            Box::new(TfrcController::new(SenderSettings::default())),
            Box::new(Rap::new(PAYLOAD, true)),
            Box::new(binomial(BinomialSettings::SQRT)),
            Box::new(binomial(BinomialSettings::AIMD)),
            Box::new(FixedRate::new()),
        ];
        let mut seen = std::collections::BTreeSet::new();
        for (control, own) in RateControl::ALL.into_iter().zip(own) {
            let mut make = control.maker(RateControlSettings::new(PAYLOAD));
            let expected = rates_of(own);
            assert_eq!(rates_of(make()), expected, "{control}");
            assert_eq!(rates_of(make()), expected, "{control}: nothing goes from a session to the next");
            assert!(seen.insert(expected), "{control} does as another one");
        }
    }

    /// A plan that has risen the horizon through is entered with a fuller playout buffer than one that goes on as it is.
    struct Rising(bool);

    impl Plan for Rising {
        fn levels(&self) -> usize {
            2
        }

        fn rate_at(&self, level: usize, at: Duration) -> Bitrate {
            let rises = self.0 && at >= Duration::from_secs(1);
            Bitrate::from_kbps([100, if rises { 3_000 } else { 300 }][level])
        }
    }

    #[test]
    fn what_is_known_of_the_future_reaches_the_one_that_looks_ahead() {
        let levels = |control: RateControl, rises: bool| {
            let settings =
                RateControlSettings { plan: Some(Arc::new(Rising(rises))), ..RateControlSettings::new(PAYLOAD) };
            let rates = [100, 300].map(Bitrate::from_kbps);
            let mut controller = control.controller(&settings);
            let mut highest = 0;
            for sequence in 0..600 {
                let sent = sent_at(sequence);
                let place = sent.saturating_since(sent_at(0)).min(Duration::from_millis(900));
                let plan = PlanRates { now_in_stream: place, rates: &rates };
                controller.handle_sent(sent, sequence, PAYLOAD, sequence % 5 == 4);
                if sequence % 5 == 4 {
                    let now = sent + Duration::from_millis(5);
                    controller.handle_feedback(now, &Feedback::Control(packet(sequence, 5, sent)), &plan);
                    highest = highest.max(controller.decision(now, &plan).level);
                }
            }
            highest
        };
        assert_eq!([false, true].map(|rises| levels(RateControl::Hybrid, rises)), [1, 0]);
        assert_eq!([false, true].map(|rises| levels(RateControl::Vtp, rises)), [1, 1]);
    }

    #[test]
    fn only_the_hybrid_control_sends_again_and_only_tfrc_has_reports_of_its_own() {
        let all = RateControl::ALL;
        assert_eq!(all.map(RateControl::repeats), all.map(|control| control == RateControl::Hybrid));
        let own = all.map(|control| matches!(control.reports(), ReportKind::Tfrc(_)));
        assert_eq!(own, all.map(|control| control == RateControl::Tfrc));
    }
}
