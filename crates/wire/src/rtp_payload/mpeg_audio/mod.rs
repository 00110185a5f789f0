//! MPEG-1 and MPEG-2 audio over RTP (RFC 2250, sections 3.2 and 3.5), layers I to III, frame by frame.
//!
//! A packet has whole frames behind one header of four bytes, or a part of a frame, whose place the header says. Several
//! frames are sent in one packet where they are given at once. The clock is 90 kHz at every sample rate (RFC 3551, section
//! 4.5.13). Frames come out to the byte.

mod header;
mod packer;
mod reader;
#[cfg(test)]
mod tests;

use header::FrameHeader;
use packer::MpegAudioPacker;
use reader::MpegAudioReader;

use super::{CLOCK_RATE, Media, PayloadFormat, Reading, StreamDescription};

/// Payload type of MPEG audio (`MPA`, RFC 3551, table 4).
pub const PAYLOAD_TYPE: u8 = 14;

/// The format.
pub static FORMAT: PayloadFormat = PayloadFormat {
    encoding_name: "MPA",
    document: "RFC 2250",
    media: Media::Audio,
    payload_type: PAYLOAD_TYPE,
    // The first part of a frame says how long the frame is.
    smallest_payload: HEADER + header::LENGTH,
    refuses: |_| None,
    packer: |_, largest_payload| Box::new(MpegAudioPacker::new(largest_payload)),
    reading: Reading::Units(|_| Ok(Box::new(MpegAudioReader))),
    piece: |payload| payload.get(HEADER..).map(Into::into),
    description: |first| {
        FrameHeader::parse(first)?;
        Ok(StreamDescription { clock_rate: CLOCK_RATE, channels: None, parameters: None })
    },
    received: &[],
};

/// The MPEG audio-specific header: 16 bits that are 0, and the place of the payload in its frame (section 3.5).
const HEADER: usize = 4;
