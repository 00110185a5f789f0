//! Between V(t) and V(t) + b: where a plan is neither late nor too much for a buffer (figure 11).

use framewire_units::DataSize;

use crate::schedule::{Consumption, ScheduleError};

/// What has to be sent, and may be sent at most, by the time at which a frame is taken. Between two of these times
/// nothing is taken, so that a plan which passes both, and never takes back what it sent, is right in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gate {
    /// Seconds since the first byte.
    pub(super) time: f64,
    /// Bytes without which the frame is late.
    pub(super) least: f64,
    /// Bytes that fit, if there are as many: the buffer is fullest just before the frame is taken.
    pub(super) most: f64,
}

/// The gates of all frames, in order.
pub(super) fn gates(consumption: &Consumption, buffer: DataSize) -> Result<Vec<Gate>, ScheduleError> {
    let gate = |frame: usize| {
        let (before, after) = (consumption.bytes_of(frame), consumption.bytes_of(frame + 1));
        if after - before > buffer.as_bytes() {
            let size = DataSize::from_bytes(after - before);
            return Err(ScheduleError::BufferTooSmall { level: 0, frame, size, buffer });
        }
        let most = before.saturating_add(buffer.as_bytes());
        Ok(Gate { time: consumption.time_of(frame), least: after as f64, most: most as f64 })
    };
    (0..consumption.frames()).map(gate).collect()
}
