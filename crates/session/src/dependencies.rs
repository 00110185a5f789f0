//! What the frames of a movie refer to, as frame queues want it.

use std::sync::Arc;

use framewire_media::access_unit::KeyKind;
use framewire_media::{Frame, FrameIndex};
use framewire_transport::frame::Dependencies;

/// Of every frame, in decode order.
pub(crate) fn dependencies(index: &FrameIndex) -> Arc<[Dependencies]> {
    let referenced = referenced(index);
    let mut last_key = None;
    let of = |(frame, referenced): (&Frame, bool)| {
        last_key = frame.key.or(last_key);
        Dependencies {
            key: frame.key,
            leading: frame.leading,
            referenced,
            temporal_layer: frame.temporal_layer,
            references: Some(frame.references.clone()),
            missing_reference: frame.leading && last_key == Some(KeyKind::BrokenLink),
        }
    };
    index.frames.iter().zip(referenced).map(of).collect()
}

/// Whether another frame refers to it, or the stream allows that one did.
fn referenced(index: &FrameIndex) -> Vec<bool> {
    let mut referenced: Vec<_> = index.frames.iter().map(|frame| frame.referenced).collect();
    for reference in index.frames.iter().flat_map(|frame| &frame.references) {
        referenced[*reference as usize] = true;
    }
    referenced
}

#[cfg(test)]
mod tests {
    use framewire_media::access_unit::Codec;
    use framewire_media::{FrameRate, PictureStructure, PictureType, SequenceHeader};
    use framewire_units::Duration;

    use super::*;

    /// Key, whether it is leading, type and references of a frame.
    type Row = (Option<KeyKind>, bool, PictureType, &'static [u32]);

    fn index(rows: &[Row]) -> FrameIndex {
        let frame = |(number, (key, leading, kind, references)): (usize, &Row)| Frame {
            decode_index: number as u32,
            display_index: number as u32,
            kind: *kind,
            key: *key,
            leading: *leading,
            referenced: *kind != PictureType::B,
            temporal_layer: 0,
            temporal_reference: 0,
            gop: 0,
            gop_header: None,
            structure: PictureStructure::Frame,
            offset: 0,
            size: 1,
            decode_time: Duration::ZERO,
            display_time: Duration::ZERO,
            references: references.to_vec(),
        };
        let sequence = SequenceHeader {
            codec: Codec::MpegVideo,
            width: 720,
            height: 576,
            frame_rate: FrameRate { numerator: 25, denominator: 1 },
            bit_rate: None,
            mpeg2: true,
            progressive: true,
        };
        FrameIndex { sequence, frames: rows.iter().enumerate().map(frame).collect() }
    }

    #[test]
    fn leading_frames_of_a_broken_link_lack_what_they_refer_to() {
        use KeyKind::{BrokenLink, Closed, Open};
        use PictureType::{B, I, P};
        let movie = index(&[
            (Some(Closed), false, I, &[]),
            (None, false, P, &[0]),
            (Some(Open), false, I, &[]),
            (None, true, B, &[1, 2]),
            (Some(BrokenLink), false, I, &[]),
            (None, true, B, &[2, 4]),
            (None, false, B, &[4]),
            (Some(Open), false, I, &[]),
            (None, true, B, &[4, 7]),
        ]);
        let all = dependencies(&movie);
        let those = |holds: fn(&Dependencies) -> bool| (0..9).filter(|&n| holds(&all[n])).collect::<Vec<_>>();
        assert_eq!(those(|frame| frame.key.is_some()), [0, 2, 4, 7]);
        assert_eq!(those(|frame| frame.leading), [3, 5, 8]);
        assert_eq!(those(|frame| frame.missing_reference), [5]);
        assert_eq!(those(|frame| !frame.referenced), [3, 5, 6, 8]);
        assert_eq!(all[3].references, Some(vec![1, 2]));
    }

    #[test]
    fn a_b_picture_that_another_refers_to_is_referenced() {
        use PictureType::{B, I, P};
        let pyramid = index(&[
            (Some(KeyKind::Closed), false, I, &[]),
            (None, false, P, &[0]),
            (None, false, B, &[0, 1]),
            (None, false, B, &[0, 2]),
        ]);
        let all = dependencies(&pyramid);
        assert_eq!(all.iter().map(|frame| frame.referenced).collect::<Vec<_>>(), [true, true, true, false]);
    }
}
