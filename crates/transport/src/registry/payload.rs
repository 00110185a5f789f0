//! What RTP carries: a line for each payload format.

use framewire_media::access_unit::Codec;
use framewire_wire::rtp_payload::{PayloadFormat, h264, h265, mpeg_video};

static CARRIED: [(Codec, &PayloadFormat); 3] =
    [(Codec::MpegVideo, &mpeg_video::FORMAT), (Codec::H264, &h264::FORMAT), (Codec::H265, &h265::FORMAT)];

/// How RTP carries frames of a codec; `None` where it does not here.
pub fn payload_format(codec: Codec) -> Option<&'static PayloadFormat> {
    CARRIED.iter().find(|(carried, _)| *carried == codec).map(|(_, format)| *format)
}

/// All that it carries, in words, with the documents.
pub(super) fn carried() -> String {
    let names: Vec<String> = CARRIED.iter().map(|(codec, format)| format!("{codec} ({})", format.document)).collect();
    let (last, others) = names.split_last().expect("invariant: there are formats");
    format!("{} and {last}", others.join(", "))
}
