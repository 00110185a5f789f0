//! `mpegstat`: passes video through unchanged, and reports when every frame and every group of pictures came.
//!
//! The receiver's element of the thesis (section 3.2). It gives a row for every frame: arrival, expectation, latency,
//! jitter, type, temporal reference, RTP time stamp, size; and one for every group: time code, pictures, and the RTP time
//! stamp of the frame that is shown first. See `docs/elements/mpegstat.md`.

mod imp;
mod input;
mod output;
mod timing;

use gst::glib;
use gst::prelude::*;

pub use output::Format;
pub use timing::Timing;

glib::wrapper! {
    /// The element.
    pub struct MpegStat(ObjectSubclass<imp::MpegStat>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers the element with the plugin.
///
/// # Errors
/// When GStreamer refuses it.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "mpegstat", gst::Rank::NONE, MpegStat::static_type())
}
