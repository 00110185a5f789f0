//! Reference picture lists of a slice (ITU-T H.264, 8.2.4).

use std::cmp::Reverse;

use crate::h264::buffer::{Numbering, ReferenceBuffer, StoredFrame};
use crate::h264::slice_header::{Fields, ListHeader, Modification};
use crate::picture::PictureType;

/// An entry of a reference picture list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The list is longer than there are reference pictures: nothing uses it.
    Empty,
    /// A modification names a picture that is not there.
    Absent,
    /// Fields of the frame with this serial number.
    Picture { serial: u64, fields: Fields },
}

/// The picture that a slice belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentPicture {
    pub(crate) fields: Fields,
    pub(crate) numbering: Numbering,
    /// `PicOrderCnt()` of it.
    pub(crate) order: i64,
}

/// A frame that stands elsewhere in picture order, or nowhere, in the decoder that is thought of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Displaced {
    pub(crate) serial: u64,
    pub(crate) order: Option<i64>,
}

/// The lists of a slice, each as long as it has active entries.
pub(crate) fn reference_lists(
    buffer: &ReferenceBuffer,
    current: CurrentPicture,
    header: &ListHeader,
    displaced: Option<Displaced>,
) -> [Vec<Entry>; 2] {
    let mut lists = match header.kind {
        PictureType::P => [by_number(buffer, current), vec![]],
        PictureType::B => by_order(buffer, current, displaced),
        PictureType::I | PictureType::D => return [vec![], vec![]],
    };
    for (list, entries) in lists.iter_mut().enumerate().take(header.count()) {
        let active = header.active[list];
        entries.resize(active, Entry::Empty);
        modify(entries, buffer, current, &header.modifications[list]);
    }
    lists
}

/// The initial list of P slices (8.2.4.2.1, 8.2.4.2.2).
fn by_number(buffer: &ReferenceBuffer, current: CurrentPicture) -> Vec<Entry> {
    let mut short: Vec<_> = short_term(buffer, current).collect();
    short.sort_by_key(|frame| Reverse(current.numbering.wrap(frame)));
    let mut list = entries(&short, current, |frame| frame.short_term);
    list.extend(long_term(buffer, current));
    list
}

/// The initial lists of B slices (8.2.4.2.3, 8.2.4.2.4).
fn by_order(buffer: &ReferenceBuffer, current: CurrentPicture, displaced: Option<Displaced>) -> [Vec<Entry>; 2] {
    let order = |frame: &StoredFrame| match displaced {
        Some(Displaced { serial, order }) if serial == frame.serial => order,
        _ => Some(frame.order()),
    };
    let ordered = short_term(buffer, current).filter_map(|frame| order(frame).map(|order| (order, frame)));
    // The first field of the frame whose second one this is may have the same count.
    let is_before = |order: i64| order < current.order || (current.fields.is_single() && order == current.order);
    let (mut before, mut after): (Vec<_>, Vec<_>) = ordered.partition(|(order, _)| is_before(*order));
    before.sort_by_key(|(order, _)| Reverse(*order));
    after.sort_by_key(|(order, _)| *order);
    let joined = |first: &[(i64, _)], second: &[(i64, _)]| {
        let frames: Vec<_> = first.iter().chain(second).map(|(_, frame)| *frame).collect();
        let mut list = entries(&frames, current, |frame: &StoredFrame| frame.short_term);
        list.extend(long_term(buffer, current));
        list
    };
    let mut lists = [joined(&before, &after), joined(&after, &before)];
    if lists[1].len() > 1 && lists[0] == lists[1] {
        lists[1].swap(0, 1);
    }
    lists
}

/// Frames that a picture may refer to as short-term: whole frames, or, for a field, all with a field so marked.
fn short_term(buffer: &ReferenceBuffer, current: CurrentPicture) -> impl Iterator<Item = &StoredFrame> {
    buffer.frames().iter().filter(move |frame| match current.fields.is_single() {
        true => frame.short_term.any(),
        false => frame.short_term == Fields::BOTH,
    })
}

fn long_term(buffer: &ReferenceBuffer, current: CurrentPicture) -> Vec<Entry> {
    let is_usable = |frame: &&StoredFrame| match current.fields.is_single() {
        true => frame.long_term.any(),
        false => frame.long_term == Fields::BOTH,
    };
    let mut frames: Vec<_> = buffer.frames().iter().filter(is_usable).collect();
    frames.sort_by_key(|frame| frame.long_term_frame_idx);
    entries(&frames, current, |frame| frame.long_term)
}

/// Frames as entries; for a field picture their fields, by turns of the same and of the other parity (8.2.4.2.5).
fn entries(frames: &[&StoredFrame], current: CurrentPicture, marked: impl Fn(&StoredFrame) -> Fields) -> Vec<Entry> {
    let entry = |frame: &StoredFrame, fields| Entry::Picture { serial: frame.serial, fields };
    if !current.fields.is_single() {
        return frames.iter().map(|frame| entry(frame, Fields::BOTH)).collect();
    }
    let with = |parity| -> Vec<_> {
        frames.iter().filter(|frame| marked(frame).holds(parity)).map(|frame| entry(frame, parity)).collect()
    };
    let (same, other) = (with(current.fields), with(current.fields.others()));
    let turns = same.len().min(other.len());
    let mut list: Vec<_> = same.iter().zip(&other).flat_map(|(same, other)| [*same, *other]).collect();
    list.extend(&same[turns..]);
    list.extend(&other[turns..]);
    list
}

/// Moves the pictures that are named to the front, one after the other (8.2.4.3).
fn modify(list: &mut Vec<Entry>, buffer: &ReferenceBuffer, current: CurrentPicture, modifications: &[Modification]) {
    let numbering = current.numbering;
    let active = list.len();
    let mut predicted = numbering.current();
    for (at, modification) in modifications.iter().enumerate().take(active) {
        let found = match *modification {
            Modification::LongTerm(number) => buffer.long_term(numbering, number),
            Modification::Subtract(difference) | Modification::Add(difference) => {
                let is_added = matches!(modification, Modification::Add(_));
                let step = if is_added { difference } else { -difference };
                predicted = (predicted + step).rem_euclid(numbering.modulus());
                let is_wrapped = predicted > numbering.current();
                buffer.short_term(numbering, if is_wrapped { predicted - numbering.modulus() } else { predicted })
            }
        };
        let named = found.map_or(Entry::Absent, |(frame, fields)| Entry::Picture { serial: frame.serial, fields });
        list.insert(at, named);
        let again = list.iter().skip(at + 1).position(|entry| *entry == named && named != Entry::Absent);
        list.remove(again.map_or(active, |after| at + 1 + after));
    }
}
