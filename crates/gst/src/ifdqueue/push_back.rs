//! Whether what stands behind the element can make it wait. Where nothing can, nothing waits in the queue, and nothing is
//! ever dropped.

use std::collections::VecDeque;

use gst::glib;
use gst::prelude::*;

/// Types of sinks, with all that derive from them, that take every buffer at once, whatever their receivers do.
///
/// `GstMultiHandleSink` (`tcpserversink`, `multifdsink`, `multisocketsink`) keeps a queue of its own for each receiver;
/// `GstSRTSink` (`srtsink`, `srtserversink`, `srtclientsink`) writes to a library that gives up what comes too late
/// (`SRTO_TLPKTDROP`). A sink for datagrams (`udpsink`) is none of these: the kernel makes it wait where this machine's
/// own device is the bottleneck.
const NEVER_WAITS: [&str; 2] = ["GstMultiHandleSink", "GstSRTSink"];

/// So many pads are looked at; a pipeline with more of them behind one element is not looked through to its end.
const MOST_PADS: usize = 1_000;

/// The first sink that is reached from a source pad and never makes its upstream wait, when no other sink that is reached
/// can: behind a `tee`, upstream waits for every branch.
pub(super) fn sink_that_never_waits(source: &gst::Pad) -> Option<gst::Element> {
    let mut sources = VecDeque::from([source.clone()]);
    let mut found = None;
    for _ in 0..MOST_PADS {
        let Some(source) = sources.pop_front() else { return found };
        let Some(pad) = source.peer() else { continue };
        match (pad.downcast_ref::<gst::ProxyPad>(), pad.parent_element()) {
            // The pad of a bin goes on at its other side.
            (Some(border), _) => sources.extend(border.internal().map(|inside| inside.upcast::<gst::Pad>())),
            (None, Some(element)) if never_waits(&element) => _ = found.get_or_insert(element),
            (None, Some(element)) if element.num_src_pads() == 0 => return None,
            (None, Some(element)) => sources.extend(element.src_pads()),
            (None, None) => {}
        }
    }
    None
}

fn never_waits(element: &gst::Element) -> bool {
    let types = std::iter::successors(Some(element.type_()), |kind: &glib::Type| kind.parent());
    types.into_iter().any(|kind| NEVER_WAITS.contains(&kind.name()))
}
