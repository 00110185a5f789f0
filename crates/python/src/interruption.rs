//! Long work that Ctrl-C ends.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use framewire_sim::Cancel;
use pyo3::prelude::*;

/// Time between two looks at signals.
const TICK: Duration = Duration::from_millis(50);

/// Runs `work` without the lock of Python's interpreter. When a signal's handler raises, `cancel`, which `work` is given, is
/// raised, and `work` is waited for; the exception is returned beside what it made.
///
/// Handlers run on Python's main thread only: elsewhere nothing interrupts.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce(&Cancel) -> T + Send,
) -> (T, Option<PyErr>) {
    interruptible_and(py, cancel, work, |_, _| Ok(()))
}

/// The same; this thread calls `meanwhile` now and then, and once more after `work`, which it is told. An exception of its
/// own is treated as one of a signal's handler.
pub(crate) fn interruptible_and<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce(&Cancel) -> T + Send,
    mut meanwhile: impl FnMut(Python<'_>, bool) -> PyResult<()>,
) -> (T, Option<PyErr>) {
    let (done, mut waiting) = sync_channel::<()>(1);
    thread::scope(|scope| {
        let flag = cancel.clone();
        let worker = scope.spawn(move || {
            let made = work(&flag);
            // Dropping the sender wakes the waiter also after a panic.
            drop(done);
            made
        });
        let mut interruption = None;
        loop {
            let waiting = &mut waiting;
            let ended = py.detach(move || waiting.recv_timeout(TICK));
            if ended == Err(RecvTimeoutError::Timeout) {
                if let Err(raised) = py.check_signals().and_then(|()| meanwhile(py, false)) {
                    cancel.raise();
                    interruption = Some(raised);
                }
                continue;
            }
            let made = py.detach(|| worker.join());
            if let Err(raised) = meanwhile(py, true) {
                interruption.get_or_insert(raised);
            }
            break (made.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), interruption);
        }
    })
}
