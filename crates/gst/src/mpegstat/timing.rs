//! The property `timing`.

use framewire_units as units;
use gst::glib;

/// Where the expected times of frames come from: [`units::Timing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstFramewireStatTiming")]
pub enum Timing {
    /// Time stamps of buffers, or of RTP packets, brought into transport order.
    #[default]
    #[enum_value(name = "Time stamps of the stream, in transport order", nick = "clock")]
    Clock,
    /// As the thesis: the time code of the last group header that came, and the frame's place in its group.
    #[enum_value(name = "Time codes of groups of pictures, as in the thesis", nick = "thesis")]
    Thesis,
}

impl From<Timing> for units::Timing {
    fn from(timing: Timing) -> Self {
        match timing {
            Timing::Clock => Self::Clock,
            Timing::Thesis => Self::Thesis,
        }
    }
}
