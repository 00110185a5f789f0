//! Serialized events, which keep their place between frames.

use framewire_transport::live::{InterleavedQueue, SerializedEvent};

use crate::frames::Held;

/// What waits between the two threads of the element.
pub(super) type Queue = InterleavedQueue<Held, Event>;

/// The next thing for downstream.
pub(super) type Item = framewire_transport::live::Item<Held, Event>;

/// A serialized event: caps, segment, tags, gap, end of stream.
#[derive(Debug)]
pub(super) struct Event(pub gst::Event);

impl SerializedEvent for Event {
    fn replaces(&self, earlier: &Self) -> bool {
        let kind = self.0.type_();
        kind.is_sticky() && !kind.is_sticky_multi() && earlier.0.type_() == kind
    }

    fn is_essential(&self) -> bool {
        matches!(
            self.0.type_(),
            gst::EventType::StreamStart
                | gst::EventType::Caps
                | gst::EventType::Segment
                | gst::EventType::StreamCollection
                | gst::EventType::StreamGroupDone
                | gst::EventType::Protection
                | gst::EventType::Eos
        )
    }

    fn begins_stream(&self) -> bool {
        matches!(self.0.type_(), gst::EventType::StreamStart | gst::EventType::Segment)
    }

    fn ends_stream(&self) -> bool {
        self.0.type_() == gst::EventType::Eos
    }
}
