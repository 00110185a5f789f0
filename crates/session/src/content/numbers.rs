//! Numbers in the slice headers of H.264 that a sender changed (`framewire_media::picture_order`), changed back.

use framewire_media::Movie;
use framewire_media::access_unit::KeyKind;
use framewire_media::picture_order::{PictureNumbers, Renumbering, SliceNumbers};
use framewire_units::Timestamp;

use super::units::{Unit, UnitCutter, UnitHash, hash_of};

/// What a sender added to the numbers of slices, and where these stand in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    layout: PictureNumbers,
    pub(super) by: Renumbering,
}

impl Change {
    /// The slice with the numbers that it had before; `None` of one that has none.
    pub(super) fn undo(&self, slice: &[u8]) -> Option<Vec<u8>> {
        self.layout.renumber(slice, self.by.inverse())
    }
}

/// A frame of [`OpenKeys`] that a slice may be of, and what was added to its numbers then.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyReading {
    pub(super) frame: u32,
    pub(super) change: Option<Change>,
}

/// The open key frames of a movie, and the frames that begin a gradual refresh: from such a frame on a sender may change
/// numbers.
#[derive(Debug, Default)]
pub(super) struct OpenKeys {
    /// Where numbers stand, each way once: parameter sets may change within a movie.
    layouts: Vec<PictureNumbers>,
    /// Their slices without their numbers, and the frames. Sorted.
    slices: Vec<(UnitHash, u32)>,
    /// The numbers of these frames, and their layouts, by frame.
    numbers: Vec<(u32, SliceNumbers, usize)>,
    /// The first slices, as they are, of those that differ in their numbers only. Sorted.
    ambiguous: Vec<UnitHash>,
}

impl OpenKeys {
    pub(super) fn of(movie: &Movie) -> Self {
        let mut keys = Self::default();
        let mut firsts = vec![];
        let frames = &movie.index.frames;
        let is_open = |key| matches!(key, Some(KeyKind::Open | KeyKind::BrokenLink));
        for frame in frames.iter().filter(|frame| is_open(frame.key) || frame.recovery.begins()) {
            let Some(numbers) = frame.picture_order.and_then(|order| order.numbers) else { continue };
            let layout = keys.layout_like(numbers);
            let number = frame.decode_index;
            let mut sink = |unit: &Unit<'_>| {
                let (layout, at) = (keys.layouts[layout], layout);
                let Some(bare) = layout.without_numbers(unit.bytes()).map(|bare| hash_of(&bare)) else { return };
                if keys.numbers.last().is_none_or(|&(last, ..)| last != number) {
                    let numbers = layout.read(unit.bytes()).expect("invariant: it has numbers that were taken out");
                    keys.numbers.push((number, numbers, at));
                    firsts.push((bare, unit.hash));
                }
                keys.slices.push((bare, number));
            };
            let mut cutter = UnitCutter::new(movie.index.sequence.codec);
            cutter.feed(Timestamp::ZERO, &movie.frame_bytes(number as usize), &mut sink);
            cutter.finish(&mut sink);
        }
        keys.slices.sort_unstable();
        firsts.sort_unstable();
        firsts.dedup();
        let ambiguous = firsts.chunk_by(|one, next| one.0 == next.0).filter(|ambiguous| ambiguous.len() > 1);
        keys.ambiguous = ambiguous.flatten().map(|&(_, first)| first).collect();
        keys.ambiguous.sort_unstable();
        keys
    }

    fn layout_like(&mut self, numbers: PictureNumbers) -> usize {
        self.layouts.iter().position(|known| known.has_layout_of(numbers)).unwrap_or_else(|| {
            self.layouts.push(numbers);
            self.layouts.len() - 1
        })
    }

    /// Whether there are key frames that begin with this slice but for its numbers, with several numbers.
    pub(super) fn has_ambiguous(&self, first: UnitHash) -> bool {
        self.ambiguous.binary_search(&first).is_ok()
    }

    /// Whether a slice has numbers; a partition without a slice header has none.
    pub(super) fn has_numbers(&self, slice: &[u8]) -> bool {
        self.layouts.iter().any(|layout| layout.read(slice).is_some())
    }

    /// The key frames from `next` on that have the slice but for its numbers, in order.
    pub(super) fn like<'a>(&'a self, slice: &'a [u8], next: u32) -> impl Iterator<Item = KeyReading> + 'a {
        self.layouts.iter().enumerate().flat_map(move |(at, layout)| {
            let read = layout.read(slice).zip(layout.without_numbers(slice));
            read.into_iter().flat_map(move |(changed, bare)| {
                let bare = hash_of(&bare);
                let from = self.slices.partition_point(|slice| *slice < (bare, next));
                let same = self.slices[from..].iter().take_while(move |(hash, _)| *hash == bare);
                same.filter_map(move |&(_, frame)| {
                    let known = self.numbers.binary_search_by_key(&frame, |&(frame, ..)| frame).ok()?;
                    let (_, numbers, _) = self.numbers.get(known).filter(|&&(.., layout)| layout == at)?;
                    let by = layout.difference(*numbers, changed);
                    Some(KeyReading { frame, change: (!by.is_none()).then_some(Change { layout: *layout, by }) })
                })
            })
        })
    }
}
