//! A picture whose slices are coming.

use std::collections::BTreeSet;

use crate::h264::buffer::{Limits, Numbering, StoredFrame};
use crate::h264::lists::CurrentPicture;
use crate::h264::picture_order::{Orders, order_of};
use crate::h264::slice_header::{ListHeader, PictureHeader};
use crate::held_references::{ReferenceMarks, bit_of};
use crate::picture::PictureType;
use crate::picture_order::PictureNumbers;

/// A picture whose slices are coming.
#[derive(Clone, Debug)]
pub(crate) struct OpenPicture {
    pub(crate) header: PictureHeader,
    pub(crate) orders: Orders,
    pub(crate) is_second_field: bool,
    pub(crate) references: BTreeSet<u64>,
    pub(crate) missing: bool,
    pub(super) unit: u64,
    pub(super) serial: u64,
    pub(super) limits: Limits,
    pub(super) gaps_allowed: bool,
    /// How many picture order counts the low bits distinguish.
    pub(crate) order_turn: Option<i64>,
    /// They follow `frame_num`, of which the same is true.
    pub(crate) order_follows_frame_num: bool,
    pub(crate) numbers: Option<PictureNumbers>,
    /// `max_num_reorder_frames`, where the stream states it.
    pub(crate) reordered: Option<u8>,
    /// Shown after a recovery point.
    pub(super) after_recovery: bool,
    /// Lists that were looked into.
    pub(super) lists: Vec<ListHeader>,
    /// Short-term reference frames that their modifications name.
    pub(super) named: u32,
    /// Frames or fields that have to be there for the longest of them to be full.
    pub(super) listed: usize,
}

impl OpenPicture {
    pub(crate) fn order(&self) -> i64 {
        order_of(self.header.fields, self.orders)
    }

    pub(crate) fn unit(&self) -> u64 {
        self.unit
    }

    pub(crate) fn max_frame_num(&self) -> u32 {
        self.limits.max_frame_num
    }

    fn max_reference_frames(&self) -> u8 {
        // 16 at most (A.3.1).
        u8::try_from(self.limits.max_frames).unwrap_or(u8::MAX)
    }

    /// What it says of the reference pictures that a decoder keeps; `unmarks`: those that it unmarks.
    pub(crate) fn marks(&self, unmarks: u32) -> ReferenceMarks {
        let listed = if self.header.fields.is_single() { self.listed / 2 } else { self.listed };
        ReferenceMarks {
            max_frames: self.max_reference_frames(),
            by_order: self.lists_by_order(),
            unmarks,
            gaps_allowed: self.gaps_allowed,
            listed: u8::try_from(listed).unwrap_or(u8::MAX),
            named: self.named,
        }
    }

    /// The bit of a frame among those of [`ReferenceMarks::unmarks`].
    pub(super) fn bit_of(&self, frame: &StoredFrame) -> u32 {
        bit_of(self.header.frame_num, frame.frame_num, self.limits.max_frame_num).unwrap_or(0)
    }

    /// How many frames the lists of its B slices have, where no modifications name all of them.
    fn lists_by_order(&self) -> (u8, u8) {
        let of_b_slices = || self.lists.iter().filter(|header| header.kind == PictureType::B);
        let frames = |list: usize| {
            let is_by_order = |header: &&ListHeader| header.modifications[list].len() < header.active[list];
            let longest = of_b_slices().filter(is_by_order).map(|header| header.active[list]).max().unwrap_or(0);
            // Entries of a field are fields: each frame has two.
            let frames = if self.header.fields.is_single() { longest.div_ceil(2) } else { longest };
            u8::try_from(frames).unwrap_or(u8::MAX)
        };
        (frames(0), frames(1))
    }

    pub(super) fn current(&self) -> CurrentPicture {
        let numbering = Numbering::new(self.header.frame_num, self.header.fields, self.limits);
        CurrentPicture { fields: self.header.fields, numbering, order: self.order() }
    }
}
