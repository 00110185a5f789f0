//! Which frames of a movie are in an elementary stream, told by their content.
//!
//! An application of the user's own says nothing of frames: what it gives out is bytes. They are cut at start codes, and
//! each unit that carries picture data is compared with those of the movie. A frame is there when all its units stand
//! one after the other, whole; headers that a pipeline may repeat or leave out do not matter, nor does the number of
//! zero bytes before a start code; nor do the numbers in the slice headers of H.264 that a queue changed from an open key
//! frame on. After a loss, matching goes on at the next unit that begins a frame.

mod index;
mod numbers;
#[cfg(test)]
mod tests;
mod units;

use std::collections::BTreeMap;

use framewire_media::Movie;
use framewire_media::access_unit::Codec;
use framewire_media::picture_order::Renumbering;
use framewire_probe::record::FrameFound;
use framewire_units::Timestamp;

use self::index::ContentIndex;
use self::numbers::ChangedNumbers;
use self::units::{Unit, UnitCutter};

/// What was found in a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentLog {
    /// Frames of which something was found, in decode order.
    pub frames: Vec<FrameFound>,
    /// When the first byte came.
    pub first_byte: Option<Timestamp>,
    /// Bytes of the stream.
    pub bytes: u64,
    /// Units with picture data that belong to no frame that could be named.
    pub foreign_units: u64,
    /// What was added to the numbers of frames that came whole, where they were changed; to picture order counts, of as
    /// many as their low bits tell apart.
    pub renumbered: BTreeMap<u32, Renumbering>,
}

/// Finds the frames of a movie in a stream.
///
/// Contract: [`handle_bytes`](Self::handle_bytes) with the stream in chunks of any size, then
/// [`finish`](Self::finish). Frames are taken in decode order: of several with the same content, the first that has not
/// come counts, and one that comes again is foreign. Memory is bounded by the movie's.
#[derive(Debug)]
pub struct ContentMatcher {
    cutter: UnitCutter,
    matching: Matching,
    first_byte: Option<Timestamp>,
    bytes: u64,
}

#[derive(Debug)]
struct Matching {
    index: ContentIndex,
    /// Frames before this one do not come any more.
    next: u32,
    run: Option<Run>,
    whole: BTreeMap<u32, Timestamp>,
    /// Bytes of frames that are not whole, as far as their units name them.
    parts: BTreeMap<u32, u64>,
    foreign_units: u64,
    numbers: ChangedNumbers,
    renumbered: BTreeMap<u32, Renumbering>,
}

/// A frame that has begun.
#[derive(Debug)]
struct Run {
    /// The frames that it may be, in order; all begin with the units that came.
    candidates: Vec<u32>,
    /// How many units came.
    units: usize,
    /// Bytes of those units.
    bytes: u64,
}

impl ContentMatcher {
    /// A matcher at the start of a stream of the movie's codec; `None` for one whose streams have no start codes.
    pub fn new(movie: &Movie) -> Option<Self> {
        let codec = movie.index.sequence.codec;
        let matching = Matching {
            index: ContentIndex::of(movie),
            next: 0,
            run: None,
            whole: BTreeMap::new(),
            parts: BTreeMap::new(),
            foreign_units: 0,
            numbers: ChangedNumbers::of(movie),
            renumbered: BTreeMap::new(),
        };
        (codec != Codec::Av1).then(|| Self { cutter: UnitCutter::new(codec), matching, first_byte: None, bytes: 0 })
    }

    /// Takes the next bytes of the stream, which came at `now`.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.first_byte.get_or_insert(now);
        }
        self.bytes += bytes.len() as u64;
        let matching = &mut self.matching;
        self.cutter.feed(now, bytes, &mut |unit| matching.take(unit));
    }

    /// Frames found whole so far. A frame is known to be whole when the next start code, or the end, has come.
    pub fn whole_frames(&self) -> u32 {
        self.matching.whole.len() as u32
    }

    /// Ends the stream.
    pub fn finish(mut self) -> ContentLog {
        let mut matching = self.matching;
        self.cutter.finish(&mut |unit| matching.take(unit));
        matching.end_run();
        ContentLog {
            foreign_units: matching.foreign_units,
            renumbered: std::mem::take(&mut matching.renumbered),
            frames: matching.into_frames(),
            first_byte: self.first_byte,
            bytes: self.bytes,
        }
    }
}

impl Matching {
    fn take(&mut self, unit: &Unit<'_>) {
        let original = self.numbers.original(unit.bytes(), &self.index, self.next);
        let unit = &original.as_deref().map_or(*unit, |original| unit.with(original));
        if self.goes_on_with(unit) || self.ends_within(unit) {
            return;
        }
        self.end_run();
        self.begin_with(unit);
    }

    /// Adds the unit to the frame that has begun, if it belongs there.
    fn goes_on_with(&mut self, unit: &Unit<'_>) -> bool {
        let Some(run) = &mut self.run else { return false };
        let fits = |&frame: &u32| {
            self.index.of_frame(frame).get(run.units).is_some_and(|&(expected, _)| expected == unit.hash)
        };
        let candidates: Vec<u32> = run.candidates.iter().copied().filter(fits).collect();
        if candidates.is_empty() {
            return false;
        }
        run.candidates = candidates;
        run.units += 1;
        run.bytes += unit.size();
        self.complete_run(unit.arrival_of(unit.length()));
        true
    }

    /// Completes the frame that has begun, if the unit begins with its last one. Where the beginning of a frame is
    /// lost, what is left of its first slice has no start code, and follows the last slice of the frame before.
    fn ends_within(&mut self, unit: &Unit<'_>) -> bool {
        let Some(run) = &self.run else { return false };
        let ending = run.candidates.iter().find_map(|&frame| {
            let &(hash, length) = self.index.of_frame(frame).get(run.units)?;
            let is_last = run.units + 1 == self.index.of_frame(frame).len();
            (is_last && unit.begins_with(length, hash)).then_some((frame, length))
        });
        if let Some((frame, length)) = ending {
            self.complete(frame, unit.arrival_of(length));
        }
        ending.is_some()
    }

    /// Begins a frame with the unit, or counts it as the part of a frame whose beginning is missing.
    fn begin_with(&mut self, unit: &Unit<'_>) {
        let candidates: Vec<u32> = self.index.beginning_with(unit.hash, self.next).collect();
        if !candidates.is_empty() {
            self.run = Some(Run { candidates, units: 1, bytes: unit.size() });
            self.complete_run(unit.arrival_of(unit.length()));
        } else if let Some(frame) = self.index.only_frame_with(unit.hash).filter(|&frame| frame >= self.next) {
            *self.parts.entry(frame).or_default() += unit.size();
        } else {
            self.foreign_units += 1;
        }
    }

    fn complete_run(&mut self, at: Timestamp) {
        let Some(run) = &self.run else { return };
        let whole = |&&frame: &&u32| self.index.of_frame(frame).len() == run.units;
        if let Some(&frame) = run.candidates.iter().find(whole) {
            self.complete(frame, at);
        }
    }

    fn complete(&mut self, frame: u32, at: Timestamp) {
        self.whole.insert(frame, at);
        if !self.numbers.by().is_none() {
            self.renumbered.insert(frame, self.numbers.by());
        }
        self.next = frame + 1;
        self.run = None;
    }

    /// Gives up a frame that has begun. Its bytes are counted where it is clear which one it was.
    fn end_run(&mut self) {
        match self.run.take() {
            Some(Run { candidates, bytes, .. }) if candidates.len() == 1 => {
                *self.parts.entry(candidates[0]).or_default() += bytes;
            }
            Some(run) => self.foreign_units += run.units as u64,
            None => {}
        }
    }

    fn into_frames(self) -> Vec<FrameFound> {
        let whole = self.whole.iter().map(|(&frame, &at)| FrameFound { frame, whole_at: Some(at), bytes: 0 });
        let parts = self.parts.iter().filter(|(frame, _)| !self.whole.contains_key(frame));
        let parts = parts.map(|(&frame, &bytes)| FrameFound { frame, whole_at: None, bytes });
        let mut frames: Vec<FrameFound> = whole.chain(parts).collect();
        frames.sort_by_key(|found| found.frame);
        frames
    }
}
