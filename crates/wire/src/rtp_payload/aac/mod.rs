//! AAC over RTP (RFC 3640, the mode AAC-hbr of section 3.3.6).
//!
//! A packet has whole access units, each with a header of two bytes in front of them all, or a part of one. Access units are
//! given and come out as frames of ADTS (ISO/IEC 14496-3, 1.A.2), of which packets carry nothing: what its headers say, the
//! description says once (`config`). So a frame comes out to the byte where its header says nothing more, as FFmpeg writes
//! them: no cyclic redundancy check, no copyright, a buffer of variable rate. Any other comes out with such a header and the
//! same access unit behind it.
//!
//! Several access units are sent in one packet where they are given at once. Interleaving (section 3.2.3.2) is refused.

mod adts;
mod config;
mod packer;
mod reader;
#[cfg(test)]
mod tests;

use adts::AdtsFrame;
use config::Config;
use packer::AacPacker;
use reader::AacReader;

use super::{Media, PayloadFormat, Reading, SECOND_DYNAMIC_PAYLOAD_TYPE, StreamDescription};

/// The format.
pub static FORMAT: PayloadFormat = PayloadFormat {
    encoding_name: "mpeg4-generic",
    document: "RFC 3640",
    media: Media::Audio,
    payload_type: SECOND_DYNAMIC_PAYLOAD_TYPE,
    smallest_payload: HEADERS_LENGTH + HEADER + 1,
    refuses: |_| None,
    packer: |_, largest_payload| Box::new(AacPacker::new(largest_payload)),
    reading: Reading::Units(|description| Ok(Box::new(AacReader::new(Config::of(description)?)))),
    piece: |payload| reader::data(payload).map(Into::into),
    description: |first| {
        let config = AdtsFrame::split(first)?.0.config;
        Ok(describe(config))
    },
    received: &[
        ("mode", &["AAC-hbr"]),
        ("sizelength", &["13"]),
        ("indexlength", &["3"]),
        ("indexdeltalength", &["3"]),
        ("ctsdeltalength", &["0"]),
        ("dtsdeltalength", &["0"]),
        ("randomaccessindication", &["0"]),
        ("streamstateindication", &["0"]),
        ("auxiliarydatasizelength", &["0"]),
    ],
};

/// `AU-headers-length`, in bits (section 3.2.1).
const HEADERS_LENGTH: usize = 2;

/// An AU-header of this mode: `AU-size` of 13 bits, `AU-Index` or `AU-Index-delta` of three (section 3.3.6).
const HEADER: usize = 2;

/// The largest access unit that a header can tell: `AU-size` has 13 bits.
const LARGEST_UNIT: usize = (1 << 13) - 1;

/// Samples of an access unit, and ticks of the clock, which has the sample rate (ISO/IEC 14496-3, 4.4.1; RFC 3640, section 3.2.3.1).
const SAMPLES: u32 = 1_024;

/// RFC 3640, section 4.1. Profile and level are not told by a stream: 254 is "no audio profile specified" (ISO/IEC 14496-1,
/// table 5), which receivers take for any.
fn describe(config: Config) -> StreamDescription {
    let [high, low] = config.specific();
    let parameters = format!(
        "streamtype=5;profile-level-id=254;mode=AAC-hbr;config={high:02X}{low:02X};sizelength=13;indexlength=3;\
         indexdeltalength=3"
    );
    StreamDescription {
        clock_rate: config.sample_rate(),
        channels: Some(config.channel_count()),
        parameters: Some(parameters),
    }
}
