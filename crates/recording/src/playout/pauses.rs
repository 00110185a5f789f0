//! When a player that waits stands still.

use std::collections::VecDeque;

use framewire_units::{BufferMarks, Duration, Timestamp};

/// A time at which a player that waits stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Where in the movie: the display time that it has come to.
    pub position: Duration,
    /// When it begins.
    pub from: Timestamp,
    /// When the player goes on.
    pub until: Timestamp,
}

impl Pause {
    /// How long it stands still.
    pub fn length(&self) -> Duration {
        self.until.saturating_since(self.from)
    }
}

/// The pauses of a player, in order, of the frames that it shows in display order. It holds no more frames than the high mark
/// is long.
///
/// The player pauses at the position at which no more than the low mark lies before a frame that is not there, and goes on
/// when all that it shows up to the high mark from there is there, or all that it shows at all. With both marks zero it waits
/// for one frame after the other.
#[derive(Debug)]
pub struct Pauses<I> {
    frames: I,
    /// Frames that were looked at to find the end of a pause.
    ahead: VecDeque<(Duration, Timestamp)>,
    /// When position zero was, or would have been, without the pauses so far counted.
    clock: Timestamp,
    marks: BufferMarks,
}

impl<I: Iterator<Item = (Duration, Timestamp)>> Pauses<I> {
    pub(super) fn new(start: Timestamp, marks: BufferMarks, frames: I) -> Self {
        Self { frames, ahead: VecDeque::new(), clock: start, marks }
    }

    /// When all that is shown up to `full` is there.
    fn filled(&mut self, full: Duration) -> Option<Timestamp> {
        while self.ahead.back().is_none_or(|&(display_time, _)| display_time <= full) {
            match self.frames.next() {
                Some(frame) => self.ahead.push_back(frame),
                None => break,
            }
        }
        let up_to_there = self.ahead.iter().take_while(|&&(display_time, _)| display_time <= full);
        up_to_there.map(|&(_, ready)| ready).max()
    }
}

impl<I: Iterator<Item = (Duration, Timestamp)>> Iterator for Pauses<I> {
    type Item = Pause;

    fn next(&mut self) -> Option<Pause> {
        loop {
            let (display_time, ready) = self.ahead.pop_front().or_else(|| self.frames.next())?;
            let position = display_time.saturating_sub(self.marks.low);
            let from = self.clock + position;
            if ready <= from {
                continue;
            }
            let full = position + self.marks.high.max(self.marks.low);
            let until = self.filled(full).map_or(ready, |filled| filled.max(ready));
            self.clock += until.saturating_since(from);
            return Some(Pause { position, from, until });
        }
    }
}

#[cfg(test)]
mod tests {
    use framewire_units::Playout;
    use proptest::prelude::*;

    use super::super::Player;
    use super::*;
    use crate::testing::{INTERVAL, ms};

    const STARTUP: Duration = Duration::from_millis(100);

    fn marks(low_ms: u64, high_ms: u64) -> BufferMarks {
        BufferMarks { low: Duration::from_millis(low_ms), high: Duration::from_millis(high_ms) }
    }

    /// Position, beginning and end, in milliseconds, of the pauses of a player of frames 40 ms apart of which the first bytes
    /// came at 0.
    fn pauses(marks: BufferMarks, ready_ms: &[u64]) -> Vec<(u64, u64, u64)> {
        let frames = (0u32..).zip(ready_ms).map(|(slot, &ready)| (INTERVAL * slot, ms(ready)));
        let player = Player::new(Playout { marks, ..Playout::waiting(STARTUP) }, ms(0));
        let millis = |at: Timestamp| at.as_nanos() / 1_000_000;
        let numbers = |pause: Pause| (pause.position.as_millis() as u64, millis(pause.from), millis(pause.until));
        player.pauses(frames).map(numbers).collect()
    }

    #[test]
    fn without_marks_it_waits_for_one_frame_after_the_other() {
        assert_eq!(pauses(marks(0, 0), &[100, 161, 5, 282]), [(40, 140, 161), (120, 241, 282)]);
    }

    #[test]
    fn it_fills_its_buffer_up_to_the_high_mark_before_it_goes_on() {
        // Frames 1, 2 and 3 have to be there, and the last one is not waited for any more.
        assert_eq!(pauses(marks(0, 80), &[100, 161, 5, 282, 290]), [(40, 140, 282)]);
        // All that still comes is enough.
        assert_eq!(pauses(marks(0, 5_000), &[100, 161, 5, 282, 290]), [(40, 140, 290)]);
    }

    #[test]
    fn it_pauses_before_its_buffer_is_empty() {
        assert_eq!(pauses(marks(40, 40), &[100, 100, 141, 100]), [(40, 140, 141)]);
        assert_eq!(pauses(marks(40, 40), &[100, 100, 140, 100]), []);
    }

    /// The same millisecond by millisecond, as a player does it.
    fn step_by_step(marks: BufferMarks, ready_ms: &[u64]) -> Vec<(u64, u64, u64)> {
        let (low, high) = (marks.low.as_millis() as u64, marks.high.as_millis() as u64);
        let (mut found, mut position, mut paused) = (Vec::new(), 0, None);
        for now in 100.. {
            let mut missing = (0u64..).zip(ready_ms).filter(|&(_, &ready)| ready > now);
            let Some(missing) = missing.next().map(|(slot, _)| 40 * slot) else {
                found.extend(paused.map(|from| (position, from, now)));
                return found;
            };
            match paused {
                None if missing <= position + low => paused = Some(now),
                Some(from) if missing > position + high => {
                    found.push((position, from, now));
                    paused = None;
                }
                _ => {}
            }
            position += u64::from(paused.is_none());
        }
        unreachable!("all frames come")
    }

    proptest! {
        #[test]
        fn it_stands_still_as_a_player_that_looks_at_its_buffer_each_millisecond(
            ready in prop::collection::vec(0u64..2_000, 0..40),
            low in 0u64..200,
            more in 0u64..600,
        ) {
            let marks = marks(low, low + more);
            prop_assert_eq!(pauses(marks, &ready), step_by_step(marks, &ready));
        }
    }
}
