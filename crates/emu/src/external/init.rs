//! The first process of an application's PID namespace: it dies with the emulator, and everything of the application
//! with it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::{getpid, getppid};

/// The emulator as its children see it, also from inside a PID namespace of their own, where its number cannot be asked
/// for.
#[derive(Debug)]
pub struct Emulator(OwnedFd);

impl Emulator {
    /// A descriptor that can be read once this process has ended (pidfd_open(2)).
    ///
    /// # Errors
    /// When the kernel has none (Linux before 5.3), or no descriptor is left.
    pub fn current() -> io::Result<Self> {
        Self::of(getpid().as_raw())
    }

    /// The same of another process.
    ///
    /// # Errors
    /// As [`current`](Self::current), and when there is no such process.
    pub(super) fn of(process: libc::pid_t) -> io::Result<Self> {
        // SAFETY: plain numbers; a descriptor that comes back is fresh and ours, and is closed on exec.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor as i32) }))
    }

    /// True once it has ended. Async-signal-safe.
    fn has_ended(&self) -> bool {
        let mut asked = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        unsafe { libc::poll(&mut asked, 1, 0) != 0 }
    }
}

/// Makes this process, which the kernel kills when our thread ends, the init of the application, and returns in a child
/// of it that is to become the application. Init is in no one's way: it holds no descriptor and ends with its child.
///
/// The kernel signals an end only to those who asked before it (prctl(2), PR_SET_PDEATHSIG): each of the two looks at
/// its parent once it has asked. To be called between fork and exec: nothing is allocated.
///
/// # Errors
/// When the kernel refuses, or the parent has ended meanwhile.
pub fn become_child_of_init(emulator: &Emulator) -> io::Result<()> {
    let killed_with_parent = || nix::sys::prctl::set_pdeathsig(Some(Signal::SIGKILL));
    killed_with_parent()?;
    if emulator.has_ended() {
        return Err(Errno::ESRCH.into());
    }
    let init = getpid();
    // SAFETY: the process has one thread, and what follows is async-signal-safe.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            killed_with_parent()?;
            // By these an application is asked to end. What a shell runs in its background begins with SIGINT ignored,
            // and so would all that it starts (POSIX, Shell Command Language, 2.11).
            take(&[libc::SIGINT, libc::SIGTERM], libc::SIG_DFL);
            if getppid() == init { Ok(()) } else { Err(Errno::ESRCH.into()) }
        }
        child => {
            // SAFETY: plain numbers; nothing of this process uses a descriptor any more.
            unsafe { libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, 0_u32) };
            // They are for the application; a first process of a PID namespace ignores them anyway.
            take(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT], libc::SIG_IGN);
            wait_as_init(child)
        }
    }
}

/// Ignores these signals, or takes them as every program does.
fn take(signals: &[libc::c_int], how: libc::sighandler_t) {
    for &signal in signals {
        // SAFETY: neither ignoring a signal nor its default runs code of ours.
        unsafe { libc::signal(signal, how) };
    }
}

/// Waits for everything that comes to an end here, and ends as the application did.
fn wait_as_init(application: libc::pid_t) -> ! {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a valid place to write to.
        let ended = unsafe { libc::waitpid(-1, &mut status, 0) };
        let interrupted = ended == -1 && Errno::last() == Errno::EINTR;
        if ended == application || (ended == -1 && !interrupted) {
            let code = match () {
                () if ended == -1 => 1,
                () if libc::WIFEXITED(status) => libc::WEXITSTATUS(status),
                () => 128 + libc::WTERMSIG(status),
            };
            // SAFETY: ends this process and runs nothing of ours.
            unsafe { libc::_exit(code) }
        }
    }
}
