//! Numbers in the slice headers of H.264 that a sender changed (`framewire_media::picture_order`), changed back.

use framewire_media::Movie;
use framewire_media::access_unit::KeyKind;
use framewire_media::picture_order::{PictureNumbers, Renumbering};
use framewire_units::Timestamp;

use super::index::ContentIndex;
use super::units::{Unit, UnitCutter, UnitHash, hash_of};

/// `nal_unit_type` of slices of an IDR picture, whose numbers begin anew (ITU-T H.264, table 7-1).
const IDR_SLICE: u8 = 5;

/// What was added to the numbers of the slices that come, told by the slices of open key frames, and of frames that begin
/// a gradual refresh: from such a frame on a sender may change them.
#[derive(Debug)]
pub(super) struct ChangedNumbers {
    layout: Option<PictureNumbers>,
    /// The first slices of open key frames and of those that begin a refresh: without their numbers, the frame, as they are. Sorted.
    keys: Vec<(UnitHash, u32, Vec<u8>)>,
    by: Renumbering,
}

impl ChangedNumbers {
    pub(super) fn of(movie: &Movie) -> Self {
        let frames = &movie.index.frames;
        let layout = frames.iter().find_map(|frame| frame.picture_order?.numbers);
        let mut keys = Vec::new();
        let is_open = |key| matches!(key, Some(KeyKind::Open | KeyKind::BrokenLink));
        let open = frames.iter().filter(|frame| is_open(frame.key) || frame.recovery.begins());
        for (frame, layout) in open.zip(layout.iter().cycle()) {
            let mut first = None;
            let mut sink = |unit: &Unit<'_>| _ = first.get_or_insert_with(|| unit.bytes().to_vec());
            let mut cutter = UnitCutter::new(movie.index.sequence.codec);
            cutter.feed(Timestamp::ZERO, &movie.frame_bytes(frame.decode_index as usize), &mut sink);
            cutter.finish(&mut sink);
            let bare = first.as_ref().and_then(|slice| layout.without_numbers(slice));
            keys.extend(bare.zip(first).map(|(bare, slice)| (hash_of(&bare), frame.decode_index, slice)));
        }
        keys.sort_unstable();
        Self { layout, keys, by: Renumbering::default() }
    }

    /// What was added to the numbers of the slice that came last.
    pub(super) fn by(&self) -> Renumbering {
        self.by
    }

    /// The slice with the numbers that it has in the movie, of which frames from `next` on may come; `None` where they
    /// were not changed, or it is not the movie's.
    pub(super) fn original(&mut self, slice: &[u8], index: &ContentIndex, next: u32) -> Option<Vec<u8>> {
        let layout = self.layout?;
        if slice.first().is_some_and(|header| header & 0x1f == IDR_SLICE) {
            self.by = Renumbering::default();
            return None;
        }
        let original = self.changed_back(layout, slice).filter(|original| index.has(hash_of(original)));
        if original.is_some() {
            return original;
        }
        if index.has(hash_of(slice)) {
            self.by = Renumbering::default();
            return None;
        }
        let bare = hash_of(&layout.without_numbers(slice)?);
        let at = self.keys.partition_point(|(hash, frame, _)| (*hash, *frame) < (bare, next));
        let (_, _, key) = self.keys.get(at).filter(|(hash, ..)| *hash == bare)?;
        self.by = layout.difference(key, slice)?;
        Some(key.clone())
    }

    fn changed_back(&self, layout: PictureNumbers, slice: &[u8]) -> Option<Vec<u8>> {
        let back = Renumbering { frame_num: self.by.frame_num.wrapping_neg(), order: -self.by.order };
        if self.by.is_none() { None } else { layout.renumber(slice, back) }
    }
}
