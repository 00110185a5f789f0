//! Numbers in the slice headers of H.264 that a sender changed (`framewire_media::picture_order`), changed back.

use framewire_media::Movie;
use framewire_media::access_unit::KeyKind;
use framewire_media::picture_order::{PictureNumbers, Renumbering, SliceNumbers};
use framewire_units::Timestamp;

use super::index::ContentIndex;
use super::units::{Unit, UnitCutter, UnitHash, hash_of};

/// `nal_unit_type` of slices of an IDR picture, whose numbers begin anew (ITU-T H.264, table 7-1).
const IDR_SLICE: u8 = 5;

/// What was added to the numbers of the slices that come, told by the slices of open key frames, and of frames that begin
/// a gradual refresh: from such a frame on a sender may change them.
#[derive(Debug)]
pub(super) struct ChangedNumbers {
    /// Where numbers stand, each way once: parameter sets may change within a movie.
    layouts: Vec<PictureNumbers>,
    /// The first slices of these frames, without their numbers, and the frames. Sorted.
    keys: Vec<(UnitHash, u32)>,
    /// The numbers of these frames, and their layouts, by frame.
    numbers: Vec<(u32, SliceNumbers, usize)>,
    /// What is added now, and in which layout.
    change: Option<(PictureNumbers, Renumbering)>,
}

impl ChangedNumbers {
    pub(super) fn of(movie: &Movie) -> Self {
        let mut changed = Self { layouts: Vec::new(), keys: Vec::new(), numbers: Vec::new(), change: None };
        let frames = &movie.index.frames;
        let is_open = |key| matches!(key, Some(KeyKind::Open | KeyKind::BrokenLink));
        for frame in frames.iter().filter(|frame| is_open(frame.key) || frame.recovery.begins()) {
            let Some(layout) = frame.picture_order.and_then(|order| order.numbers) else { continue };
            let at = changed.layouts.iter().position(|known| known.has_layout_of(layout)).unwrap_or_else(|| {
                changed.layouts.push(layout);
                changed.layouts.len() - 1
            });
            let mut first = None;
            let mut sink = |unit: &Unit<'_>| {
                let slice = unit.bytes();
                let bare = || Some((hash_of(&layout.without_numbers(slice)?), layout.read(slice)?));
                first.get_or_insert_with(bare);
            };
            let mut cutter = UnitCutter::new(movie.index.sequence.codec);
            cutter.feed(Timestamp::ZERO, &movie.frame_bytes(frame.decode_index as usize), &mut sink);
            cutter.finish(&mut sink);
            if let Some((bare, numbers)) = first.flatten() {
                changed.keys.push((bare, frame.decode_index));
                changed.numbers.push((frame.decode_index, numbers, at));
            }
        }
        changed.keys.sort_unstable();
        changed
    }

    /// What was added to the numbers of the slice that came last.
    pub(super) fn by(&self) -> Renumbering {
        self.change.map_or_else(Renumbering::default, |(_, by)| by)
    }

    /// The slice with the numbers that it has in the movie, of which frames from `next` on may come; `None` where they
    /// were not changed, or it is not the movie's.
    pub(super) fn original(&mut self, slice: &[u8], index: &ContentIndex, next: u32) -> Option<Vec<u8>> {
        if slice.first().is_some_and(|header| header & 0x1f == IDR_SLICE) {
            self.change = None;
            return None;
        }
        let back = self.change.and_then(|(layout, by)| layout.renumber(slice, by.inverse()));
        let original = back.filter(|original| index.has(hash_of(original)));
        if original.is_some() {
            return original;
        }
        // A partition without a header has no numbers, and says nothing of others.
        self.layouts.iter().find_map(|layout| layout.read(slice))?;
        if index.has(hash_of(slice)) {
            self.change = None;
            return None;
        }
        let (layout, by) = self.key_like(slice, next)?;
        self.change = Some((layout, by));
        layout.renumber(slice, by.inverse())
    }

    /// The first of these frames from `next` on that begins with the slice but for its numbers, and what was added to
    /// these.
    fn key_like(&self, slice: &[u8], next: u32) -> Option<(PictureNumbers, Renumbering)> {
        self.layouts.iter().enumerate().find_map(|(at, layout)| {
            let bare = hash_of(&layout.without_numbers(slice)?);
            let from = self.keys.partition_point(|key| *key < (bare, next));
            let &(_, frame) = self.keys.get(from).filter(|(hash, _)| *hash == bare)?;
            let known = self.numbers.binary_search_by_key(&frame, |(frame, ..)| *frame).ok()?;
            let (_, numbers, _) = self.numbers.get(known).filter(|(.., layout)| *layout == at)?;
            Some((*layout, layout.difference(*numbers, layout.read(slice)?)))
        })
    }
}
