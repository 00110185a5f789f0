//! Settings of the thread's network namespace.

use std::fs;
use std::io;
use std::path::Path;

/// Settings that every namespace of a lane gets, with the reason.
const SETTINGS: [(&str, &str); 4] = [
    // No router advertisement or neighbour discovery may cross the link uninvited.
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
    // A connection must not start from what an earlier one learnt of the path.
    ("ipv4/tcp_no_metrics_save", "1"),
    // Replies leave where the address is, whatever the namespace of the caller.
    ("ipv4/conf/all/rp_filter", "0"),
];

/// Applies the settings to the namespace of the calling thread. A setting that this kernel does not have is skipped.
///
/// # Errors
/// When a setting exists and cannot be written.
pub(crate) fn prepare_namespace() -> io::Result<()> {
    SETTINGS.iter().try_for_each(|(name, value)| match write(name, value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        written => written,
    })
}

/// Sets the congestion control of sockets that do not choose one, in the namespace of the calling thread, which else has
/// that of the machine. It stays so where the kernel does not allow the namespace another one: it allows those that every
/// user of this machine may choose (net.ipv4.tcp_allowed_congestion_control). Readers of results see it by
/// `kernel.settings` of run.json.
///
/// # Errors
/// When the kernel does not have it.
pub(crate) fn set_default_congestion_control(name: &str) -> io::Result<()> {
    match write("ipv4/tcp_congestion_control", name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        written => written,
    }
}

/// Has sockets of the calling thread's namespace ask for explicit congestion notification (`tcp_ecn`; by default they only
/// grant it).
///
/// # Errors
/// When it cannot be written.
pub(crate) fn ask_for_ecn() -> io::Result<()> {
    write("ipv4/tcp_ecn", "1")
}

fn write(name: &str, value: &str) -> io::Result<()> {
    let path = Path::new("/proc/sys/net").join(name);
    fs::write(&path, value).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}
