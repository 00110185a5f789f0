//! Which codec a key frame is of: the protocol does not tell.

use framewire_media::access_unit::Codec;
use framewire_media::ladder::Level;

/// Caps of the stream that this key frame begins; `None` when its bytes do not tell.
pub(super) fn of_key_frame(frame: &[u8]) -> Option<gst::Caps> {
    let caps = match Level::codec_of(frame)? {
        Codec::MpegVideo => gst::Caps::builder("video/mpeg")
            .field("mpegversion", if has_sequence_extension(frame) { 2 } else { 1 })
            .field("systemstream", false)
            .field("parsed", true),
        Codec::Mpeg4Part2 => {
            gst::Caps::builder("video/mpeg").field("mpegversion", 4).field("systemstream", false).field("parsed", true)
        }
        Codec::H264 => byte_stream("video/x-h264"),
        Codec::H265 => byte_stream("video/x-h265"),
        Codec::Av1 => return None, // no ladder has it
    };
    Some(caps.build())
}

fn byte_stream(name: &str) -> gst::caps::Builder<gst::caps::NoFeature> {
    gst::Caps::builder(name).field("stream-format", "byte-stream").field("alignment", "au")
}

/// Without an extension after the sequence header it is MPEG-1 (ISO/IEC 13818-2, 6.1.1.6).
fn has_sequence_extension(frame: &[u8]) -> bool {
    memchr::memmem::find(frame, &[0, 0, 1, 0xB5]).is_some()
}
