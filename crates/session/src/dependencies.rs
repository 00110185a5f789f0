//! What the frames of a movie refer to, as frame queues want it.

use std::sync::Arc;

use framewire_media::access_unit::KeyKind;
use framewire_media::{Frame, FrameIndex, PictureType};
use framewire_transport::frame::Dependencies;

/// Of every frame, in decode order.
pub(crate) fn dependencies(index: &FrameIndex) -> Arc<[Dependencies]> {
    let referenced = referenced(index);
    let (mut last_key, mut key_shown_at) = (None, None);
    let of = |(frame, referenced): (&Frame, bool)| {
        let key = key(frame);
        if key.is_some() {
            (last_key, key_shown_at) = (key, Some(frame.display_index));
        }
        let leading = key_shown_at.is_some_and(|shown_at| frame.display_index < shown_at);
        Dependencies {
            key,
            leading,
            referenced,
            temporal_layer: 0,
            references: Some(frame.references.clone()),
            missing_reference: leading && last_key == Some(KeyKind::BrokenLink),
        }
    };
    index.frames.iter().zip(referenced).map(of).collect()
}

/// A closed group needs nothing of what a broken link has lost, so that `closed_gop` is the stronger of the two flags
/// (ISO/IEC 13818-2, 6.3.8). An I picture without the header of a group may have leading B pictures.
fn key(frame: &Frame) -> Option<KeyKind> {
    let kind = match frame.gop_header {
        Some(header) if header.closed => KeyKind::Closed,
        Some(header) if header.broken_link => KeyKind::BrokenLink,
        _ => KeyKind::Open,
    };
    (frame.kind == PictureType::I).then_some(kind)
}

/// Whether another frame refers to it, or the type allows that one did.
fn referenced(index: &FrameIndex) -> Vec<bool> {
    let by_type = |frame: &Frame| matches!(frame.kind, PictureType::I | PictureType::P);
    let mut referenced: Vec<_> = index.frames.iter().map(by_type).collect();
    for reference in index.frames.iter().flat_map(|frame| &frame.references) {
        referenced[*reference as usize] = true;
    }
    referenced
}

#[cfg(test)]
mod tests {
    use framewire_media::{FrameRate, GopHeader, PictureStructure, SequenceHeader, TimeCode};
    use framewire_units::Duration;

    use super::*;

    /// A group's first picture is `(closed, broken)`; the other columns are type, display index and references.
    type Row = (Option<(bool, bool)>, PictureType, u32, &'static [u32]);

    fn index(rows: &[Row]) -> FrameIndex {
        let time_code = TimeCode { drop_frame: false, hours: 0, minutes: 0, seconds: 0, pictures: 0 };
        let frame = |(number, (group, kind, display_index, references)): (usize, &Row)| Frame {
            decode_index: number as u32,
            display_index: *display_index,
            kind: *kind,
            temporal_reference: 0,
            gop: 0,
            gop_header: group.map(|(closed, broken_link)| GopHeader { time_code, closed, broken_link }),
            structure: PictureStructure::Frame,
            offset: 0,
            size: 1,
            decode_time: Duration::ZERO,
            display_time: Duration::ZERO,
            references: references.to_vec(),
        };
        let frame_rate = FrameRate { numerator: 25, denominator: 1 };
        let sequence =
            SequenceHeader { width: 720, height: 576, frame_rate, bit_rate: None, mpeg2: true, progressive: true };
        FrameIndex { sequence, frames: rows.iter().enumerate().map(frame).collect() }
    }

    #[test]
    fn groups_say_what_their_first_picture_is() {
        use PictureType::{B, I, P};
        let movie = index(&[
            (Some((true, false)), I, 0, &[]),
            (None, P, 1, &[0]),
            (Some((false, false)), I, 3, &[]),
            (None, B, 2, &[1, 2]),
            (Some((false, true)), I, 5, &[]),
            (None, B, 4, &[2, 4]),
            (Some((true, true)), I, 7, &[]),
            (None, B, 6, &[6]),
            (None, I, 8, &[]),
            (None, B, 9, &[8]),
        ]);
        let all = dependencies(&movie);
        let keys: Vec<_> = all.iter().map(|frame| frame.key).collect();
        let (closed, open, broken) = (Some(KeyKind::Closed), Some(KeyKind::Open), Some(KeyKind::BrokenLink));
        assert_eq!(keys, [closed, None, open, None, broken, None, closed, None, open, None]);
        let those = |holds: fn(&Dependencies) -> bool| (0..10).filter(|&n| holds(&all[n])).collect::<Vec<_>>();
        assert_eq!(those(|frame| frame.leading), [3, 5, 7]);
        assert_eq!(those(|frame| frame.missing_reference), [5]);
        assert_eq!(those(|frame| !frame.referenced), [3, 5, 7, 9]);
        assert_eq!(all[3].references, Some(vec![1, 2]));
    }

    #[test]
    fn a_b_picture_that_another_refers_to_is_referenced() {
        use PictureType::{B, I, P};
        let pyramid = index(&[(None, I, 0, &[]), (None, P, 4, &[0]), (None, B, 2, &[0, 1]), (None, B, 1, &[0, 2])]);
        let all = dependencies(&pyramid);
        assert_eq!(all.iter().map(|frame| frame.referenced).collect::<Vec<_>>(), [true, true, true, false]);
    }
}
