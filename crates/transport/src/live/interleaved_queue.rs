//! What waits between two threads, in order: frames, which the policy may drop, and what keeps its place among them.

use std::collections::VecDeque;

use framewire_units::DataSize;

use super::Placed;
use crate::Limits;
use crate::frame::OutgoingFrame;
use crate::queue::{Discard, FrameQueue, Level};

/// What keeps its place between frames: formats, segments, tags, the end of the stream.
pub trait SerializedEvent {
    /// Whether it says anew, and alone, what `earlier` said, which is then not needed.
    fn replaces(&self, earlier: &Self) -> bool;

    /// Whether the receiver cannot make sense of the frames behind it without it.
    fn is_essential(&self) -> bool;

    /// Whether a receiver that has refused a stream opens again with it.
    fn begins_stream(&self) -> bool;

    /// Whether a stream ends with it.
    fn ends_stream(&self) -> bool;
}

/// The next thing for downstream.
#[derive(Debug)]
pub enum Item<P, E> {
    /// A frame.
    Frame(OutgoingFrame<P>),
    /// A payload that is never dropped.
    Kept(P),
    /// A serialized event.
    Event(E),
}

/// What stands between frames.
#[derive(Debug)]
enum Between<P, E> {
    Kept(P),
    Event(E),
}

/// So many events may wait. Where more come while downstream is blocked, the oldest of those are lost that downstream can
/// do without.
const MOST_EVENTS: usize = 1_000;

/// Frames in a [`FrameQueue`], and between them everything that is never dropped.
///
/// An event keeps its place: it leaves after every frame that was accepted before it (or after that frame was given
/// up), and before every frame that came after it.
#[derive(Debug)]
pub struct InterleavedQueue<P, E> {
    frames: FrameQueue<P>,
    /// Each with the id that the first frame after it has, or a lower one.
    between: VecDeque<(u32, Between<P, E>)>,
    /// Taken out of the queue because something stands before it; it counts as being written.
    next: Option<OutgoingFrame<P>>,
    /// Ids of the frames that wait, `next` among them: ascending.
    waiting: VecDeque<u32>,
    /// One above the last id offered.
    next_id: u32,
    kept: Level,
    /// Events among what is between frames.
    events: usize,
}

impl<P: Placed, E: SerializedEvent> InterleavedQueue<P, E> {
    /// An empty queue with a policy.
    pub fn new(frames: FrameQueue<P>) -> Self {
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
    pub fn offer(&mut self, mut frame: OutgoingFrame<P>) -> Vec<Discard<P>> {
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

    /// Takes in a payload that is never dropped.
    pub fn keep(&mut self, mut payload: P) {
        if self.frames.allows_gaps() {
            payload.allow_gaps();
        }
        self.kept.frames += 1;
        self.kept.bytes += DataSize::from_bytes(payload.size());
        self.kept.time += payload.lasts();
        self.between.push_back((self.next_id, Between::Kept(payload)));
    }

    /// Whether the headers of the stream have to allow the gaps that it leaves.
    pub fn allows_gaps(&self) -> bool {
        self.frames.allows_gaps()
    }

    /// Takes in an event. One that replaces an earlier one, with no frame between them that waits, takes its place, so
    /// that a downstream that has stopped does not let them pile up.
    pub fn append(&mut self, event: E) {
        if let Some(at) = self.replaced_by(&event) {
            self.between[at].1 = Between::Event(event);
            return;
        }
        self.events += 1;
        self.between.push_back((self.next_id, Between::Event(event)));
    }

    /// The last event that this one replaces, when nothing stands behind it but other events of the same stream.
    fn replaced_by(&self, event: &E) -> Option<usize> {
        for (at, (place, item)) in self.between.iter().enumerate().rev() {
            match item {
                Between::Event(earlier) if self.has_frame_from(*place) || earlier.ends_stream() => return None,
                Between::Event(earlier) if event.replaces(earlier) => return Some(at),
                Between::Event(_) => {}
                Between::Kept(_) => return None,
            }
        }
        None
    }

    /// Whether a frame waits that came behind this place.
    fn has_frame_from(&self, place: u32) -> bool {
        self.waiting.back().is_some_and(|&newest| newest >= place)
    }

    /// Makes room for another event, where too many wait, by giving up the oldest one that downstream can do without.
    /// Returns that event.
    ///
    /// # Errors
    /// When all that wait are needed.
    pub fn make_room_for_event(&mut self) -> Result<Option<E>, TooManyEvents> {
        if self.events < MOST_EVENTS {
            return Ok(None);
        }
        let spare = |(_, item): &(u32, Between<P, E>)| matches!(item, Between::Event(event) if !event.is_essential());
        let at = self.between.iter().position(spare).ok_or(TooManyEvents)?;
        self.events -= 1;
        match self.between.remove(at) {
            Some((_, Between::Event(event))) => Ok(Some(event)),
            _ => unreachable!("invariant: an event stands at the position where one was found"),
        }
    }

    /// Whether another stream begins in it.
    pub fn has_beginning(&self) -> bool {
        self.between.iter().any(|(_, item)| matches!(item, Between::Event(event) if event.begins_stream()))
    }

    /// The next thing in order.
    pub fn take(&mut self) -> Option<Item<P, E>> {
        let next = self.next.take().or_else(|| self.frames.take());
        match (next, self.between.front()) {
            (Some(frame), Some((place, _))) if frame.id >= *place => self.next = Some(frame),
            (Some(frame), _) => {
                self.waiting.pop_front();
                return Some(Item::Frame(frame));
            }
            (None, _) => {}
        }
        Some(match self.between.pop_front()?.1 {
            Between::Kept(payload) => {
                self.kept.frames -= 1;
                self.kept.bytes = DataSize::from_bytes(self.kept.bytes.as_bytes() - payload.size());
                self.kept.time = self.kept.time.saturating_sub(payload.lasts());
                Item::Kept(payload)
            }
            Between::Event(event) => {
                self.events -= 1;
                Item::Event(event)
            }
        })
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.between.is_empty() && self.next.is_none() && self.frames.is_empty()
    }

    /// What waits of frames and of what is never dropped.
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

    /// What waits of what is never dropped.
    pub fn kept_level(&self) -> Level {
        self.kept
    }

    /// Whether frames are given up until a key frame comes.
    pub fn needs_key_frame(&self) -> bool {
        self.frames.needs_key_frame()
    }

    /// Empties it, and gives it a policy. Returns the events that waited.
    pub fn clear(&mut self, frames: FrameQueue<P>) -> Vec<E> {
        let next_id = self.next_id;
        let emptied = std::mem::replace(self, Self { next_id, ..Self::new(frames) });
        let events = emptied.between.into_iter().filter_map(|(_, item)| match item {
            Between::Event(event) => Some(event),
            Between::Kept(_) => None,
        });
        events.collect()
    }
}

/// More events wait than may, and downstream needs each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyEvents;

#[cfg(test)]
mod tests {
    use framewire_units::Duration;

    use super::super::testing::{Buffer, frame};
    use super::*;
    use crate::queue::QueueKind;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Event {
        Caps(u32),
        Segment,
        Tag(u32),
        End,
    }

    impl SerializedEvent for Event {
        fn replaces(&self, earlier: &Self) -> bool {
            matches!((self, earlier), (Self::Caps(_), Self::Caps(_)) | (Self::Segment, Self::Segment))
        }

        fn is_essential(&self) -> bool {
            !matches!(self, Self::Tag(_))
        }

        fn begins_stream(&self) -> bool {
            *self == Self::Segment
        }

        fn ends_stream(&self) -> bool {
            *self == Self::End
        }
    }

    const LASTS: Duration = Duration::from_millis(40);

    /// Two frames may wait.
    fn policy() -> FrameQueue<Buffer> {
        FrameQueue::new(QueueKind::Dependency(Limits { frames: Some(2), bytes: None, time: None }))
    }

    fn queue() -> InterleavedQueue<Buffer, Event> {
        InterleavedQueue::new(policy())
    }

    fn offer(queue: &mut InterleavedQueue<Buffer, Event>, number: u64) -> usize {
        queue.offer(frame(number, 0, LASTS)).len()
    }

    /// What leaves, in order: the numbers of frames and of kept payloads, and events.
    fn left(queue: &mut InterleavedQueue<Buffer, Event>) -> Vec<Result<u64, Event>> {
        let items = std::iter::from_fn(|| queue.take());
        items
            .map(|item| match item {
                Item::Frame(frame) => Ok(frame.bytes.number()),
                Item::Kept(payload) => Ok(payload.number()),
                Item::Event(event) => Err(event),
            })
            .collect()
    }

    #[test]
    fn events_keep_their_places_among_frames_that_are_given_up_or_not() {
        let mut queue = queue();
        queue.append(Event::Segment);
        assert_eq!(offer(&mut queue, 0), 0);
        queue.append(Event::Tag(1));
        queue.keep(frame(1, 0, LASTS).bytes);
        assert_eq!(offer(&mut queue, 2), 0);
        queue.append(Event::Tag(2));
        let given_up = offer(&mut queue, 3);
        queue.append(Event::End);
        assert!(queue.has_beginning() && !queue.is_empty());
        let order = left(&mut queue);
        let expected: Vec<_> =
            [Err(Event::Segment), Ok(0), Err(Event::Tag(1)), Ok(1), Ok(2), Err(Event::Tag(2)), Ok(3), Err(Event::End)]
                .into_iter()
                .filter(|item| item.is_err() || order.contains(item))
                .collect();
        assert_eq!(order, expected);
        assert!(given_up > 0 && order.len() == 8 - given_up, "two may wait");
        assert!(order.contains(&Ok(1)), "it is never dropped");
        assert!(queue.is_empty());
    }

    #[test]
    fn an_event_replaces_an_earlier_one_unless_something_stands_between_that_waits() {
        let mut queue = queue();
        [Event::Caps(1), Event::Tag(1), Event::Caps(2)].into_iter().for_each(|event| queue.append(event));
        offer(&mut queue, 0);
        queue.append(Event::Caps(3));
        assert_eq!(left(&mut queue), [Err(Event::Caps(2)), Err(Event::Tag(1)), Ok(0), Err(Event::Caps(3))]);
        queue.append(Event::Caps(4));
        queue.append(Event::End);
        queue.append(Event::Caps(5));
        assert_eq!(left(&mut queue), [Event::Caps(4), Event::End, Event::Caps(5)].map(Err), "of another stream");
        queue.append(Event::Caps(6));
        queue.keep(frame(1, 0, LASTS).bytes);
        queue.append(Event::Caps(7));
        assert_eq!(left(&mut queue), [Err(Event::Caps(6)), Ok(1), Err(Event::Caps(7))]);
    }

    #[test]
    fn of_too_many_events_the_oldest_goes_that_is_not_needed() {
        let mut queue = queue();
        queue.append(Event::Segment);
        for number in 1..MOST_EVENTS as u32 {
            assert_eq!(queue.make_room_for_event(), Ok(None));
            queue.append(Event::Tag(number));
        }
        assert_eq!(queue.make_room_for_event(), Ok(Some(Event::Tag(1))));
        assert_eq!(queue.make_room_for_event(), Ok(None));
        let mut needed = self::queue();
        (0..MOST_EVENTS).for_each(|_| needed.append(Event::End));
        assert_eq!(needed.make_room_for_event(), Err(TooManyEvents));
    }

    #[test]
    fn the_level_is_that_of_frames_and_of_what_is_kept() {
        let mut queue = queue();
        let level =
            |frames: u32| Level { frames, bytes: DataSize::from_bytes(100 * u64::from(frames)), time: LASTS * frames };
        queue.keep(frame(0, 0, LASTS).bytes);
        offer(&mut queue, 1);
        queue.append(Event::Tag(1));
        assert_eq!((queue.level(), queue.kept_level()), (level(2), level(1)));
        queue.take();
        assert_eq!((queue.level(), queue.kept_level()), (level(1), level(0)), "the frame that was looked at counts");
        queue.take();
        assert_eq!(queue.level(), level(0));
    }

    #[test]
    fn what_is_emptied_gives_its_events_back_and_goes_on_with_its_numbers() {
        let mut queue = queue();
        queue.append(Event::Segment);
        offer(&mut queue, 0);
        queue.keep(frame(1, 0, LASTS).bytes);
        queue.append(Event::End);
        assert_eq!(queue.clear(policy()), [Event::Segment, Event::End]);
        assert!(queue.is_empty() && queue.level() == Level::default());
        queue.append(Event::Tag(1));
        offer(&mut queue, 2);
        assert_eq!(left(&mut queue), [Err(Event::Tag(1)), Ok(2)]);
    }
}
