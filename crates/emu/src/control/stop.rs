//! Ending a run early: by a signal, by the time limit, or because the flow is over.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

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
    raised: OnceLock<Instant>,
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
        Ok(Self { inner: Arc::new(Inner { raised: OnceLock::new(), event }) })
    }

    /// Raises the flag for good; every thread that polls its descriptor wakes.
    pub fn raise(&self) {
        if self.inner.raised.set(Instant::now()).is_ok() {
            // The counter of a fresh eventfd always has room for one.
            let _ = self.inner.event.write(1);
        }
    }

    /// True once raised.
    pub fn is_raised(&self) -> bool {
        self.raised_at().is_some()
    }

    /// When it was raised.
    pub fn raised_at(&self) -> Option<Instant> {
        self.inner.raised.get().copied()
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

/// Asks the kernel to kill this process when its parent ends: what it would write is not read then. `parent` is who
/// started us. The kernel reports no end that came before the request (prctl(2), PR_SET_PDEATHSIG), so it is looked
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

/// How long a run that is to end at once still works on what its result can do without: applications need up to 1.6 s
/// to be gone; the tables, the end of the programs and a report without pictures are given the rest of 5 s.
const READING: Duration = Duration::from_millis(2_500);

/// Whether there is time left for what a result can do without. There is no end of it in a run that comes to its end.
///
/// Copies share the stop, and each knows what it returned itself.
pub struct StopDeadline {
    stopped: Arc<OnceLock<Instant>>,
    was_over: Cell<bool>,
}

impl StopDeadline {
    /// In a run that was not stopped yet.
    pub fn new() -> Self {
        Self { stopped: Arc::default(), was_over: Cell::new(false) }
    }

    /// The run was stopped then.
    pub fn begin(&self, stopped: Instant) {
        // The first stop counts; a signal may have been one.
        let _ = self.stopped.set(stopped);
    }

    /// True once there is none: some time after the stop, or after a signal that has come meanwhile.
    pub fn is_over(&self) -> bool {
        if interruptions() > 0 {
            self.stopped.get_or_init(Instant::now);
        }
        let is_over = self.stopped.get().is_some_and(|stopped| stopped.elapsed() >= READING);
        self.was_over.set(self.was_over.get() || is_over);
        is_over
    }

    /// Whether a caller has been given that answer: what ended before is whole.
    pub fn was_over(&self) -> bool {
        self.was_over.get()
    }
}

impl Clone for StopDeadline {
    fn clone(&self) -> Self {
        Self { stopped: Arc::clone(&self.stopped), was_over: Cell::new(false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped_before(time: Duration) -> StopDeadline {
        let stop_deadline = StopDeadline::new();
        stop_deadline.begin(Instant::now().checked_sub(time).expect("this machine runs for some seconds"));
        stop_deadline
    }

    #[test]
    fn a_run_that_was_stopped_has_little_time_and_any_other_has_all() {
        assert!(!StopDeadline::new().is_over());
        assert!(!stopped_before(Duration::ZERO).is_over());
        assert!(!stopped_before(READING - Duration::from_millis(500)).is_over());
        let stop_deadline = stopped_before(READING);
        assert!(!stop_deadline.was_over(), "not asked for yet");
        assert!(stop_deadline.is_over() && stop_deadline.was_over());
    }

    #[test]
    fn copies_know_of_one_stop_and_each_what_it_was_told() {
        let stop_deadline = StopDeadline::new();
        let before = stop_deadline.clone();
        stop_deadline.begin(Instant::now().checked_sub(READING).expect("this machine runs for some seconds"));
        stop_deadline.begin(Instant::now());
        assert!(before.is_over(), "the first stop counts");
        assert!(!stop_deadline.was_over() && !before.clone().was_over());
    }

    #[test]
    fn time_that_is_left_passes() {
        let stop_deadline = stopped_before(READING - Duration::from_millis(200));
        assert!(!stop_deadline.is_over());
        std::thread::sleep(Duration::from_millis(250));
        assert!(!stop_deadline.was_over(), "it was not asked since");
        assert!(stop_deadline.is_over());
    }
}
