//! Properties that `vtpsink` and `vtpsrc` have both.

use std::time::Duration;

use framewire_wire::vtp::{Key, Title};
use gst::glib;
use gst::prelude::*;

/// Not `localhost`, which may be an address that a server does not serve at; over UDP nobody would say so.
pub(crate) const DEFAULT_HOST: &str = "127.0.0.1";
/// Those of `framewire send`: RTP's and RTCP's (RFC 3551, section 8), which have the same roles.
pub(crate) const DEFAULT_DATA_PORT: u16 = 5_004;
pub(crate) const DEFAULT_CONTROL_PORT: u16 = 5_005;

/// A day, in nanoseconds: beyond what anybody waits for.
pub(crate) const LONGEST: u64 = 86_400 * 1_000_000_000;

/// A port; from `least` on.
pub(crate) fn port(
    name: &'static str,
    nick: &'static str,
    blurb: &'static str,
    least: u16,
    default: u16,
) -> glib::ParamSpec {
    glib::ParamSpecUInt::builder(name)
        .nick(nick)
        .blurb(blurb)
        .minimum(least.into())
        .maximum(u16::MAX.into())
        .default_value(default.into())
        .mutable_ready()
        .build()
}

/// The property `key-file`.
pub(crate) fn key_file(blurb: &'static str) -> glib::ParamSpec {
    glib::ParamSpecString::builder("key-file").nick("Key file").blurb(blurb).mutable_ready().build()
}

/// The property `stats-interval`.
pub(crate) fn stats_interval(default: u64) -> glib::ParamSpec {
    glib::ParamSpecUInt64::builder("stats-interval")
        .nick("Statistics interval")
        .blurb("Post an element message with the statistics this often, in ns (0 = never)")
        .default_value(default)
        .mutable_ready()
        .build()
}

/// The property `stats`.
pub(crate) fn stats(blurb: &'static str) -> glib::ParamSpec {
    glib::ParamSpecBoxed::builder::<gst::Structure>("stats").nick("Statistics").blurb(blurb).read_only().build()
}

/// What `stats-interval` means; `None`: never.
pub(crate) fn interval(nanos: u64) -> Option<Duration> {
    Some(Duration::from_nanos(nanos)).filter(|interval| !interval.is_zero())
}

/// What `title` means.
pub(crate) fn title(text: &str) -> Result<Title, String> {
    Title::new(text).ok_or_else(|| format!("title has {} bytes, at most 255 are allowed", text.len()))
}

/// What `key-file` means: the key in it.
pub(crate) fn shared_key(path: Option<&str>) -> Result<Option<Key>, String> {
    let Some(path) = path else { return Ok(None) };
    let bytes = std::fs::read(path).map_err(|error| format!("key-file \"{path}\": {error}"))?;
    let short = || format!("key-file \"{path}\" has {} bytes, at least 16 are needed", bytes.len());
    Key::new(&bytes).map(Some).ok_or_else(short)
}
