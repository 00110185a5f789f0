//! `vtpsrc`: receives an adaptive stream (VTP), so that any GStreamer player is a client of it.
//!
//! A thread of its own runs `framewire-endpoint`'s client and answers the server however long downstream takes; the
//! streaming threads, one for each pad, fetch whole frames and packets of audio. See `docs/elements/vtpsrc.md`.

mod audio_pad;
mod caps;
mod imp;
mod messages;
mod settings;

use gst::glib;
use gst::prelude::*;

pub use settings::Reports;

glib::wrapper! {
    /// The element.
    pub struct VtpSrc(ObjectSubclass<imp::VtpSrc>) @extends gst_base::PushSrc, gst_base::BaseSrc, gst::Element, gst::Object;
}

/// Registers the element with the plugin.
///
/// # Errors
/// When GStreamer refuses it.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "vtpsrc", gst::Rank::NONE, VtpSrc::static_type())
}
