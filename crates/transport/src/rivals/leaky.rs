//! GStreamer's `queue leaky=downstream` (gstreamer.freedesktop.org/documentation/coreelements/queue.html): a queue
//! that is full throws away the oldest buffers, whatever they are.

use bytes::Bytes;
use framewire_units::{DataSize, Duration};

use crate::backlog::Backlog;
use crate::frame::{OutgoingFrame, Payload};
use crate::limits::Limits;
use crate::queue::{Discard, Level};

const OLDEST: &str = "leaky: the queue is full, and this frame is the oldest";

/// Gives up the oldest frames of a full queue.
#[derive(Clone, Debug)]
pub struct LeakyDownstream<P = Bytes> {
    limits: Limits,
    backlog: Backlog<P>,
}

impl<P> LeakyDownstream<P> {
    /// The element's defaults: `max-size-buffers`, `max-size-bytes` and `max-size-time`.
    pub const DEFAULT_LIMITS: Limits = Limits {
        frames: Some(200),
        bytes: Some(DataSize::from_bytes(10 * 1024 * 1024)),
        time: Some(Duration::from_secs(1)),
    };

    /// An empty queue.
    pub fn new(limits: Limits) -> Self {
        Self { limits, backlog: Backlog::default() }
    }
}

impl<P: Payload> LeakyDownstream<P> {
    /// Makes room for a frame, and keeps it.
    pub fn offer(&mut self, frame: OutgoingFrame<P>) -> Vec<Discard<P>> {
        let mut discards = vec![];
        while self.limits.reached_by(self.backlog.level()) {
            match self.backlog.pop() {
                Some(frame) => discards.push(Discard { frame, rule: OLDEST }),
                None => break,
            }
        }
        self.backlog.push(frame);
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
}
