//! When frames are due in transport order.

use framewire_units::Duration;

/// How far a frame can be sent before it is shown, in frames: the largest decoded picture buffer of H.264 and H.265
/// (ITU-T H.264, A.3.1; H.265, A.4.2) holds 16.
pub(super) const LARGEST_REORDERING: u32 = 16;

/// The frame clock of the thesis: a frame is due when its turn in transport order comes (section 2.2, `sync_clock`).
///
/// That is the decode time stamp, where there is one. A stream from a container that keeps presentation times only has
/// none; there a frame is due one duration after the frame before it, and never later than it is shown. Were it due when
/// it is shown, every P frame would come late and together with the B frames before which it is needed.
#[derive(Clone, Debug, Default)]
pub struct TransportClock {
    /// When the last frame was due, and how long it lasts.
    last: Option<(Duration, Duration)>,
    /// The times of the last one, and what was made of them: who renders may ask more than once.
    answered: Option<(Times, Option<Duration>)>,
}

/// What an access unit says of its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Presentation time.
    pub pts: Option<Duration>,
    /// Decode time.
    pub dts: Option<Duration>,
    /// Duration.
    pub duration: Option<Duration>,
}

impl TransportClock {
    /// When the next frame is due; `None` where nothing states it. The same times asked for again have the same answer.
    pub fn due(&mut self, times: Times) -> Option<Duration> {
        if let Some((_, answer)) = self.answered.filter(|(asked, _)| *asked == times) {
            return answer;
        }
        let due = times.dts.or_else(|| self.by_presentation(times));
        self.answered = Some((times, due));
        if let Some(due) = due {
            self.last = Some((due, times.duration.unwrap_or(Duration::ZERO)));
        }
        due
    }

    fn by_presentation(&self, times: Times) -> Option<Duration> {
        let shown = times.pts?;
        let (Some((last, lasts)), Some(duration)) = (self.last, times.duration) else { return Some(shown) };
        let reordering = duration.saturating_mul(LARGEST_REORDERING);
        Some(last.saturating_add(lasts).clamp(shown.saturating_sub(reordering), shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: u64 = 40;

    fn pts_only(pts: u64) -> Times {
        let millis = |ms| Some(Duration::from_millis(ms));
        Times { pts: millis(pts), dts: None, duration: millis(FRAME) }
    }

    fn due(presentation: &[u64]) -> Vec<u64> {
        let mut clock = TransportClock::default();
        presentation.iter().map(|&pts| clock.due(pts_only(pts * FRAME)).unwrap().as_millis() as u64 / FRAME).collect()
    }

    #[test]
    fn decode_times_are_taken_as_they_are() {
        let mut clock = TransportClock::default();
        let dts = Some(Duration::from_millis(7));
        assert_eq!(clock.due(Times { dts, ..pts_only(90) }), dts);
    }

    #[test]
    fn without_decode_times_frames_are_due_one_after_the_other() {
        // I0 P3 B1 B2 P6 B4 B5: the reordering delay of one frame shows at the first B frame, and then all is even.
        assert_eq!(due(&[0, 3, 1, 2, 6, 4, 5, 9, 7, 8]), [0, 1, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(due(&[0, 1, 2, 3]), [0, 1, 2, 3], "no B frames, no difference");
    }

    #[test]
    fn no_frame_is_due_after_it_is_shown_nor_long_before() {
        assert_eq!(due(&[0, 1, 500]), [0, 1, 500 - u64::from(LARGEST_REORDERING)]);
        assert_eq!(due(&[100, 0]), [100, 0]);
    }

    #[test]
    fn asking_twice_changes_nothing() {
        let mut clock = TransportClock::default();
        clock.due(pts_only(0));
        let first = clock.due(pts_only(120));
        assert_eq!(clock.due(pts_only(120)), first);
        assert_eq!(clock.due(pts_only(40)), Some(Duration::from_millis(40)));
    }

    #[test]
    fn nothing_is_known_without_times() {
        assert_eq!(TransportClock::default().due(Times { pts: None, dts: None, duration: None }), None);
    }
}
