use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::vtp::VideoHeader;

use crate::datagram::DropReason;
use crate::source::ENDLESS;

/// What a packet costs beside its bytes: its place in the maps, so that empty packets fill the memory too.
const PACKET_COST: u64 = 64;

/// The part of the memory that is for the next frame to come out, where missing packets are repeated: a sixteenth, of 16 MB
/// more than a key frame has.
const KEPT_FREE: u64 = 16;

/// A frame that arrived whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The frame, from 0.
    pub frame: u32,
    /// The level that it came from.
    pub level: usize,
    /// Whether it is an I frame.
    pub key: bool,
    /// Its play-out time.
    pub media_time: Duration,
    /// When its last missing packet arrived.
    pub arrived: Timestamp,
    /// Its packets.
    pub packets: u32,
    /// Its bytes.
    pub bytes: Bytes,
}

/// What comes out, in the order of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Whole(Frame),
    Lost { first: u32, count: u32 },
}

/// Puts packets together to frames, within bounded memory.
#[derive(Debug)]
pub(super) struct Assembly {
    frames: u32,
    reorder_frames: u32,
    buffer: u64,
    /// Frames that have begun, none of them before `next`.
    begun: BTreeMap<u32, Partial>,
    /// The first frame that has neither come out nor been given up.
    next: u32,
    /// The newest frame that has begun.
    newest: u32,
    /// Where missing packets are repeated: the media time in nanoseconds up to which it is too late for that.
    over: Option<i64>,
    output: VecDeque<Output>,
    /// Cost of what is begun and of what was not fetched.
    used: u64,
    /// Nanoseconds from a frame to the next.
    period: i64,
}

#[derive(Debug)]
struct Partial {
    level: u8,
    key: bool,
    media_time: Duration,
    parts: BTreeMap<u16, Bytes>,
    last: Option<u16>,
    cost: u64,
    arrived: Timestamp,
}

impl Partial {
    fn is_whole(&self) -> bool {
        self.last.is_some_and(|last| self.parts.len() == usize::from(last) + 1)
    }

    /// Whether a packet can belong to the frame with what is there already.
    fn admits(&self, header: &VideoHeader) -> bool {
        let highest = self.parts.last_key_value().map(|(&index, _)| index);
        let same = (self.level, self.key, self.media_time) == (header.level, header.key, header.media_time);
        let within = self.last.is_none_or(|last| header.index < last && !header.last);
        same && within && (!header.last || highest.is_none_or(|highest| highest < header.index))
    }
}

impl Assembly {
    /// Of so many frames, this long apart.
    pub(super) fn new(frames: u32, period: Duration, reorder_frames: u32, buffer: DataSize) -> Self {
        let period = super::player::nanos(period);
        let (begun, output) = (BTreeMap::new(), VecDeque::new());
        Self {
            frames,
            reorder_frames,
            buffer: buffer.as_bytes(),
            begun,
            next: 0,
            newest: 0,
            over: None,
            period,
            output,
            used: 0,
        }
    }

    /// Takes a packet of a frame below `frames`.
    pub(super) fn insert(&mut self, now: Timestamp, header: &VideoHeader, video: &[u8]) -> Result<(), DropReason> {
        if header.frame < self.next {
            return Err(DropReason::Stale);
        }
        if let Some(partial) = self.begun.get(&header.frame) {
            if partial.parts.contains_key(&header.index) {
                return Err(DropReason::Stale);
            }
            if !partial.admits(header) {
                return Err(DropReason::Inconsistent);
            }
        }
        // A frame that began so much later ends the wait for those before it.
        self.newest = self.newest.max(header.frame);
        self.give_up_late();
        if header.frame < self.next {
            return Err(DropReason::Stale);
        }
        let cost = PACKET_COST + video.len() as u64;
        while self.used + cost > self.limit(header.frame) {
            match self.begun.first_key_value() {
                // What is repeated comes again when there is room; what is incomplete is shown before it.
                Some((&oldest, _)) if oldest < header.frame && self.over.is_none() => self.give_up_before(oldest + 1),
                _ => return Err(DropReason::NoRoom),
            }
        }
        self.used += cost;
        let partial = self.begun.entry(header.frame).or_insert_with(|| Partial {
            level: header.level,
            key: header.key,
            media_time: header.media_time,
            parts: BTreeMap::new(),
            last: None,
            cost: 0,
            arrived: now,
        });
        partial.cost += cost;
        partial.arrived = now;
        if header.last {
            partial.last = Some(header.index);
        }
        partial.parts.insert(header.index, Bytes::copy_from_slice(video));
        self.emit_whole();
        Ok(())
    }

    pub(super) fn poll(&mut self) -> Option<Output> {
        let output = self.output.pop_front()?;
        if let Output::Whole(frame) = &output {
            self.used -= frame_cost(frame);
        }
        Some(output)
    }

    /// No packet comes any more. What a live stream would have gone on with is not lost.
    pub(super) fn flush(&mut self) {
        let behind_newest = || self.begun.last_key_value().map_or(self.next, |(newest, _)| newest + 1);
        let end = if self.frames == ENDLESS { behind_newest() } else { self.frames };
        self.give_up_before(end);
    }

    /// Missing packets are repeated: an incomplete frame is waited for until this media time, in nanoseconds, is beyond it.
    pub(super) fn wait_for_repeats(&mut self, over: i64) {
        self.over = Some(over);
    }

    /// Gives up what later frames have overtaken, and what is too late where that counts.
    pub(super) fn give_up_late(&mut self) {
        let limit = self.newest.saturating_sub(self.reorder_frames);
        let Some(over) = self.over else { return self.give_up_before(limit) };
        self.emit_whole();
        while let Some(late) = self.next_give_up().and_then(|due| over.checked_sub(due)).filter(|&late| late >= 0) {
            // Of frames of which nothing came, all that are too late at once.
            let count = if self.begun.contains_key(&self.next) { 1 } else { late / self.period.max(1) + 1 };
            let begun = self.begun.first_key_value().map_or(limit, |(&begun, _)| begun.max(self.next + 1));
            let end = u64::from(self.next) + count.cast_unsigned();
            self.give_up_before(u32::try_from(end).unwrap_or(u32::MAX).min(begun).min(limit));
        }
    }

    /// The media time in nanoseconds of the frame that later ones have overtaken, where repeats are waited for.
    pub(super) fn next_give_up(&self) -> Option<i64> {
        self.over.filter(|_| self.next < self.newest.saturating_sub(self.reorder_frames))?;
        let (&begun, partial) = self.begun.first_key_value()?;
        let ahead = i64::from(begun - self.next).saturating_mul(self.period);
        Some(super::player::nanos(partial.media_time).saturating_sub(ahead))
    }

    /// Whether every frame has come out or been given up.
    pub(super) fn is_done(&self) -> bool {
        self.next >= self.frames
    }

    /// Memory that a packet of this frame may fill. Where packets are repeated, some is for the frame that all wait for:
    /// filled by those behind it, nothing would come out before its time has passed.
    fn limit(&self, frame: u32) -> u64 {
        let kept_free = if self.over.is_some() && frame != self.next { self.buffer / KEPT_FREE } else { 0 };
        self.buffer - kept_free
    }

    /// Packets of so many bytes that there is room for, of any frame.
    pub(super) fn room(&self, payload: u16) -> usize {
        let left = self.limit(u32::MAX).saturating_sub(self.used);
        usize::try_from(left / (PACKET_COST + u64::from(payload))).unwrap_or(usize::MAX)
    }

    /// Memory in use, packets counted with what they cost beside their bytes.
    pub(super) fn used(&self) -> DataSize {
        DataSize::from_bytes(self.used)
    }

    fn emit_whole(&mut self) {
        while let Some(entry) = self.begun.first_entry() {
            if *entry.key() != self.next || !entry.get().is_whole() {
                break;
            }
            let (frame, partial) = entry.remove_entry();
            self.emit(frame, partial);
        }
    }

    fn emit(&mut self, frame: u32, mut partial: Partial) {
        let packets = partial.parts.len() as u32;
        let bytes = match partial.parts.pop_first() {
            Some((_, only)) if partial.parts.is_empty() => only,
            first => {
                let parts = first.into_iter().chain(partial.parts).map(|(_, bytes)| bytes);
                parts.collect::<Vec<_>>().concat().into()
            }
        };
        let (level, key, media_time) = (usize::from(partial.level), partial.key, partial.media_time);
        let whole = Frame { frame, level, key, media_time, arrived: partial.arrived, packets, bytes };
        debug_assert_eq!(frame_cost(&whole), partial.cost);
        self.output.push_back(Output::Whole(whole));
        self.next = frame + 1;
    }

    /// Everything below `end` comes out whole or lost, and then what is whole from there on.
    fn give_up_before(&mut self, end: u32) {
        while self.next < end {
            self.emit_whole();
            if self.next >= end {
                break;
            }
            let first = self.next;
            if let Some(partial) = self.begun.remove(&first) {
                self.used -= partial.cost;
            }
            let until = self.begun.first_key_value().map_or(end, |(&begun, _)| begun.min(end)).max(first + 1);
            self.next = until;
            self.lose(first, until - first);
        }
        self.emit_whole();
    }

    /// Joins losses that touch, so that what waits is bounded by the frames that arrived.
    fn lose(&mut self, first: u32, count: u32) {
        match self.output.back_mut() {
            Some(Output::Lost { count: before, .. }) => *before += count,
            _ => self.output.push_back(Output::Lost { first, count }),
        }
    }
}

fn frame_cost(frame: &Frame) -> u64 {
    u64::from(frame.packets) * PACKET_COST + frame.bytes.len() as u64
}

#[cfg(test)]
#[path = "assembly_tests.rs"]
mod tests;
