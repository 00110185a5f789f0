//! From access units in decode order to the frame index: display order, references, time stamps.

use crate::index::{Frame, FrameIndex, FrameRate, PictureType, SequenceHeader};
use crate::references::{ReferenceTracker, key_kind};
use crate::scanner::CodedFrame;

/// Temporal references count modulo this (6.3.9).
const TEMPORAL_REFERENCES: i64 = 1024;

/// Numbers groups and works out display order, references and time stamps.
pub(crate) fn index(sequence: SequenceHeader, coded: &[CodedFrame]) -> FrameIndex {
    let display_order = display_order(coded);
    let mut display_index = vec![0; coded.len()];
    for (display, &decode) in display_order.iter().enumerate() {
        display_index[decode] = display as u32;
    }
    let slot_starts = slot_starts(coded, &display_order);
    let half_periods = FrameRate { numerator: sequence.frame_rate.numerator * 2, ..sequence.frame_rate };
    let mut groups = GroupCounter::default();
    let mut references = ReferenceTracker::default();
    let frame = |(decode, coded): (usize, &CodedFrame)| {
        let referral = references.of(decode as u32, coded.kind, coded.gop_header);
        Frame {
            decode_index: decode as u32,
            display_index: display_index[decode],
            kind: coded.kind,
            key: key_kind(coded.kind, coded.gop_header),
            leading: referral.leading,
            referenced: matches!(coded.kind, PictureType::I | PictureType::P),
            temporal_layer: 0,
            temporal_reference: coded.temporal_reference,
            gop: groups.number_of(coded),
            gop_header: coded.gop_header,
            structure: coded.structure,
            offset: coded.offset,
            size: coded.size as u32,
            decode_time: half_periods.time_of(slot_starts[decode]),
            display_time: half_periods.time_of(slot_starts[display_index[decode] as usize]),
            missing_reference: referral.missing,
            picture_order: None,
            references: referral.references,
        }
    };
    FrameIndex { sequence, frames: coded.iter().enumerate().map(frame).collect() }
}

/// Counts groups of pictures. A sequence that follows an ended one starts a group even without a header.
#[derive(Default)]
struct GroupCounter {
    number: u32,
    any_frame: bool,
}

impl GroupCounter {
    fn number_of(&mut self, coded: &CodedFrame) -> u32 {
        let starts_group = coded.gop_header.is_some() || coded.after_sequence_end;
        self.number += u32::from(starts_group && self.any_frame);
        self.any_frame = true;
        self.number
    }
}

/// Decode indices in display order: by temporal reference within each group (6.3.9).
fn display_order(coded: &[CodedFrame]) -> Vec<usize> {
    let mut unwrapper = Unwrapper::default();
    let keys: Vec<_> = coded.iter().map(|coded| unwrapper.key(coded)).collect();
    let mut order: Vec<usize> = (0..coded.len()).collect();
    order.sort_by_key(|&decode| keys[decode]);
    order
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
    fn key(&mut self, coded: &CodedFrame) -> (u32, i64) {
        if coded.gop_header.is_some() || coded.after_sequence_end {
            self.start_run();
        }
        let wrapped = i64::from(coded.temporal_reference);
        let anchor = coded.kind != PictureType::B;
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
fn slot_starts(coded: &[CodedFrame], display_order: &[usize]) -> Vec<u64> {
    let mut next = 0;
    let mut start_of = |&decode: &usize| {
        let start = next;
        next += u64::from(coded[decode].shown_fields);
        start
    };
    display_order.iter().map(&mut start_of).collect()
}
