//! Where a frame stands in its stream.

use framewire_units::Duration;

use crate::frame::Payload;

/// A payload that knows its place in a live stream.
pub trait Placed: Payload {
    /// How many frames, and others that are none, came before it.
    fn number(&self) -> u64;

    /// How many key frames came before it, or with it.
    fn group(&self) -> u64;

    /// How long it lasts by itself; zero where nothing states it. Its place in a stream may be longer:
    /// [`OutgoingFrame::duration`](crate::frame::OutgoingFrame::duration) is how much further the stream is with it.
    fn lasts(&self) -> Duration;

    /// The time that a frame adds to those that wait. The first of them adds no more than it lasts: nothing waits for
    /// the time before it, which may have been a long pause.
    fn time_behind(&self, nothing_waits: bool, duration: Duration) -> Duration {
        if nothing_waits { duration.min(self.lasts()) } else { duration }
    }
}
