//! The plan with the fewest changes of rate for a buffer.
//!
//! It is a path of the fewest straight lines from the first byte to the last through the corridor between V(t) and
//! V(t) + b. The lines are taken one after the other, each as far as any can go: of all lines that leave the one before
//! it, the one that passes the most gates, and of these the one that comes nearest to the gate which stops it. A
//! plan that passes that gate with one line more has to cross this one (S. Suri, "A linear time algorithm for minimum link
//! paths inside a simple polygon", Computer Vision, Graphics, and Image Processing 35, 1986; for corridors H. Imai and M. Iri,
//! "An optimal algorithm for approximating a piecewise linear function", Journal of Information Processing 9, 1986). So
//! no plan has fewer rates; W. Feng and J. Rexford compare such plans with the smoothest ones ("Performance Evaluation of
//! Smoothing Algorithms for Transmitting Variable Bit Rate Video", IEEE Transactions on Multimedia 1(3), 1999).

use framewire_units::DataSize;

use crate::schedule::corridor::{Gate, gates};
use crate::schedule::profile::Point;
use crate::schedule::{Consumption, Profile, ScheduleError};

/// The plan with the fewest rates for a client that can hold `buffer`. The time it takes grows with the square of the
/// frames that one rate lasts for.
///
/// # Errors
/// [`ScheduleError::BufferTooSmall`] when a frame does not fit.
pub(crate) fn fewest_changes(consumption: &Consumption, buffer: DataSize) -> Result<Profile, ScheduleError> {
    let total = consumption.total().as_bytes() as f64;
    let corridor = Corridor::new(gates(consumption, buffer)?, total);
    let mut points = vec![Point::new(0.0, 0.0)];
    let mut reach = corridor.first_line();
    while let Some(stop) = reach.stop {
        let next = corridor.line_after(&reach, stop, points[points.len() - 1].time);
        let bend = reach.line.meets(next.line, corridor.before(next.leaves), corridor.gates[next.leaves].time);
        push(&mut points, bend);
        reach = next;
    }
    push(&mut points, corridor.end_of(reach.line));
    Ok(Profile::through(points))
}

/// Bytes that a line may pass a gate beside, far below one: places in a row are on one line in spite of rounding.
const BESIDE: f64 = 4e-7;

/// Adds a place; what rounding made of its order is put right.
fn push(points: &mut Vec<Point>, place: Point) {
    let last = points[points.len() - 1];
    if place.time > last.time {
        points.push(Point::new(place.time, place.bytes.max(last.bytes)));
    }
}

/// A straight line: bytes per second, and a place on it.
#[derive(Clone, Copy, Debug)]
struct Line {
    slope: f64,
    place: Point,
}

impl Line {
    fn at(self, time: f64) -> f64 {
        self.place.bytes + self.slope * (time - self.place.time)
    }

    /// Where a line crosses it, between two times.
    fn meets(self, other: Self, from: f64, to: f64) -> Point {
        let (before, after) = (other.at(from) - self.at(from), other.at(to) - self.at(to));
        let share = if before == after { 0.0 } else { (before / (before - after)).clamp(0.0, 1.0) };
        let time = from + share * (to - from);
        Point::new(time, self.at(time))
    }
}

/// A line, how far it goes, and where it leaves the one before it.
#[derive(Clone, Copy, Debug)]
struct Reach {
    line: Line,
    /// The gate before which it leaves the line before it.
    leaves: usize,
    /// The gate that it cannot pass; `None` when it passes all.
    stop: Option<Stop>,
}

/// A gate that no line passes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stop {
    gate: usize,
    side: Side,
}

/// On which side of a gate all lines come out, so that the next line has to turn to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

struct Corridor {
    gates: Vec<Gate>,
    /// Steeper than any line has to be.
    steepest: f64,
    /// All bytes.
    total: f64,
}

impl Corridor {
    /// Up to the gate by which all bytes have been sent. A line that is beyond them ends with the file, so that nothing
    /// is too much where the buffer holds what is left of it.
    fn new(mut gates: Vec<Gate>, total: f64) -> Self {
        gates.truncate(1 + gates.iter().take_while(|gate| gate.least < total).count());
        gates.iter_mut().filter(|gate| gate.most >= total).for_each(|gate| gate.most = f64::INFINITY);
        let gaps = gates.iter().zip(&gates[1..]).map(|(before, after)| after.time - before.time);
        let steepest = 2.0 * total / gaps.fold(gates[0].time, f64::min);
        Self { gates, steepest, total }
    }

    /// Where the last line has sent all bytes.
    fn end_of(&self, line: Line) -> Point {
        let time = line.place.time + (self.total - line.place.bytes) / line.slope;
        Point::new(time.min(self.gates[self.gates.len() - 1].time), self.total)
    }

    /// Time of the gate before one, or of the first byte.
    fn before(&self, gate: usize) -> f64 {
        gate.checked_sub(1).map_or(0.0, |before| self.gates[before].time)
    }

    /// The line from the first byte.
    fn first_line(&self) -> Reach {
        let time = self.gates[0].time;
        let lines = Lines { pivot: time, corners: vec![(0.0, 0.0), (self.steepest, self.steepest * time)] };
        self.extend(lines, 0)
    }

    /// The line that goes farthest of all that leave another one, not before `from`, on its way to the gate that stops it.
    fn line_after(&self, before: &Reach, stop: Stop, from: f64) -> Reach {
        let starts = (before.leaves..=stop.gate).filter(|&gate| self.gates[gate].time > from);
        let reaches = starts.filter_map(|gate| {
            let lines = self.lines_that_leave(before.line, stop.side, gate, from);
            (!lines.corners.is_empty()).then(|| self.extend(lines, gate))
        });
        reaches.reduce(|best, other| self.farther(best, other)).expect("invariant: the steps of V(t) are a path")
    }

    /// The lines that cross another one between a gate and the one before it, and pass the gate.
    fn lines_that_leave(&self, line: Line, side: Side, gate: usize, from: f64) -> Lines {
        let (time, start) = (self.gates[gate].time, self.before(gate).max(from));
        let (least, most) = (self.gates[gate].least - BESIDE, self.gates[gate].most.min(self.total) + BESIDE);
        let box_of_lines = vec![(0.0, least), (self.steepest, least), (self.steepest, most), (0.0, most)];
        let mut lines = Lines { pivot: time, corners: box_of_lines };
        match side {
            Side::Below => {
                lines.keep_above(time, line.at(time));
                lines.keep_below(start, line.at(start));
            }
            Side::Above => {
                lines.keep_below(time, line.at(time));
                lines.keep_above(start, line.at(start));
            }
        }
        lines
    }

    /// Passes lines through gate after gate, as long as any is left.
    fn extend(&self, mut lines: Lines, leaves: usize) -> Reach {
        for (number, gate) in self.gates.iter().enumerate().skip(leaves) {
            let mut passing = lines.clone();
            passing.keep_above(gate.time, gate.least - BESIDE);
            let side = if passing.corners.is_empty() { Side::Below } else { Side::Above };
            passing.keep_below(gate.time, gate.most + BESIDE);
            if passing.corners.is_empty() {
                let line = lines.nearest(gate.time, side);
                return Reach { line, leaves, stop: Some(Stop { gate: number, side }) };
            }
            lines = passing;
        }
        Reach { line: lines.middle(), leaves, stop: None }
    }

    fn farther(&self, one: Reach, other: Reach) -> Reach {
        let (Some(stop), Some(others)) = (one.stop, other.stop) else {
            return if one.stop.is_none() { one } else { other };
        };
        let nearer = || {
            let time = self.gates[stop.gate].time;
            let higher = other.line.at(time) > one.line.at(time);
            higher == (stop.side == Side::Below)
        };
        if others.gate > stop.gate || others.gate == stop.gate && nearer() { other } else { one }
    }
}

/// Lines by their slope and by where they are at a time: a convex set of them, as corners in order.
#[derive(Clone, Debug)]
struct Lines {
    pivot: f64,
    /// Slope, and bytes at the pivot.
    corners: Vec<(f64, f64)>,
}

impl Lines {
    fn keep_above(&mut self, time: f64, bytes: f64) {
        let ahead = time - self.pivot;
        self.cut(|(slope, at)| at + slope * ahead - bytes);
    }

    fn keep_below(&mut self, time: f64, bytes: f64) {
        let ahead = time - self.pivot;
        self.cut(|(slope, at)| bytes - at - slope * ahead);
    }

    /// Keeps where `room`, which is linear, is not below zero.
    fn cut(&mut self, room: impl Fn((f64, f64)) -> f64) {
        if self.corners.iter().all(|&corner| room(corner) >= 0.0) {
            return;
        }
        let mut kept = Vec::with_capacity(self.corners.len() + 1);
        for (index, &corner) in self.corners.iter().enumerate() {
            let next = self.corners[(index + 1) % self.corners.len()];
            let (here, there) = (room(corner), room(next));
            if here >= 0.0 {
                kept.push(corner);
            }
            if (here < 0.0) != (there < 0.0) {
                let share = here / (here - there);
                kept.push((corner.0 + share * (next.0 - corner.0), corner.1 + share * (next.1 - corner.1)));
            }
        }
        self.corners = kept;
    }

    fn line(&self, (slope, bytes): (f64, f64)) -> Line {
        Line { slope, place: Point::new(self.pivot, bytes) }
    }

    /// The one that comes nearest to a gate at this time, all being on this side of it.
    fn nearest(&self, time: f64, side: Side) -> Line {
        let lines = self.corners.iter().map(|&corner| self.line(corner));
        let better = |best: Line, other: Line| match side {
            Side::Below if other.at(time) > best.at(time) => other,
            Side::Above if other.at(time) < best.at(time) => other,
            Side::Below | Side::Above => best,
        };
        lines.reduce(better).expect("invariant: only lines that are there are extended")
    }

    /// One that keeps away from the bounds where there is room.
    fn middle(&self) -> Line {
        let count = self.corners.len() as f64;
        let (slopes, bytes) = self.corners.iter().fold((0.0, 0.0), |sum, corner| (sum.0 + corner.0, sum.1 + corner.1));
        self.line((slopes / count, bytes / count))
    }
}
