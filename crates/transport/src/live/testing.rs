//! Frames of a live stream.

use framewire_media::PictureType;
use framewire_media::picture_order::{PictureNumbers, Renumbering};
use framewire_units::Duration;

use super::Placed;
use crate::frame::{Dependencies, OutgoingFrame, Payload};

/// A payload of 100 bytes.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    number: u64,
    group: u64,
    lasts: Duration,
}

impl Payload for Buffer {
    fn size(&self) -> u64 {
        100
    }

    fn begin_sequence(&mut self) {}

    fn renumber(&mut self, _: PictureNumbers, _: Renumbering) -> bool {
        false
    }

    fn allow_gaps(&mut self) {}
}

impl Placed for Buffer {
    fn number(&self) -> u64 {
        self.number
    }

    fn group(&self) -> u64 {
        self.group
    }

    fn lasts(&self) -> Duration {
        self.lasts
    }
}

/// A P frame that others refer to.
pub(crate) fn frame(number: u64, group: u64, lasts: Duration) -> OutgoingFrame<Buffer> {
    OutgoingFrame {
        id: number as u32,
        kind: PictureType::P,
        dependencies: Dependencies { referenced: true, ..Dependencies::default() },
        duration: lasts,
        rtp_timestamp: 0,
        decode_timestamp: 0,
        bytes: Buffer { number, group, lasts },
    }
}
