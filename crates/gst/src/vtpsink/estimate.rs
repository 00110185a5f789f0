//! How VTP reads equation 1 of its paper: the readings of `framewire send --estimate`.

use framewire_adaptive::vtp;
use framewire_units::DataSize;
use gst::glib;

/// How equation 1 is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstFramewireVtpEstimate")]
pub enum Estimate {
    /// Section 4.1.
    #[default]
    #[enum_value(name = "The bytes since the last control packet over the time since then", nick = "bytes-over-gaps")]
    BytesOverGaps,
    /// The indices of the equation.
    #[enum_value(name = "The bytes of k packets over the k - 1 gaps between them", nick = "k-over-k-1")]
    KOverKMinus1,
}

impl Estimate {
    /// The reading, with so many bytes of each packet's header where it counts any; all of them when it is not set.
    pub(crate) fn counting(self, header: Option<DataSize>) -> vtp::Estimate {
        match self {
            Self::BytesOverGaps => {
                vtp::Estimate::BytesOverGaps { header: header.unwrap_or(vtp::Estimate::PAPER_HEADER) }
            }
            Self::KOverKMinus1 => vtp::Estimate::KOverKMinus1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readings_are_those_of_the_library() {
        assert_eq!(Estimate::default().counting(None), vtp::Estimate::default());
        let header = DataSize::from_bytes(28);
        assert_eq!(Estimate::BytesOverGaps.counting(Some(header)), vtp::Estimate::BytesOverGaps { header });
        assert_eq!(Estimate::KOverKMinus1.counting(None), vtp::Estimate::KOverKMinus1);
        let class = glib::EnumClass::new::<Estimate>();
        let names: Vec<_> = class.values().iter().map(|value| value.nick().replace('-', "")).collect();
        assert_eq!(names, vtp::Estimate::NAMES.map(|name| name.replace([' ', '-'], "")));
    }
}
