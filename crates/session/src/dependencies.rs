//! What the frames of a movie refer to, as frame queues want it.

use framewire_media::{Frame, FrameIndex};
use framewire_transport::frame::Dependencies;

/// Of a frame; `referenced` is what [`referenced`] says of it.
pub(crate) fn dependencies(frame: &Frame, referenced: bool) -> Dependencies {
    Dependencies {
        key: frame.key,
        leading: frame.leading,
        referenced,
        temporal_layer: frame.temporal_layer,
        references: Some(frame.references.to_vec()),
        missing_reference: frame.missing_reference,
        picture_order: frame.picture_order,
        begins_recovery: frame.recovery.begins(),
        recovers_from: recovers_from(frame),
        ..Dependencies::default()
    }
}

/// The latest frame that began a refresh which has ended where this one is shown.
pub(crate) fn recovers_from(frame: &Frame) -> Option<u32> {
    frame.recovery.since(frame.decode_index.into()).and_then(|unit| u32::try_from(unit).ok())
}

/// Of every frame, in decode order, whether another refers to it, or the stream allows that one did.
pub(crate) fn referenced(index: &FrameIndex) -> Vec<bool> {
    let mut referenced: Vec<_> = index.frames.iter().map(|frame| frame.referenced).collect();
    for reference in index.frames.iter().flat_map(|frame| &frame.references[..]) {
        referenced[*reference as usize] = true;
    }
    referenced
}

#[cfg(test)]
mod tests {
    use framewire_media::access_unit::{Codec, KeyKind};
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
            references: (*references).into(),
            missing_reference: false,
            picture_order: None,
            recovery: framewire_media::Recovery::default(),
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
    fn a_b_picture_that_another_refers_to_is_referenced() {
        use PictureType::{B, I, P};
        let pyramid = index(&[
            (Some(KeyKind::Closed), false, I, &[]),
            (None, false, P, &[0]),
            (None, false, B, &[0, 1]),
            (None, false, B, &[0, 2]),
        ]);
        assert_eq!(referenced(&pyramid), [true, true, true, false]);
    }
}
