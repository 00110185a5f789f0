//! When a group of pictures is lost, and when a key frame would end the loss.

use framewire_media::PictureType;
use framewire_transport::frame::OutgoingFrame;

use crate::frames::Held;

/// A group of pictures of which a frame was given up that the frames after it need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostGroup {
    /// The first frame of it that was given up, as [`Held::number`].
    pub frame: u64,
    /// True when no newer key frame has come: asking the encoder for one shortens the loss.
    pub needs_key_frame: bool,
}

/// Remembers which groups were lost, so that each is told of once.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupWatch {
    newest: u64,
    last_lost: Option<u64>,
}

impl GroupWatch {
    /// A frame comes in.
    pub fn offered(&mut self, frame: &OutgoingFrame<Held>) {
        self.newest = self.newest.max(frame.bytes.group);
    }

    /// A frame was given up. Tells when its group was lost by that.
    pub fn given_up(&mut self, frame: &OutgoingFrame<Held>) -> Option<LostGroup> {
        let Held { number, group, .. } = frame.bytes;
        let needed = frame.dependencies.referenced
            && frame.dependencies.temporal_layer == 0
            && matches!(frame.kind, PictureType::I | PictureType::P);
        if !needed || self.last_lost.is_some_and(|lost| lost >= group) {
            return None;
        }
        self.last_lost = Some(group);
        Some(LostGroup { frame: number, needs_key_frame: group >= self.newest })
    }
}
