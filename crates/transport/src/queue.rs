//! Frame queues: which frame goes next, and which is given up.

use crate::event::OutgoingFrame;
use crate::ifd::{IfdPolicy, IfdQueue};

/// A frame that a queue gave up, and the rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discard {
    /// Number of the frame in decode order.
    pub frame: u32,
    /// The rule, in plain words.
    pub rule: &'static str,
}

/// The queue between the frame clock and the writer of a sending half.
///
/// Contract: [`offer`](Self::offer) a frame when [`wants_frame`](Self::wants_frame) says so; [`take`](Self::take) the
/// next one when the writer is done with the last. Every frame offered is either taken or discarded, once.
#[derive(Clone, Debug)]
pub enum FrameQueue {
    /// One frame at a time: the pipeline before it waits while a frame is being written.
    Direct(Option<OutgoingFrame>),
    /// I-Frame Delay: never makes the pipeline wait, gives up frames instead.
    Ifd(IfdQueue),
}

impl FrameQueue {
    /// An empty queue that passes one frame at a time.
    pub fn direct() -> Self {
        Self::Direct(None)
    }

    /// An empty queue with I-Frame Delay.
    pub fn ifd(policy: IfdPolicy) -> Self {
        Self::Ifd(IfdQueue::new(policy))
    }

    /// True when a frame may be offered although the writer still has one.
    pub fn accepts_while_writing(&self) -> bool {
        matches!(self, Self::Ifd(_))
    }

    /// True when a frame offered now is not lost for want of a place to keep it.
    pub fn wants_frame(&self) -> bool {
        match self {
            Self::Direct(slot) => slot.is_none(),
            Self::Ifd(_) => true,
        }
    }

    /// Takes a frame in and returns the one given up for it: the frame itself, one that waited, or none.
    pub fn offer(&mut self, frame: OutgoingFrame) -> Option<Discard> {
        match self {
            Self::Direct(Some(_)) => Some(Discard { frame: frame.id, rule: "direct: offered while a frame waits" }),
            Self::Direct(slot) => {
                *slot = Some(frame);
                None
            }
            Self::Ifd(queue) => queue.offer(frame),
        }
    }

    /// The next frame for the writer.
    pub fn take(&mut self) -> Option<OutgoingFrame> {
        match self {
            Self::Direct(slot) => slot.take(),
            Self::Ifd(queue) => queue.take(),
        }
    }

    /// True when no frame waits.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Direct(slot) => slot.is_none(),
            Self::Ifd(queue) => queue.waiting().is_none(),
        }
    }
}
