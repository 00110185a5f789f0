//! What the pictures of an H.264 stream refer to, followed from picture to picture.

use std::collections::BTreeSet;

use crate::h264::buffer::{DecodedPicture, Limits, ReferenceBuffer, StoredFrame};
use crate::h264::lists::{CurrentPicture, Displaced, Entry, reference_lists};
use crate::h264::open_picture::OpenPicture;
use crate::h264::parameter_sets::{PictureOrder, SequenceParameterSet};
use crate::h264::picture_order::{OrderCounter, Orders, order_of};
use crate::h264::slice_header::{ListHeader, Marking, PictureHeader};
use crate::picture::PictureType;
use crate::picture_order::PictureNumbers;

/// Slices of one picture with lists of their own that are looked into; beyond that it refers to all there is.
const MAX_DIFFERENT_LISTS: usize = 64;

/// Pictures whose loss would leave other frames marked, and that are followed at a time. An encoder that unmarks
/// frames with every picture has as many as frames are marked, at most 16, until the next slides them out.
const MAX_ALTERNATIVES: usize = 32;

/// Where decoding can begin though what came before it is still there: an I picture with a recovery point.
#[derive(Clone, Copy, Debug)]
struct RecoveryPoint {
    serial: u64,
    order: i64,
    quality: RecoveryQuality,
}

/// What a recovery point promises (D.2.8).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecoveryQuality {
    /// `exact_match_flag`: what is shown after it does not need anything before it.
    pub(crate) exact: bool,
    /// `broken_link_flag`: what is shown before it needs what is gone.
    pub(crate) broken_link: bool,
}

/// What a decoder holds that never got one unit with memory management commands, but all others.
#[derive(Clone, Debug)]
struct Alternative {
    unit: u64,
    serial: u64,
    buffer: ReferenceBuffer,
}

/// Follows the decoding process, picture by picture: [`begin`](Self::begin), its slices with
/// [`refer`](Self::refer), [`end`](Self::end).
#[derive(Clone, Debug, Default)]
pub(crate) struct PictureTracker {
    orders: OrderCounter,
    buffer: ReferenceBuffer,
    alternatives: Vec<Alternative>,
    serial: u64,
    /// `PrevRefFrameNum`; `None` before the first picture.
    previous_frame_num: Option<u32>,
    /// The last field picture, when its frame lacks the other, with the frame's serial number and unit.
    open_field: Option<(PictureHeader, u64, u64)>,
    /// Where frames are missing, and the stream may have no gaps, it is the frame before that is referred to: decoders repeat
    /// it (8.2.5.2 leaves what they do to them).
    repeats_in_gaps: bool,
    /// Every picture that may still be referred to is known: since an IDR picture, or because there have been so many.
    is_complete: bool,
    recovery: Option<RecoveryPoint>,
    /// The unit that ended the sequence before with memory management operation 5: without it all that follows is
    /// numbered wrongly.
    base: Option<u64>,
}

impl PictureTracker {
    /// One in which what is missing was never there.
    pub(crate) fn of_whole_stream() -> Self {
        Self { repeats_in_gaps: true, ..Self::default() }
    }

    /// The same at the start of a stream.
    pub(crate) fn restarted(&self) -> Self {
        Self { repeats_in_gaps: self.repeats_in_gaps, ..Self::default() }
    }

    /// The first slice header of a picture has come.
    pub(crate) fn begin(&mut self, unit: u64, header: &PictureHeader, sequence: &SequenceParameterSet) -> OpenPicture {
        let limits =
            Limits { max_frames: sequence.max_reference_frames.max(1), max_frame_num: sequence.max_frame_num() };
        let first_field = self.open_field.take().filter(|(first, ..)| first.is_completed_by(header));
        if first_field.is_none() {
            self.fill_gap(header, limits, sequence.gaps_allowed);
            self.serial += 1;
        }
        if header.idr.is_some() {
            self.recovery = None;
            self.base = None;
        }
        let orders = self.orders.next(header, sequence);
        let order = order_of(header.fields, orders);
        OpenPicture {
            header: header.clone(),
            orders,
            is_second_field: first_field.is_some(),
            references: BTreeSet::new(),
            missing: false,
            // Also where its fields come one by one, a frame is one to those that refer to it.
            unit: first_field.as_ref().map_or(unit, |(.., unit)| *unit),
            serial: first_field.map_or(self.serial, |(_, serial, _)| serial),
            limits,
            gaps_allowed: sequence.gaps_allowed,
            order_turn: sequence.order_turn(),
            numbers: PictureNumbers::of(header, sequence),
            reordered: sequence.reordered,
            order_follows_frame_num: sequence.picture_order == PictureOrder::Decoding,
            after_recovery: self.recovery.is_some_and(|point| order > point.order),
            lists: Vec::new(),
            named: 0,
            listed: 0,
        }
    }

    /// Infers the frames that a gap in `frame_num` implies (8.2.5.2); only the newest can stay.
    fn fill_gap(&mut self, header: &PictureHeader, limits: Limits, gaps_allowed: bool) {
        let repeats = self.repeats_in_gaps && !gaps_allowed;
        let Some(previous) = self.previous_frame_num.filter(|_| header.idr.is_none()) else { return };
        let modulus = limits.max_frame_num;
        let distance = (header.frame_num + modulus - previous % modulus) % modulus;
        let inferred = distance.saturating_sub(1).min(limits.max_frames as u32);
        for back in (1..=inferred).rev() {
            let frame_num = (header.frame_num + modulus - back) % modulus;
            self.serial += 1;
            self.buffer.infer(self.serial, frame_num, limits, repeats);
            for alternative in &mut self.alternatives {
                alternative.buffer.infer(self.serial, frame_num, limits, repeats);
            }
            self.previous_frame_num = Some(frame_num);
        }
    }

    /// A slice of the picture refers to what its lists hold.
    pub(crate) fn refer(&self, picture: &mut OpenPicture, header: &ListHeader) {
        if header.kind == PictureType::I || picture.lists.contains(header) {
            return;
        }
        if picture.lists.len() == MAX_DIFFERENT_LISTS {
            self.refer_to_all(picture);
            return;
        }
        picture.lists.push(header.clone());
        picture.references.extend(self.base);
        let current = picture.current();
        let by_standard = self.without_inferred(current, header, picture.gaps_allowed);
        let used = reference_lists(&by_standard, current, header, None);
        used.iter().for_each(|list| self.take_list(picture, list));
        for (list, modifications) in used.iter().zip(&header.modifications) {
            let (named, others) = list.split_at(modifications.len().min(list.len()));
            self.note_named(picture, named);
            // One may be named several times, with other weights.
            let distinct = (0..named.len()).filter(|&at| !named[..at].contains(&named[at])).count();
            picture.listed = picture.listed.max(distinct + others.len());
        }
        let differs = |buffer: &ReferenceBuffer, displaced: Option<Displaced>| {
            reference_lists(buffer, current, header, displaced) != used
        };
        // A frame that is not used may still have its place before those that are: in the lists of a decoder that
        // never got it, the others move up, or what stands in for it pushes them down.
        // Where one that was inferred stands is not known: it may be the nearest in either direction.
        let is_out_of_place = |buffer: &ReferenceBuffer, frame: &StoredFrame| {
            let places = match frame.is_inferred() {
                true => [Some(current.order - 1), Some(current.order + 1)],
                false => [None, Some(frame.stand_in_order)],
            };
            places.into_iter().any(|order| differs(buffer, Some(Displaced { serial: frame.serial, order })))
        };
        if header.kind == PictureType::B {
            picture.missing |= !self.is_complete && !picture.after_recovery;
            for frame in by_standard.frames().iter().filter(|frame| frame.short_term.any()) {
                let is_used = frame.units_of(frame.fields).any(|unit| picture.references.contains(&unit));
                if !is_used && frame.serial != picture.serial && is_out_of_place(&by_standard, frame) {
                    let is_needed = !(picture.after_recovery && self.is_before_recovery(frame));
                    picture.missing |= frame.is_inferred() && is_needed;
                    picture.references.extend(frame.units_of(frame.fields));
                }
            }
        }
        for alternative in &self.alternatives {
            let frame = alternative.buffer.frames().iter().find(|frame| frame.serial == alternative.serial);
            let is_b = header.kind == PictureType::B;
            if differs(&alternative.buffer, None)
                || frame.is_some_and(|frame| is_b && is_out_of_place(&alternative.buffer, frame))
            {
                picture.references.insert(alternative.unit);
            }
        }
        picture.references.remove(&picture.unit);
    }

    /// The buffer as the initial lists of a slice see it: where gaps in `frame_num` are allowed, B slices leave
    /// inferred frames out (8.2.4.2.3).
    fn without_inferred(&self, current: CurrentPicture, header: &ListHeader, gaps_allowed: bool) -> ReferenceBuffer {
        let mut buffer = self.buffer.clone();
        if gaps_allowed && header.kind == PictureType::B && !current.fields.is_single() {
            buffer.forget_inferred();
        }
        buffer
    }

    fn take_list(&self, picture: &mut OpenPicture, list: &[Entry]) {
        for (at, entry) in list.iter().enumerate() {
            let frame = match entry {
                Entry::Picture { serial, .. } => self.buffer.frames().iter().find(|frame| frame.serial == *serial),
                Entry::Absent | Entry::Empty => None,
            };
            let before_recovery = frame.is_some_and(|frame| self.is_before_recovery(frame));
            match (entry, frame) {
                (Entry::Picture { fields, .. }, Some(frame)) => {
                    match self.recovery.filter(|_| before_recovery).map(|point| point.quality) {
                        Some(quality) if picture.after_recovery && quality.exact => continue,
                        Some(quality) if !picture.after_recovery && quality.broken_link => {
                            picture.missing = true;
                            continue;
                        }
                        _ => {}
                    }
                    picture.references.extend(frame.units_of(*fields));
                    // Where gaps are allowed, no picture may refer to an inferred frame (8.2.5.2), so that one in a
                    // list means nothing; but the first entry is what skipped macroblocks refer to.
                    let is_missing = frame.is_inferred() && (at == 0 || !picture.gaps_allowed);
                    picture.missing |= is_missing && !(picture.after_recovery && before_recovery);
                }
                (Entry::Empty, _) => picture.missing |= !self.is_complete && !picture.after_recovery,
                _ => picture.missing |= self.is_complete || !picture.after_recovery,
            }
        }
        picture.references.remove(&picture.unit);
    }

    /// Modifications move these entries to the front of a list.
    fn note_named(&self, picture: &mut OpenPicture, entries: &[Entry]) {
        for entry in entries {
            if let Entry::Picture { serial, .. } = entry
                && let Some(frame) = self.buffer.frames().iter().find(|frame| frame.serial == *serial)
            {
                picture.named |= if frame.short_term.any() { picture.bit_of(frame) } else { 0 };
            }
        }
    }

    fn is_before_recovery(&self, frame: &StoredFrame) -> bool {
        self.recovery.is_some_and(|point| frame.serial < point.serial)
    }

    fn refer_to_all(&self, picture: &mut OpenPicture) {
        let units = self.buffer.frames().iter().flat_map(|frame| frame.units_of(frame.fields));
        picture.references.extend(units.chain(self.alternatives.iter().map(|alternative| alternative.unit)));
        picture.missing |= self.buffer.frames().iter().any(StoredFrame::is_inferred);
        picture.references.remove(&picture.unit);
    }

    /// All slices of a picture have come: marks reference pictures as it says, and gives its picture order counts and the
    /// numbers that it [unmarks](crate::held_references::ReferenceMarks::unmarks). `recovery` is there when decoding can
    /// begin at it though it is no IDR picture.
    pub(crate) fn end(
        &mut self,
        picture: &OpenPicture,
        marking: &Marking,
        recovery: Option<RecoveryQuality>,
    ) -> (Orders, u32) {
        let header = &picture.header;
        let mut unmarked = 0;
        let mut orders = picture.orders;
        if header.idr.is_some() {
            self.is_complete = true;
            self.alternatives.clear();
        }
        if header.is_reference {
            self.previous_frame_num = Some(header.frame_num);
            if marking.unmarks_all() {
                orders = self.orders.restart(header.fields, orders);
                self.previous_frame_num = Some(0);
                self.base = Some(picture.unit);
                self.recovery = None;
                self.alternatives.clear();
            }
            unmarked = self.store(picture, orders, marking);
        }
        if let Some(quality) = recovery {
            self.recovery = Some(RecoveryPoint { serial: picture.serial, order: picture.order(), quality });
        }
        let wants_another = header.fields.is_single() && !picture.is_second_field;
        self.open_field = wants_another.then(|| (header.clone(), picture.serial, picture.unit));
        (orders, unmarked)
    }

    fn store(&mut self, picture: &OpenPicture, orders: Orders, marking: &Marking) -> u32 {
        let PictureHeader { fields, frame_num, .. } = picture.header;
        let decoded = DecodedPicture { serial: picture.serial, fields, frame_num, orders, unit: picture.unit };
        let before = matches!(marking, Marking::Operations(_)).then(|| self.buffer.clone());
        self.buffer.store(&decoded, marking, picture.limits);
        let unmarked = before.as_ref().map_or(0, |before| unmarked(before, &self.buffer, picture));
        self.is_complete |= self.buffer.frames().len() == picture.limits.max_frames;
        for alternative in &mut self.alternatives {
            alternative.buffer.store(&decoded, marking, picture.limits);
        }
        if let Some(mut buffer) = before.filter(|_| !marking.unmarks_all()) {
            buffer.store(&decoded, &Marking::SlidingWindow, picture.limits);
            self.alternatives.push(Alternative { unit: picture.unit, serial: picture.serial, buffer });
        }
        let actual = &self.buffer;
        self.alternatives.retain(|alternative| !alternative.buffer.is_marked_like(actual));
        if self.alternatives.len() > MAX_ALTERNATIVES {
            self.alternatives.remove(0);
        }
        unmarked
    }
}

/// The frames that were marked as used for short-term reference `before` and are no longer, by their `frame_num` as
/// [`ReferenceMarks::unmarks`](crate::held_references::ReferenceMarks::unmarks) has them.
fn unmarked(before: &ReferenceBuffer, now: &ReferenceBuffer, picture: &OpenPicture) -> u32 {
    let is_marked = |serial: u64| now.frames().iter().any(|frame| frame.serial == serial && frame.short_term.any());
    let unmarked = before.frames().iter().filter(|frame| frame.short_term.any() && !is_marked(frame.serial));
    unmarked.fold(0, |bits, frame| bits | picture.bit_of(frame))
}
