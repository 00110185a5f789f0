//! When the base class is to render a buffer.

use gst::glib::translate::{IntoGlib, from_glib_borrow};
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::imp::IfdSink;
use crate::frames::{clock_time, times};

/// `get_times` of the class (`GstBaseSinkClass`), which has no safe binding.
pub(super) type GetTimes = unsafe extern "C" fn(
    *mut gst_base::ffi::GstBaseSink,
    *mut gst::ffi::GstBuffer,
    *mut gst::ffi::GstClockTime,
    *mut gst::ffi::GstClockTime,
);

/// Tells the base class when a buffer is due in transport order, and when it ends.
///
/// # Safety
/// To be called by the base class only: the pointers are those of a live `ifdsink`, a live buffer, and two places to
/// write to.
pub(super) unsafe extern "C" fn get_times(
    sink: *mut gst_base::ffi::GstBaseSink,
    buffer: *mut gst::ffi::GstBuffer,
    start: *mut gst::ffi::GstClockTime,
    end: *mut gst::ffi::GstClockTime,
) {
    // SAFETY: as the caller promises; both are borrowed for the length of the call.
    let (sink, buffer) = unsafe {
        let sink: glib::translate::Borrowed<super::IfdSink> =
            from_glib_borrow(sink.cast::<<super::IfdSink as ObjectType>::GlibType>());
        (sink, gst::BufferRef::from_ptr(buffer))
    };
    let times = times(buffer);
    let due = IfdSink::from_obj(&sink).due(times);
    let over = due.zip(times.duration).map(|(due, duration)| due.saturating_add(duration));
    let (due, over) = (due.map(clock_time), over.map(clock_time));
    // SAFETY: as the caller promises.
    unsafe {
        *start = due.into_glib();
        *end = over.into_glib();
    }
}

use gst::glib;
