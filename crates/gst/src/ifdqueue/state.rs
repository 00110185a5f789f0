//! What the two threads of the element share.

use framewire_transport::frame::OutgoingFrame;
use framewire_transport::live::{GroupWatch, KeyFrameRequests, LostGroup, SerializedEvent, Tally, Untimed};
use framewire_transport::queue::Discard;

use super::events::{Item, Queue};
use crate::frames::Held;
use crate::settings::{Mode, Settings};
use crate::stats::now;

/// Shared by the upstream's thread and the task; the condition variables beside it signal changes.
#[derive(Debug)]
pub(super) struct State {
    pub queue: Queue,
    /// What the next buffer from upstream is answered.
    pub flow: Result<gst::FlowSuccess, gst::FlowError>,
    /// The end of the stream was accepted.
    pub eos: bool,
    /// Downstream said that it wants no more of this stream: frames are dropped until a new one leaves.
    pub refused: bool,
    /// The task waits for something to come.
    pub task_sleeps: bool,
    /// Threads of upstream that wait for something to leave.
    pub upstream_waits: u32,
    /// The task is in a push.
    pub pushing: bool,
    pub tally: Tally,
    /// The longest that a first field was held for the second one of its frame.
    pub field_wait: gst::ClockTime,
    /// The number of the frame that follows the last one pushed.
    following: u64,
    groups: GroupWatch,
    requests: KeyFrameRequests,
    mode: Mode,
    untimed: Untimed,
    /// The sinks behind the element were looked at, since the first buffer left.
    knows_sinks: bool,
}

/// What became of offering a frame.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub dropped: Vec<Discard<Held>>,
    pub lost: Option<(LostGroup, &'static str)>,
    /// Upstream is to be asked for a key frame.
    pub asks_for_key_frame: bool,
    /// The application is to be notified that the limit of time has no effect.
    pub is_untimed: bool,
}

impl Outcome {
    /// Whether it is to be reported.
    pub(crate) fn is_news(&self) -> bool {
        !self.dropped.is_empty() || self.asks_for_key_frame || self.is_untimed
    }
}

impl State {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            queue: Queue::new(settings.queue()),
            flow: Err(gst::FlowError::Flushing),
            eos: false,
            refused: false,
            task_sleeps: false,
            upstream_waits: 0,
            pushing: false,
            tally: Tally::default(),
            field_wait: gst::ClockTime::ZERO,
            following: 0,
            groups: GroupWatch::default(),
            requests: KeyFrameRequests::default(),
            mode: settings.mode,
            untimed: Untimed::default(),
            knows_sinks: false,
        }
    }

    /// As new, and ready for data.
    pub(crate) fn start(&mut self, settings: &Settings) {
        // A thread that was asked to stop waiting may not have woken up yet.
        let upstream_waits = self.upstream_waits;
        *self = Self { flow: Ok(gst::FlowSuccess::Ok), upstream_waits, ..Self::new(settings) };
    }

    /// What a buffer from upstream is answered now, if it is not taken.
    pub(crate) fn accepts(&self) -> Result<(), gst::FlowError> {
        self.flow?;
        // What comes behind the beginning of another stream is not what downstream has refused.
        let is_refused = self.refused && !self.queue.has_beginning();
        if self.eos || is_refused { Err(gst::FlowError::Eos) } else { Ok(()) }
    }

    /// Takes a frame through the policy.
    pub(crate) fn offer(&mut self, frame: OutgoingFrame<Held>, settings: &Settings) -> Outcome {
        self.groups.offered(&frame);
        let is_untimed = self.untimed.frame_came(&frame, settings.is_limited_by_time_alone());
        let (now, interval) = (now(), settings.request_interval());
        let asked_before = self.requests.frame_came(frame.dependencies.key.is_some(), now, interval);
        let dropped = self.queue.offer(frame);
        for discard in &dropped {
            self.tally.dropped(discard);
        }
        // Figure 1.1 of I-Frame Delay looks at nothing but types.
        let needs_key_frame = (self.mode != Mode::Ifd).then(|| self.queue.needs_key_frame());
        let lost = self.groups.after_offer(&dropped, needs_key_frame);
        self.tally.level(self.queue.level());
        self.tally.groups_lost += u64::from(lost.is_some());
        let needs = settings.request_key_frames && lost.is_some_and(|(lost, _)| lost.needs_key_frame);
        let asks_for_key_frame = (needs && self.requests.need(now, interval)) || asked_before;
        self.tally.key_frame_requests = self.requests.sent();
        Outcome { dropped, lost, asks_for_key_frame, is_untimed }
    }

    /// Whether a stream that is never dropped has to wait: as much of it waits as the limits allow.
    pub(crate) fn is_full(&self, settings: &Settings) -> bool {
        let level = self.queue.kept_level();
        let reached = |level: u64, limit: u64| limit > 0 && level >= limit;
        reached(level.frames.into(), settings.buffers.into())
            || reached(level.bytes.as_bytes(), settings.bytes.into())
            || reached(crate::stats::nanos(level), settings.time)
    }

    /// The next thing for downstream. After downstream has refused the stream, only events come, until one of them
    /// begins another.
    pub(crate) fn take(&mut self) -> Option<Item> {
        loop {
            match self.queue.take()? {
                Item::Event(event) => {
                    if event.begins_stream() {
                        self.refused = false;
                    }
                    return Some(Item::Event(event));
                }
                item if !self.refused => return Some(item),
                _ => {}
            }
        }
    }

    /// Whether buffers before this one, which is pushed now, were not.
    pub(crate) fn leaves_gap_before(&mut self, number: u64) -> bool {
        let expected = std::mem::replace(&mut self.following, number + 1);
        number != expected
    }

    /// True once, for the first buffer that leaves.
    pub(crate) fn is_to_look_at_sinks(&mut self) -> bool {
        !std::mem::replace(&mut self.knows_sinks, true)
    }

    /// Whether nothing waits and nothing is being pushed.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.pushing
    }
}
