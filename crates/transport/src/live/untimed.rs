//! Streams that state no time, so that a limit of time means nothing.

use framewire_units::Duration;

use super::Placed;
use crate::frame::OutgoingFrame;

/// So many frames in a row without a time: more than a parser leaves without one between two time stamps of a container
/// (a second of video, as MPEG-TS has them at least every 0.7 s: ISO/IEC 13818-1, 2.7.4).
const SURELY: u32 = 60;

/// Looks whether frames state their time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed {
    in_a_row: u32,
    reported: bool,
}

impl Untimed {
    /// A frame comes. True once, when `is_limited_by_time` alone is what waits, and nothing states a time.
    pub fn frame_came<P: Placed>(&mut self, frame: &OutgoingFrame<P>, is_limited_by_time: bool) -> bool {
        let takes_time = frame.duration > Duration::ZERO || frame.bytes.lasts() > Duration::ZERO;
        self.in_a_row = if takes_time { 0 } else { self.in_a_row.saturating_add(1) };
        let reports = !self.reported && is_limited_by_time && self.in_a_row >= SURELY;
        self.reported |= reports;
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::frame;
    use super::*;

    fn reported(durations: impl IntoIterator<Item = u64>, is_limited_by_time: bool) -> Vec<usize> {
        let mut untimed = Untimed::default();
        let came = durations.into_iter().map(|millis| frame(0, 0, Duration::from_millis(millis)));
        let reported = came.map(|frame| untimed.frame_came(&frame, is_limited_by_time)).collect::<Vec<_>>();
        reported.iter().enumerate().filter(|(_, reported)| **reported).map(|(at, _)| at).collect()
    }

    #[test]
    fn it_is_told_once_after_sixty_in_a_row_and_only_where_time_is_the_limit() {
        assert_eq!(reported([0; 200], true), [59]);
        assert_eq!(reported([0; 200], false), [0; 0]);
        let one_is_timed = (0..200).map(|at| u64::from(at == 30));
        assert_eq!(reported(one_is_timed, true), [90]);
    }
}
