//! `vtpsink`: serves a movie over VTP to any number of clients, each at the level that its network can take.
//!
//! The movie stands in a streaming file, with all levels side by side, and each client is at another place of it; or its
//! levels come on request pads while they are served (`live`). See `docs/elements/vtpsink.md`.

mod estimate;
mod imp;
mod live;
mod messages;
mod settings;
mod transport;

use gst::glib;
use gst::prelude::*;

pub use estimate::Estimate;
pub use transport::Transport;

glib::wrapper! {
    /// The element.
    pub struct VtpSink(ObjectSubclass<imp::VtpSink>) @extends gst::Element, gst::Object;
}

/// Registers the element with the plugin.
///
/// # Errors
/// When GStreamer refuses it.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "vtpsink", gst::Rank::NONE, VtpSink::static_type())
}
