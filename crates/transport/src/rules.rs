//! Rules that all sending halves share, and how an offer is reported.

use std::collections::VecDeque;

use framewire_units::Timestamp;

use crate::event::{SenderEvent, SenderPlace};
use crate::queue::Discard;

pub(crate) const AFTER_THE_END: &str = "pipeline: offered after the end";
pub(crate) const STOPPED: &str = "pipeline: stopped before it was written";

/// Reports what became of offering frame `offered`: queued unless it was itself given up.
pub(crate) fn note_offer(events: &mut VecDeque<SenderEvent>, at: Timestamp, offered: u32, discard: Option<Discard>) {
    let given_up = discard.as_ref().is_some_and(|discard| discard.frame == offered);
    if let Some(Discard { frame, rule }) = discard {
        events.push_back(SenderEvent::Discarded { frame, at, place: SenderPlace::Pipeline, rule });
    }
    if !given_up {
        events.push_back(SenderEvent::Queued { frame: offered, at });
    }
}
