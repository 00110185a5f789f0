//! U(t): what lies in the client's buffer (equation 4).

use framewire_units::{DataSize, Duration};

use crate::schedule::{Consumption, Profile};

/// A value of U(t) and when it is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extreme {
    /// Seconds since the first byte was sent.
    pub time: f64,
    /// Bytes in the buffer; below zero, bytes that are missing.
    pub bytes: f64,
}

/// The extremes of U(t) = C(t) - V(t).
///
/// V(t) steps up when a frame is taken and C(t) grows in between, so that the most is there just before a frame is
/// taken, and the least just after. The paper's equation knows the time after only; a buffer that is to hold what
/// comes has to be as large as before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// The most that is there at any time.
    pub max: Extreme,
    /// The least; never above zero, which it is at the start.
    pub min: Extreme,
    /// When bytes are missing for the first time, in seconds.
    pub first_underflow: Option<f64>,
}

/// A part of a byte that rounding may have taken.
pub(super) const NOTHING: f64 = 1e-6;

impl Occupancy {
    /// The extremes under a plan.
    pub fn of(profile: &Profile, consumption: &Consumption) -> Self {
        let (mut max, mut min, mut first_underflow) = (Extreme::default(), Extreme::default(), None);
        let mut points = profile.points().iter().copied().peekable();
        let mut before = points.next().expect("invariant: a profile has two points at least");
        for frame in 0..consumption.frames() {
            let time = consumption.time_of(frame);
            while let Some(passed) = points.next_if(|point| point.time <= time) {
                before = passed;
            }
            let slope = points.peek().map_or(0.0, |&after| before.slope_to(after));
            let sent = before.bytes + slope * (time - before.time);
            let just_before = sent - consumption.bytes_of(frame) as f64;
            let just_after = sent - consumption.bytes_of(frame + 1) as f64;
            if just_before > max.bytes {
                max = Extreme { time, bytes: just_before };
            }
            if just_after < min.bytes {
                min = Extreme { time, bytes: just_after };
            }
            if just_after < -NOTHING {
                first_underflow.get_or_insert(time);
            }
        }
        Self { max, min, first_underflow }
    }

    /// Whether no frame is late.
    pub fn is_enough(&self) -> bool {
        self.first_underflow.is_none()
    }

    /// b_min = |max U(t)| + |min U(t)| (equation 5), in whole bytes.
    ///
    /// It is enough for the plan with the missing bytes sent ahead, whenever that is.
    pub fn client_buffer(&self) -> DataSize {
        let bytes = self.max.bytes.abs() + self.min.bytes.abs();
        DataSize::from_bytes(libm::ceil(bytes - NOTHING) as u64)
    }

    /// When bytes are missing for the first time, to the nanosecond before.
    pub(super) fn first_underflow_time(&self) -> Option<Duration> {
        self.first_underflow.map(|seconds| Duration::from_nanos((seconds * 1e9) as u64))
    }
}
