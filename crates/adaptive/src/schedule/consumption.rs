//! V(t): what the player has taken (equation 3).

use framewire_media::FrameRate;
use framewire_units::{DataSize, Duration};

use crate::schedule::ScheduleError;

/// Bytes that the player has taken from its buffer by a time.
///
/// Frame i, in decode order, is taken as a whole at the start-up time plus i frame periods, so V(t) is a staircase; at
/// the very moment of a step the frame is taken. Time 0 is when the first byte is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Consumption {
    /// Bytes of the first i frames, from 0 to all of them.
    cumulative: Vec<u64>,
    period: f64,
    startup: f64,
}

/// Times within a nanosecond are the same: what rounding of sums of periods may leave.
pub(super) const SAME_TIME: f64 = 1e-9;

impl Consumption {
    /// The consumption of frames of these sizes, in decode order.
    ///
    /// # Errors
    /// When there is nothing to consume, or no start-up time.
    pub fn new(sizes: &[u32], frame_rate: FrameRate, startup: Duration) -> Result<Self, ScheduleError> {
        let mut cumulative = Vec::with_capacity(sizes.len() + 1);
        let mut sum = 0;
        cumulative.push(0);
        cumulative.extend(sizes.iter().map(|&size| {
            sum += u64::from(size);
            sum
        }));
        if sum == 0 {
            return Err(ScheduleError::NoBytes);
        }
        if startup.is_zero() {
            return Err(ScheduleError::NoStartup);
        }
        let period = f64::from(frame_rate.denominator) / f64::from(frame_rate.numerator);
        Ok(Self { cumulative, period, startup: startup.as_secs_f64() })
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.cumulative.len() - 1
    }

    /// Bytes of all frames.
    pub fn total(&self) -> DataSize {
        DataSize::from_bytes(self.bytes_of(self.frames()))
    }

    /// Length of the movie in seconds, without the start-up time.
    pub fn duration(&self) -> f64 {
        self.period * self.frames() as f64
    }

    /// When a frame is taken, in seconds.
    pub fn time_of(&self, frame: usize) -> f64 {
        self.startup + self.period * frame as f64
    }

    /// V(t), t in seconds.
    pub fn at(&self, seconds: f64) -> DataSize {
        let periods = (seconds - self.startup + SAME_TIME) / self.period;
        let frames = if periods < 0.0 { 0 } else { periods as usize + 1 };
        DataSize::from_bytes(self.bytes_of(frames.min(self.frames())))
    }

    /// Bytes of the first `frames` frames.
    pub(super) fn bytes_of(&self, frames: usize) -> u64 {
        self.cumulative[frames]
    }
}
