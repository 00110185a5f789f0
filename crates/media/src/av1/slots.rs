//! What is in the slots that frames refer to, followed from frame to frame (7.20 and 7.21).

use crate::av1::frame_header::{CodedFrame, FrameType, SLOTS};
use crate::av1::short_signaling::distance;

/// A frame that later ones may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredFrame {
    /// The unit that it came in.
    pub(crate) unit: u64,
    pub(crate) frame_type: FrameType,
    pub(crate) frame_id: Option<u32>,
    pub(crate) order_hint: u32,
    /// Its place in display order; `None` where the sequence has no order hints.
    pub(crate) order: Option<i64>,
}

/// The slots, and where the stream is in display order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    frames: [Option<StoredFrame>; SLOTS],
    /// Place of the last frame in decode order.
    last: i64,
    /// The latest place of all frames since the sequence began.
    latest: Option<i64>,
}

impl Slots {
    /// The frame in a slot, which is below [`SLOTS`].
    pub(crate) fn get(&self, slot: usize) -> Option<StoredFrame> {
        self.frames[slot]
    }

    /// Order hints of what is in the slots, 0 of empty ones.
    pub(crate) fn order_hints(&self) -> [u32; SLOTS] {
        self.frames.map(|frame| frame.map_or(0, |frame| frame.order_hint))
    }

    /// A shown key frame begins a sequence: nothing is left of what came before (5.9.2).
    pub(crate) fn begin_sequence(&mut self) {
        *self = Self::default();
    }

    /// Forgets frames that are not those that the stream's own decoder has: one came that we did not see.
    pub(crate) fn expect(&mut self, order_hints: &[u32; SLOTS]) {
        for (frame, hint) in self.frames.iter_mut().zip(order_hints) {
            *frame = frame.filter(|frame| frame.order_hint == *hint);
        }
    }

    /// The next frame in decode order as it may be stored, and whether it is shown before one that came before it.
    pub(crate) fn place(&mut self, unit: u64, frame: &CodedFrame, order_hint_bits: usize) -> (StoredFrame, bool) {
        let begins_sequence = self.latest.is_none();
        let hint = i64::from(frame.order_hint);
        let order = (order_hint_bits > 0).then(|| match begins_sequence {
            true => hint,
            false => self.last + distance(hint, self.last, order_hint_bits),
        });
        let is_before_another = order.zip(self.latest).is_some_and(|(order, latest)| order < latest);
        self.last = order.unwrap_or(0);
        self.latest = self.latest.max(order);
        let &CodedFrame { frame_type, frame_id, order_hint, .. } = frame;
        (StoredFrame { unit, frame_type, frame_id, order_hint, order }, is_before_another)
    }

    /// Puts a frame into the slots whose bits are set.
    pub(crate) fn refresh(&mut self, slots: u32, stored: StoredFrame) {
        for (slot, frame) in self.frames.iter_mut().enumerate() {
            if slots >> slot & 1 == 1 {
                *frame = Some(stored);
            }
        }
    }

    /// Whether a key frame of that unit is in a slot.
    pub(crate) fn hold_key_frame_of(&self, unit: u64) -> bool {
        self.frames.iter().flatten().any(|frame| frame.frame_type == FrameType::Key && frame.unit == unit)
    }
}
