//! Streams whose time nobody tells, so that a limit of time means nothing.

use framewire_transport::frame::OutgoingFrame;
use framewire_units::Duration;

use crate::frames::Held;
use crate::settings::{Mode, Settings};

/// So many frames in a row without a time: more than a parser leaves without one between two time stamps of a container
/// (a second of video, as MPEG-TS has them at least every 0.7 s: ISO/IEC 13818-1, 2.7.4).
const SURELY: u32 = 60;

/// What an application is told when the limit has no effect.
pub const INEFFECTIVE: &str = "max-size-time has no effect: the buffers have neither time stamps nor durations, and \
                               their caps no frame rate; set max-size-buffers, or put a parser before this element";

/// Looks whether frames tell of their time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed {
    in_a_row: u32,
    told: bool,
}

impl Untimed {
    /// A frame comes. True once, when time limits what waits, and nothing tells of time.
    pub fn frame_came(&mut self, frame: &OutgoingFrame<Held>, settings: &Settings) -> bool {
        let takes_time = frame.duration > Duration::ZERO || frame.bytes.lasts > Duration::ZERO;
        self.in_a_row = if takes_time { 0 } else { self.in_a_row.saturating_add(1) };
        let is_limited_by_time_alone = settings.mode == Mode::Dependency && settings.time > 0 && settings.buffers == 0;
        let tells = !self.told && is_limited_by_time_alone && self.in_a_row >= SURELY;
        self.told |= tells;
        tells
    }
}
