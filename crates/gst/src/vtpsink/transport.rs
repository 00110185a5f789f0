//! What decides on rate and level: VTP and its rivals, by the names of `framewire send --transport`.

use framewire_adaptive::rate_control::RateControl;
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

impl From<Transport> for RateControl {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Vtp => Self::Vtp,
            Transport::Better => Self::Better,
            Transport::Tfrc => Self::Tfrc,
            Transport::Rap => Self::Rap,
            Transport::Sqrt => Self::Sqrt,
            Transport::Aimd => Self::Aimd,
            Transport::Fixed => Self::Fixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nicks_are_the_names_of_the_library() {
        let class = glib::EnumClass::new::<Transport>();
        let nicks: Vec<_> = class.values().iter().map(|value| value.nick().to_owned()).collect();
        assert_eq!(nicks, RateControl::ALL.map(RateControl::as_str));
        for value in class.values() {
            let transport: Transport = value.to_value(&class).get().unwrap();
            assert_eq!(RateControl::from(transport).as_str(), value.nick());
        }
    }
}
