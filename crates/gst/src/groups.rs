//! When a group of pictures is lost, and when a key frame would end the loss.

use framewire_media::PictureType;
use framewire_transport::frame::OutgoingFrame;
use framewire_transport::queue::Discard;

use gst::glib;
use gst::glib::prelude::*;
use gst::glib::subclass::Signal;

use crate::frames::Held;

/// The signal that tells of a [`LostGroup`]: the number of the frame (buffers since the start) and the rule that gave it
/// up.
const GROUP_LOST: &str = "group-lost";

/// The signal for one element: GLib lets no two types share it.
pub fn signal() -> Signal {
    Signal::builder(GROUP_LOST).param_types([u64::static_type(), String::static_type()]).build()
}

/// Emits `group-lost`.
pub fn tell(element: &impl IsA<glib::Object>, frame: u64, rule: &str) {
    element.emit_by_name::<()>(GROUP_LOST, &[&frame, &rule]);
}

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

    /// A frame was given up. Tells when its group was lost by that, as far as its type tells.
    pub fn given_up(&mut self, frame: &OutgoingFrame<Held>) -> Option<LostGroup> {
        if is_essential(frame) { self.lose(frame) } else { None }
    }

    /// Frames were given up for one that was offered. `needs_key_frame` is what the queue says of it
    /// ([`FrameQueue::needs_key_frame`](framewire_transport::queue::FrameQueue::needs_key_frame)); `None` of a queue
    /// that does not know, so that the types have to tell. Gives the loss with its rule.
    pub fn after_offer(
        &mut self,
        discards: &[Discard<Held>],
        needs_key_frame: Option<bool>,
    ) -> Option<(LostGroup, &'static str)> {
        let mut told: Option<(LostGroup, &'static str)> = None;
        for Discard { frame, rule } in discards {
            let is_lost = match needs_key_frame {
                Some(needs) if frame.bytes.group >= self.newest => needs,
                _ => is_essential(frame),
            };
            let lost = if is_lost { self.lose(frame) } else { None };
            told = lost.map(|lost| (lost, *rule)).or(told);
        }
        told
    }

    fn lose(&mut self, frame: &OutgoingFrame<Held>) -> Option<LostGroup> {
        let Held { number, group, .. } = frame.bytes;
        if self.last_lost.is_some_and(|lost| lost >= group) {
            return None;
        }
        self.last_lost = Some(group);
        Some(LostGroup { frame: number, needs_key_frame: group >= self.newest })
    }
}

/// Whether the frames after it need it, by what its headers say of it alone.
fn is_essential(frame: &OutgoingFrame<Held>) -> bool {
    frame.dependencies.referenced
        && frame.dependencies.temporal_layer == 0
        && matches!(frame.kind, PictureType::I | PictureType::P)
}
