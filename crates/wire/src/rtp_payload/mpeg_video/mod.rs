//! MPEG-1 and MPEG-2 video elementary streams over RTP (RFC 2250, section 3).
//!
//! What comes out of a depacketiser is the access unit to the byte. A frame that comes directly after a loss of more than
//! the end of the frame before it, and starts with a picture header, may be whole and is discarded all the same where by
//! the habit of the sender a packet with a sequence header may have been before it (section 3.1 lets a picture header
//! follow a group header only). Encoders write a group header there.

mod access_unit;
mod cutter;
mod header;
mod joiner;
mod new_header;
mod packer;

use super::{Media, PayloadFormat, Reading, StreamDescription};
pub use access_unit::AccessUnitError;
pub use header::{CodingType, HeaderError, HeaderRepr, HeaderView, MotionVectorCodes};
use joiner::VideoJoiner;
use packer::VideoPacker;

/// Payload type of MPEG video (`MPV`, RFC 3551, table 5).
pub const PAYLOAD_TYPE: u8 = 32;

/// The format.
pub static FORMAT: PayloadFormat = PayloadFormat {
    encoding_name: "MPV",
    document: "RFC 2250",
    media: Media::Video,
    payload_type: PAYLOAD_TYPE,
    smallest_payload: HEADER_LENGTH + LARGEST_STREAM_HEADER,
    refuses: |_| None,
    packer: |rule, largest_payload| Box::new(VideoPacker::new(rule, largest_payload)),
    reading: Reading::Frames(|| Box::new(VideoJoiner::default())),
    piece: |payload| Some(HeaderView::new(payload).ok()?.video().into()),
    description: |_| Ok(StreamDescription::of_video(None)),
    received: &[],
};

/// Length of the MPEG video-specific header (RFC 2250, section 3.4).
const HEADER_LENGTH: usize = header::LENGTH;

/// The largest header of an elementary stream, which a payload must be able to hold whole (RFC 2250, section 3.1).
const LARGEST_STREAM_HEADER: usize = 261;
