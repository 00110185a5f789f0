//! The plugin's description, which `gst-inspect-1.0` shows.

use crate::{ifdqueue, ifdsink, mpegstat, vtpsink, vtpsrc};

fn plugin_init(plugin: &gst::Plugin) -> Result<(), gst::glib::BoolError> {
    ifdqueue::register(plugin)?;
    ifdsink::register(plugin)?;
    mpegstat::register(plugin)?;
    vtpsink::register(plugin)?;
    vtpsrc::register(plugin)
}

gst::plugin_define!(
    framewire,
    env!("CARGO_PKG_DESCRIPTION"),
    plugin_init,
    env!("CARGO_PKG_VERSION"),
    // The name that GStreamer knows for the MIT licence; Apache-2.0 is the other choice.
    "MIT/X11",
    env!("CARGO_PKG_NAME"),
    "framewire",
    "framewire"
);
