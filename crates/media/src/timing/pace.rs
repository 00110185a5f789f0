//! How fast a stream goes on, by its time stamps.

use framewire_units::Duration;

use super::transport_clock::LARGEST_REORDERING;

/// Tells of each frame how much further the stream is with it. What durations and rates promise is not asked: a camera
/// that lights its pictures longer at night still says 25 frames a second.
///
/// Presentation times go back and forth, where there are no decode times. There a step forward is shared among the
/// frames that came for it: of `P3 B1 B2 P6`, each of the last three has a third of the step from 3 to 6.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    furthest: Option<Duration>,
    /// Frames since then that went no further.
    behind: u32,
    /// The share of each frame in the last step, where it was shared.
    share: Option<Duration>,
}

impl Pace {
    /// How much further the stream is with the next frame; `None` where times do not show it.
    pub fn next(&mut self, time: Option<Duration>) -> Option<Duration> {
        let time = time?;
        let Some(furthest) = self.furthest else { return self.begin_at(time) };
        if time <= furthest {
            self.behind += 1;
            return if self.behind > LARGEST_REORDERING { self.begin_at(time) } else { self.share };
        }
        let share = (time - furthest) / (self.behind + 1);
        *self = Self { furthest: Some(time), behind: 0, share: (self.behind > 0).then_some(share) };
        Some(share)
    }

    /// The times before and after this have nothing to do with each other.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    fn begin_at(&mut self, time: Duration) -> Option<Duration> {
        *self = Self { furthest: Some(time), ..Self::default() };
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In frames of 40 ms; -1 where nothing is stated.
    fn steps(times: &[u64]) -> Vec<i64> {
        let mut pace = Pace::default();
        let step = |&time: &u64| pace.next(Some(Duration::from_millis(time * 40)));
        times.iter().map(step).map(|step| step.map_or(-1, |step| step.as_millis() as i64 / 40)).collect()
    }

    #[test]
    fn times_that_ascend_tell_their_steps() {
        assert_eq!(steps(&[0, 1, 2, 7, 8]), [-1, 1, 1, 5, 1]);
    }

    #[test]
    fn a_step_is_shared_among_the_frames_that_came_for_it() {
        // The share is known from the second step on, in a slow stream as in a fast one.
        assert_eq!(steps(&[0, 3, 1, 2, 6, 4, 5, 9, 7, 8]), [-1, 3, -1, -1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(steps(&[0, 15, 5, 10, 30, 20, 25]), [-1, 15, -1, -1, 5, 5, 5]);
    }

    #[test]
    fn times_that_begin_again_are_no_reordering() {
        let again: Vec<u64> = std::iter::once(1_000).chain(0..20).collect();
        let steps = steps(&again);
        assert!(steps[..18].iter().all(|&step| step == -1) && steps[18..].iter().all(|&step| step == 1), "{steps:?}");
    }

    #[test]
    fn nothing_is_known_without_times() {
        let mut pace = Pace::default();
        assert_eq!((pace.next(None), pace.next(Some(Duration::from_secs(1))), pace.next(None)), (None, None, None));
    }
}
