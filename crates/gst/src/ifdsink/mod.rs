//! `ifdsink`: not there yet.

/// Registers the element with the plugin.
///
/// # Errors
/// When GStreamer refuses it.
pub fn register(_plugin: &gst::Plugin) -> Result<(), gst::glib::BoolError> {
    Ok(())
}
