//! The frame dropping of OBS Studio's RTMP output ("What are dropped frames and why do they happen?", by its author;
//! settings `drop_threshold_ms` and `pframe_drop_threshold_ms`).
//!
//! A packet has a priority: disposable (nothing refers to it), high, highest (key frames). For H.264 the program takes it
//! from `nal_ref_idc`, which encoders set to 2 or 3 for all that is referred to, a B frame of a pyramid included; its
//! fourth value, low, is a `nal_ref_idc` of 1, which no movie here has. What waits is measured from the first packet in the queue to the last one that entered it. When it is
//! longer than a threshold, everything below a priority is thrown out of the queue, and so is all that comes until the
//! first packet of that priority: P frames and above at 700 ms, key frames alone at 900 ms. The adaptive bit rate that
//! it also has is off by default, and not a matter of a queue.

use bytes::Bytes;
use framewire_units::Duration;

use crate::backlog::{Backlog, Waiting};
use crate::frame::{OutgoingFrame, Payload};
use crate::queue::{Discard, Level};

const LOW_GIVEN_UP: &str = "obs: B while more waits than the threshold of B frames";
const ALL_GIVEN_UP: &str = "obs: no key frame while more waits than the threshold of P frames";

/// With fewer packets in the queue it does not look at their times.
const FEWEST_PACKETS: usize = 5;

/// How important a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Priority {
    Disposable,
    High,
    Highest,
}

/// Thresholds in time of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Above this, B frames go.
    pub low: Duration,
    /// Above this, everything but key frames goes.
    pub high: Duration,
}

impl Thresholds {
    /// Those of the program.
    pub const DEFAULT: Self = Self { low: Duration::from_millis(700), high: Duration::from_millis(900) };

    /// With that of P frames at `high`, and that of B frames in proportion.
    pub fn of_time(high: Duration) -> Self {
        Self { low: high.saturating_mul(7) / 9, high }
    }
}

/// Throws out B frames above one threshold, all but key frames above another.
#[derive(Clone, Debug)]
pub struct Obs<P = Bytes> {
    thresholds: Thresholds,
    backlog: Backlog<P>,
    /// Packets below it are not let in.
    gate: Priority,
    /// Beginning of the last packet that was let in, in time of the stream.
    newest: Duration,
}

impl<P> Obs<P> {
    /// An empty queue.
    pub fn new(thresholds: Thresholds) -> Self {
        Self { thresholds, backlog: Backlog::default(), gate: Priority::Disposable, newest: Duration::ZERO }
    }

    /// True while only a key frame is let in.
    pub fn needs_key_frame(&self) -> bool {
        self.gate == Priority::Highest
    }
}

impl<P: Payload> Obs<P> {
    /// Throws out what waits too long, and lets the frame in or not.
    pub fn offer(&mut self, frame: OutgoingFrame<P>) -> Vec<Discard<P>> {
        let mut discards = vec![];
        self.check(self.thresholds.low, Priority::High, &mut discards);
        self.check(self.thresholds.high, Priority::Highest, &mut discards);
        if Priority::of(&frame) < self.gate {
            self.backlog.pass_over(&frame);
            discards.push(Discard { frame, rule: rule(self.gate) });
        } else {
            self.gate = Priority::Disposable;
            self.backlog.push(frame);
            self.newest = self.backlog.iter().next_back().map_or(self.newest, |newest| newest.begins);
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

    fn check(&mut self, threshold: Duration, keep: Priority, discards: &mut Vec<Discard<P>>) {
        let Some(oldest) = self.backlog.iter().next() else { return };
        if self.backlog.len() < FEWEST_PACKETS || self.newest.saturating_sub(oldest.begins) <= threshold {
            return;
        }
        let below = |waiting: &Waiting<P>| (Priority::of(&waiting.frame) < keep).then_some(rule(keep));
        self.backlog.give_up(discards, below);
        self.gate = self.gate.max(keep);
    }
}

impl Priority {
    fn of<P>(frame: &OutgoingFrame<P>) -> Self {
        let dependencies = &frame.dependencies;
        if dependencies.key.is_some() {
            Self::Highest
        } else if dependencies.referenced {
            Self::High
        } else {
            Self::Disposable
        }
    }
}

fn rule(keep: Priority) -> &'static str {
    if keep == Priority::Highest { ALL_GIVEN_UP } else { LOW_GIVEN_UP }
}
