//! The reference pictures that a decoder holds, and how they are marked (ITU-T H.264, 8.2.5).

use crate::h264::picture_order::{Orders, order_of};
use crate::h264::slice_header::{Fields, Marking, Operation};

/// A frame of which at least one field is marked as used for reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredFrame {
    /// Counts frames, with those inferred where `frame_num` has a gap: identifies them.
    pub(crate) serial: u64,
    pub(crate) frame_num: u32,
    pub(crate) long_term_frame_idx: u32,
    /// Fields marked as used for short-term reference.
    pub(crate) short_term: Fields,
    /// Fields marked as used for long-term reference.
    pub(crate) long_term: Fields,
    /// Fields that were decoded.
    pub(crate) fields: Fields,
    pub(crate) orders: Orders,
    /// Its picture order count in a decoder that it never reached and that, as FFmpeg does, shows the frame before
    /// once more.
    pub(crate) stand_in_order: i64,
    /// The units that brought its top and its bottom field, or the picture that it repeats; `None` for one inferred of which
    /// nothing is known.
    pub(crate) units: [Option<u64>; 2],
}

impl StoredFrame {
    /// `PicOrderCnt()` of what was decoded of it.
    pub(crate) fn order(&self) -> i64 {
        order_of(self.fields, self.orders)
    }

    /// True for one that did not come: it was inferred from a gap in `frame_num`.
    pub(crate) fn is_inferred(&self) -> bool {
        self.units == [None, None]
    }

    /// The units that brought some of its fields.
    pub(crate) fn units_of(&self, fields: Fields) -> impl Iterator<Item = u64> {
        let [top, bottom] = self.units;
        let top = top.filter(|_| fields.holds(Fields::TOP));
        let bottom = bottom.filter(|_| fields.holds(Fields::BOTTOM));
        top.into_iter().chain(bottom)
    }

    fn is_marked(&self) -> bool {
        self.short_term.any() || self.long_term.any()
    }

    fn unmark(&mut self, fields: Fields) {
        self.short_term = self.short_term.without(fields);
        self.long_term = self.long_term.without(fields);
    }

    /// What it is used for, whatever brought it.
    fn state(&self) -> (u64, Fields, Fields, u32) {
        (self.serial, self.short_term, self.long_term, self.long_term_frame_idx)
    }
}

/// A decoded reference picture, as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct DecodedPicture {
    pub(crate) serial: u64,
    pub(crate) fields: Fields,
    pub(crate) frame_num: u32,
    pub(crate) orders: Orders,
    pub(crate) unit: u64,
}

/// What the sequence parameter set states of numbers and room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Max(`max_num_ref_frames`, 1).
    pub(crate) max_frames: usize,
    /// `MaxFrameNum`.
    pub(crate) max_frame_num: u32,
}

/// How pictures are numbered from where one picture stands (8.2.4.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    frame_num: i64,
    max_frame_num: i64,
    fields: Fields,
}

impl Numbering {
    pub(crate) fn new(frame_num: u32, fields: Fields, limits: Limits) -> Self {
        Self { frame_num: frame_num.into(), max_frame_num: limits.max_frame_num.into(), fields }
    }

    /// `FrameNumWrap` (8-27).
    pub(crate) fn wrap(self, frame: &StoredFrame) -> i64 {
        let number = i64::from(frame.frame_num);
        if number > self.frame_num { number - self.max_frame_num } else { number }
    }

    /// `CurrPicNum`.
    pub(crate) fn current(self) -> i64 {
        if self.fields.is_single() { 2 * self.frame_num + 1 } else { self.frame_num }
    }

    /// `MaxPicNum`.
    pub(crate) fn modulus(self) -> i64 {
        if self.fields.is_single() { 2 * self.max_frame_num } else { self.max_frame_num }
    }

    /// The number of the frame and the fields of it that a picture number means (8-28 to 8-33): of fields, odd
    /// numbers have the parity of the current one.
    pub(crate) fn resolve(self, picture_number: i64) -> (i64, Fields) {
        match (self.fields.is_single(), picture_number & 1) {
            (false, _) => (picture_number, Fields::BOTH),
            (true, 1) => (picture_number >> 1, self.fields),
            (true, _) => (picture_number >> 1, self.fields.others()),
        }
    }
}

/// Frames marked as used for reference, in decode order.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReferenceBuffer {
    frames: Vec<StoredFrame>,
}

impl ReferenceBuffer {
    pub(crate) fn frames(&self) -> &[StoredFrame] {
        &self.frames
    }

    /// Takes out the frames that never came.
    pub(crate) fn forget_inferred(&mut self) {
        self.frames.retain(|frame| !frame.is_inferred());
    }

    pub(crate) fn is_marked_like(&self, other: &Self) -> bool {
        self.frames.iter().map(StoredFrame::state).eq(other.frames.iter().map(StoredFrame::state))
    }

    /// The short-term reference picture with picture number `number`.
    pub(crate) fn short_term(&self, numbering: Numbering, number: i64) -> Option<(&StoredFrame, Fields)> {
        let (wrap, fields) = numbering.resolve(number);
        let is_meant = |frame: &&StoredFrame| frame.short_term.holds(fields) && numbering.wrap(frame) == wrap;
        self.frames.iter().find(is_meant).map(|frame| (frame, fields))
    }

    /// The long-term reference picture with `LongTermPicNum` `number`.
    pub(crate) fn long_term(&self, numbering: Numbering, number: i64) -> Option<(&StoredFrame, Fields)> {
        let (index, fields) = numbering.resolve(number);
        let is_meant =
            |frame: &&StoredFrame| frame.long_term.holds(fields) && i64::from(frame.long_term_frame_idx) == index;
        self.frames.iter().find(is_meant).map(|frame| (frame, fields))
    }

    /// Stores a reference picture after it was decoded, and marks the others as it says.
    pub(crate) fn store(&mut self, picture: &DecodedPicture, marking: &Marking, limits: Limits) {
        let mut frame_num = picture.frame_num;
        let mut long_term = None;
        match marking {
            Marking::Idr { long_term: is_long_term } => {
                self.frames.clear();
                long_term = is_long_term.then_some(0);
            }
            Marking::SlidingWindow => self.slide(picture.serial, picture.frame_num, limits),
            Marking::Operations(operations) => {
                let numbering = Numbering::new(frame_num, picture.fields, limits);
                for &operation in operations {
                    match operation {
                        Operation::CurrentToLongTerm(index) => {
                            self.free_long_term_index(index, picture.serial);
                            long_term = Some(index);
                        }
                        Operation::UnmarkAll => {
                            self.frames.clear();
                            // It is taken to have had frame_num 0 (7.4.3).
                            frame_num = 0;
                        }
                        operation => self.apply(operation, numbering),
                    }
                }
                self.frames.retain(|frame| frame.is_marked() || frame.serial == picture.serial);
            }
        }
        self.place(picture, frame_num, long_term);
        self.bound(picture.serial, frame_num, limits);
    }

    /// Stores a frame that a gap in `frame_num` implies (8.2.5.2). One that `repeats` has the picture of the one before.
    pub(crate) fn infer(&mut self, serial: u64, frame_num: u32, limits: Limits, repeats: bool) {
        let newest = self.frames.iter().rev().find(|frame| frame.short_term.any());
        let units = newest.filter(|_| repeats).map_or([None, None], |frame| frame.units);
        let order = self.stand_in_order();
        self.slide(serial, frame_num, limits);
        self.frames.push(StoredFrame {
            serial,
            frame_num,
            long_term_frame_idx: 0,
            short_term: Fields::BOTH,
            long_term: Fields::NONE,
            fields: Fields::BOTH,
            orders: [order; 2],
            stand_in_order: order,
            units,
        });
    }

    /// Where a decoder puts a repeated frame: one frame, two fields, after the newest.
    fn stand_in_order(&self) -> i64 {
        self.frames.iter().rev().find(|frame| frame.short_term.any()).map_or(0, |frame| frame.order() + 2)
    }

    /// The sliding window (8.2.5.3). The second field of a stored frame takes no room.
    fn slide(&mut self, serial: u64, frame_num: u32, limits: Limits) {
        if self.frames.iter().all(|frame| frame.serial != serial) {
            self.make_room(limits.max_frames, serial, frame_num, limits);
        }
    }

    /// A stream that marks more frames than it said loses the oldest, as in FFmpeg.
    fn bound(&mut self, serial: u64, frame_num: u32, limits: Limits) {
        self.make_room(limits.max_frames + 1, serial, frame_num, limits);
    }

    /// Removes short-term frames with the smallest `FrameNumWrap`, and then any, until less than `count` are left.
    fn make_room(&mut self, count: usize, serial: u64, frame_num: u32, limits: Limits) {
        let numbering = Numbering::new(frame_num, Fields::BOTH, limits);
        while self.frames.len() >= count {
            let others = self.frames.iter().enumerate().filter(|(_, frame)| frame.serial != serial);
            let rank = |frame: &StoredFrame| (!frame.short_term.any(), numbering.wrap(frame));
            let Some((oldest, _)) = others.min_by_key(|(_, frame)| rank(frame)) else { return };
            self.frames.remove(oldest);
        }
    }

    fn apply(&mut self, operation: Operation, numbering: Numbering) {
        let current = numbering.current();
        match operation {
            Operation::UnmarkShortTerm(difference) => {
                if let Some((serial, fields)) = serial_of(self.short_term(numbering, current - difference)) {
                    self.change(serial, |frame| frame.unmark(fields));
                }
            }
            Operation::UnmarkLongTerm(number) => {
                if let Some((serial, fields)) = serial_of(self.long_term(numbering, number)) {
                    self.change(serial, |frame| frame.unmark(fields));
                }
            }
            Operation::ShortToLongTerm(difference, index) => {
                if let Some((serial, fields)) = serial_of(self.short_term(numbering, current - difference)) {
                    self.free_long_term_index(index, serial);
                    self.change(serial, |frame| {
                        frame.short_term = frame.short_term.without(fields);
                        frame.long_term = frame.long_term.with(fields);
                        frame.long_term_frame_idx = index;
                    });
                }
            }
            Operation::LimitLongTerm(count) => {
                for frame in self.frames.iter_mut().filter(|frame| frame.long_term_frame_idx >= count) {
                    frame.long_term = Fields::NONE;
                }
            }
            Operation::UnmarkAll | Operation::CurrentToLongTerm(_) => {}
        }
    }

    fn change(&mut self, serial: u64, change: impl FnOnce(&mut StoredFrame)) {
        if let Some(frame) = self.frames.iter_mut().find(|frame| frame.serial == serial) {
            change(frame);
        }
    }

    /// A `LongTermFrameIdx` that is given to a frame is taken from any other (8.2.5.4.3, 8.2.5.4.6).
    fn free_long_term_index(&mut self, index: u32, serial: u64) {
        for frame in self.frames.iter_mut().filter(|frame| frame.serial != serial) {
            if frame.long_term_frame_idx == index {
                frame.long_term = Fields::NONE;
            }
        }
    }

    fn place(&mut self, picture: &DecodedPicture, frame_num: u32, long_term: Option<u32>) {
        let stand_in_order = self.stand_in_order();
        let at = self.frames.iter().position(|frame| frame.serial == picture.serial).unwrap_or_else(|| {
            self.frames.push(StoredFrame {
                serial: picture.serial,
                frame_num,
                long_term_frame_idx: 0,
                short_term: Fields::NONE,
                long_term: Fields::NONE,
                fields: Fields::NONE,
                orders: picture.orders,
                stand_in_order,
                units: [None, None],
            });
            self.frames.len() - 1
        });
        let frame = &mut self.frames[at];
        frame.fields = frame.fields.with(picture.fields);
        for (field, parity) in [Fields::TOP, Fields::BOTTOM].into_iter().enumerate() {
            if picture.fields.holds(parity) {
                frame.units[field] = Some(picture.unit);
                frame.orders[field] = picture.orders[field];
            }
        }
        match long_term {
            None => frame.short_term = frame.short_term.with(picture.fields),
            Some(index) => {
                frame.long_term = frame.long_term.with(picture.fields);
                frame.long_term_frame_idx = index;
            }
        }
    }
}

fn serial_of(found: Option<(&StoredFrame, Fields)>) -> Option<(u64, Fields)> {
    found.map(|(frame, fields)| (frame.serial, fields))
}
