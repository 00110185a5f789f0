//! Who an application runs as: the user who started us.

use std::fs::OpenOptions;
use std::io::{self, Write};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

/// Length of the longest map: two numbers of ten digits, and what is around them.
const MAP: usize = 32;

/// The user who started us, noted before a user namespace makes him root.
#[derive(Clone, Copy, Debug)]
pub struct User {
    user: u32,
    group: u32,
}

impl User {
    /// The user that this process runs as now.
    pub fn current() -> Self {
        Self { user: geteuid().as_raw(), group: getegid().as_raw() }
    }

    /// Becomes that user again where a user namespace has made him root: some programs refuse to run as root. To be
    /// called between fork and exec: nothing is allocated.
    ///
    /// # Errors
    /// When the kernel refuses a user namespace below ours.
    pub fn become_again(self) -> io::Result<()> {
        if geteuid().as_raw() == self.user {
            return Ok(());
        }
        unshare(CloneFlags::CLONE_NEWUSER)?;
        // user_namespaces(7): setgroups is denied before gid_map is written.
        write("/proc/self/setgroups", format_args!("deny"))?;
        write("/proc/self/uid_map", format_args!("{} 0 1", self.user))?;
        write("/proc/self/gid_map", format_args!("{} 0 1", self.group))
    }
}

/// Writes a map in one piece, as the kernel wants it.
fn write(file: &str, text: std::fmt::Arguments<'_>) -> io::Result<()> {
    let mut buffer = [0; MAP];
    let mut rest = &mut buffer[..];
    rest.write_fmt(text)?;
    let left = rest.len();
    OpenOptions::new().write(true).open(file)?.write_all(&buffer[..MAP - left])
}
