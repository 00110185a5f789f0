//! The picture data of a movie, unit by unit, to be found again.

use framewire_media::Movie;
use framewire_units::Timestamp;

use super::units::{Unit, UnitCutter, UnitHash};

/// Every unit with picture data of a movie, frame by frame.
#[derive(Debug)]
pub(super) struct ContentIndex {
    /// Units of all frames, one after the other: what they hold and how many bytes.
    units: Vec<(UnitHash, u32)>,
    /// Where the units of each frame begin, and where the last ones end.
    starts: Vec<u32>,
    /// First units and their frames, sorted.
    by_first: Vec<(UnitHash, u32)>,
    /// All units and their frames, sorted.
    by_unit: Vec<(UnitHash, u32)>,
}

impl ContentIndex {
    pub(super) fn of(movie: &Movie) -> Self {
        let codec = movie.index.sequence.codec;
        let mut index = Self { units: Vec::new(), starts: vec![0], by_first: Vec::new(), by_unit: Vec::new() };
        for frame in 0..movie.index.frames.len() {
            let mut cutter = UnitCutter::new(codec);
            let units = &mut index.units;
            let mut sink = |unit: &Unit<'_>| units.push((unit.hash, unit.length()));
            cutter.feed(Timestamp::ZERO, &movie.frame_bytes(frame), &mut sink);
            cutter.finish(&mut sink);
            index.starts.push(index.units.len() as u32);
        }
        for frame in 0..movie.index.frames.len() as u32 {
            let units = index.of_frame(frame);
            let named: Vec<(UnitHash, u32)> = units.iter().map(|&(unit, _)| (unit, frame)).collect();
            index.by_first.extend(named.first());
            index.by_unit.extend(named);
        }
        index.by_first.sort_unstable();
        index.by_unit.sort_unstable();
        index
    }

    /// How many frames there are.
    pub(super) fn frames(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The units of a frame, each with its bytes.
    pub(super) fn of_frame(&self, frame: u32) -> &[(UnitHash, u32)] {
        let frame = frame as usize;
        &self.units[self.starts[frame] as usize..self.starts[frame + 1] as usize]
    }

    /// The frames from `next` on that begin with `unit`, in order.
    pub(super) fn beginning_with(&self, unit: UnitHash, next: u32) -> impl Iterator<Item = u32> {
        let from = self.by_first.partition_point(|&entry| entry < (unit, next));
        self.by_first[from..].iter().take_while(move |(hash, _)| *hash == unit).map(|&(_, frame)| frame)
    }

    /// Whether a frame has `unit`.
    pub(super) fn has(&self, unit: UnitHash) -> bool {
        self.by_unit.binary_search_by_key(&unit, |&(hash, _)| hash).is_ok()
    }

    /// The only frame that has `unit`, and only once; `None` where several do.
    pub(super) fn only_frame_with(&self, unit: UnitHash) -> Option<u32> {
        let from = self.by_unit.partition_point(|&(hash, _)| hash < unit);
        match &self.by_unit[from..] {
            [(hash, frame)] if *hash == unit => Some(*frame),
            [(hash, frame), (other, _), ..] if *hash == unit && *other != unit => Some(*frame),
            _ => None,
        }
    }
}
