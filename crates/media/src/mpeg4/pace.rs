//! How many frames are shown in a second, from the times in the headers of VOPs.

use crate::picture::FrameRate;

/// Distances that are counted one by one: more than a stream has whose VOPs keep to a rate, with some left out.
const MOST_DISTANCES: usize = 16;

/// Counts the distances between VOPs as they are shown, in a constant amount of memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// The last I- or P-VOP, which is shown when the next one has come.
    held: Option<i64>,
    shown: Option<i64>,
    /// Distances in ticks, and how often each was there.
    distances: Vec<(u64, u64)>,
    count: u64,
    sum: u64,
}

impl Pace {
    /// Takes the time of the next VOP in decode order, in ticks.
    pub(super) fn take(&mut self, time: i64, is_b: bool) {
        let shown = if is_b { Some(time) } else { self.held.replace(time) };
        shown.into_iter().for_each(|time| self.show(time));
    }

    /// A group begins, which may have a time of its own.
    pub(super) fn restart(&mut self) {
        let held = self.held.take();
        held.into_iter().for_each(|time| self.show(time));
    }

    fn show(&mut self, time: i64) {
        let before = self.shown.replace(time);
        // A clock that goes back, or stands still, says nothing.
        let ticks = before.and_then(|before| u64::try_from(time.checked_sub(before)?).ok()).filter(|&ticks| ticks > 0);
        let Some(ticks) = ticks else { return };
        (self.count, self.sum) = (self.count + 1, self.sum.saturating_add(ticks));
        match self.distances.iter().position(|(known, _)| *known == ticks) {
            Some(place) => self.distances[place].1 += 1,
            None if self.distances.len() < MOST_DISTANCES => self.distances.push((ticks, 1)),
            None => {}
        }
    }

    /// Frames in a second of so many ticks: by the distance that most VOPs have, and the mean where none is that of most.
    /// `None` where no VOP is shown after another one.
    pub(super) fn rate(mut self, resolution: u32) -> Option<FrameRate> {
        self.restart();
        let most = self.distances.iter().find(|(_, count)| *count > self.count / 2).map(|(ticks, _)| (1, *ticks));
        let (frames, ticks) = most.unwrap_or((self.count, self.sum));
        FrameRate::reduced(u64::from(resolution).checked_mul(frames)?, ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(times: impl IntoIterator<Item = (i64, bool)>) -> Option<(u32, u32)> {
        let mut pace = Pace::default();
        times.into_iter().for_each(|(time, is_b)| pace.take(time, is_b));
        pace.rate(100).map(|rate| (rate.numerator, rate.denominator))
    }

    #[test]
    fn it_is_that_of_most_frames_as_they_are_shown() {
        let with_b =
            (0..9).flat_map(|group| [(12 * group + 12, false), (12 * group + 4, true), (12 * group + 8, true)]);
        assert_eq!(rate(with_b.clone()), Some((25, 1)));
        assert_eq!(rate(with_b.filter(|(time, _)| time % 5 != 0)), Some((25, 1)), "some did not come");
        assert_eq!(rate([(0, false), (7, false), (12, false), (20, false)]), Some((15, 1)), "no two alike: the mean");
        assert_eq!(rate([(50, false), (54, false), (2, false), (6, false), (6, false)]), Some((25, 1)), "it goes back");
    }

    #[test]
    fn of_one_frame_nothing_is_known() {
        assert_eq!([rate([]), rate([(3, false)]), rate([(3, false), (3, false)])], [None; 3]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut pace = Pace::default();
        (0..100_000).for_each(|number: i64| pace.take(number * number, false));
        assert_eq!(pace.distances.len(), MOST_DISTANCES);
        assert!(Pace { held: None, shown: None, distances: vec![], count: u64::MAX, sum: u64::MAX }.rate(25).is_none());
    }
}
