//! From access units in decode order to the frame index: display order, references, time stamps.

use std::io;
use std::time::Duration;

use crate::index::{Frame, sorted_by};

use crate::picture::{FrameRate, PictureType};
use crate::references::{ReferenceTracker, key_kind};
use crate::scanner::CodedFrame;
use crate::streaming_file::ReadAt;

/// Temporal references count modulo this (6.3.9).
const TEMPORAL_REFERENCES: i64 = 1024;

/// Works out what follows from one frame to the next, and when they are shown.
pub(crate) trait Indexer {
    /// Takes the next frame in decode order, as the scanner found it, and adds what is known of it by then. It may be read
    /// from `source`.
    fn take(&mut self, frame: &mut Frame, coded: &CodedFrame, source: &dyn ReadAt) -> io::Result<()>;
    /// All frames have come.
    fn order(self: Box<Self>) -> DisplayOrder;
}

/// Which frame of a stream is shown and decoded when: known when all of its frames are.
#[derive(Clone, Debug)]
pub struct DisplayOrder {
    /// Numbers in display order, by decode index.
    display: Vec<u32>,
    /// When each slot of the display starts, in half periods of a frame; `None`: each is a period.
    starts: Option<Vec<u32>>,
}

impl DisplayOrder {
    /// Of so many frames that are shown as they are decoded, one each period.
    pub(crate) fn of_decoding(frames: u32) -> Self {
        Self { display: (0..frames).collect(), starts: None }
    }

    /// Of frames that are shown in this order, one each period: their decode indices.
    pub(crate) fn of(order: &[u32]) -> Self {
        let mut display = vec![0; order.len()];
        (0..).zip(order).for_each(|(number, &frame)| display[frame as usize] = number);
        Self { display, starts: None }
    }

    /// Number in display order of the frame of this decode index.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn display_index(&self, frame: u32) -> u32 {
        self.display[frame as usize]
    }

    /// When the frame is to be sent and decoded, from the first frame. One frame leaves the decoder's buffer for each one
    /// that is shown (ISO/IEC 13818-2, annex C).
    ///
    /// # Panics
    /// As [`display_index`](Self::display_index).
    pub fn decode_time(&self, frame: u32, rate: FrameRate) -> Duration {
        match &self.starts {
            None => rate.time_of(frame.into()),
            Some(starts) => FrameRate { numerator: rate.numerator * 2, ..rate }.time_of(starts[frame as usize].into()),
        }
    }

    /// When the frame is shown, from the first frame shown.
    ///
    /// # Panics
    /// As [`display_index`](Self::display_index).
    pub fn display_time(&self, frame: u32, rate: FrameRate) -> Duration {
        self.decode_time(self.display_index(frame), rate)
    }

    /// Fills in what follows from it.
    pub(crate) fn fill(&self, frames: &mut [Frame], rate: FrameRate) {
        for frame in frames {
            frame.display_index = self.display_index(frame.decode_index);
            frame.decode_time = self.decode_time(frame.decode_index, rate);
            frame.display_time = self.display_time(frame.decode_index, rate);
        }
    }
}

/// Numbers groups and works out references of frames as the scanner finds them, and their display order.
#[derive(Default)]
pub(crate) struct MpegVideoIndexer {
    groups: GroupCounter,
    references: ReferenceTracker<u32>,
    unwrapper: Unwrapper,
    keys: Vec<(u32, i64)>,
    fields: Vec<u8>,
}

impl Indexer for MpegVideoIndexer {
    fn take(&mut self, frame: &mut Frame, coded: &CodedFrame, _source: &dyn ReadAt) -> io::Result<()> {
        let referral = self.references.of(frame.decode_index, frame.kind, frame.gop_header);
        frame.key = key_kind(frame.kind, frame.gop_header);
        frame.leading = referral.leading;
        frame.referenced = matches!(frame.kind, PictureType::I | PictureType::P);
        frame.gop = self.groups.number_of(frame, coded.after_sequence_end);
        frame.missing_reference = referral.missing;
        frame.references = referral.references.as_slice().into();
        self.keys.push(self.unwrapper.key(frame, coded.after_sequence_end));
        self.fields.push(coded.shown_fields);
        Ok(())
    }

    fn order(self: Box<Self>) -> DisplayOrder {
        let order = sorted_by(&self.keys);
        let mut next = 0_u32;
        let start_of = |&decode: &u32| {
            let start = next;
            next += u32::from(self.fields[decode as usize]);
            start
        };
        DisplayOrder { starts: Some(order.iter().map(start_of).collect()), ..DisplayOrder::of(&order) }
    }
}

/// Counts groups of pictures. A sequence that follows an ended one starts a group even without a header.
#[derive(Default)]
struct GroupCounter {
    number: u32,
    any_frame: bool,
}

impl GroupCounter {
    fn number_of(&mut self, frame: &Frame, after_sequence_end: bool) -> u32 {
        let starts_group = frame.gop_header.is_some() || after_sequence_end;
        self.number += u32::from(starts_group && self.any_frame);
        self.any_frame = true;
        self.number
    }
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
    fn key(&mut self, frame: &Frame, after_sequence_end: bool) -> (u32, i64) {
        if frame.gop_header.is_some() || after_sequence_end {
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
