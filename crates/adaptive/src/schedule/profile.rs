//! C(t): what a plan has sent.

use framewire_units::{Bitrate, Duration};

use crate::schedule::consumption::SAME_TIME;

/// From when on a plan sends at a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Seconds since the first byte.
    pub start: f64,
    /// Bytes sent by then.
    pub sent: f64,
    /// Bytes per second from then on.
    pub rate: f64,
}

impl Step {
    /// The rate, rounded up to the next bit/s.
    pub fn bit_rate(&self) -> Bitrate {
        whole(self.rate)
    }
}

/// A plan: rates that are constant in between changes. C(t) is the sum of what was sent.
///
/// It ends with the last byte of the file; its rate is zero from there on.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Places of C(t), between which it is straight; times ascend, bytes do not descend. At least two.
    points: Vec<Point>,
}

/// A place of C(t).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Seconds since the first byte.
    pub(super) time: f64,
    /// Bytes sent by then.
    pub(super) bytes: f64,
}

impl Point {
    pub(super) fn new(time: f64, bytes: f64) -> Self {
        Self { time, bytes }
    }

    /// Rate of a straight line to a later place.
    pub(super) fn slope_to(self, later: Self) -> f64 {
        (later.bytes - self.bytes) / (later.time - self.time)
    }

    /// Where the straight line to a later place is at a time.
    fn towards(self, later: Self, time: f64) -> f64 {
        self.bytes + (later.bytes - self.bytes) * ((time - self.time) / (later.time - self.time))
    }
}

impl Profile {
    /// Through places that begin at no time with no byte.
    pub(super) fn through(points: Vec<Point>) -> Self {
        debug_assert!(points.len() > 1 && points[0] == Point::new(0.0, 0.0));
        debug_assert!(points.is_sorted_by(|before, after| before.time < after.time && before.bytes <= after.bytes));
        Self { points }
    }

    /// C(t), t in seconds.
    pub fn at(&self, seconds: f64) -> f64 {
        let next = self.points.partition_point(|point| point.time < seconds);
        match (next.checked_sub(1).map(|before| self.points[before]), self.points.get(next)) {
            (Some(before), Some(&after)) => before.towards(after, seconds),
            (Some(last), None) => last.bytes,
            (None, _) => 0.0,
        }
    }

    /// The changes of rate, from the beginning; of neighbours with the same rate one step is made.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for pair in self.points.windows(2) {
            let rate = pair[0].slope_to(pair[1]);
            if steps.last().is_none_or(|last| (last.rate - rate).abs() > SAME_RATE * rate.abs().max(1.0)) {
                steps.push(Step { start: pair[0].time, sent: pair[0].bytes, rate });
            }
        }
        steps
    }

    /// When the last byte has been sent, in seconds.
    pub fn end(&self) -> f64 {
        self.last().time
    }

    /// All bytes that are sent.
    pub fn total(&self) -> f64 {
        self.last().bytes
    }

    /// The rate at a time, rounded up to the next bit/s; zero from the end on.
    pub fn rate_at(&self, at: Duration) -> Bitrate {
        let seconds = at.as_secs_f64();
        let next = self.points.partition_point(|point| point.time <= seconds);
        match self.points.get(next) {
            Some(&after) => whole(self.points[next - 1].slope_to(after)),
            None => Bitrate::default(),
        }
    }

    /// The highest rate.
    pub fn peak_rate(&self) -> Bitrate {
        let rates = self.points.windows(2).map(|pair| pair[0].slope_to(pair[1]));
        whole(rates.fold(0.0, f64::max))
    }

    /// The same plan with bytes sent ahead evenly until a time (section 5.3), which it then ends earlier by.
    pub(super) fn with_bytes_ahead(&self, bytes: f64, until: Duration) -> Self {
        let (total, until) = (self.total(), until.as_secs_f64());
        let mut times: Vec<f64> = self.points.iter().map(|point| point.time).collect();
        if times.iter().all(|time| (time - until).abs() > SAME_TIME) {
            times.push(until);
            times.sort_by(f64::total_cmp);
        }
        let mut points: Vec<Point> = Vec::with_capacity(times.len() + 1);
        for time in times {
            let point = Point::new(time, self.at(time) + bytes * (time / until).min(1.0));
            match points.last() {
                Some(&before) if point.bytes >= total => {
                    // The file ends here.
                    let end = before.time + (total - before.bytes) / before.slope_to(point);
                    if end > before.time {
                        points.push(Point::new(end, total));
                    }
                    break;
                }
                _ => points.push(point),
            }
        }
        Self::through(points)
    }

    fn last(&self) -> Point {
        *self.points.last().expect("invariant: a profile has two points at least")
    }

    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }
}

/// Rates that differ by less are the same one, rounded.
const SAME_RATE: f64 = 1e-9;

/// A rate as a whole number of bit/s that is enough; what rounding may have added does not count.
fn whole(bytes_per_second: f64) -> Bitrate {
    let bits = bytes_per_second * 8.0;
    Bitrate::from_bps(libm::ceil(bits - 1e-6 - bits * 1e-12).max(0.0) as u64)
}
