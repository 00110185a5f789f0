//! The smoothest plan for a buffer.
//!
//! Of all plans that are never late and never overflow, this one has the lowest peak and the least variable rates (in the
//! sense of majorisation): Salehi, Zhang, Kurose and Towsley, "Supporting Stored Video: Reducing Rate Variability and
//! End-to-End Resource Requirements through Optimal Smoothing", IEEE/ACM Transactions on Networking 6(4), 1998. It is
//! the shortest path between V(t) and V(t) + b, a string pulled taut, and is found here as such: with the funnel of Lee
//! and Preparata ("Euclidean Shortest Paths in the Presence of Rectilinear Barriers", Networks 14, 1984), in a time
//! proportional to the number of frames.

use std::collections::VecDeque;

use framewire_units::DataSize;

use crate::schedule::corridor::gates;
use crate::schedule::profile::Point;
use crate::schedule::{Consumption, Profile, ScheduleError};

/// The smoothest plan for a client that can hold `buffer`.
///
/// # Errors
/// [`ScheduleError::BufferTooSmall`] when a frame does not fit.
pub(crate) fn smoothed(consumption: &Consumption, buffer: DataSize) -> Result<Profile, ScheduleError> {
    let total = consumption.total().as_bytes() as f64;
    let mut string = TautString::new();
    for gate in gates(consumption, buffer)? {
        string.pass_between(Point::new(gate.time, gate.least), Point::new(gate.time, gate.most.min(total)));
    }
    Ok(Profile::through(string.ends_at_last()))
}

/// A funnel of two chains from a common place, the apex: the string lies between them.
struct TautString {
    /// Where the string is fixed already.
    fixed: Vec<Point>,
    /// Highest places that the string has to pass above, seen from the apex: slopes descend.
    floor: VecDeque<Point>,
    /// Lowest places that it has to pass below: slopes ascend.
    ceiling: VecDeque<Point>,
}

impl TautString {
    fn new() -> Self {
        Self { fixed: vec![Point::new(0.0, 0.0)], floor: VecDeque::new(), ceiling: VecDeque::new() }
    }

    fn apex(&self) -> Point {
        *self.fixed.last().expect("invariant: the string is fixed at its beginning")
    }

    /// A gate that the string has to go through.
    fn pass_between(&mut self, least: Point, most: Point) {
        extend(&mut self.floor, &mut self.ceiling, &mut self.fixed, least, |before, after| before <= after);
        extend(&mut self.ceiling, &mut self.floor, &mut self.fixed, most, |before, after| before >= after);
    }

    /// The last gate is a single place, in which both chains end.
    fn ends_at_last(mut self) -> Vec<Point> {
        debug_assert_eq!(self.floor.back(), self.ceiling.back());
        let apex = self.apex();
        let rest = std::mem::take(&mut self.floor);
        self.fixed.extend(rest.into_iter().filter(|point| point.time > apex.time));
        self.fixed
    }
}

/// Adds a place to one chain. What it makes needless goes; where it cannot be seen from the apex any more, the string
/// is fixed at the places of the other chain that stand in the way.
fn extend(
    chain: &mut VecDeque<Point>,
    other: &mut VecDeque<Point>,
    fixed: &mut Vec<Point>,
    place: Point,
    needless: impl Fn(f64, f64) -> bool,
) {
    let apex = |fixed: &[Point]| *fixed.last().expect("invariant: the string is fixed at its beginning");
    while let Some(&last) = chain.back() {
        let before = chain.len().checked_sub(2).map_or(apex(fixed), |index| chain[index]);
        if !needless(before.slope_to(last), last.slope_to(place)) {
            break;
        }
        chain.pop_back();
    }
    if chain.is_empty() {
        while let Some(&corner) = other.front() {
            let from = apex(fixed);
            // Beyond the corner on its far side: the string bends around it.
            if corner.time >= place.time || needless(from.slope_to(place), from.slope_to(corner)) {
                break;
            }
            fixed.push(corner);
            other.pop_front();
        }
    }
    chain.push_back(place);
}
