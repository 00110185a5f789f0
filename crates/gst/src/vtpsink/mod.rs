//! `vtpsink`: serves a streaming file over VTP to any number of clients, each at the level that its network can take.
//!
//! It has no pad: what it sends stands in the file, with all levels side by side, and each client is at another place of
//! it. See `docs/elements/vtpsink.md`.

mod imp;
mod messages;
mod service;
mod settings;

use gst::glib;
use gst::prelude::*;

pub use settings::Transport;

glib::wrapper! {
    /// The element.
    pub struct VtpSink(ObjectSubclass<imp::VtpSink>) @extends gst::Element, gst::Object;
}

/// Registers the element with the plugin.
///
/// # Errors
/// When GStreamer refuses it.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "vtpsink", gst::Rank::NONE, VtpSink::static_type())
}
