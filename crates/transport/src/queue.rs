//! Frame queues: which frame goes next, and which is given up.

use bytes::Bytes;
use framewire_units::{DataSize, Duration};

use crate::frame::{OutgoingFrame, Payload};
use crate::ifd::{IfdPolicy, IfdQueue};

/// A frame that a queue gave up, and the rule that decided. The frame is handed back whole: what its payload carries
/// beside the bytes may still be needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discard<P = Bytes> {
    /// The frame.
    pub frame: OutgoingFrame<P>,
    /// The rule, in plain words.
    pub rule: &'static str,
}

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Frames.
    pub frames: u32,
    /// Bytes of all frames.
    pub bytes: DataSize,
    /// How long the oldest frame has waited, in time of the stream: from when it is due to the end of the newest one.
    pub time: Duration,
}

/// The queue between the frame clock and the writer of a sending half.
///
/// Contract: [`offer`](Self::offer) a frame when [`wants_frame`](Self::wants_frame) says so; [`take`](Self::take) the
/// next one when the writer is done with the last. Every frame offered is either taken or discarded, once.
#[derive(Clone, Debug)]
pub enum FrameQueue<P = Bytes> {
    /// One frame at a time: the pipeline before it waits while a frame is being written.
    Direct(Option<OutgoingFrame<P>>),
    /// I-Frame Delay: never makes the pipeline wait, gives up frames instead.
    Ifd(IfdQueue<P>),
}

impl<P: Payload> FrameQueue<P> {
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
        !matches!(self, Self::Direct(_))
    }

    /// True when a frame offered now is not lost for want of a place to keep it.
    pub fn wants_frame(&self) -> bool {
        match self {
            Self::Direct(slot) => slot.is_none(),
            _ => true,
        }
    }

    /// Takes a frame in and returns the frames given up for it, in the order of the decisions: the frame itself,
    /// frames that waited, or none (which allocates nothing).
    pub fn offer(&mut self, frame: OutgoingFrame<P>) -> Vec<Discard<P>> {
        match self {
            Self::Direct(Some(_)) => vec![Discard { frame, rule: "direct: offered while a frame waits" }],
            Self::Direct(slot) => {
                *slot = Some(frame);
                vec![]
            }
            Self::Ifd(queue) => queue.offer(frame).into_iter().collect(),
        }
    }

    /// The next frame for the writer.
    pub fn take(&mut self) -> Option<OutgoingFrame<P>> {
        match self {
            Self::Direct(slot) => slot.take(),
            Self::Ifd(queue) => queue.take(),
        }
    }

    /// True when no frame waits.
    pub fn is_empty(&self) -> bool {
        self.level().frames == 0
    }

    /// What waits.
    pub fn level(&self) -> Level {
        match self {
            Self::Direct(slot) => Level::of_slot(slot.as_ref()),
            Self::Ifd(queue) => Level::of_slot(queue.waiting()),
        }
    }

    /// True while frames are given up until the next key frame: asking the encoder for one ends the loss.
    pub fn needs_key_frame(&self) -> bool {
        match self {
            Self::Direct(_) => false,
            Self::Ifd(queue) => queue.state().disturbed,
        }
    }
}

impl Level {
    /// Of a queue that holds one frame or none.
    fn of_slot<P: Payload>(slot: Option<&OutgoingFrame<P>>) -> Self {
        slot.map_or(Self::default(), |frame| Self {
            frames: 1,
            bytes: DataSize::from_bytes(frame.bytes.size()),
            time: frame.duration,
        })
    }
}
