//! `vtpsrc`: receives an adaptive stream (VTP), so that any GStreamer player is a client of it.
//!
//! A thread of its own runs `framewire-endpoint`'s client and answers the server however long downstream takes; the
//! streaming thread fetches whole frames. See `docs/elements/vtpsrc.md`.

mod caps;
mod imp;
mod messages;
mod reception;
mod settings;

use gst::glib;
use gst::prelude::*;

pub use settings::Reports;
pub(crate) use settings::{DEFAULT_CONTROL_PORT, DEFAULT_DATA_PORT, DEFAULT_HOST, shared_key, title};

glib::wrapper! {
    /// The element.
    pub struct VtpSrc(ObjectSubclass<imp::VtpSrc>) @extends gst_base::PushSrc, gst_base::BaseSrc, gst::Element, gst::Object;
}

/// Registers the element with the plugin.
///
/// # Errors
/// When GStreamer refuses it.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "vtpsrc", gst::Rank::NONE, VtpSrc::static_type())
}
