//! Waiting on the streaming thread without holding up changes of state.

use gst::glib;
use gst::prelude::*;

/// Waits without the preroll lock of the base class (`GST_BASE_SINK_PREROLL_LOCK`), which is held around `prepare`,
/// `render` and serialised events: a change of state takes the lock as well, and would wait for the network. Tells also
/// whether the element is paused after it.
///
/// # Errors
/// [`gst::FlowError::Flushing`] when the element was flushed or stopped meanwhile.
pub(super) fn wait_unlocked<T>(sink: &super::IfdSink, wait: impl FnOnce() -> T) -> Result<(T, bool), gst::FlowError> {
    let released = Released::of(sink);
    let result = wait();
    drop(released);
    let base: *mut gst_base::ffi::GstBaseSink = sink.upcast_ref::<gst_base::BaseSink>().as_ptr();
    // SAFETY: the object is borrowed, and its lock, which guards the fields, is held again.
    let (is_flushing, is_paused) = unsafe { ((*base).flushing, (*base).need_preroll) };
    match is_flushing {
        glib::ffi::GFALSE => Ok((result, is_paused != glib::ffi::GFALSE)),
        _ => Err(gst::FlowError::Flushing),
    }
}

/// The lock is free as long as this lives, also when what is waited for panics.
struct Released<'a> {
    base: &'a gst_base::BaseSink,
}

impl<'a> Released<'a> {
    fn of(sink: &'a super::IfdSink) -> Self {
        let base = sink.upcast_ref::<gst_base::BaseSink>();
        // SAFETY: the object is borrowed; the base class holds the lock on this thread where it calls the subclass.
        unsafe { glib::ffi::g_mutex_unlock(&raw mut (*base.as_ptr()).preroll_lock) };
        Self { base }
    }
}

impl Drop for Released<'_> {
    fn drop(&mut self) {
        // SAFETY: the object is borrowed, and this thread does not hold the lock.
        unsafe { glib::ffi::g_mutex_lock(&raw mut (*self.base.as_ptr()).preroll_lock) };
    }
}
