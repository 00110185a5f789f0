//! `ifdsink`: sends live video over the network, and drops frames by importance where the network is too slow.
//!
//! The sink of the thesis (chapter 2) over the library's sending halves. Frames come in on the streaming thread at their
//! time (`sync`), are decided on in the library's queue directly before the socket, and leave as soon as the socket has
//! room. What the kernel holds unsent is bounded, so that the data waits where it can still be given up. See
//! `docs/elements/ifdsink.md`.

mod imp;
mod intake;
mod notices;
mod preroll;
mod settings;
mod times;

use gst::glib;
use gst::prelude::*;

pub use settings::Carrier;

glib::wrapper! {
    /// The element.
    pub struct IfdSink(ObjectSubclass<imp::IfdSink>) @extends gst_base::BaseSink, gst::Element, gst::Object;
}

/// Registers the element with the plugin.
///
/// # Errors
/// When GStreamer refuses it.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "ifdsink", gst::Rank::NONE, IfdSink::static_type())
}
