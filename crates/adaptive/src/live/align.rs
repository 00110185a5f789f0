//! Whether levels that come side by side are one movie, frame by frame.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use framewire_media::access_unit::KeyKind;
use framewire_units::Duration;

use super::window::{Limits, Row};

/// Time stamps of one frame may differ by less than this: what clocks of muxers round to.
const TOLERANCE: Duration = Duration::from_millis(1);

/// One frame of one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelFrame {
    /// When it is shown (or decoded, where only that is known), in running time; `None` without time stamps.
    pub time: Option<Duration>,
    /// Set where decoding can begin.
    pub key: Option<KeyKind>,
    /// The access unit.
    pub bytes: Bytes,
}

/// Why levels are not one movie. Frames are counted from the first one that all levels have, in decode order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misaligned {
    /// A frame is a key frame at one level and none, or of another kind, at another.
    Key {
        /// The level.
        number: u32,
        /// The one that it was compared with.
        first: u32,
        /// The frame.
        frame: u64,
        /// What it is at the level.
        here: Option<KeyKind>,
        /// And at the other one.
        there: Option<KeyKind>,
    },
    /// A frame has another time.
    Time {
        /// The level.
        number: u32,
        /// The one that it was compared with.
        first: u32,
        /// The frame.
        frame: u64,
        /// Its time at the level.
        here: Option<Duration>,
        /// And at the other one.
        there: Option<Duration>,
    },
    /// A level ended before another one.
    Ended {
        /// The level.
        number: u32,
        /// One that goes on.
        first: u32,
        /// The frame that it does not have.
        frame: u64,
    },
    /// A level is too far behind another one.
    Behind {
        /// The level.
        number: u32,
        /// The one that is ahead of it.
        first: u32,
        /// The frame that has not come.
        frame: u64,
        /// How many of the other one wait for it.
        frames: usize,
        /// How much may wait.
        limits: Limits,
    },
}

/// What levels and limits are called where they come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// Stands before the number of a level.
    pub level: &'static str,
    /// [`Limits::time`].
    pub time: &'static str,
    /// [`Limits::bytes`].
    pub bytes: &'static str,
}

impl Misaligned {
    /// What is wrong, and what is allowed.
    pub fn words(&self, names: &Names) -> String {
        let key = |key: &Option<KeyKind>| match key {
            None => "no key frame",
            Some(KeyKind::Closed) => "a key frame of a closed group",
            Some(KeyKind::Open) => "a key frame of an open group",
            Some(KeyKind::BrokenLink) => "a key frame of a broken link",
        };
        let time = |time: &Option<Duration>| time.map_or("no time".to_owned(), |time| format!("{time:?}"));
        let called = names.level;
        match self {
            Self::Key { number, first, frame, here, there } => format!(
                "{called}{number}, frame {frame}: it is {}, and {} at {called}{first}; allowed are levels with the same \
                 key frames: fix the encoders' groups",
                key(here),
                key(there)
            ),
            Self::Time { number, first, frame, here, there } => format!(
                "{called}{number}, frame {frame}: it has {}, and {} at {called}{first}; allowed is a difference below \
                 {TOLERANCE:?}: levels need the same frames in the same order",
                time(here),
                time(there)
            ),
            Self::Ended { number, first, frame } => format!(
                "{called}{number}, frame {frame}: the level ended before it, and {called}{first} has it; allowed are \
                 levels that end with the same frame"
            ),
            Self::Behind { number, first, frame, frames, limits } => format!(
                "{called}{number}, frame {frame}: it has not come, and {called}{first} is {frames} frames further; \
                 allowed is what {} ({:?}) and {} ({}) let wait",
                names.time, limits.time, names.bytes, limits.bytes
            ),
        }
    }
}

/// Levels by their numbers, lowest first, and what of them waits for the others.
#[derive(Debug)]
pub struct Alignment {
    limits: Limits,
    levels: BTreeMap<u32, Level>,
    /// Rows that came out since the first one.
    rows: u64,
    /// All levels stand at the same frame: from here on they have to stay so.
    together: bool,
    /// Frames that came before all levels stood at the same key frame.
    skipped: u64,
}

#[derive(Debug, Default)]
struct Level {
    waiting: VecDeque<LevelFrame>,
    bytes: u64,
    ended: bool,
}

impl Level {
    fn drop_first(&mut self) {
        if let Some(frame) = self.waiting.pop_front() {
            self.bytes -= frame.bytes.len() as u64;
        }
    }

    /// How far apart the first and the last are that wait.
    fn span(&self) -> Duration {
        let time = |frame: Option<&LevelFrame>| frame.and_then(|frame| frame.time);
        let (first, last) = (time(self.waiting.front()), time(self.waiting.back()));
        last.zip(first).map_or(Duration::ZERO, |(last, first)| last.saturating_sub(first))
    }

    fn begins_closed_group(&self) -> bool {
        self.waiting.front().is_some_and(|frame| frame.key == Some(KeyKind::Closed))
    }
}

impl Alignment {
    /// No level yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, levels: BTreeMap::new(), rows: 0, together: false, skipped: 0 }
    }

    /// Adds a level. False once rows have come out: then the levels are what they are.
    pub fn add(&mut self, number: u32) -> bool {
        if self.rows == 0 {
            self.levels.entry(number).or_default();
        }
        self.rows == 0
    }

    /// Takes a level away. False once rows have come out.
    pub fn remove(&mut self, number: u32) -> bool {
        if self.rows == 0 {
            self.levels.remove(&number);
        }
        self.rows == 0
    }

    /// Frames that were left out at the beginning, of all levels.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// What waits at all levels: frames and bytes.
    pub fn waiting(&self) -> (usize, u64) {
        self.levels.values().fold((0, 0), |(frames, bytes), level| (frames + level.waiting.len(), bytes + level.bytes))
    }

    /// Takes in a frame of a level. Gives the frames that all levels have now.
    ///
    /// # Errors
    /// When the levels are not one movie.
    pub fn push(&mut self, number: u32, frame: LevelFrame) -> Result<Vec<Row>, Misaligned> {
        let Some(level) = self.levels.get_mut(&number) else { return Ok(vec![]) };
        level.bytes += frame.bytes.len() as u64;
        level.waiting.push_back(frame);
        let rows = self.rows()?;
        self.check_ends()?;
        self.check_distance(number)?;
        Ok(rows)
    }

    /// A level is at its end. True when all are.
    ///
    /// # Errors
    /// When another one has gone on.
    pub fn end(&mut self, number: u32) -> Result<bool, Misaligned> {
        if let Some(level) = self.levels.get_mut(&number) {
            level.ended = true;
        }
        self.check_ends()?;
        Ok(!self.levels.is_empty() && self.levels.values().all(|level| level.ended))
    }

    /// What came and what comes do not belong together, at any level: they have to find each other again.
    pub fn begin_again(&mut self) {
        self.together = false;
        for level in self.levels.values_mut() {
            *level = Level::default();
        }
    }

    fn rows(&mut self) -> Result<Vec<Row>, Misaligned> {
        let mut rows = vec![];
        if !self.together {
            self.find_beginning();
        }
        while self.together && self.levels.values().all(|level| !level.waiting.is_empty()) {
            self.check_row()?;
            let first = self.levels.values().next().and_then(|level| level.waiting.front());
            let Some((time, key)) = first.map(|frame| (frame.time, frame.key)) else { break };
            let take = |level: &mut Level| {
                let bytes = level.waiting.front().map(|frame| frame.bytes.clone()).unwrap_or_default();
                level.drop_first();
                bytes
            };
            let levels = self.levels.values_mut().map(take).collect();
            rows.push(Row { time, key: key == Some(KeyKind::Closed), levels });
            self.rows += 1;
        }
        Ok(rows)
    }

    /// Leaves out what comes before the first time at which every level has a key frame of a closed group.
    fn find_beginning(&mut self) {
        loop {
            for level in self.levels.values_mut() {
                while !level.waiting.is_empty() && !level.begins_closed_group() {
                    level.drop_first();
                    self.skipped += 1;
                }
            }
            if self.levels.is_empty() || self.levels.values().any(|level| level.waiting.is_empty()) {
                return;
            }
            let time = |level: &Level| level.waiting.front().and_then(|frame| frame.time);
            let latest = self.levels.values().filter_map(time).max();
            let is_early = |level: &Level| {
                time(level).zip(latest).is_some_and(|(time, latest)| latest.saturating_sub(time) >= TOLERANCE)
            };
            let early: Vec<_> = self.levels.values_mut().filter(|level| is_early(level)).collect();
            if early.is_empty() {
                self.together = true;
                return;
            }
            for level in early {
                level.drop_first();
                self.skipped += 1;
            }
        }
    }

    /// Compares the first frame of every level with that of the lowest one.
    fn check_row(&self) -> Result<(), Misaligned> {
        let mut fronts = self.levels.iter().filter_map(|(&number, level)| Some((number, level.waiting.front()?)));
        let Some((first, lowest)) = fronts.next() else { return Ok(()) };
        for (number, frame) in fronts {
            if frame.key != lowest.key {
                return Err(Misaligned::Key { number, first, frame: self.rows, here: frame.key, there: lowest.key });
            }
            let is_same = match (frame.time, lowest.time) {
                (Some(here), Some(there)) => here.abs_diff(there) < TOLERANCE,
                (here, there) => here == there,
            };
            if !is_same {
                return Err(Misaligned::Time { number, first, frame: self.rows, here: frame.time, there: lowest.time });
            }
        }
        Ok(())
    }

    /// A level that has ended, and another one that goes on.
    fn check_ends(&self) -> Result<(), Misaligned> {
        let ended = self.levels.iter().find(|(_, level)| level.ended && level.waiting.is_empty());
        let further = self.levels.iter().find(|(_, level)| !level.waiting.is_empty());
        match (ended, further) {
            (Some((&number, _)), Some((&first, _))) if self.together => {
                Err(Misaligned::Ended { number, first, frame: self.rows })
            }
            _ => Ok(()),
        }
    }

    /// A level that is too far ahead of another one.
    fn check_distance(&self, first: u32) -> Result<(), Misaligned> {
        let Some(level) = self.levels.get(&first) else { return Ok(()) };
        if level.bytes <= self.limits.bytes && level.span() <= self.limits.time {
            return Ok(());
        }
        let empty = self.levels.iter().find(|(_, level)| level.waiting.is_empty());
        let Some((&number, _)) = empty else { return Ok(()) };
        Err(Misaligned::Behind { number, first, frame: self.rows, frames: level.waiting.len(), limits: self.limits })
    }
}

#[cfg(test)]
#[path = "align_tests.rs"]
mod tests;
