//! What waits between two threads, in order: frames, which the policy may drop, and what keeps its place among them.

use std::collections::VecDeque;

use framewire_transport::Limits;
use framewire_transport::frame::{OutgoingFrame, Payload};
use framewire_transport::queue::{Discard, FrameQueue, Level};
use framewire_units::{DataSize, Duration};

use crate::frames::Held;

/// The next thing for downstream.
#[derive(Debug)]
pub enum Item {
    /// A frame.
    Frame(OutgoingFrame<Held>),
    /// A buffer that is never dropped.
    Kept(Held),
    /// A serialised event: caps, segment, tags, gap, end of stream.
    Event(gst::Event),
}

/// Frames in a [`FrameQueue`], and between them everything that is never dropped.
///
/// An event keeps its place: it leaves after every frame that was accepted before it (or after that frame was given
/// up), and before every frame that came after it.
#[derive(Debug)]
pub struct Line {
    frames: FrameQueue<Held>,
    /// Each with the id that the first frame after it has, or a lower one.
    between: VecDeque<(u32, Item)>,
    /// Taken out of the queue because something stands before it; it counts as being written.
    next: Option<OutgoingFrame<Held>>,
    /// One above the last id offered.
    next_id: u32,
    kept: Level,
}

impl Line {
    /// An empty line with a policy.
    pub fn new(frames: FrameQueue<Held>) -> Self {
        Self { frames, between: VecDeque::new(), next: None, next_id: 0, kept: Level::default() }
    }

    /// Takes a frame in. Returns the frames given up for it, itself perhaps among them.
    pub fn offer(&mut self, frame: OutgoingFrame<Held>) -> Vec<Discard<Held>> {
        self.next_id = frame.id.saturating_add(1);
        self.frames.offer(frame)
    }

    /// Changes how many frames may wait.
    pub fn set_limits(&mut self, limits: Limits) {
        self.frames.set_limits(limits);
    }

    /// Takes in a buffer that is never dropped.
    pub fn keep(&mut self, held: Held) {
        self.kept.frames += 1;
        self.kept.bytes += DataSize::from_bytes(held.size());
        self.kept.time += duration_of(&held);
        self.between.push_back((self.next_id, Item::Kept(held)));
    }

    /// Takes in a serialised event. One that replaces the last event of its type, with no frame between them, takes its
    /// place, so that a downstream that has stopped does not let them pile up.
    pub fn append(&mut self, event: gst::Event) {
        let (place, kind) = (self.next_id, event.type_());
        if kind.is_sticky() && !kind.is_sticky_multi() {
            let here = self
                .between
                .iter_mut()
                .rev()
                .take_while(|(before, item)| *before == place && matches!(item, Item::Event(_)));
            for (_, item) in here {
                if matches!(item, Item::Event(earlier) if earlier.type_() == kind) {
                    *item = Item::Event(event);
                    return;
                }
            }
        }
        self.between.push_back((place, Item::Event(event)));
    }

    /// The next thing in order.
    pub fn take(&mut self) -> Option<Item> {
        let Some((place, _)) = self.between.front() else {
            return self.next.take().or_else(|| self.frames.take()).map(Item::Frame);
        };
        let next = self.next.take().or_else(|| self.frames.take());
        match next {
            Some(frame) if frame.id < *place => Some(Item::Frame(frame)),
            waits => {
                self.next = waits;
                let (_, item) = self.between.pop_front()?;
                if let Item::Kept(held) = &item {
                    self.kept.frames -= 1;
                    self.kept.bytes = DataSize::from_bytes(self.kept.bytes.as_bytes() - held.size());
                    self.kept.time = self.kept.time.saturating_sub(duration_of(held));
                }
                Some(item)
            }
        }
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.between.is_empty() && self.next.is_none() && self.frames.is_empty()
    }

    /// What waits of frames and kept buffers.
    pub fn level(&self) -> Level {
        let mut level = self.frames.level();
        level.frames += self.kept.frames + u32::from(self.next.is_some());
        level.bytes += self.kept.bytes;
        level.time += self.kept.time;
        if let Some(frame) = &self.next {
            level.bytes += DataSize::from_bytes(frame.bytes.size());
            level.time += frame.duration;
        }
        level
    }

    /// What waits of kept buffers only.
    pub fn kept_level(&self) -> Level {
        self.kept
    }

    /// Whether frames are given up until a key frame comes.
    pub fn needs_key_frame(&self) -> bool {
        self.frames.needs_key_frame()
    }

    /// Empties it. Returns the events that waited.
    pub fn clear(&mut self, frames: FrameQueue<Held>) -> Vec<gst::Event> {
        let next_id = self.next_id;
        let emptied = std::mem::replace(self, Self { next_id, ..Self::new(frames) });
        let events = emptied.between.into_iter().filter_map(|(_, item)| match item {
            Item::Event(event) => Some(event),
            Item::Frame(_) | Item::Kept(_) => None,
        });
        events.collect()
    }
}

fn duration_of(held: &Held) -> Duration {
    Duration::from_nanos(held.buffer.duration().map_or(0, gst::ClockTime::nseconds))
}
