//! One way to understand a stream: which frame of the movie each of its units is of.

use std::collections::BTreeMap;

use framewire_media::picture_order::Renumbering;
use framewire_units::Timestamp;

use super::index::ContentIndex;
use super::numbers::{Change, KeyReading, OpenKeys};
use super::units::Unit;

/// `nal_unit_type` of slices of an IDR picture, whose numbers begin anew (ITU-T H.264, table 7-1).
const IDR_SLICE: u8 = 5;

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Frames that came whole, when they had, and what was added to their numbers; in decode order.
    pub(super) whole: Vec<(u32, Timestamp, Renumbering)>,
    /// Bytes of frames that are not whole, as far as their units name them.
    pub(super) parts: BTreeMap<u32, u64>,
    /// Units that belong to no frame that could be named.
    pub(super) foreign_units: u64,
}

impl Found {
    /// Takes what was found behind it.
    pub(super) fn append(&mut self, mut later: Self) {
        self.whole.append(&mut later.whole);
        for (frame, bytes) in later.parts {
            *self.parts.entry(frame).or_default() += bytes;
        }
        self.foreign_units += later.foreign_units;
    }
}

/// A frame that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    /// The frames that it may be, in order; all begin with the units that came.
    candidates: Vec<u32>,
    /// How many units came.
    units: usize,
    /// Bytes of those units.
    bytes: u64,
}

/// Units named one after the other. A frame is there when all its units stand one after the other, whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    /// Frames before this one do not come any more.
    pub(super) next: u32,
    /// How often frames are missing before one that came.
    pub(super) gaps: u32,
    /// What was found since it could be understood in one way only.
    pub(super) found: Found,
    run: Option<Run>,
    /// What was added to the numbers of the slices that come.
    change: Option<Change>,
}

/// A unit as it is in the movie, by what was added to numbers.
pub(super) struct Reading {
    /// `None`: as it came.
    original: Option<Vec<u8>>,
    pub(super) change: Option<Change>,
    /// It may be one of a key frame with other numbers.
    pub(super) is_open: bool,
}

impl Track {
    /// Whether what comes will be understood as in `other`.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.next, &self.run, self.change) == (other.next, &other.run, other.change)
    }

    /// What the unit is where numbers are changed as they were.
    pub(super) fn read(&self, unit: &Unit<'_>, keys: &OpenKeys, index: &ContentIndex) -> Reading {
        let as_it_came = |change| Reading { original: None, change, is_open: false };
        if unit.bytes().first().is_some_and(|header| header & 0x1f == IDR_SLICE) {
            return as_it_came(None);
        }
        if !keys.has_numbers(unit.bytes()) {
            return as_it_came(self.change);
        }
        let original = self.change.and_then(|change| change.undo(unit.bytes()));
        let is_known = |unit: &Unit<'_>| index.has(unit.hash) || self.ending(unit, index).is_some();
        let original = original.filter(|original| is_known(&unit.with(original)));
        let read = original.as_ref().map_or(*unit, |original| unit.with(original));
        // Where it is known as it came, numbers began anew.
        let change = self.change.filter(|_| original.is_some() || !index.has(unit.hash));
        let is_open = !self.goes_on_with(&read, index) && (!is_known(&read) || keys.has_ambiguous(read.hash));
        Reading { original, change, is_open }
    }

    /// Takes the next unit. False where it belongs to no frame.
    pub(super) fn take(&mut self, unit: &Unit<'_>, reading: &Reading, index: &ContentIndex) -> bool {
        self.change = reading.change;
        let unit = &reading.original.as_ref().map_or(*unit, |original| unit.with(original));
        if self.goes_on_with(unit, index) {
            self.go_on_with(unit, index);
        } else if let Some((frame, length)) = self.ending(unit, index) {
            self.complete(frame, unit.arrival_of(length));
        } else {
            self.end_run();
            return self.begin_with(unit, index);
        }
        true
    }

    /// Takes the next unit as one of a key frame. False where it is not.
    pub(super) fn take_key(&mut self, unit: &Unit<'_>, key: KeyReading, index: &ContentIndex) -> bool {
        let original = match key.change {
            Some(change) => change.undo(unit.bytes()),
            None => Some(unit.bytes().to_vec()),
        };
        let Some(original) = original else { return false };
        let unit = unit.with(&original);
        self.end_run();
        self.change = key.change;
        if index.of_frame(key.frame).first().is_some_and(|&(first, _)| first == unit.hash) {
            self.run = Some(Run { candidates: vec![key.frame], units: 1, bytes: unit.size() });
            self.complete_run(unit.arrival_of(unit.length()), index);
        } else {
            // Its first slice is lost.
            *self.found.parts.entry(key.frame).or_default() += unit.size();
        }
        true
    }

    /// The frames that may have begun with the units that came and this one.
    fn candidates_with(&self, unit: &Unit<'_>, index: &ContentIndex) -> impl Iterator<Item = u32> {
        let fits = |run: &Run, frame: u32| {
            index.of_frame(frame).get(run.units).is_some_and(|&(expected, _)| expected == unit.hash)
        };
        let run = self.run.iter();
        run.flat_map(move |run| run.candidates.iter().copied().filter(move |&frame| fits(run, frame)))
    }

    fn goes_on_with(&self, unit: &Unit<'_>, index: &ContentIndex) -> bool {
        self.candidates_with(unit, index).next().is_some()
    }

    /// Adds the unit to the frame that has begun.
    fn go_on_with(&mut self, unit: &Unit<'_>, index: &ContentIndex) {
        let candidates = self.candidates_with(unit, index).collect();
        if let Some(run) = &mut self.run {
            *run = Run { candidates, units: run.units + 1, bytes: run.bytes + unit.size() };
        }
        self.complete_run(unit.arrival_of(unit.length()), index);
    }

    /// The frame that has begun, if the unit begins with its last one, and how long that is. Where the beginning of a
    /// frame is lost, what is left of its first slice has no start code, and follows the last slice of the frame before.
    fn ending(&self, unit: &Unit<'_>, index: &ContentIndex) -> Option<(u32, u32)> {
        let run = self.run.as_ref()?;
        run.candidates.iter().find_map(|&frame| {
            let &(hash, length) = index.of_frame(frame).get(run.units)?;
            let is_last = run.units + 1 == index.of_frame(frame).len();
            (is_last && unit.begins_with(length, hash)).then_some((frame, length))
        })
    }

    /// Begins a frame with the unit, or counts it as the part of a frame whose beginning is missing.
    fn begin_with(&mut self, unit: &Unit<'_>, index: &ContentIndex) -> bool {
        let candidates: Vec<u32> = index.beginning_with(unit.hash, self.next).collect();
        if !candidates.is_empty() {
            self.run = Some(Run { candidates, units: 1, bytes: unit.size() });
            self.complete_run(unit.arrival_of(unit.length()), index);
        } else if let Some(frame) = index.only_frame_with(unit.hash).filter(|&frame| frame >= self.next) {
            *self.found.parts.entry(frame).or_default() += unit.size();
        } else {
            self.found.foreign_units += 1;
            return false;
        }
        true
    }

    fn complete_run(&mut self, at: Timestamp, index: &ContentIndex) {
        let Some(run) = &self.run else { return };
        let whole = |&&frame: &&u32| index.of_frame(frame).len() == run.units;
        if let Some(&frame) = run.candidates.iter().find(whole) {
            self.complete(frame, at);
        }
    }

    fn complete(&mut self, frame: u32, at: Timestamp) {
        let by = self.change.map_or_else(Renumbering::default, |change| change.by);
        self.found.whole.push((frame, at, by));
        self.gaps += u32::from(frame != self.next);
        self.next = frame + 1;
        self.run = None;
    }

    /// Gives up a frame that has begun. Its bytes are counted where it is clear which one it was.
    pub(super) fn end_run(&mut self) {
        match self.run.take() {
            Some(Run { candidates, bytes, .. }) if candidates.len() == 1 => {
                *self.found.parts.entry(candidates[0]).or_default() += bytes;
            }
            Some(run) => self.found.foreign_units += run.units as u64,
            None => {}
        }
    }
}
