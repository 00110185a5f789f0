//! Frames that wait, oldest first, with what they add up to.

use std::collections::VecDeque;

use framewire_units::{DataSize, Duration};

use crate::frame::{OutgoingFrame, Payload};
use crate::queue::{Discard, Level};

/// Frames that wait, and the time of the stream.
///
/// The time of the stream is the sum of the durations of all frames offered, also of those given up: it goes on as long
/// as frames come, so that the age of what waits is known without a clock.
#[derive(Clone, Debug)]
pub(crate) struct Backlog<P> {
    frames: VecDeque<Waiting<P>>,
    bytes: u64,
    /// For how long they are shown, together.
    shown: Duration,
    /// Time of the stream at the end of the newest frame offered.
    end: Duration,
}

/// A frame that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) frame: OutgoingFrame<P>,
    /// Time of the stream at its beginning.
    pub(crate) begins: Duration,
}

impl<P> Default for Backlog<P> {
    fn default() -> Self {
        Self { frames: VecDeque::new(), bytes: 0, shown: Duration::ZERO, end: Duration::ZERO }
    }
}

impl<P: Payload> Backlog<P> {
    /// Keeps a frame that was offered.
    pub(crate) fn push(&mut self, frame: OutgoingFrame<P>) {
        let begins = self.end;
        self.pass_over(&frame);
        self.bytes += frame.bytes.size();
        self.shown = self.shown.saturating_add(frame.duration);
        self.frames.push_back(Waiting { frame, begins });
    }

    /// Counts the time of a frame that was offered and is not kept.
    pub(crate) fn pass_over(&mut self, frame: &OutgoingFrame<P>) {
        self.end = self.end.saturating_add(frame.duration);
    }

    /// Removes the oldest frame.
    pub(crate) fn pop(&mut self) -> Option<OutgoingFrame<P>> {
        let waiting = self.frames.pop_front()?;
        self.leave(&waiting.frame);
        Some(waiting.frame)
    }

    /// Gives up, oldest first, the frames for which `doomed` gives a rule.
    pub(crate) fn give_up(
        &mut self,
        discards: &mut Vec<Discard<P>>,
        mut doomed: impl FnMut(&Waiting<P>) -> Option<&'static str>,
    ) {
        for _ in 0..self.frames.len() {
            let Some(waiting) = self.frames.pop_front() else { return };
            match doomed(&waiting) {
                None => self.frames.push_back(waiting),
                Some(rule) => {
                    self.leave(&waiting.frame);
                    discards.push(Discard { frame: waiting.frame, rule });
                }
            }
        }
    }

    fn leave(&mut self, frame: &OutgoingFrame<P>) {
        self.bytes -= frame.bytes.size();
        self.shown = self.shown.saturating_sub(frame.duration);
    }

    /// The frames, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Waiting<P>> + ExactSizeIterator {
        self.frames.iter()
    }

    /// The frames, oldest first, whose bytes are not to change.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Waiting<P>> {
        self.frames.iter_mut()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    /// Time of the stream at the end of the newest frame offered.
    pub(crate) fn end(&self) -> Duration {
        self.end
    }

    /// What waits.
    pub(crate) fn level(&self) -> Level {
        Level {
            frames: u32::try_from(self.frames.len()).unwrap_or(u32::MAX),
            bytes: DataSize::from_bytes(self.bytes),
            time: self.frames.front().map_or(Duration::ZERO, |oldest| self.end.saturating_sub(oldest.begins)),
        }
    }

    /// The same, with the time for which what waits is shown: less than it waits where frames were given up between.
    pub(crate) fn kept(&self) -> Level {
        Level { time: self.shown, ..self.level() }
    }
}
