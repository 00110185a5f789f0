//! What the two threads of the element share.

use framewire_transport::frame::OutgoingFrame;
use framewire_transport::queue::FrameQueue;

use crate::frames::Held;
use crate::groups::{GroupWatch, LostGroup};
use crate::line::{Item, Line};
use crate::settings::Settings;
use crate::stats::Tally;

/// A frame that was given up, and the rule.
pub(super) type Dropped = (OutgoingFrame<Held>, &'static str);

/// Shared by the upstream's thread and the task; the condition variables beside it tell of changes.
#[derive(Debug)]
pub(super) struct State {
    pub line: Line,
    /// What the next buffer from upstream is answered.
    pub flow: Result<gst::FlowSuccess, gst::FlowError>,
    /// The end of the stream was accepted.
    pub eos: bool,
    /// Downstream said that it wants no more of this stream: frames are dropped until a new one begins.
    pub refused: bool,
    /// The task waits for something to come.
    pub task_sleeps: bool,
    /// The task is in a push.
    pub pushing: bool,
    pub tally: Tally,
    groups: GroupWatch,
}

/// What became of offering a frame.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub dropped: Vec<Dropped>,
    pub lost: Option<(LostGroup, &'static str)>,
}

impl State {
    pub fn new(frames: FrameQueue<Held>) -> Self {
        Self {
            line: Line::new(frames),
            flow: Err(gst::FlowError::Flushing),
            eos: false,
            refused: false,
            task_sleeps: false,
            pushing: false,
            tally: Tally::default(),
            groups: GroupWatch::default(),
        }
    }

    /// As new, and ready for data.
    pub fn start(&mut self, settings: &Settings) {
        *self = Self { flow: Ok(gst::FlowSuccess::Ok), ..Self::new(settings.queue()) };
    }

    /// What a buffer from upstream is answered now, if it is not taken.
    pub fn accepts(&self) -> Result<(), gst::FlowError> {
        self.flow?;
        if self.eos || self.refused { Err(gst::FlowError::Eos) } else { Ok(()) }
    }

    /// Takes a frame through the policy.
    pub fn offer(&mut self, frame: OutgoingFrame<Held>) -> Outcome {
        self.groups.offered(&frame);
        let mut outcome = Outcome::default();
        for discard in self.line.offer(frame) {
            self.tally.dropped(&discard);
            let lost = self.groups.given_up(&discard.frame);
            outcome.lost = outcome.lost.or(lost.map(|lost| (lost, discard.rule)));
            outcome.dropped.push((discard.frame, discard.rule));
        }
        self.tally.level(self.line.level());
        outcome
    }

    /// Whether a stream that is never dropped has to wait: as much of it waits as the limits allow.
    pub fn is_full(&self, settings: &Settings) -> bool {
        let level = self.line.kept_level();
        let reached = |level: u64, limit: u64| limit > 0 && level >= limit;
        reached(level.frames.into(), settings.buffers.into())
            || reached(level.bytes.as_bytes(), settings.bytes.into())
            || reached(crate::stats::nanos(level), settings.time)
    }

    /// The next thing for downstream. After downstream has refused the stream, only events come, until one of them
    /// begins another.
    pub fn take(&mut self) -> Option<Item> {
        loop {
            match self.line.take()? {
                Item::Event(event) => {
                    if matches!(event.type_(), gst::EventType::Segment | gst::EventType::StreamStart) {
                        self.refused = false;
                    }
                    return Some(Item::Event(event));
                }
                item if !self.refused => return Some(item),
                _ => {}
            }
        }
    }

    /// Whether nothing waits and nothing is being pushed.
    pub fn is_idle(&self) -> bool {
        self.line.is_empty() && !self.pushing
    }
}
