//! Ending a run early: by a signal, by the time limit, or because the flow is over.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::getppid;

use super::failure::Failure;

/// A flag that threads can also wait for in `poll`, because it is a descriptor that turns readable.
#[derive(Clone, Debug)]
pub struct StopFlag {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    raised: AtomicBool,
    event: EventFd,
}

impl StopFlag {
    /// A flag that is not raised.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub fn new() -> Result<Self, Failure> {
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        let event = event.map_err(|error| Failure::run(format!("eventfd: {error}")))?;
        Ok(Self { inner: Arc::new(Inner { raised: AtomicBool::new(false), event }) })
    }

    /// Raises the flag for good; every thread that polls its descriptor wakes.
    pub fn raise(&self) {
        if !self.inner.raised.swap(true, Ordering::SeqCst) {
            // The counter of a fresh eventfd always has room for one.
            let _ = self.inner.event.write(1);
        }
    }

    /// True once raised.
    pub fn is_raised(&self) -> bool {
        self.inner.raised.load(Ordering::SeqCst)
    }

    /// The descriptor that turns readable when the flag is raised.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.inner.event.as_fd()
    }
}

static INTERRUPTIONS: AtomicU8 = AtomicU8::new(0);

extern "C" fn count_interruption(_signal: libc::c_int) {
    INTERRUPTIONS.fetch_add(1, Ordering::SeqCst);
}

/// Asks the kernel to kill this process when its parent ends: what it would write, nobody waits for. `parent` is who
/// started us. The kernel tells of no death that came before the question (prctl(2), PR_SET_PDEATHSIG), so it is looked
/// for afterwards.
///
/// # Errors
/// When `parent` has ended already.
pub fn die_with_parent(parent: Option<i32>) -> Result<(), Failure> {
    prctl::set_pdeathsig(Some(Signal::SIGKILL)).map_err(|error| Failure::run(format!("prctl: {error}")))?;
    match parent.filter(|&parent| parent != getppid().as_raw()) {
        Some(parent) => Err(Failure::run(format!("process {parent}, which is to start this one, has ended"))),
        None => Ok(()),
    }
}

/// Lets SIGINT and SIGTERM ask for an orderly end.
///
/// # Errors
/// When the kernel refuses a handler.
pub fn install_signal_handlers() -> nix::Result<()> {
    let action = SigAction::new(SigHandler::Handler(count_interruption), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler only touches an atomic, which is async-signal-safe.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

/// How often SIGINT or SIGTERM came.
pub fn interruptions() -> u8 {
    INTERRUPTIONS.load(Ordering::SeqCst)
}
