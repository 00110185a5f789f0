//! Frames of H.264 for tests, and a queue that has given some up.

use bytes::Bytes;
use framewire_media::PictureType::{I, P};
use framewire_media::access_unit::KeyKind;
use framewire_media::picture_order::PictureOrder;
use framewire_units::Duration;

use super::DependencyQueue;
use crate::frame::{Dependencies, OutgoingFrame};
use crate::limits::Limits;

/// A frame that refers to the one before, unless it is a key frame, and to which others refer.
pub(super) fn frame(id: u32, key: Option<KeyKind>, order: PictureOrder, bytes: Vec<u8>) -> OutgoingFrame {
    let dependencies = Dependencies {
        key,
        referenced: true,
        references: Some(if key.is_some() { vec![] } else { vec![id - 1] }),
        picture_order: Some(order),
        ..Dependencies::default()
    };
    OutgoingFrame {
        id,
        kind: if key.is_some() { I } else { P },
        dependencies,
        duration: Duration::from_millis(40),
        rtp_timestamp: 0,
        decode_timestamp: 0,
        bytes: Bytes::from(bytes),
    }
}

/// Three frames have left and four wait; all others up to the twentieth were given up.
pub(super) fn after_a_gap(frame: impl Fn(u32, Option<KeyKind>) -> OutgoingFrame) -> DependencyQueue {
    let mut queue = DependencyQueue::new(Limits { frames: Some(4), ..Limits::default() });
    for id in 0..20 {
        queue.offer(frame(id, (id == 0).then_some(KeyKind::Closed)));
        if id < 3 {
            assert_eq!(queue.take().map(|frame| frame.id), Some(id));
        }
    }
    assert!(queue.needs_key_frame());
    queue
}
