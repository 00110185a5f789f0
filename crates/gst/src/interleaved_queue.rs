//! What waits between two threads, in order: frames, which the policy may drop, and what keeps its place among them.

use std::collections::VecDeque;

use framewire_transport::Limits;
use framewire_transport::frame::{OutgoingFrame, Payload};
use framewire_transport::live::Placed;
use framewire_transport::queue::{Discard, FrameQueue, Level};
use framewire_units::DataSize;

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

/// So many events may wait. An application that sends more while downstream is blocked loses the oldest of those that
/// downstream can do without.
pub const MOST_EVENTS: usize = 1_000;

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
    /// Ids of the frames that wait, `next` among them: ascending.
    waiting: VecDeque<u32>,
    /// One above the last id offered.
    next_id: u32,
    kept: Level,
    /// Events among what is between frames.
    events: usize,
}

impl Line {
    /// An empty line with a policy.
    pub fn new(frames: FrameQueue<Held>) -> Self {
        Self {
            frames,
            between: VecDeque::new(),
            next: None,
            waiting: VecDeque::new(),
            next_id: 0,
            kept: Level::default(),
            events: 0,
        }
    }

    /// Takes a frame in. Returns the frames given up for it, itself perhaps among them.
    pub fn offer(&mut self, mut frame: OutgoingFrame<Held>) -> Vec<Discard<Held>> {
        frame.duration = frame.bytes.time_behind(self.frames.is_empty(), frame.duration);
        self.next_id = frame.id.saturating_add(1);
        self.waiting.push_back(frame.id);
        let given_up = self.frames.offer(frame);
        for discard in &given_up {
            if let Ok(at) = self.waiting.binary_search(&discard.frame.id) {
                self.waiting.remove(at);
            }
        }
        given_up
    }

    /// Changes how many frames may wait.
    pub fn set_limits(&mut self, limits: Limits) {
        self.frames.set_limits(limits);
    }

    /// Takes in a buffer that is never dropped.
    pub fn keep(&mut self, mut held: Held) {
        if self.frames.allows_gaps() {
            held.allow_gaps();
        }
        self.kept.frames += 1;
        self.kept.bytes += DataSize::from_bytes(held.size());
        self.kept.time += held.lasts;
        self.between.push_back((self.next_id, Item::Kept(held)));
    }

    /// Whether caps have to [allow the gaps](crate::codec::allowing_gaps) that it leaves.
    pub fn allows_gaps(&self) -> bool {
        self.frames.allows_gaps()
    }

    /// Takes in a serialised event. One that replaces the last event of its type, with no frame between them that waits,
    /// takes its place, so that a downstream that has stopped does not let them pile up.
    pub fn append(&mut self, event: gst::Event) {
        let kind = event.type_();
        if kind.is_sticky()
            && !kind.is_sticky_multi()
            && let Some(at) = self.replaced_by(kind)
        {
            self.between[at].1 = Item::Event(event);
            return;
        }
        self.events += 1;
        self.between.push_back((self.next_id, Item::Event(event)));
    }

    /// The last event of a type, when nothing stands behind it but other events of the same stream.
    fn replaced_by(&self, kind: gst::EventType) -> Option<usize> {
        for (at, (before, item)) in self.between.iter().enumerate().rev() {
            match item {
                Item::Event(earlier) if self.has_frame_from(*before) || earlier.type_() == gst::EventType::Eos => {
                    return None;
                }
                Item::Event(earlier) if earlier.type_() == kind => return Some(at),
                Item::Event(_) => {}
                Item::Frame(_) | Item::Kept(_) => return None,
            }
        }
        None
    }

    /// Whether a frame waits that came behind this place.
    fn has_frame_from(&self, place: u32) -> bool {
        self.waiting.back().is_some_and(|&newest| newest >= place)
    }

    /// Makes room for another event, where too many wait, by giving up the oldest one that downstream can do without.
    /// Returns that event, or an error when there is none.
    ///
    /// # Errors
    /// When all that wait are needed.
    pub fn make_room_for_event(&mut self) -> Result<Option<gst::Event>, TooManyEvents> {
        if self.events < MOST_EVENTS {
            return Ok(None);
        }
        let spare = |(_, item): &(u32, Item)| matches!(item, Item::Event(event) if !is_essential(event.type_()));
        let at = self.between.iter().position(spare).ok_or(TooManyEvents)?;
        self.events -= 1;
        match self.between.remove(at) {
            Some((_, Item::Event(event))) => Ok(Some(event)),
            _ => unreachable!("invariant: an event stands at the position where one was found"),
        }
    }

    /// Whether another stream begins in it.
    pub fn has_beginning(&self) -> bool {
        self.between.iter().any(|(_, item)| matches!(item, Item::Event(event) if is_beginning(event.type_())))
    }

    /// The next thing in order.
    pub fn take(&mut self) -> Option<Item> {
        let Some((place, _)) = self.between.front() else {
            return self.next.take().or_else(|| self.frames.take()).map(|frame| self.leaves(frame));
        };
        let next = self.next.take().or_else(|| self.frames.take());
        match next {
            Some(frame) if frame.id < *place => Some(self.leaves(frame)),
            waits => {
                self.next = waits;
                let (_, item) = self.between.pop_front()?;
                match &item {
                    Item::Kept(held) => {
                        self.kept.frames -= 1;
                        self.kept.bytes = DataSize::from_bytes(self.kept.bytes.as_bytes() - held.size());
                        self.kept.time = self.kept.time.saturating_sub(held.lasts);
                    }
                    Item::Event(_) => self.events -= 1,
                    Item::Frame(_) => {}
                }
                Some(item)
            }
        }
    }

    fn leaves(&mut self, frame: OutgoingFrame<Held>) -> Item {
        self.waiting.pop_front();
        Item::Frame(frame)
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

/// More events wait than may, and downstream needs each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyEvents;

/// Events without which downstream cannot make sense of the frames behind them.
fn is_essential(kind: gst::EventType) -> bool {
    matches!(
        kind,
        gst::EventType::StreamStart
            | gst::EventType::Caps
            | gst::EventType::Segment
            | gst::EventType::StreamCollection
            | gst::EventType::StreamGroupDone
            | gst::EventType::Protection
            | gst::EventType::Eos
    )
}

/// Events with which downstream opens again after it has refused a stream.
pub fn is_beginning(kind: gst::EventType) -> bool {
    matches!(kind, gst::EventType::StreamStart | gst::EventType::Segment)
}
