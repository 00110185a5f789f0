//! How far apart the frames of a live stream are.

use framewire_units::Duration;

/// Of frames without a time: 25 in a second, the rate of most cameras' defaults.
const USUAL: Duration = Duration::from_millis(40);

/// A longer distance of frames is a jump of their time stamps. A stream of endless frames that are so far apart lasts
/// 1,361 years.
const LONGEST: Duration = Duration::from_secs(10);

/// Distances of which one that is wrong does not matter. Behind so many, the interval stays what it is: it measures the
/// time of clients.
const ENOUGH: usize = 8;

/// The frame interval: that of the caps, or else that of the first frames.
#[derive(Debug, Default)]
pub(super) struct Interval {
    /// By the caps.
    stated: Option<Duration>,
    /// Pairs of frames so far, whatever their times; no more are looked at when there are enough.
    pairs: usize,
    /// The distances of those that have one.
    distances: Vec<Duration>,
    /// The mean of those that are like most.
    learnt: Option<Duration>,
}

impl Interval {
    /// It is that of the caps.
    pub(super) fn tell(&mut self, interval: Duration) {
        if !interval.is_zero() {
            self.stated = Some(interval);
        }
    }

    /// The times of the frames of a group, in any order, and of the one behind it.
    pub(super) fn learn(&mut self, times: impl IntoIterator<Item = Duration>) {
        if self.is_settled() {
            return;
        }
        let mut times: Vec<_> = times.into_iter().collect();
        times.sort_unstable();
        let distances = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        self.pairs += times.len().saturating_sub(1);
        self.distances.extend(distances.filter(|distance| !distance.is_zero() && *distance <= LONGEST));
        self.distances.sort_unstable();
        let Some(&median) = self.distances.get(self.distances.len().saturating_sub(1) / 2) else { return };
        // Time stamps may be rounded to a millisecond, which the median alone would be, too.
        let near = self.distances.iter().filter(|&&distance| distance <= 2 * median && 2 * distance >= median);
        let (count, sum) = near.fold((0, Duration::ZERO), |(count, sum), &distance| (count + 1, sum + distance));
        self.learnt = Some(sum / count);
    }

    /// Whether it stays what it is.
    pub(super) fn is_settled(&self) -> bool {
        self.stated.is_some() || self.pairs >= ENOUGH
    }

    /// What is known of it now.
    pub(super) fn get(&self) -> Duration {
        self.stated.or(self.learnt).unwrap_or(USUAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(groups: &[&[u64]]) -> (Duration, bool) {
        let mut interval = Interval::default();
        for group in groups {
            interval.learn(group.iter().map(|&millis| Duration::from_millis(millis)));
        }
        (interval.get(), interval.is_settled())
    }

    #[test]
    fn the_order_of_frames_and_one_jump_change_nothing() {
        let of = |frames: &[u64]| learnt(&[frames]);
        let forty = Duration::from_millis(40);
        assert_eq!(of(&[0, 120, 40, 80, 240, 160, 200, 280, 320]), (forty, true));
        assert_eq!(of(&[0, 40, 80, 120, 160, 5_160, 5_200, 5_240, 5_280]), (forty, true));
        assert_eq!(of(&[0, 40, 80, 120, 4_000_000_000_000]), (forty, false));
        assert_eq!(of(&[40, 40, 40]), (USUAL, false), "no distance at all");
        assert_eq!(of(&[40; 9]), (USUAL, true), "and none will come");
        assert_eq!(of(&[0, 40, 80, 120, 160, 200, 240, 280]), (forty, false));
        assert_eq!(of(&[7, 100_000]), (USUAL, false), "a jump is no distance");
        assert_eq!(of(&[0, 9_000]), (Duration::from_secs(9), false));
    }

    #[test]
    fn stamps_in_whole_milliseconds_are_averaged() {
        let stamps: Vec<u64> = (0..25).map(|frame| frame * 1_001 / 24).collect();
        let (interval, _) = learnt(&[&stamps]);
        let exact = Duration::from_nanos(41_708_333);
        assert!(interval.abs_diff(exact) < Duration::from_micros(50), "{interval:?}");
    }

    /// Groups of one frame each: the first distance is the jump.
    #[test]
    fn a_first_jump_is_mended_before_the_interval_settles() {
        let groups: Vec<[u64; 2]> =
            (0..8).map(|frame| [frame * 20 + 3_000 * u64::from(frame > 0), frame * 20 + 3_020]).collect();
        let upto = |count| learnt(&groups[..count].iter().map(|group| &group[..]).collect::<Vec<_>>());
        assert_eq!(upto(1), (Duration::from_millis(3_020), false));
        assert_eq!(upto(3), (Duration::from_millis(20), false));
        assert_eq!(upto(8), (Duration::from_millis(20), true));
    }

    #[test]
    fn the_caps_are_right() {
        let mut interval = Interval::default();
        interval.tell(Duration::ZERO);
        assert!(!interval.is_settled());
        interval.tell(Duration::from_secs(60));
        interval.learn((0..20).map(|frame| USUAL * frame));
        assert_eq!((interval.get(), interval.is_settled()), (Duration::from_secs(60), true));
    }
}
