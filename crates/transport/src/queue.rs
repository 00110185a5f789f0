//! Frame queues: which frame goes next, and which is given up.

use std::collections::VecDeque;

use bytes::Bytes;
use framewire_units::{DataSize, Duration, Timestamp};

use crate::dependency::DependencyQueue;
use crate::event::{SenderEvent, SenderPlace};
use crate::frame::{OutgoingFrame, Payload};
use crate::ifd::{IfdPolicy, IfdQueue};
use crate::limits::Limits;
use crate::rivals::{KeyframeRecovery, LeakyDownstream, Obs, Thresholds};
use crate::rules;

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

/// Which queue, and how much may wait in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// One frame at a time.
    Direct,
    /// I-Frame Delay.
    Ifd(IfdPolicy),
    /// By what depends on each frame.
    Dependency(Limits),
    /// As GStreamer's `queue leaky=downstream`.
    Leaky(Limits),
    /// As GStreamer's `tcpserversink recover-policy=keyframe`, with its soft limit.
    Keyframe(Limits),
    /// As the RTMP output of OBS Studio.
    Obs(Thresholds),
}

impl QueueKind {
    /// How much may wait in it; `None` for a queue that has no such limits.
    pub const fn limits(self) -> Option<Limits> {
        match self {
            Self::Dependency(limits) | Self::Leaky(limits) | Self::Keyframe(limits) => Some(limits),
            Self::Obs(thresholds) => Some(Limits::of_time(thresholds.high)),
            Self::Direct | Self::Ifd(_) => None,
        }
    }

    /// True where its limits may be numbers of frames and of bytes, beside a time.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Dependency(_) | Self::Leaky(_) | Self::Keyframe(_))
    }

    /// The same queue with other limits, if it has any. That of OBS Studio has a limit in time, its threshold of P frames.
    pub fn with_limits(self, limits: Limits) -> Self {
        match self {
            Self::Dependency(_) => Self::Dependency(limits),
            Self::Leaky(_) => Self::Leaky(limits),
            Self::Keyframe(_) => Self::Keyframe(limits),
            Self::Obs(thresholds) => Self::Obs(limits.time.map_or(thresholds, Thresholds::of_time)),
            Self::Direct | Self::Ifd(_) => self,
        }
    }
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
    /// Gives up what the viewer misses least.
    Dependency(Box<DependencyQueue<P>>),
    /// Gives up the oldest.
    Leaky(LeakyDownstream<P>),
    /// Moves on to a key frame.
    Keyframe(KeyframeRecovery<P>),
    /// Gives up B frames, then all but key frames.
    Obs(Obs<P>),
}

impl FrameQueue {
    /// Takes a frame of a sender, which is given up where that has `ended`, and tells what became of it and of others: it is queued
    /// unless it was itself given up.
    pub(crate) fn handle_frame(
        &mut self,
        now: Timestamp,
        frame: OutgoingFrame,
        ended: bool,
        events: &mut VecDeque<SenderEvent>,
    ) {
        let offered = frame.id;
        let discards = match ended {
            false => self.offer(frame),
            true => vec![Discard { frame, rule: rules::AFTER_THE_END }],
        };
        let is_given_up = discards.iter().any(|discard| discard.frame.id == offered);
        let given_up = discards.into_iter().map(|Discard { frame, rule }| (frame.id, rule));
        let place = SenderPlace::Pipeline;
        events.extend(given_up.map(|(frame, rule)| SenderEvent::Discarded { frame, at: now, place, rule }));
        if !is_given_up {
            events.push_back(SenderEvent::Queued { frame: offered, at: now });
        }
    }
}

impl<P: Payload> FrameQueue<P> {
    /// An empty queue.
    pub fn new(kind: QueueKind) -> Self {
        match kind {
            QueueKind::Direct => Self::direct(),
            QueueKind::Ifd(policy) => Self::ifd(policy),
            QueueKind::Dependency(limits) => Self::Dependency(Box::new(DependencyQueue::new(limits))),
            QueueKind::Leaky(limits) => Self::Leaky(LeakyDownstream::new(limits)),
            QueueKind::Keyframe(soft_limits) => Self::Keyframe(KeyframeRecovery::new(soft_limits)),
            QueueKind::Obs(thresholds) => Self::Obs(Obs::new(thresholds)),
        }
    }

    /// An empty queue that passes one frame at a time.
    pub fn direct() -> Self {
        Self::Direct(None)
    }

    /// An empty queue with I-Frame Delay.
    pub fn ifd(policy: IfdPolicy) -> Self {
        Self::Ifd(IfdQueue::new(policy))
    }

    /// Changes how much may wait, from the next frame on. Acts where frames are dropped by dependency.
    pub fn set_limits(&mut self, limits: Limits) {
        if let Self::Dependency(queue) = self {
            queue.set_limits(limits);
        }
    }

    /// True when a frame may be offered although the writer still has one.
    pub(crate) fn accepts_while_writing(&self) -> bool {
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
            Self::Dependency(queue) => queue.offer(frame),
            Self::Leaky(queue) => queue.offer(frame),
            Self::Keyframe(queue) => queue.offer(frame),
            Self::Obs(queue) => queue.offer(frame),
        }
    }

    /// The next frame for the writer.
    pub fn take(&mut self) -> Option<OutgoingFrame<P>> {
        match self {
            Self::Direct(slot) => slot.take(),
            Self::Ifd(queue) => queue.take(),
            Self::Dependency(queue) => queue.take(),
            Self::Leaky(queue) => queue.take(),
            Self::Keyframe(queue) => queue.take(),
            Self::Obs(queue) => queue.take(),
        }
    }

    /// Gives up all that waits, oldest first: it reached no receiver, and what comes next does not go on from it.
    pub fn flush(&mut self) -> Vec<OutgoingFrame<P>> {
        match self {
            Self::Ifd(queue) => queue.flush().into_iter().collect(),
            Self::Dependency(queue) => queue.flush(),
            _ => std::iter::from_fn(|| self.take()).collect(),
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
            Self::Dependency(queue) => queue.level(),
            Self::Leaky(queue) => queue.level(),
            Self::Keyframe(queue) => queue.level(),
            Self::Obs(queue) => queue.level(),
        }
    }

    /// True when the parameter sets of H.264 that leave allow the gaps in `frame_num` that it leaves. Those that go beside the
    /// frames, out of band or by themselves, have to do the same.
    pub fn allows_gaps(&self) -> bool {
        matches!(self, Self::Dependency(_))
    }

    /// True while frames are given up until the next key frame: asking the encoder for one ends the loss.
    pub fn needs_key_frame(&self) -> bool {
        match self {
            Self::Direct(_) | Self::Leaky(_) | Self::Keyframe(_) => false,
            Self::Ifd(queue) => queue.state().disturbed,
            Self::Dependency(queue) => queue.needs_key_frame(),
            Self::Obs(queue) => queue.needs_key_frame(),
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
