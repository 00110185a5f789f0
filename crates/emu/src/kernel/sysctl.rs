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
    for (name, value) in SETTINGS {
        let path = Path::new("/proc/sys/net").join(name);
        match fs::write(&path, value) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            }
            _ => {}
        }
    }
    Ok(())
}
