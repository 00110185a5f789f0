//! GStreamer's `tcpserversink recover-policy=keyframe` with a soft limit (`units-soft-max`;
//! gstreamer.freedesktop.org/documentation/tcp/GstMultiHandleSink.html): a client that lags behind by more is moved to
//! a key frame.
//!
//! Of the key frames within the limit it is the oldest, so that the fewest frames are left out. Where there is none,
//! the client goes on with whatever comes next, be it decodable or not. The other limit, `units-max`, beyond which a
//! client is disconnected, is left at its default: none.

use bytes::Bytes;
use framewire_units::{DataSize, Duration};

use crate::backlog::Backlog;
use crate::frame::{OutgoingFrame, Payload};
use crate::limits::Limits;
use crate::queue::{Discard, Level};

const BEFORE_KEY_FRAME: &str = "keyframe: over the soft limit, moved on to a key frame";
const NO_KEY_FRAME: &str = "keyframe: over the soft limit, and no key frame waits";

/// Moves on to a key frame when more waits than the soft limit allows.
#[derive(Clone, Debug)]
pub struct KeyframeRecovery<P = Bytes> {
    soft_limits: Limits,
    backlog: Backlog<P>,
}

impl<P> KeyframeRecovery<P> {
    /// The element has no limit by default, and then never recovers. One second is what its sibling `queue` holds.
    pub const DEFAULT_SOFT_LIMITS: Limits = Limits::of_time(Duration::from_secs(1));

    /// An empty queue.
    pub fn new(soft_limits: Limits) -> Self {
        Self { soft_limits, backlog: Backlog::default() }
    }
}

impl<P: Payload> KeyframeRecovery<P> {
    /// Keeps a frame, and moves on when more waits than the limit allows.
    pub fn offer(&mut self, frame: OutgoingFrame<P>) -> Vec<Discard<P>> {
        self.backlog.push(frame);
        let mut discards = vec![];
        if self.soft_limits.exceeded_by(self.backlog.level()) {
            self.recover(&mut discards);
        }
        discards
    }

    /// The oldest frame.
    pub fn take(&mut self) -> Option<OutgoingFrame<P>> {
        self.backlog.pop()
    }

    /// What waits.
    pub fn level(&self) -> Level {
        self.backlog.level()
    }

    fn recover(&mut self, discards: &mut Vec<Discard<P>>) {
        // What would wait if the queue began at each of its frames.
        let mut rest = self.backlog.level();
        let end = self.backlog.end();
        let mut resume_at = None;
        for waiting in self.backlog.iter() {
            rest.time = end.saturating_sub(waiting.begins);
            if waiting.frame.dependencies.key.is_some() && !self.soft_limits.exceeded_by(rest) {
                resume_at = Some(waiting.frame.id);
                break;
            }
            rest.frames -= 1;
            rest.bytes = rest.bytes - DataSize::from_bytes(waiting.frame.bytes.size());
        }
        let rule = if resume_at.is_some() { BEFORE_KEY_FRAME } else { NO_KEY_FRAME };
        let skipped = |id: u32| resume_at.is_none_or(|resume_at| id < resume_at);
        self.backlog.give_up(discards, |waiting| skipped(waiting.frame.id).then_some(rule));
    }
}
