//! The piecewise-constant plan (section 5.2).

use crate::schedule::profile::Point;
use crate::schedule::{Consumption, Profile, ScheduleError};

/// A plan of `count` segments of equal length, in each of which the rate is the mean rate of the frames that begin in
/// it. With one segment it is the constant rate of figure 9.
///
/// # Errors
/// When there is no segment, or more of them than frames.
pub(crate) fn equal_segments(consumption: &Consumption, count: usize) -> Result<Profile, ScheduleError> {
    let frames = consumption.frames();
    if count == 0 || count > frames {
        return Err(ScheduleError::Segments { count, frames });
    }
    let border = |segment: usize| {
        // Frames that begin before the border, which may cut one in two.
        let begun = (segment as u128 * frames as u128).div_ceil(count as u128) as usize;
        let time = consumption.duration() * (segment as f64 / count as f64);
        Point::new(time, consumption.bytes_of(begun) as f64)
    };
    Ok(Profile::through((0..=count).map(border).collect()))
}
