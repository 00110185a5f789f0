//! Video and sound over RTP: one packetiser and one depacketiser for all payload formats.
//!
//! A payload format is a folder here that ends in a [`PayloadFormat`]: how the bytes of an access unit are cut into
//! payloads, and how payloads become access units again. Sequence numbers, reordering, gaps, limits and the times of arrival
//! are the same for all, and are in [`Packetizer`] and [`Depacketizer`]. Where a frame ends differs: of video the marker
//! says it, and frames have packets of their own; a packet of sound holds whole access units or a part of one, and says how
//! long that is.

pub mod aac;
mod assembler;
pub mod av1;
mod depacketizer;
mod first_packet;
pub mod h264;
pub mod h265;
mod held;
pub mod mpeg4_video;
pub mod mpeg_audio;
pub mod mpeg_video;
mod nal;
mod numbering;
pub mod opus;
mod packetizer;
mod packets;
mod received;
mod rejected;
mod rule;
#[cfg(test)]
mod testing;
mod units;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use bytes::BytesMut;

pub(crate) use av1::obu;
pub use depacketizer::{Arrival, Depacketizer, Limits, StreamOrigin};
pub use first_packet::FirstPacket;
pub(crate) use nal::byte_stream;
pub(crate) use numbering::{FURTHEST_BEHIND, LARGEST_JUMP};
pub use packetizer::{ConfigError, Datagram, Packetizer};
use packets::Packets;
pub use received::ReceivedFrame;
pub use rejected::RejectReason;
pub use rule::PacketRule;
pub(crate) use units::{Contents, UnitReader};

/// Rate of the RTP clock of video in hertz: RFC 2250, section 3.3; RFC 6184, section 5.1; RFC 7798, section 4.1.
pub const CLOCK_RATE: u32 = 90_000;

/// The largest frame, in bytes, that a receiver keeps unless it is told otherwise: more than any of H.264 up to 4096x2304
/// (levels 5.1 and 5.2 have 36,864 macroblocks of 384 bytes, at least halved: 7,077,888; ITU-T H.264, A.3.1 and table A-1),
/// and than all that the decoder of MPEG-2 at High Level can hold (9,781,248 bits; ISO/IEC 13818-2, table 8-14).
pub const LARGEST_FRAME: usize = 8 << 20;

/// The first payload type that has no meaning of its own (RFC 3551, section 3): formats without one of their own have it
/// unless another one is agreed upon.
pub(crate) const FIRST_DYNAMIC_PAYLOAD_TYPE: u8 = 96;

/// The payload type of sound beside video, where its format has none of its own.
pub(crate) const SECOND_DYNAMIC_PAYLOAD_TYPE: u8 = 97;

/// Bytes that are not an access unit as a format packs it, in words.
pub type FrameError = Box<dyn Error + Send + Sync>;

/// What a format carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// Pictures.
    Video,
    /// Sound.
    Audio,
}

impl Media {
    /// Its name in session descriptions (RFC 8866, section 5.14).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Video => "video",
            Self::Audio => "audio",
        }
    }
}

/// What a description of a session says of one stream, beside its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamDescription {
    /// Rate of the clock of its time stamps, in hertz.
    pub clock_rate: u32,
    /// Channels, where the format says them (RFC 8866, section 6.6).
    pub channels: Option<u8>,
    /// Parameters of the format: the value of `a=fmtp` behind the payload type.
    pub parameters: Option<String>,
}

impl StreamDescription {
    /// Of video, whose clock is the same in all its formats.
    pub(crate) fn of_video(parameters: Option<String>) -> Self {
        Self { clock_rate: CLOCK_RATE, channels: None, parameters }
    }

    /// The value of one of the parameters, by its name in small letters.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let parameters = self.parameters.iter().flat_map(|parameters| parameters.split(';'));
        let mut named = parameters.filter_map(|parameter| parameter.split_once('='));
        named.find(|(known, _)| known.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// A payload format of RTP.
pub struct PayloadFormat {
    /// Its name in session descriptions (the media subtype that its document registers).
    pub encoding_name: &'static str,
    /// The document that defines it.
    pub document: &'static str,
    /// What it carries.
    pub media: Media,
    /// The payload type that packets have unless another one is agreed upon.
    pub payload_type: u8,
    /// The smallest payload, in bytes, into which every access unit can be cut.
    smallest_payload: usize,
    /// Why a rule makes no sense of this format; `None` where it does.
    refuses: fn(PacketRule) -> Option<&'static str>,
    /// A packer under this rule, for payloads up to so many bytes.
    packer: fn(PacketRule, usize) -> Box<dyn Packer>,
    reading: Reading,
    piece: Piece,
    /// What a description says of a stream that begins with this access unit.
    ///
    /// # Errors
    /// When the bytes are not such a one.
    description: fn(&[u8]) -> Result<StreamDescription, FrameError>,
    /// Parameters of which only some values are received, with these.
    received: &'static [(&'static str, &'static [&'static str])],
}

/// How payloads become access units again.
enum Reading {
    /// A frame has packets of its own, and the marker on the last one.
    Frames(fn() -> Box<dyn Joiner>),
    /// A payload has whole access units or a part of one; the reader of a stream that is described so.
    Units(fn(&StreamDescription) -> Result<Box<dyn UnitReader>, String>),
}

/// The piece of the stream that a payload carries.
type Piece = for<'a> fn(&'a [u8]) -> Option<Cow<'a, [u8]>>;

impl PayloadFormat {
    /// Whether packets can be cut by this rule.
    ///
    /// # Errors
    /// When the rule makes no sense of this format; with the reason.
    pub fn check_rule(&self, rule: PacketRule) -> Result<(), ConfigError> {
        (self.refuses)(rule).map_or(Ok(()), |reason| Err(ConfigError::Rule { rule, reason }))
    }

    /// What a description says of a stream that begins with this access unit.
    ///
    /// # Errors
    /// When a format of sound is given something else. Of video the parameters are those that are found.
    pub fn description(&self, first: &[u8]) -> Result<StreamDescription, FrameError> {
        (self.description)(first)
    }

    /// Whether the marker is on the last packet of every frame.
    const fn marks_ends(&self) -> bool {
        matches!(self.reading, Reading::Frames(_))
    }

    /// The values of a parameter that are received; `None` where all are.
    pub(crate) fn allowed(&self, parameter: &str) -> Option<&'static [&'static str]> {
        self.received.iter().find(|(name, _)| *name == parameter).map(|(_, values)| *values)
    }

    /// The piece of the elementary stream that a payload carries; `None` where it is not of this format.
    ///
    /// Pieces of a stream's packets in their order are the stream, with start codes of three bytes.
    pub fn piece<'a>(&self, payload: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        (self.piece)(payload)
    }
}

impl fmt::Debug for PayloadFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.encoding_name, self.document)
    }
}

/// Packs access units into payloads.
pub(crate) trait Packer: fmt::Debug + Send + Sync {
    /// Writes the payloads of one access unit. Where that fails, what was written is of no use.
    fn pack(&mut self, frame: &[u8], packets: &mut Packets) -> Result<(), FrameError>;

    /// The same packer once more.
    fn boxed(&self) -> Box<dyn Packer>;
}

impl Clone for Box<dyn Packer> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// Joins payloads to access units. Calls come in the order in which the packets were sent: for each frame one
/// [`begin`](Self::begin), one [`append`](Self::append) for each packet up to the first one missing inside, and then what
/// is asked at the end.
pub(crate) trait Joiner: fmt::Debug + Send {
    /// Checks a payload, and leaves out of it what is of no use for a frame. An empty one belongs to its frame, but
    /// begins none.
    ///
    /// # Errors
    /// For what is not of the format, in words. The packet is then as if it had not arrived.
    fn open<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], String>;

    /// A frame begins with `media`: false where that cannot be its beginning. `is_first` says that nothing is missing
    /// before it.
    fn begin(&mut self, media: &[u8], is_first: bool) -> bool;

    /// Adds the next piece to the bytes of the frame; false where it does not go on from what came before.
    fn append(&mut self, media: &[u8], bytes: &mut BytesMut) -> bool {
        bytes.extend_from_slice(media);
        true
    }

    /// The frame has ended, and is not whole: leaves out of what came up to its first gap what no decoder takes.
    fn cut_off(&mut self, _bytes: &mut BytesMut) {}

    /// The frame has ended, and nothing was missing before it. `bytes` are those up to the first packet missing inside,
    /// unless it is whole.
    fn learn(&mut self, _bytes: &[u8], _is_whole: bool) {}

    /// True where something began in the frame that has not ended.
    fn is_open(&self) -> bool {
        false
    }

    /// Whether the frame, before which something is missing, has its beginning all the same.
    fn has_beginning(&self, bytes: &[u8]) -> bool;
}
