//! What is known of what a receiver was sent.

use std::ops::Range;

use framewire_units::{Duration, Timestamp};

use crate::half::Half;

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All of it was written.
    Complete,
    /// The receiver went before that, or said that it wants no more.
    Left,
    /// It could not be sent to its end, for this reason.
    Broken(String),
    /// The sender was stopped.
    Stopped,
}

/// What one request was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What was asked for: a path.
    pub what: String,
    /// Which bytes of it, where it is a file.
    pub bytes: Option<Range<u64>>,
    /// When it was asked for.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// Bytes that were written of it.
    pub sent: u64,
    /// Frames that were offered, and that were given up.
    pub frames: [u32; 2],
    /// The most by which a frame was offered late; `None` where nothing has a time.
    pub latest: Option<Duration>,
    /// How it ended.
    pub ending: Ending,
}

impl Record {
    /// Of what begins now.
    pub(super) fn new(now: Timestamp, what: &str, bytes: Option<Range<u64>>) -> Self {
        let (what, ending) = (what.to_owned(), Ending::Complete);
        Self { what, bytes, began: now, ended: now, sent: 0, frames: [0; 2], latest: None, ending }
    }
}

/// A half for one of many receivers.
pub trait Client: Half + Send {
    /// True once it has asked for something: one that has not may have to make room for another.
    fn has_asked(&self) -> bool;

    /// What it was sent, once that has ended.
    fn poll_record(&mut self) -> Option<Record>;

    /// By how much frames were offered late since it was asked last.
    fn take_lateness(&mut self) -> Vec<Duration>;

    /// Bytes that were written so far, of whatever.
    fn written(&self) -> u64;

    /// The connection broke, for this reason: it is over.
    fn handle_failure(&mut self, now: Timestamp, reason: &str);
}
