use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock, also after a thread panicked with it: GStreamer turns the panic into an error message.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
