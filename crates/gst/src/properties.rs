//! Properties that `vtpsink` and `vtpsrc` have both.

use std::time::Duration;

use framewire_media::read_regular_file;
use framewire_wire::vtp::{Key, Title};
use gst::glib;
use gst::prelude::*;

/// Not `localhost`, which may be an address that a server does not serve at; over UDP that would not be reported.
pub(crate) const DEFAULT_HOST: &str = "127.0.0.1";
/// Those of `framewire send`: RTP's and RTCP's (RFC 3551, section 8), which have the same roles.
pub(crate) const DEFAULT_DATA_PORT: u16 = 5_004;
pub(crate) const DEFAULT_CONTROL_PORT: u16 = 5_005;

/// A day, in nanoseconds: beyond what an application waits for.
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

/// The most that a key may have, as with `framewire send`.
const LARGEST_KEY: u64 = 64 << 10;

/// What `key-file` means: the key in it.
pub(crate) fn shared_key(path: Option<&str>) -> Result<Option<Key>, String> {
    let Some(path) = path else { return Ok(None) };
    let bytes = read_regular_file(path, LARGEST_KEY).map_err(|error| format!("key-file \"{path}\": {error}"))?;
    let short = || format!("key-file \"{path}\" has {} bytes, at least 16 are needed", bytes.len());
    Key::new(&bytes).map(Some).ok_or_else(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_a_file_of_a_disk_alone() {
        let directory = std::env::temp_dir().join(format!("framewire-key-{}", std::process::id()));
        std::fs::create_dir(&directory).unwrap();
        let name = |file: &str| directory.join(file).to_str().unwrap().to_owned();
        std::fs::write(name("key"), "correct horse battery").unwrap();
        assert!(shared_key(Some(&name("key"))).unwrap().is_some());
        std::fs::File::create(name("large")).unwrap().set_len(4 << 30).unwrap();
        let made = std::process::Command::new("mkfifo").arg(name("pipe")).status().unwrap();
        assert!(made.success());
        let regular = "a directory, a device or a pipe; a regular file is needed";
        for (file, expected) in [
            (name("pipe"), regular), // without a writer
            ("/dev/zero".to_owned(), regular),
            (name(""), regular),
            (name("large"), "has more than 64 KiB"),
            (name("none"), "No such file"),
        ] {
            let refused = shared_key(Some(&file)).unwrap_err();
            assert!(refused.starts_with(&format!("key-file \"{file}\"")) && refused.contains(expected), "{refused}");
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}
