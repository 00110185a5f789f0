//! Records of frames: what the ledger must know of them, and what happened to them.

use framewire_media::picture_order::PictureOrder;
use framewire_units::{Duration, Timestamp};

/// What the ledger must know of a frame of the movie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameFacts {
    /// The track that it is of: 0 for video.
    pub track: u8,
    /// `'I'`, `'P'` or `'B'`; `'A'` of sound.
    pub kind: char,
    /// Bytes.
    pub size: u32,
    /// The level of the ladder that it was sent from, or would have been; `None` for a movie that has none, and for a frame
    /// that the stream never came to.
    pub level: Option<u8>,
    /// Group of pictures, from 0.
    pub gop: u32,
    /// Number in display order, from 0.
    pub display_index: u32,
    /// S_i: when the frame clock offers it.
    pub due: Timestamp,
    /// When it is shown, counted from the first frame shown.
    pub display_time: Duration,
    /// Numbers (in decode order) of the frames it cannot be decoded without.
    pub references: Vec<u32>,
    /// True when it also refers to something that is not in the movie, as the leading frames of its start or of a broken
    /// link.
    pub missing_reference: bool,
    /// What a decoder derives its place in display order from; `None` where that does not follow from the pictures
    /// before it (MPEG video, AV1).
    pub picture_order: Option<PictureOrder>,
    /// The latest frame that began a gradual refresh which has ended where this one is shown: what was lost before that
    /// one does no harm to it.
    pub recovers_from: Option<u32>,
    /// What the header of the group of pictures that comes with it says: the time code, counted from the stream's first.
    pub group_time: Option<Duration>,
}

/// The five places of the thesis at which a frame can be lost (its figure 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossPlace {
    /// Dropped on purpose by the sending pipeline.
    SenderPipeline,
    /// The sender's socket or device queue had no room.
    SenderSocket,
    /// Lost on the link.
    Link,
    /// The queue of a node in between had no room.
    IntermediateQueue,
    /// Discarded by the receiving pipeline, because it was incomplete.
    ReceiverPipeline,
}

impl LossPlace {
    /// All places, in the order in which a frame passes them.
    pub(crate) const ALL: [Self; 5] =
        [Self::SenderPipeline, Self::SenderSocket, Self::Link, Self::IntermediateQueue, Self::ReceiverPipeline];

    /// Its name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::SenderPipeline => "sender-pipeline",
            Self::SenderSocket => "sender-socket",
            Self::Link => "link",
            Self::IntermediateQueue => "intermediate-queue",
            Self::ReceiverPipeline => "receiver-pipeline",
        }
    }
}

/// One thing that happened to a frame at the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameEvent {
    /// Number of the frame in decode order.
    pub frame: u32,
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: FrameEventKind,
}

/// What happened to a frame at the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameEventKind {
    /// Given to the transport.
    Offered,
    /// Taken into the transport's queue.
    Queued,
    /// Its first byte entered the socket.
    FirstByte,
    /// It was made to begin a coded video sequence before it was sent, because of what was given up before it.
    BeginsSequence,
    /// Its last byte entered the socket.
    LastByte,
    /// It, or the rest of it, was given up.
    Discarded {
        /// Where.
        place: LossPlace,
        /// The rule or event.
        rule: String,
    },
}

/// A frame of which something was found, by its content, in what the receiver's application gave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFound {
    /// Number of the frame in decode order.
    pub frame: u32,
    /// When its last byte came; `None` when it did not come whole.
    pub whole_at: Option<Timestamp>,
    /// Bytes that came, of a frame that did not come whole.
    pub bytes: u64,
}

/// What the receiver's application gave out: the elementary stream, searched for the movie's frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundStream {
    /// Frames, in decode order.
    pub frames: Vec<FrameFound>,
    /// When its first byte came.
    pub first_byte: Option<Timestamp>,
}
