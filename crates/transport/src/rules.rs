//! Rules that all sending halves share, and how some of what they do is reported.

use std::collections::VecDeque;

use framewire_units::Timestamp;

use crate::event::{SenderEvent, SenderPlace};
use crate::frame::{OutgoingFrame, Payload};
use crate::sound::SoundQueue;

pub(crate) const NOT_PACKETIZED: &str = "rtp: frame cannot be cut into packets";
pub(crate) const AFTER_THE_END: &str = "pipeline: offered after the end";
pub(crate) const FLUSHED: &str = "pipeline: flushed";
pub(crate) const STOPPED: &str = "pipeline: stopped before it was written";

/// Reports that the queue changed the frame that is sent next.
pub(crate) fn note_change(events: &mut VecDeque<SenderEvent>, at: Timestamp, frame: Option<&OutgoingFrame>) {
    let Some(OutgoingFrame { id: frame, dependencies, bytes, .. }) = frame else { return };
    let (frame, by) = (*frame, dependencies.renumbered);
    if dependencies.begins_sequence {
        events.push_back(SenderEvent::BeginsSequence { frame, at });
    }
    if !by.is_none() {
        events.push_back(SenderEvent::Renumbered { frame, at, by, size: bytes.size() });
    }
}

/// Reports that sound which waits is given up, as by a seek.
pub(crate) fn note_flushed_sound(events: &mut VecDeque<SenderEvent>, at: Timestamp, sound: &mut SoundQueue) {
    events.extend(sound.drain(..).map(|sound| SenderEvent::Discarded {
        frame: sound.id,
        at,
        place: SenderPlace::Pipeline,
        rule: FLUSHED,
    }));
}
