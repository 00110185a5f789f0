//! From access units in decode order to the frame index: display order, references, time stamps.

use crate::index::{Frame, FrameIndex, FrameRate, PictureType, SequenceHeader, sorted_by};
use crate::references::{ReferenceTracker, key_kind};
use crate::scanner::CodedFrame;

/// Temporal references count modulo this (6.3.9).
const TEMPORAL_REFERENCES: i64 = 1024;

/// What the scanner returns of how a frame is shown, beside what stands in the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    fields: u8,
    after_sequence_end: bool,
}

impl Shown {
    pub(crate) fn of(coded: &CodedFrame) -> Self {
        Self { fields: coded.shown_fields, after_sequence_end: coded.after_sequence_end }
    }
}

/// Numbers groups and works out display order, references and time stamps of frames as the scanner found them.
pub(crate) fn index(sequence: SequenceHeader, mut frames: Vec<Frame>, shown: &[Shown]) -> FrameIndex {
    let display_order = display_order(&frames, shown);
    for (display, &decode) in display_order.iter().enumerate() {
        frames[decode as usize].display_index = display as u32;
    }
    let slot_starts = slot_starts(shown, &display_order);
    let half_periods = FrameRate { numerator: sequence.frame_rate.numerator * 2, ..sequence.frame_rate };
    let mut groups = GroupCounter::default();
    let mut references = ReferenceTracker::default();
    for (frame, shown) in frames.iter_mut().zip(shown) {
        let referral = references.of(frame.decode_index, frame.kind, frame.gop_header);
        frame.key = key_kind(frame.kind, frame.gop_header);
        frame.leading = referral.leading;
        frame.referenced = matches!(frame.kind, PictureType::I | PictureType::P);
        frame.gop = groups.number_of(frame, *shown);
        frame.decode_time = half_periods.time_of(slot_starts[frame.decode_index as usize]);
        frame.display_time = half_periods.time_of(slot_starts[frame.display_index as usize]);
        frame.missing_reference = referral.missing;
        frame.references = referral.references.as_slice().into();
    }
    FrameIndex { sequence, frames }
}

/// Counts groups of pictures. A sequence that follows an ended one starts a group even without a header.
#[derive(Default)]
struct GroupCounter {
    number: u32,
    any_frame: bool,
}

impl GroupCounter {
    fn number_of(&mut self, frame: &Frame, shown: Shown) -> u32 {
        let starts_group = frame.gop_header.is_some() || shown.after_sequence_end;
        self.number += u32::from(starts_group && self.any_frame);
        self.any_frame = true;
        self.number
    }
}

/// Decode indices in display order: by temporal reference within each group (6.3.9).
fn display_order(frames: &[Frame], shown: &[Shown]) -> Vec<u32> {
    let mut unwrapper = Unwrapper::default();
    let keys: Vec<_> = frames.iter().zip(shown).map(|(frame, shown)| unwrapper.key(frame, *shown)).collect();
    sorted_by(&keys)
}

/// Gives each frame a key that sorts into display order: the run of temporal references it belongs to, and its
/// temporal reference in it without the modulus.
#[derive(Default)]
struct Unwrapper {
    run: u32,
    /// Temporal reference of the run's last I or P picture.
    last_anchor: Option<i64>,
}

impl Unwrapper {
    fn key(&mut self, frame: &Frame, shown: Shown) -> (u32, i64) {
        if frame.gop_header.is_some() || shown.after_sequence_end {
            self.start_run();
        }
        let wrapped = i64::from(frame.temporal_reference);
        let anchor = frame.kind != PictureType::B;
        let mut reference = self.nearest(wrapped);
        if anchor {
            // I and P pictures are shown in the order they are decoded in: going back means that a GOP header is
            // lost and a new count has begun.
            if self.last_anchor.is_some_and(|last| reference <= last) {
                self.start_run();
                reference = wrapped;
            }
            self.last_anchor = Some(reference);
        }
        (self.run, reference)
    }

    fn start_run(&mut self) {
        self.run += 1;
        self.last_anchor = None;
    }

    /// The number closest to the last anchor's that is `wrapped` modulo 1024.
    fn nearest(&self, wrapped: i64) -> i64 {
        let Some(last) = self.last_anchor else { return wrapped };
        let half = TEMPORAL_REFERENCES / 2;
        last + (wrapped - last + half).rem_euclid(TEMPORAL_REFERENCES) - half
    }
}

/// When each slot of the display starts, in fields from the first. Slot n is also when frame n in decode order is
/// due for decoding: one frame leaves the decoder's buffer for each one that is shown (annex C).
fn slot_starts(shown: &[Shown], display_order: &[u32]) -> Vec<u64> {
    let mut next = 0;
    let mut start_of = |&decode: &u32| {
        let start = next;
        next += u64::from(shown[decode as usize].fields);
        start
    };
    display_order.iter().map(&mut start_of).collect()
}
