//! The signal that reports a lost group of pictures.

use gst::glib;
use gst::glib::prelude::*;
use gst::glib::subclass::Signal;

/// The signal that reports a [`LostGroup`](framewire_transport::live::LostGroup): the number of the frame (buffers
/// since the start) and the rule that gave it up.
const GROUP_LOST: &str = "group-lost";

/// The signal for one element: GLib lets no two types share it.
pub(crate) fn signal() -> Signal {
    Signal::builder(GROUP_LOST).param_types([u64::static_type(), String::static_type()]).build()
}

/// Emits `group-lost`.
pub(crate) fn tell(element: &impl IsA<glib::Object>, frame: u64, rule: &str) {
    element.emit_by_name::<()>(GROUP_LOST, &[&frame, &rule]);
}
