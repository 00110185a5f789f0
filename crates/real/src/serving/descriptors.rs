//! How many sockets this process may have.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::error::RealError;

/// Descriptors for other things than clients.
const OTHERS: u64 = 64;

/// Lets the process have a socket for each of so many clients, where it may (setrlimit(2)); for how many it may.
///
/// # Errors
/// When there is no room for a single one.
pub(super) fn allow(clients: u16) -> Result<usize, RealError> {
    let refused = |errno: nix::errno::Errno| RealError::Failed(format!("getrlimit: {}", errno.desc()));
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(refused)?;
    let wanted = u64::from(clients) + OTHERS;
    let allowed = if wanted > soft && setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard).is_ok() {
        wanted.min(hard)
    } else {
        soft
    };
    let room = usize::try_from(allowed.saturating_sub(OTHERS)).unwrap_or(usize::MAX).min(clients.into());
    if room == 0 {
        return Err(RealError::Failed("this process may open no more files (ulimit -n)".to_owned()));
    }
    Ok(room)
}
