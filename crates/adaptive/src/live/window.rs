//! The live window: the groups of pictures that clients are sent from, and the plan of their rates.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::source::{Availability, ENDLESS, PacketSource, Plan, SourceError, SourcePacket};
use bytes::Bytes;
use framewire_units::{Bitrate, DataSize, Duration};

use super::interval::Interval;

/// A group is sent faster than it plays by one frame interval, but by no more than this part of it.
const MOST_LEAD: u32 = 10;

/// A group that seems to last this many times longer than its frames do has a jump in its time stamps.
const JUMP: u32 = 4;

/// How much of the stream is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of the stream.
    pub time: Duration,
    /// Of all levels.
    pub bytes: u64,
}

/// One frame at all levels, lowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// When it is shown; `None` without time stamps.
    pub time: Option<Duration>,
    /// A level may be entered here.
    pub key: bool,
    /// Its access unit at each level.
    pub levels: Vec<Bytes>,
}

/// What came of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It waits for the rest of its group.
    Kept,
    /// The group before it is complete: there is more to send.
    GroupComplete,
    /// With it, a group is longer than the window: it was given up.
    GivenUp {
        /// Frames of the group.
        frames: usize,
    },
    /// It belongs to a group that was given up.
    Skipped,
}

/// What is known of the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowState {
    /// Frames that became available.
    pub frames: u32,
    /// Frames of groups that were longer than the window.
    pub frames_given_up: u64,
    /// Groups that are kept.
    pub groups: usize,
    /// Time of what is kept.
    pub time: Duration,
    /// Bytes of what is kept, groups that are not complete included.
    pub bytes: u64,
    /// The plan of the newest group: rates of its levels, lowest first.
    pub rates: Vec<Bitrate>,
}

/// The stream as a source of packets, and its plan.
///
/// **A group is there when it is whole**, which is when the key frame behind it comes, or the end. So its sizes are known
/// at every level when its first packet is sent, and the plan is exact: bytes of the group, over the time that it lasts
/// less one frame interval (a tenth of it at most), so that a client that is late by a little catches up.
#[derive(Debug)]
pub struct LiveSource {
    payload: usize,
    window: Mutex<Window>,
}

#[derive(Debug)]
struct Window {
    limits: Limits,
    interval: Interval,
    groups: VecDeque<Group>,
    /// The group that is not complete.
    open: Group,
    /// The first frame behind the complete groups.
    next: u32,
    /// What is added to running time, which may begin again.
    shift: Shift,
    /// A group was given up: the rest of it is left out.
    skips: bool,
    ended: bool,
    given_up: u64,
}

#[derive(Debug, Default)]
struct Group {
    first: u32,
    /// Time of its first frame.
    start: Duration,
    lasts: Duration,
    frames: Vec<(Duration, Vec<Bytes>)>,
    bytes: u64,
    rates: Vec<Bitrate>,
}

/// From running time to time since the first frame, without steps back.
#[derive(Clone, Copy, Debug, Default)]
struct Shift {
    /// The running time that is `now` in the stream; `None` before the first frame and after a break.
    origin: Option<Duration>,
    base: Duration,
}

impl LiveSource {
    /// An empty one, for packets of up to `payload` bytes.
    pub fn new(payload: u16, limits: Limits) -> Self {
        let window = Window {
            limits,
            interval: Interval::default(),
            groups: VecDeque::new(),
            open: Group::default(),
            next: 0,
            shift: Shift::default(),
            skips: false,
            ended: false,
            given_up: 0,
        };
        Self { payload: payload.max(1).into(), window: Mutex::new(window) }
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        // What a thread that panicked left is whole: every change is one of values.
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The frame interval of the caps; no more changes once a group is there.
    pub fn set_interval(&self, interval: Duration) {
        let mut window = self.window();
        if window.groups.is_empty() && window.next == 0 {
            window.interval.tell(interval);
        }
    }

    /// Takes in the next frame.
    pub fn push(&self, row: Row) -> Taken {
        self.window().push(row)
    }

    /// The stream has a break: the group that is not complete ends here. True when that made one.
    pub fn end_group(&self) -> bool {
        let mut window = self.window();
        window.shift.origin = None;
        window.skips = false;
        window.close_group(None)
    }

    /// The stream ends.
    pub fn end(&self) {
        let mut window = self.window();
        window.close_group(None);
        window.ended = true;
    }

    /// Whether there is something to send, or was, and it is known how time goes on in it.
    pub fn has_begun(&self) -> bool {
        let window = self.window();
        window.next > 0 && (window.ended || window.interval.is_settled())
    }

    /// Whether the stream has ended.
    pub fn is_over(&self) -> bool {
        self.window().ended
    }

    /// Bytes of the newest group at its highest level.
    pub fn group_size(&self) -> DataSize {
        let window = self.window();
        let top = |group: &Group| {
            group.frames.iter().filter_map(|(_, levels)| levels.last()).map(|top| top.len() as u64).sum()
        };
        DataSize::from_bytes(window.groups.back().map_or(0, top))
    }

    /// What is known now.
    pub fn state(&self) -> WindowState {
        let window = self.window();
        WindowState {
            frames: window.next,
            frames_given_up: window.given_up,
            groups: window.groups.len(),
            time: window.time(),
            bytes: window.bytes(),
            rates: window.groups.back().map(|group| group.rates.clone()).unwrap_or_default(),
        }
    }
}

impl Window {
    fn push(&mut self, row: Row) -> Taken {
        let time = self.time_of(&row);
        if row.key {
            let skipped = std::mem::take(&mut self.skips);
            let complete = self.close_group(Some(time));
            self.open_group(time, row);
            return if complete && !skipped { Taken::GroupComplete } else { Taken::Kept };
        }
        if self.skips || self.open.frames.is_empty() {
            self.given_up += 1;
            return Taken::Skipped;
        }
        self.open.add(time, row);
        let too_long = time.saturating_sub(self.open.start) > self.limits.time;
        if !too_long && self.open.bytes <= self.limits.bytes {
            return Taken::Kept;
        }
        let frames = std::mem::take(&mut self.open).frames.len();
        self.given_up += frames as u64;
        self.skips = true;
        Taken::GivenUp { frames }
    }

    /// The frame's time since the first one. Without time stamps, frames follow each other at the interval.
    fn time_of(&mut self, row: &Row) -> Duration {
        let step = self.interval.get();
        let open = self.open.frames.len() as u32;
        let expected = self.groups.back().map_or(Duration::ZERO, |group| group.start + group.lasts) + step * open;
        let Some(time) = row.time else { return expected };
        let origin = *self.shift.origin.get_or_insert_with(|| {
            self.shift.base = expected;
            time
        });
        (self.shift.base + time).saturating_sub(origin)
    }

    fn open_group(&mut self, time: Duration, row: Row) {
        self.open = Group { first: self.next, start: time, ..Group::default() };
        self.open.add(time, row);
    }

    /// Makes the open group available. `end` is when the one behind it begins.
    fn close_group(&mut self, end: Option<Duration>) -> bool {
        if self.open.frames.is_empty() {
            return false;
        }
        let mut group = std::mem::take(&mut self.open);
        let count = group.frames.len() as u32;
        self.interval.learn(group.frames.iter().map(|&(time, _)| time).chain(end));
        let interval = self.interval.get();
        let expected = interval.saturating_mul(count);
        let lasts = end.map(|end| end.saturating_sub(group.start)).filter(|lasts| !lasts.is_zero());
        group.lasts = lasts
            .filter(|lasts| *lasts <= expected.saturating_mul(JUMP))
            .unwrap_or(expected)
            .max(Duration::from_nanos(1));
        group.rates = group.plan(interval);
        self.next = group.first.saturating_add(count);
        self.groups.push_back(group);
        while self.groups.len() > 1 && (self.time() > self.limits.time || self.bytes() > self.limits.bytes) {
            self.groups.pop_front();
        }
        true
    }

    fn time(&self) -> Duration {
        self.groups.iter().map(|group| group.lasts).sum()
    }

    fn bytes(&self) -> u64 {
        self.groups.iter().map(|group| group.bytes).sum::<u64>() + self.open.bytes
    }

    /// The group with this frame.
    fn group_of(&self, frame: u32) -> Option<&Group> {
        let at = self.groups.partition_point(|group| group.first <= frame).checked_sub(1)?;
        self.groups.get(at).filter(|group| frame - group.first < group.frames.len() as u32)
    }

    fn frame(&self, frame: u32) -> Option<&(Duration, Vec<Bytes>)> {
        let group = self.group_of(frame)?;
        group.frames.get((frame - group.first) as usize)
    }
}

impl Group {
    fn add(&mut self, time: Duration, row: Row) {
        self.bytes += row.levels.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        self.frames.push((time, row.levels));
    }

    /// The rate of each level: its bytes in the time of the group, less the lead.
    fn plan(&self, interval: Duration) -> Vec<Bitrate> {
        let time = (self.lasts - interval.min(self.lasts / MOST_LEAD)).as_nanos().max(1);
        let levels = self.frames.first().map_or(0, |(_, levels)| levels.len());
        let rate = |level: usize| {
            let bytes: u128 = self.frames.iter().filter_map(|(_, levels)| Some(levels.get(level)?.len() as u128)).sum();
            Bitrate::from_bps(u64::try_from((bytes * 8 * 1_000_000_000).div_ceil(time)).unwrap_or(u64::MAX))
        };
        (0..levels).map(rate).collect()
    }
}

impl PacketSource for LiveSource {
    fn levels(&self) -> usize {
        self.window().groups.back().map_or(0, |group| group.rates.len())
    }

    fn frames(&self) -> u32 {
        ENDLESS
    }

    fn beginning(&self) -> u32 {
        let window = self.window();
        window.groups.back().map_or(window.next, |group| group.first)
    }

    fn availability(&self, frame: u32) -> Availability {
        let window = self.window();
        let first = window.groups.front().map_or(window.next, |group| group.first);
        if frame < first {
            Availability::Gone { next: first }
        } else if frame < window.next {
            Availability::Ready
        } else if window.ended {
            Availability::End
        } else {
            Availability::NotYet
        }
    }

    fn time_of(&self, frame: u32) -> Duration {
        self.window().frame(frame).map_or(Duration::ZERO, |&(time, _)| time)
    }

    fn duration(&self) -> Duration {
        self.window().interval.get().saturating_mul(ENDLESS)
    }

    fn is_switch_point(&self, frame: u32) -> bool {
        self.window().group_of(frame).is_some_and(|group| group.first == frame)
    }

    fn packet(&self, frame: u32, level: usize, index: u32) -> Result<SourcePacket, SourceError> {
        let missing = |reason: &str| SourceError::Video { frame, level, index, reason: reason.to_owned() };
        let window = self.window();
        let (_, levels) = window.frame(frame).ok_or_else(|| missing("the live window does not have the frame"))?;
        let bytes = levels.get(level).ok_or_else(|| missing("the live stream has no such level"))?;
        let start = (index as usize).saturating_mul(self.payload);
        if start > 0 && start >= bytes.len() {
            return Err(missing("the frame has no such packet"));
        }
        let end = bytes.len().min(start + self.payload);
        let key = window.group_of(frame).is_some_and(|group| group.first == frame);
        Ok(SourcePacket { bytes: bytes.slice(start..end), last: end == bytes.len(), key })
    }
}

impl Plan for LiveSource {
    fn levels(&self) -> usize {
        PacketSource::levels(self)
    }

    /// That of the group in which the place is; of the newest, beyond it.
    fn rate_at(&self, level: usize, at: Duration) -> Bitrate {
        let window = self.window();
        let frame = u32::try_from(at.as_nanos() / window.interval.get().as_nanos().max(1)).unwrap_or(ENDLESS);
        let group = window.group_of(frame).or_else(|| window.groups.back());
        group.and_then(|group| group.rates.get(level)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
