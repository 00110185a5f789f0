//! Who an application runs as, the user who started us, and what it may do: no more than that user, and of root's
//! capabilities only what the scenario gives it.

use std::fs::OpenOptions;
use std::io::{self, Write};

use framewire_scenario::Capabilities;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

/// Length of the longest map: two numbers of ten digits, and what is around them.
const MAP: usize = 32;

/// The user that an application runs as, and what it may do.
#[derive(Clone, Copy, Debug)]
pub struct Rights {
    /// The user.
    pub user: User,
    /// What it may do where the user is root.
    pub capabilities: Capabilities,
}

impl Rights {
    /// Takes on these rights. To be called between fork and exec: nothing is allocated.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take(self) -> io::Result<()> {
        match self.capabilities {
            // In a namespace below ours it has no capabilities on anything of the host's.
            _ if self.user.become_again()? => Ok(()),
            Capabilities::All => Ok(()),
            Capabilities::None => drop_capabilities(),
        }
    }
}

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

    /// True for root itself, not for a user whom a namespace has made root.
    pub fn is_root(self) -> bool {
        self.user == 0
    }

    /// Becomes that user again where a user namespace has made him root: some programs refuse to run as root. False
    /// where he is himself.
    fn become_again(self) -> io::Result<bool> {
        if geteuid().as_raw() == self.user {
            return Ok(false);
        }
        unshare(CloneFlags::CLONE_NEWUSER)?;
        // user_namespaces(7): setgroups is denied before gid_map is written.
        write("/proc/self/setgroups", format_args!("deny"))?;
        write("/proc/self/uid_map", format_args!("{} 0 1", self.user))?;
        write("/proc/self/gid_map", format_args!("{} 0 1", self.group))?;
        Ok(true)
    }
}

/// Writes a map in one piece, as the kernel expects it.
fn write(file: &str, text: std::fmt::Arguments<'_>) -> io::Result<()> {
    let mut buffer = [0; MAP];
    let mut rest = &mut buffer[..];
    rest.write_fmt(text)?;
    let left = rest.len();
    OpenOptions::new().write(true).open(file)?.write_all(&buffer[..MAP - left])
}

/// Gives up all capabilities for good: those that are held, and those that a program may get when it is run by root or
/// by its file (capabilities(7), "Transformation of capabilities during execve()").
fn drop_capabilities() -> io::Result<()> {
    // A number beyond the kernel's last capability is refused.
    for capability in 0..64_u64 {
        // SAFETY: plain numbers.
        match Errno::result(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) }) {
            Ok(_) => {}
            Err(Errno::EINVAL) => break,
            // Without CAP_SETPCAP nothing can be dropped; a user without any has nothing to drop.
            Err(Errno::EPERM) if !geteuid().is_root() => break,
            Err(error) => return Err(error.into()),
        }
    }
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    /// `struct __user_cap_header_struct` (include/uapi/linux/capability.h).
    #[repr(C)]
    struct Header {
        version: u32,
        process: libc::c_int,
    }
    /// `_LINUX_CAPABILITY_VERSION_3`: two sets of effective, permitted and inheritable, 32 capabilities each.
    const VERSION: u32 = 0x2008_0522;
    let (header, nothing) = (Header { version: VERSION, process: 0 }, [0_u32; 6]);
    // SAFETY: both are as the kernel reads them, and live through the call.
    let set = unsafe { libc::syscall(libc::SYS_capset, &raw const header, nothing.as_ptr()) };
    Errno::result(set).map(drop).map_err(io::Error::from)
}
