//! Namespaces held by descriptors only: they vanish with the process, however it ends.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::error::EmuError;

/// A network namespace, kept alive by this descriptor (and by sockets that were opened in it).
#[derive(Debug)]
pub(crate) struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// A new network namespace with nothing in it but a loopback device that is down.
    ///
    /// The calling thread stays where it is.
    pub(crate) fn create() -> Result<Self, EmuError> {
        on_new_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| refused("unshare(CLONE_NEWNET)", errno.into()))?;
            let fd = File::open("/proc/thread-self/ns/net")
                .map_err(|source| refused("open /proc/thread-self/ns/net", source))?;
            Ok(Self { fd: fd.into() })
        })?
    }

    /// Runs `work` on a thread of its own inside the namespace. Sockets opened there stay there.
    ///
    /// # Errors
    /// When the kernel does not let the thread in, or `work` panics.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, EmuError> {
        on_new_thread(|| {
            setns(self.fd.as_fd(), CloneFlags::CLONE_NEWNET)
                .map_err(|errno| refused("setns(CLONE_NEWNET)", errno.into()))?;
            Ok(work())
        })?
    }

    /// The descriptor's number, for rtnetlink attributes that name a namespace by descriptor.
    pub(crate) fn raw(&self) -> i32 {
        self.fd.as_raw_fd()
    }
}

fn on_new_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, EmuError> {
    thread::scope(|scope| scope.spawn(work).join()).map_err(|_| EmuError::Thread("a thread inside a namespace"))
}

/// Makes the process able to create network namespaces: as root it is; otherwise it enters a user namespace of its
/// own, in which its user is root.
///
/// # Errors
/// When the kernel refuses; a process with more than one thread is always refused.
pub(crate) fn gain_network_administration() -> Result<(), EmuError> {
    if may_administer_network() {
        return Ok(());
    }
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| refused("unshare(CLONE_NEWUSER)", errno.into()))?;
    // user_namespaces(7): setgroups must be denied before an unprivileged process may write gid_map.
    write_map("/proc/self/setgroups", "deny")?;
    write_map("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write_map("/proc/self/gid_map", &format!("0 {group} 1"))
}

fn write_map(path: &'static str, text: &str) -> Result<(), EmuError> {
    fs::write(path, text).map_err(|source| refused("set up the user namespace in /proc/self", source))
}

/// True when the process holds CAP_SYS_ADMIN and CAP_NET_ADMIN in its user namespace.
fn may_administer_network() -> bool {
    const CAP_NET_ADMIN: u64 = 1 << 12;
    const CAP_NET_RAW: u64 = 1 << 13;
    const CAP_SYS_ADMIN: u64 = 1 << 21;
    let needed = CAP_NET_ADMIN | CAP_NET_RAW | CAP_SYS_ADMIN;
    effective_capabilities().is_some_and(|held| held & needed == needed)
}

fn effective_capabilities() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let text = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(text.trim(), 16).ok()
}

/// Names the settings that commonly forbid namespaces, with their values on this machine.
fn refused(operation: &'static str, source: io::Error) -> EmuError {
    EmuError::Namespace { operation, source, hint: namespace_hint() }
}

/// What on this machine allows or forbids namespaces without root.
pub(crate) fn namespace_hint() -> String {
    // Name, value that forbids, value that allows.
    let settings = [
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "10000"),
        ("user.max_net_namespaces", "0", "10000"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ];
    let forbidding: Vec<String> = settings
        .iter()
        .filter_map(|&(name, forbidden, allowed)| {
            let value = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
            (value.trim() == forbidden).then(|| format!("sysctl {name} is {forbidden} here; {allowed} allows it"))
        })
        .collect();
    if forbidding.is_empty() {
        "namespaces need root, or user namespaces that are allowed to this user and entered before any thread starts \
         (inside a container, its seccomp profile may forbid unshare: run it with CAP_SYS_ADMIN and CAP_NET_ADMIN)"
            .to_owned()
    } else {
        forbidding.join("; ")
    }
}
