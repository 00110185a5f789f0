//! What decides on rate and level: VTP and its rivals, by the names of `framewire send --transport`.

use framewire_adaptive::rate_control::RateControl;
use gst::glib;

macro_rules! transport {
    ($($(#[doc = $doc:tt])+ $value:ident, $name:tt, $summary:tt;)+) => {
        /// What decides on rate and level.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, glib::Enum)]
        #[enum_type(name = "GstFramewireVtpTransport")]
        pub enum Transport {
            $($(#[doc = $doc])+ #[enum_value(name = $summary, nick = $name)] $value,)+
        }

        impl From<Transport> for RateControl {
            fn from(transport: Transport) -> Self {
                match transport { $(Transport::$value => Self::$value),+ }
            }
        }
    };
}
framewire_adaptive::rate_controls! { transport }

impl Default for Transport {
    fn default() -> Self {
        Self::Vtp
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
