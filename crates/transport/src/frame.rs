//! A frame on its way into a sending half, and what it refers to.

use bytes::Bytes;
use framewire_media::PictureType;
use framewire_media::access_unit::{Framing, KeyKind};
use framewire_media::picture_order::{self, PictureNumbers, PictureOrder, Renumbering};
use framewire_units::Duration;

/// What a frame queue carries without looking into it: bytes here, buffers with their events in an element.
pub trait Payload {
    /// Size in bytes of what will be written.
    fn size(&self) -> u64;

    /// Makes the picture in it begin a coded video sequence, without another size
    /// ([`begin_sequence`](framewire_media::picture_order::begin_sequence)).
    fn begin_sequence(&mut self);

    /// Changes the numbers in the slice headers of the picture in it, which may change its size by some bytes
    /// ([`renumber`](framewire_media::picture_order::renumber)). False where that cannot be: all of it is as it was.
    fn renumber(&mut self, numbers: PictureNumbers, by: Renumbering) -> bool;

    /// Lets the sequence parameter sets in it, of H.264, allow gaps in `frame_num`, without another size
    /// ([`allow_gaps`](framewire_media::picture_order::allow_gaps)).
    fn allow_gaps(&mut self);
}

impl Payload for Bytes {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn begin_sequence(&mut self) {
        if let Some(changed) = picture_order::begin_sequence(self, Framing::ByteStream) {
            *self = changed.into();
        }
    }

    fn renumber(&mut self, numbers: PictureNumbers, by: Renumbering) -> bool {
        let changed = picture_order::renumber(self, Framing::ByteStream, numbers, by);
        changed.map(|changed| *self = changed.into()).is_some()
    }

    fn allow_gaps(&mut self) {
        if let Some(changed) = picture_order::allow_gaps(self, Framing::ByteStream) {
            *self = changed.into();
        }
    }
}

/// One access unit on its way into a sending half.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingFrame<P = Bytes> {
    /// Number of the frame in decode order; every frame's is above the one's before it.
    pub id: u32,
    /// Coding type, the importance that I-Frame Delay goes by.
    pub kind: PictureType,
    /// What it refers to, and what may refer to it.
    pub dependencies: Dependencies,
    /// How long it is shown: its share of the time that waits in a queue.
    pub duration: Duration,
    /// Presentation time in the 90 kHz clock of RTP ([`CLOCK_RATE`](framewire_wire::rtp_payload::CLOCK_RATE)).
    pub rtp_timestamp: u32,
    /// Decoding time in the same clock, which transport streams carry too; where it is not known, the presentation time.
    pub decode_timestamp: u32,
    /// The whole frame with the headers before it.
    pub bytes: P,
}

/// What a frame refers to, and what may refer to it (see [`framewire_media::access_unit::AccessUnit`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Set where decoding can begin.
    pub key: Option<KeyKind>,
    /// True for a frame that is shown before the key frame it follows, and may refer to what came before that.
    pub leading: bool,
    /// False when the stream states that no other frame refers to it.
    pub referenced: bool,
    /// Temporal layer; frames of a layer never refer to a higher one. 0 where the stream has none.
    pub temporal_layer: u8,
    /// Ids of the frames that it cannot be decoded intact without, ascending. `None`: not known; it may then refer to
    /// every referenced frame since the last key frame.
    pub references: Option<Vec<u32>>,
    /// True when it also refers to something that is not in the stream: from before its start, or lost on the way here.
    pub missing_reference: bool,
    /// What a decoder derives its place in display order from (H.264, H.265).
    pub picture_order: Option<PictureOrder>,
    /// A gradual refresh begins at it: decoding can begin here, and what is shown becomes right when it has ended.
    pub begins_recovery: bool,
    /// The latest frame that began a refresh which has ended where this one is shown: what was lost before that one does
    /// no harm to it.
    pub recovers_from: Option<u32>,
    /// The queue made it begin a coded video sequence, because of what was given up before it.
    pub begins_sequence: bool,
    /// A key frame whose numbers the queue makes go on from those of what was sent, because of what was given up before
    /// it (H.264).
    pub goes_on: bool,
    /// What the queue added to the numbers in its headers, when it was taken.
    pub renumbered: Renumbering,
}
