//! `ifdqueue`: takes the place of `queue` before a sink that makes it wait, and drops frames instead of falling behind.
//!
//! The upstream thread is never made to wait: each frame goes through the policy and then waits, or is given up. A task
//! of its own pushes downstream; the frame in that push is the one that is being written, and is never touched.
//! Everything else that is serialised keeps its place between the frames. See `docs/elements/ifdqueue.md`.

mod downstream;
mod events;
mod imp;
mod intake;
mod push_back;
mod state;
mod upstream;

use gst::glib;
use gst::prelude::*;

glib::wrapper! {
    /// The element.
    pub struct IfdQueue(ObjectSubclass<imp::IfdQueue>) @extends gst::Element, gst::Object;
}

/// Registers the element with the plugin.
///
/// # Errors
/// When GStreamer refuses it.
pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "ifdqueue", gst::Rank::NONE, IfdQueue::static_type())
}
